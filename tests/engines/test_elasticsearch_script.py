"""OpenSearch ranks by the exported scripts as the model does; so does Lucene's own compiler of expressions."""

import json

import numpy as np
import pytest

from linrank import LinearModel, export
from ranked_letor import AWKWARD, check_same_ranking, exported

LANGUAGES = pytest.mark.parametrize("lang", ["painless", "expression"])


def found(opensearch, index, made):
    return opensearch.scores(index, json.loads(made.content))


@pytest.mark.runs("elasticsearch-script")
@LANGUAGES
def test_it_ranks_as_the_model_does(opensearch, made_letor, lang):
    made, rows, data = exported(made_letor, "elasticsearch-script", AWKWARD, lang=lang, shift=64.0)
    index = f"letor-{lang}"
    opensearch.create_index(index, dict.fromkeys(made.ranking.names, "double"))
    documents = [dict(zip(made.ranking.names, row, strict=True)) for row in rows.tolist()]
    opensearch.index(index, {str(place): document for place, document in enumerate(documents)})
    scores = found(opensearch, index, made)
    assert list(scores.values()) == sorted(scores.values(), reverse=True)
    check_same_ranking(made, rows, data, [np.float32(scores[str(place)]) for place in range(len(rows))])


@LANGUAGES
def test_a_field_that_a_document_lacks_counts_as_the_model_says(opensearch, lang):
    index = f"missing-{lang}"
    opensearch.create_index(index, {"a": "integer", "b": "double"})
    opensearch.index(index, {"0": {"a": 1, "b": 1}, "1": {"a": 1}, "2": {"b": [3.0, 5.0]}, "3": {}})
    for missing in (0.0, 0.25):
        model = LinearModel(np.array([2.0, 1.0]), ("a", "b"), missing=missing)
        expected = {"0": 3.0, "1": 2.0 + missing, "2": 3.0 + 2.0 * missing, "3": 3.0 * missing}
        assert found(opensearch, index, export(model, "elasticsearch-script", lang=lang)) == expected


@LANGUAGES
def test_the_score_of_the_query_is_a_feature(opensearch, lang):
    index = f"score-{lang}"
    opensearch.create_index(index, {"a": "double"})
    opensearch.index(index, {"0": {"a": 1.0}, "1": {"a": 2.0}})
    made = export(LinearModel(np.array([10.0, 1.0]), ("_score", "a")), "elasticsearch-script", lang=lang)
    assert found(opensearch, index, made) == {"1": 12.0, "0": 11.0}


@LANGUAGES
def test_an_unknown_field_and_a_negative_score_are_errors(opensearch, lang):
    from engines.server import RefusedError

    index = f"errors-{lang}"
    opensearch.create_index(index, {"a": "double"})
    opensearch.index(index, {"0": {"a": 1.0}})
    for name, weight, says in (("nope", 1.0, "nope"), ("a", -1.0, "non-negative")):
        made = export(LinearModel(np.array([weight]), (name,)), "elasticsearch-script", lang=lang)
        with pytest.raises(RefusedError, match=says):
            found(opensearch, index, made)


@LANGUAGES
def test_it_takes_as_many_features_as_are_let_through(opensearch, lang):
    names = tuple(f"f{j}" for j in range(500 if lang == "expression" else 900))
    index = f"many-{lang}"
    opensearch.create_index(index, dict.fromkeys(names, "double"))
    opensearch.index(index, {"0": dict.fromkeys(names, 1.0)})
    made = export(LinearModel(np.full(len(names), 0.5), names, missing=0.25), "elasticsearch-script", lang=lang)
    assert found(opensearch, index, made) == {"0": len(names) / 2}


@pytest.mark.runs("elasticsearch-script")
def test_lucene_computes_the_same(lucene, made_letor):
    made, rows, data = exported(made_letor, "elasticsearch-script", AWKWARD, range(3), lang="expression", shift=64.0)
    source = json.loads(made.content)["query"]["script_score"]["script"]["source"]
    escaped = [name.replace("\\", "\\\\").replace("'", "\\'") for name in made.ranking.names]
    variables = [f"doc['{name}'].value" for name in escaped]
    scores = [lucene.evaluate(source, dict(zip(variables, row, strict=True))) for row in rows.tolist()]
    check_same_ranking(made, rows, data, np.array(scores).astype(np.float32))
