"""Solr's learning to rank, by the requests that an export prints."""

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
from engines.server import RefusedError

FEATURE = "org.apache.solr.ltr.feature."
VALUES = documents()


def field_features(store: str, names: list[str]) -> list[dict]:
    return [
        {"store": store, "name": name, "class": f"{FEATURE}FieldValueFeature", "params": {"field": f"x{place}_f"}}
        for place, name in enumerate(names)
    ]


def linear_model(store: str, name: str, weights: dict[str, float]) -> dict:
    return {
        "store": store,
        "name": name,
        "class": "org.apache.solr.ltr.model.LinearModel",
        "features": [{"name": feature} for feature in weights],
        "params": {"weights": weights},
    }


@pytest.fixture(scope="module")
def core(solr):
    solr.create_core("judged")
    # A 0 is left out: a document without the field counts 0.
    solr.index(
        "judged",
        [
            {"id": str(row), "title_t": "apple pie" if row % 2 else "apple tart"}
            | {f"x{column}_f": float(value) for column, value in enumerate(values) if value}
            for row, values in enumerate(VALUES)
        ],
    )
    solr.put("judged", "/schema/feature-store", field_features("judged", NAMES))
    return "judged"


def test_scores_are_the_running_sum_in_float32(solr, core):
    solr.put(
        core, "/schema/model-store", linear_model("judged", "first model's", dict(zip(NAMES, WEIGHTS, strict=True)))
    )
    assert_same_ranking(solr.rerank(core, "first model's"), running_sums(VALUES, WEIGHTS))


def test_the_sum_goes_in_the_order_of_the_models_features(solr, core):
    backwards = dict(zip(NAMES[::-1], WEIGHTS[::-1], strict=True))
    solr.put(core, "/schema/model-store", linear_model("judged", "backwards", backwards))
    expected = running_sums(VALUES[:, ::-1], WEIGHTS[::-1])
    assert np.any(expected != running_sums(VALUES, WEIGHTS))
    assert_same_ranking(solr.rerank(core, "backwards"), expected)


@pytest.mark.parametrize("kind", NORMALIZERS)
def test_a_normalizer_comes_before_the_weight_where_there_is_no_value_too(solr, core, kind):
    start, by = NORMALIZERS[kind]
    norm = {
        "standard": {"class": "StandardNormalizer", "params": {"avg": str(start), "std": str(by)}},
        "min-max": {"class": "MinMaxNormalizer", "params": {"min": str(start), "max": str(start + by)}},
    }[kind]
    norm |= {"class": f"org.apache.solr.ltr.norm.{norm['class']}"}
    model = linear_model("judged", kind, {NAMES[1]: 0.3}) | {"features": [{"name": NAMES[1], "norm": norm}]}
    solr.put(core, "/schema/model-store", model)
    assert_same_ranking(solr.rerank(core, kind), running_sums(normalized(VALUES[:, 1:2], start, by), [0.3]))


def test_reranked_documents_stay_above_the_others_with_negative_scores_too(solr, core):
    solr.put(core, "/schema/feature-store", [constant_feature("constants")])
    solr.put(core, "/schema/model-store", linear_model("constants", "negative", {"one": -3.0}))
    scores = list(solr.rerank(core, "negative", documents=5).values())
    assert scores == [-3.0] * 5 + [1.0] * (len(VALUES) - 5)


def constant_feature(store: str) -> dict:
    return {"store": store, "name": "one", "class": f"{FEATURE}ValueFeature", "params": {"value": 1}}


def logged(solr, core, form: str, store: str) -> dict[str, str]:
    found = solr.select(core, fl=f"id,[features store={store} format={form}]")
    return {each["id"]: each["[features]"] for each in found["response"]["docs"]}


def test_the_dense_log_has_every_feature_unescaped(solr, core):
    for row, line in logged(solr, core, "dense", "judged").items():
        entries = line.split(",")
        assert [entry.rpartition("=")[0] for entry in entries] == NAMES
        assert np.array_equal(np.float32([entry.rpartition("=")[2] for entry in entries]), VALUES[int(row)])


def test_the_sparse_log_leaves_out_queries_that_do_not_match(solr, core):
    query = {"store": "matches", "name": "pie", "class": f"{FEATURE}SolrFeature", "params": {"q": "title_t:pie"}}
    solr.put(core, "/schema/feature-store", [query, *field_features("matches", ["a field"])])
    for row, line in logged(solr, core, "sparse", "matches").items():
        assert line.startswith("pie=") == (int(row) % 2 == 1)
        # A field counts as found even where the document does not have it.
        assert np.float32(line.rpartition("a field=")[2]) == VALUES[int(row), 0]


@pytest.mark.parametrize(
    ("weights", "features", "complaint"),
    [
        ({"unknown": 1.0}, ["unknown"], "Feature: unknown not found in store"),
        ({NAMES[0]: 1.0}, NAMES[:2], "lacks weight"),
        ({NAMES[0]: 1.0}, [NAMES[0], NAMES[0]], "duplicated feature"),
        ({}, [], "no features declared"),
        ({NAMES[0]: "1.5"}, [NAMES[0]], "Model loading failed"),
    ],
    ids=["unknown feature", "no weight", "twice", "empty", "text"],
)
def test_what_solr_refuses(solr, core, weights, features, complaint):
    model = linear_model("judged", "refused", weights) | {"features": [{"name": name} for name in features]}
    with pytest.raises(RefusedError, match=complaint) as caught:
        solr.put(core, "/schema/model-store", model)
    assert caught.value.status == 400


def test_a_weight_beyond_float32_is_taken_and_loses_the_order(solr, core):
    solr.put(core, "/schema/feature-store", [constant_feature("large")])
    solr.put(core, "/schema/model-store", linear_model("large", "large", {"one": 1e39}))
    assert set(solr.rerank(core, "large").values()) == {"Infinity"}


def test_a_model_is_replaced_by_deleting_it_first(solr, core):
    solr.put(core, "/schema/feature-store", [constant_feature("replaced")])
    solr.put(core, "/schema/model-store", linear_model("replaced", "replaced", {"one": 1.0}))
    with pytest.raises(RefusedError, match="already exists"):
        solr.put(core, "/schema/model-store", linear_model("replaced", "replaced", {"one": 2.0}))
    with pytest.raises(RefusedError, match="already contained in the store"):
        solr.put(core, "/schema/feature-store", [constant_feature("replaced")])
    solr.delete(core, "/schema/model-store/replaced")
    solr.put(core, "/schema/model-store", linear_model("replaced", "replaced", {"one": 2.0}))
    assert set(solr.rerank(core, "replaced").values()) == {2.0}


def test_a_store_deleted_before_its_models_breaks_the_next_reload(solr):
    solr.create_core("broken")
    solr.put("broken", "/schema/feature-store", [constant_feature("gone")])
    solr.put("broken", "/schema/model-store", linear_model("gone", "left", {"one": 1.0}))
    solr.delete("broken", "/schema/feature-store/gone")
    with pytest.raises(RefusedError, match="Unable to reload core") as caught:
        solr.call("GET", "/admin/cores?action=RELOAD&core=broken")
    assert "Missing or empty feature store: gone" in caught.value.answer["error"]["trace"]


def test_a_field_that_does_not_exist_counts_0_without_a_word(solr, core):
    feature = field_features("misspelt", ["misspelt"])[0] | {"params": {"field": "no_such_field"}}
    solr.put(core, "/schema/feature-store", [feature])
    assert set(logged(solr, core, "dense", "misspelt").values()) == {"misspelt=0.0"}
