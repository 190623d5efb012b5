"""Elasticsearch's and OpenSearch's scripts: what they are, and what is refused."""

import json

import numpy as np
import pytest

from linrank import LinearModel, LinrankError, RankingDataset, export
from linrank.exporting.elasticsearch_script import ElasticsearchScript
from ranked_letor import AWKWARD


def script(made):
    return json.loads(made.content)["query"]["script_score"]["script"]


def test_the_expression_is_this():
    model = LinearModel(np.array([0.5, -2.0, 1.0]), ("price", "it's", "_score"), missing=3.0)
    made = export(model, "elasticsearch-script", lang="expression", shift=4.0)
    assert script(made) == {
        "lang": "expression",
        "source": "0.5 * (doc['price'].empty ? 3.0 : doc['price'].value)"
        " + -2.0 * (doc['it\\'s'].empty ? 3.0 : doc['it\\'s'].value) + 1.0 * _score + 4.0",
    }


def test_every_painless_script_is_the_same_one():
    first = script(export(LinearModel(np.ones(1), ("a",)), "elasticsearch-script", shift=1.0))
    other = script(export(LinearModel(np.arange(1.0, len(AWKWARD) + 1), AWKWARD), "elasticsearch-script"))
    assert first["source"] == other["source"]
    assert first["params"] == {"names": ["a"], "weights": [1.0], "missing": 0.0, "shift": 1.0}


def test_long_expressions_are_refused_before_they_end_the_server():
    many = LinearModel(np.ones(501), tuple(f"f{j}" for j in range(501)))
    long = LinearModel(np.ones(400), tuple(f"{'x' * 170}{j}" for j in range(400)))
    for model in (many, long):
        with pytest.raises(LinrankError, match=r"sums of 500 terms and 65,535 bytes. Use lang='painless'"):
            export(model, "elasticsearch-script", lang="expression")
        export(model, "elasticsearch-script")


def test_negative_scores_of_the_data_are_refused_with_a_shift_that_helps():
    data = RankingDataset.from_arrays(np.array([[1.0], [-3.0]]), [1, 0], qid=[1, 1], feature_names=("a",))
    model = LinearModel(np.ones(1), ("a",))
    with pytest.raises(LinrankError, match=r"refuses negative scores, .* -3. Add .* shift=6\."):
        export(model, "elasticsearch-script", data=data)
    assert export(model, "elasticsearch-script", data=data, shift=6.0).order_changes.reversed == 0


@pytest.mark.parametrize("name", ["_id", "a..b", ".a", "a.", ""])
def test_names_that_no_field_has_are_refused(name):
    with pytest.raises(LinrankError, match="cannot take the feature name"):
        export(LinearModel(np.ones(1), (name,)), "elasticsearch-script")


def test_a_language_that_there_is_not_is_refused():
    with pytest.raises(LinrankError, match="there are painless and expression"):
        ElasticsearchScript(lang="groovy")


def test_weights_whose_scores_would_all_be_rounded_to_0_are_refused():
    with pytest.raises(LinrankError, match=r"'a' on unscaled values is 1e-60, which script_score cannot hold"):
        export(LinearModel(np.array([1e-60, 2e-60]), ("a", "b")), "elasticsearch-script")
