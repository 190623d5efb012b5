"""Vespa's own compiler of ranking expressions computes the exported ones as the model does."""

import math

import numpy as np
import pytest

from linrank import LinearModel, export
from rank_profiles import RANK_FEATURES, names_and_expression
from ranked_letor import check_same_ranking, exported


@pytest.mark.runs("vespa")
def test_it_ranks_as_the_model_does(vespa, made_letor):
    made, rows, data = exported(made_letor, "vespa", RANK_FEATURES, range(3), shift=-0.5)
    names, expression = names_and_expression(made.content)
    scores = [vespa.evaluate(expression, dict(zip(names, row, strict=True))) for row in rows.tolist()]
    check_same_ranking(made, rows, data, scores)


def test_an_attribute_without_a_value_counts_as_the_model_says(vespa):
    model = LinearModel(np.array([2.0, -1.0]), ("attribute(price)", "bm25(title)"), missing=0.25)
    _, expression = names_and_expression(export(model, "vespa").content)
    assert vespa.evaluate(expression, {"attribute(price)": math.nan, "bm25(title)": 1.0}) == -0.5
    assert vespa.evaluate(expression, {"attribute(price)": 3.0, "bm25(title)": 1.0}) == 5.0


@pytest.mark.parametrize("name", RANK_FEATURES)
def test_every_name_that_is_let_through_is_one_feature(vespa, name):
    _, expression = names_and_expression(export(LinearModel(np.array([-0.5]), (name,)), "vespa").content)
    assert vespa.evaluate(expression, {name: 3.0}) == -1.5


def test_it_takes_thousands_of_features(vespa):
    names = tuple(f"f{j}" for j in range(3000))
    _, expression = names_and_expression(export(LinearModel(np.full(3000, -0.5), names), "vespa").content)
    assert vespa.evaluate(expression, dict.fromkeys(names, 1.0)) == -1500.0
