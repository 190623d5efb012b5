"""OpenSearch's learning-to-rank plugin, by the requests that an export prints."""

import json

import numpy as np
import pytest

from engines.judged_like import (
    NAMES,
    NORMALIZERS,
    WEIGHTS,
    assert_same_ranking,
    documents,
    normalized,
    running_sums,
)
from engines.opensearch import rescore
from engines.server import RefusedError

VALUES = documents(lowest=0.0)
FIELDS = [f"x{place}" for place in range(len(NAMES))]


def field_value(field: str) -> dict:
    factor = {"field_value_factor": {"field": field, "missing": 0}}
    return {"function_score": {"query": {"match_all": {}}, "functions": [factor], "boost_mode": "replace"}}


def create_features(opensearch, name: str, templates: dict[str, dict]) -> None:
    features = [
        {"name": feature, "params": [], "template_language": "mustache", "template": template}
        for feature, template in templates.items()
    ]
    opensearch.put(f"/_ltr/_featureset/{name}", {"featureset": {"features": features}})


def create_model(opensearch, features: str, name: str, weights: dict[str, float], **more) -> None:
    model = {"type": "model/linear", "definition": json.dumps(weights)} | more
    opensearch.post(f"/_ltr/_featureset/{features}/_createmodel", {"model": {"name": name, "model": model}})


@pytest.fixture(scope="module")
def engine(opensearch_ltr):
    opensearch_ltr.create_index("judged", dict.fromkeys(FIELDS, "float") | {"title": "text"})
    opensearch_ltr.index(
        "judged",
        {
            str(row): {"title": "apple pie" if row % 2 else "apple tart"}
            | {field: float(value) for field, value in zip(FIELDS, values, strict=True) if value}
            for row, values in enumerate(VALUES)
        },
    )
    create_features(opensearch_ltr, "judged", dict(zip(NAMES, map(field_value, FIELDS), strict=True)))
    create_features(opensearch_ltr, "one", {"one": {"match_all": {}}, "pie": {"match": {"title": "pie"}}})
    return opensearch_ltr


def test_scores_are_the_running_sum_in_float32(engine):
    create_model(engine, "judged", "first model's", dict(zip(NAMES, WEIGHTS, strict=True)))
    assert_same_ranking(engine.rerank("judged", "first model's"), running_sums(VALUES, WEIGHTS))


def test_the_sum_goes_in_the_order_of_the_feature_set_whatever_the_models(engine):
    create_model(engine, "judged", "backwards", dict(zip(NAMES[::-1], WEIGHTS[::-1], strict=True)))
    assert np.any(running_sums(VALUES[:, ::-1], WEIGHTS[::-1]) != running_sums(VALUES, WEIGHTS))
    assert_same_ranking(engine.rerank("judged", "backwards"), running_sums(VALUES, WEIGHTS))


def test_a_feature_without_a_weight_weighs_nothing(engine):
    create_model(engine, "judged", "some", {NAMES[3]: 2.0})
    assert_same_ranking(engine.rerank("judged", "some"), running_sums(VALUES[:, 3:4], [2.0]))


@pytest.mark.parametrize("kind", NORMALIZERS)
def test_a_normalizer_comes_before_the_weight_where_there_is_no_value_too(engine, kind):
    start, by = NORMALIZERS[kind]
    normalizer = {
        "standard": {"standard": {"mean": start, "standard_deviation": by}},
        "min-max": {"min_max": {"minimum": start, "maximum": start + by}},
    }[kind]
    create_features(engine, kind, {NAMES[1]: field_value(FIELDS[1])})
    create_model(engine, kind, kind, {NAMES[1]: 0.3}, feature_normalizers={NAMES[1]: normalizer})
    assert_same_ranking(engine.rerank("judged", kind), running_sums(normalized(VALUES[:, 1:2], start, by), [0.3]))


def test_a_ranklib_model_counts_features_from_1(engine):
    model = {"type": "model/ranklib", "definition": "## Coordinate Ascent\n1:0 2:2.5 3:0 4:0 5:0 6:0 7:0 8:0"}
    engine.post("/_ltr/_featureset/judged/_createmodel", {"model": {"name": "ranklib", "model": model}})
    assert_same_ranking(engine.rerank("judged", "ranklib"), running_sums(VALUES[:, 1:2], [2.5]))


