"""Explanations add up exactly, on models and rankers, in the features' own units."""

import math
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from linrank import LinearModel, LinrankError, RankSVM, make_ranking
from linrank.dataset.applied_scaling import QueryScaling
from linrank.dataset.feature_products import FeatureProducts
from linrank.dataset.feature_shapes import FeatureShapes
from linrank.dataset.scaling import fit_scaling
from linrank.estimators.tree_rankers import RandomForest
from linrank.explaining import explain

NAMES = ("title", "body", "age")
MODEL = LinearModel(np.array([2.0, 0.5, -1.0]), NAMES)
NUMBERS = st.floats(-1e6, 1e6, allow_subnormal=False)
ROWS = st.lists(NUMBERS, min_size=3, max_size=3)


@given(weights=ROWS, above=ROWS, below=ROWS)
def test_contributions_are_weights_times_differences_and_add_up_exactly(weights, above, below):
    told = explain(LinearModel(np.array(weights), NAMES), above, below)
    assert told.difference == math.fsum(part.amount for part in told.contributions)
    by_name = {part.feature: part for part in told.contributions}
    for f, name in enumerate(NAMES):
        part = by_name[name]
        assert part.amount == weights[f] * (above[f] - below[f])
        assert (part.weight, part.above, part.below) == (weights[f], above[f], below[f])
    sizes = [abs(part.amount) for part in told.contributions]
    assert sizes == sorted(sizes, reverse=True)


@given(above=ROWS, below=ROWS)
def test_the_other_way_round_every_sign_turns(above, below):
    there, back = explain(MODEL, above, below), explain(MODEL, below, above)
    assert back.difference == -there.difference
    assert [(part.feature, -part.amount) for part in back.contributions] == [
        (part.feature, part.amount) for part in there.contributions
    ]


def test_it_is_the_difference_of_the_scores():
    data, _ = make_ranking(20, 10, 8)
    ranker = RankSVM().fit(data.features, data.labels, qid=data.qid)
    scores = ranker.predict(data.features)
    told = explain(ranker, data.features[3], data.features[7])
    assert told.difference == pytest.approx(scores[3] - scores[7])
    assert explain(ranker.to_model(), data.features[3], data.features[7]) == told
    assert {part.feature for part in told.contributions} == {str(number) for number in range(1, 9)}


@pytest.mark.parametrize("kind", ["standard", "min-max", "max-abs"])
def test_a_scaling_is_folded_into_the_weights_and_features_stay_raw(kind):
    data, weights = make_ranking(20, 10, 8)
    model = LinearModel(weights, data.names, fit_scaling(kind, data))
    scores = model.predict(data.features, data.queries)
    told = explain(model, data.features[3], data.features[7])
    assert told.difference == pytest.approx(scores[3] - scores[7])
    first = told.contributions[0]
    column = data.names.index(first.feature)
    assert first.above == data.features[3, column]
    assert first.weight == weights[column] / model.scaling.scale[column]


def test_scaling_by_query_is_refused_and_the_remedy_works():
    data, weights = make_ranking(5, 10, 4)
    model = LinearModel(weights, data.names, QueryScaling())
    with pytest.raises(LinrankError, match="scales features by query"):
        explain(model, data.features[0], data.features[1])
    scaled = model.scaling.apply(data.features, data.queries)
    scores = model.predict(data.features, data.queries)
    told = explain(replace(model, scaling=None), scaled[0], scaled[1])
    assert told.difference == pytest.approx(scores[0] - scores[1])


def test_rows_of_any_kind_are_taken():
    usual = explain(MODEL, [1.0, 2.0, 3.0], [0.5, 2.0, 5.0])
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [3.0, 5.0], "title": [1.0, 0.5], "body": [2.0, 2.0]})
    rows = sparse.csr_array([[1.0, 2.0, 3.0], [0.5, 2.0, 5.0]])
    for x_i, x_j in (
        (np.array([1.0, 2.0, 3.0], dtype="float32"), (0.5, 2.0, 5.0)),
        (rows[[0]], rows[[1]]),
        (np.array([[1.0, 2.0, 3.0]]), np.array([[0.5, 2.0, 5.0]])),
        (frame.iloc[0], frame.iloc[1]),
        ({"body": 2.0, "age": 3.0, "title": 1.0, "more": 9.0}, {"title": 0.5, "body": 2.0, "age": 5.0}),
    ):
        assert explain(MODEL, x_i, x_j) == usual