def test_negative_scores_fall_below_documents_outside_the_window(engine):
    create_model(engine, "one", "negative", {"one": -3.0})
    assert list(engine.rerank("judged", "negative", window=5).values()) == [0.0] * (len(VALUES) - 5) + [-3.0] * 5


def logs(engine, name: str, body: dict) -> dict[str, dict[str, float | None]]:
    found = engine.post("/judged/_search", {"size": 1000} | body)
    return {
        hit["_id"]: {each["name"]: each.get("value") for each in hit["fields"]["_ltrlog"][0][name]}
        for hit in found["hits"]["hits"]
    }


def test_the_log_of_a_named_query_has_no_value_where_a_query_does_not_match(engine):
    named = {"sltr": {"_name": "logged", "featureset": "one", "params": {}}}
    query = {"bool": {"filter": [{"match_all": {}}, named]}}
    specs = {"name": "entry", "named_query": "logged"}
    for row, values in logs(engine, "entry", {"query": query, "ext": {"ltr_log": {"log_specs": specs}}}).items():
        assert list(values) == ["one", "pie"]
        assert (values["pie"] is None) == (int(row) % 2 == 0)
    specs |= {"missing_as_zero": True}
    assert logs(engine, "entry", {"query": query, "ext": {"ltr_log": {"log_specs": specs}}})["0"]["pie"] == 0.0


def test_the_log_of_a_rescore_gives_the_features_back(engine):
    create_model(engine, "judged", "logged", dict(zip(NAMES, WEIGHTS, strict=True)))
    specs = {"name": "entry", "rescore_index": 0}
    body = {"rescore": rescore("logged"), "ext": {"ltr_log": {"log_specs": specs}}}
    for row, values in logs(engine, "entry", body).items():
        assert list(values) == NAMES
        assert np.array_equal(np.float32(list(values.values())), VALUES[int(row)])


def test_a_feature_must_not_be_negative(engine):
    engine.create_index("below", {"x0": "float"})
    engine.index("below", {"0": {"x0": -0.5}})
    create_features(engine, "below", {"x": field_value("x0")})
    create_model(engine, "below", "below", {"x": 1.0})
    with pytest.raises(RefusedError, match="must not produce negative scores"):
        engine.rerank("below", "below")


@pytest.mark.parametrize(
    ("weights", "complaint"),
    [({"unknown": 1.0}, r"Feature \[unknown\] is unknown"), ({"one": "1.5"}, "Expected a float")],
    ids=["unknown feature", "text"],
)
def test_what_the_plugin_refuses(engine, weights, complaint):
    with pytest.raises(RefusedError, match=complaint) as caught:
        create_model(engine, "one", "refused", weights)
    assert caught.value.status == 400


def test_a_model_is_replaced_by_deleting_it_first_and_keeps_its_own_features(engine):
    create_features(engine, "replaced", {"one": {"match_all": {}}})
    create_model(engine, "replaced", "replaced", {"one": 1.0})
    with pytest.raises(RefusedError, match="not updatable"):
        create_model(engine, "replaced", "replaced", {"one": 2.0})
    engine.delete("/_ltr/_model/replaced")
    create_model(engine, "replaced", "replaced", {"one": 2.0})
    engine.delete("/_ltr/_featureset/replaced")
    assert set(engine.rerank("judged", "replaced").values()) == {2.0}


def test_a_weight_beyond_float32_is_taken_and_loses_the_order(engine):
    create_model(engine, "one", "large", {"one": 1e39})
    assert set(engine.rerank("judged", "large").values()) == {"Infinity"}


def test_too_many_features_fail_when_they_are_searched(engine):
    create_features(engine, "many", {f"f{place}": field_value("x0") for place in range(3000)})
    create_model(engine, "many", "many", {f"f{place}": 1.0 for place in range(3000)})
    with pytest.raises(RefusedError, match="too many nested clauses"):
        engine.rerank("judged", "many")