def test_it_prints_as_a_table_that_adds_up():
    told = explain(MODEL, [1.0, 2.0, 3.0], [0.5, 2.0, 5.0])
    assert str(told).splitlines() == [
        "feature               weight  above  below  contribution",
        "age                       -1      3      5            +2",
        "title                      2      1    0.5            +1",
        "difference of scores                                  +3",
    ]
    assert repr(told) == str(told)
    assert told.table(1).splitlines()[-2].split() == ["1", "more", "+1"]
    assert [part.feature for part in told.top(5)] == ["age", "title"]
    assert told.to_dict()["contributions"][0] == {
        "feature": "age", "weight": -1.0, "above": 3.0, "below": 5.0, "amount": 2.0
    }  # fmt: skip
    with pytest.raises(FrozenInstanceError):
        told.difference = 0.0


def test_names_may_be_given():
    told = explain(MODEL, [1, 0, 0], [0, 0, 0], feature_names=["a", "b", "c"])
    assert told.contributions[0].feature == "a"
    with pytest.raises(LinrankError, match="2 feature names, but 3 features"):
        explain(MODEL, [1, 0, 0], [0, 0, 0], feature_names=["a", "b"])


@pytest.mark.parametrize(
    ("x_i", "message"),
    [
        ([1.0, 2.0], r"x_i has shape \(2,\), but the model has 3 features"),
        ([[1.0, 2.0, 3.0]] * 2, r"x_i has shape \(2, 3\)"),
        ([1.0, np.nan, 2.0], "x_i: feature 'body' is not a finite number"),
        ({"title": 1.0, "age": 2.0}, "x_i has no feature 'body', which the model has a weight for; it has title, age"),
    ],
)
def test_rows_that_do_not_fit_are_refused(x_i, message):
    with pytest.raises(LinrankError, match=message):
        explain(MODEL, x_i, [0.0, 0.0, 0.0])


def test_models_without_weights_are_refused():
    with pytest.raises(LinrankError, match="a RandomForest has no weights to explain by"):
        explain(RandomForest(), [1.0], [2.0])


ROW = {"age": [4.0], "url": ["x"], "title": [1.0]}


@pytest.mark.parametrize(
    "x_i", [pd.DataFrame(ROW), pl.DataFrame(ROW), pa.table(ROW)], ids=["pandas", "polars", "arrow"]
)
def test_a_table_of_one_row_is_read_by_its_names(x_i):
    model = LinearModel(np.array([2.0, 0.0, -1.0]), ("title", "body", "age"))
    told = explain(model, x_i, {"age": 3.0, "title": 0.5})
    assert [(part.feature, part.amount) for part in told.contributions] == [("title", 1.0), ("age", -1.0)]
    with pytest.raises(LinrankError, match="there is no column 'title', which the model has a weight for; there are c"):
        explain(model, pd.DataFrame([[1.0, 2.0, 3.0]], columns=["c", "b", "a"]), [1.0, 2.0, 3.0])


def test_a_series_without_names_is_read_by_position():
    model = LinearModel(np.array([2.0, 5.0]), ("1", "2"))
    assert explain(model, pd.Series([1.0, 0.0]), [0.0, 1.0]).difference == -3.0


def test_products_are_contributions_of_their_own():
    curves = FeatureShapes.of("additive", [([0.0, 1.0], [0.0, 2.0]), ([0.0], [0.0]), ([-1.0, 1.0], [-1.0, 1.0])])
    lines = FeatureShapes.of("additive", [([0.0, 2.0], [-1.0, 1.0]), ([0.0, 4.0], [2.0, -2.0])])
    products = FeatureProducts(np.array([0.5]), np.array([[0, 1]]), lines)
    model = LinearModel(np.array([1.0, 0.0, 2.0]), ("a", "c", "b"), curves, products=products)
    above, below = {"a": 2.0, "b": 0.5, "c": 0.0}, {"a": 0.5, "b": 0.25, "c": 3.0}
    explained = explain(model, above, below)
    rows = np.array([[row[name] for name in "acb"] for row in (above, below)])
    assert explained.difference == pytest.approx(float(np.subtract(*model.predict(rows))), rel=1e-12)
    by_name = {part.feature: part for part in explained.contributions}
    product = by_name["a * c"]
    assert (product.above, product.below) == (None, None)
    assert (product.curved_above, product.curved_below) == (1.0 * 2.0, -0.5 * -1.0)
    assert product.amount == 0.5 * (2.0 - 0.5)
    assert by_name["c"].amount == 0.0
    assert product.to_dict() == {
        "feature": "a * c", "weight": 0.5, "amount": 0.75, "curved_above": 2.0, "curved_below": 0.5,
    }  # fmt: skip
    line = next(line for line in str(explained).splitlines() if line.startswith("a * c"))
    assert line.split() == ["a", "*", "c", "0.5", "2", "0.5", "+0.75"]
    with pytest.raises(LinrankError, match="x_i has no feature 'c'"):
        explain(model, {"a": 1.0, "b": 1.0}, below)
