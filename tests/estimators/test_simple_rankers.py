"""One feature, or weights that were given: what every other ranker should beat."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from linrank import LinrankError, make_ranking
from linrank.estimators.simple_rankers import FixedWeights, SingleFeature
from linrank.measures import NDCG, parse_measure

DATA, _ = make_ranking(40, 15, 6)
X, Y, QID = DATA.features, DATA.labels, DATA.qid


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks([SingleFeature(0, direction="lower", measure="auc", n_threads=2)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def brute_force(measure, features=X):
    means = [
        [np.nanmean(parse_measure(measure).per_query(sign * features[:, j], DATA)) for j in range(6)]
        for sign in (1, -1)
    ]
    return np.array(means)


@pytest.mark.parametrize("measure", ["ndcg@10", "map", "pairwise_accuracy"])
def test_the_best_feature_is_found_by_brute_force(measure):
    means = brute_force(measure)
    sign, column = np.unravel_index(means.argmax(), means.shape)
    model = SingleFeature(measure=measure).fit(X, Y, qid=QID)
    assert model.feature_ == column
    assert model.coef_.tolist() == [(1.0 - 2.0 * sign) * (j == column) for j in range(6)]
    assert model.objective_ == pytest.approx(means.max())
    np.testing.assert_allclose(model.measures_, means.max(axis=0))
    assert model.to_model().objective == f"the largest mean of {measure} of one feature"


def test_directions_are_what_they_say():
    means = brute_force("ndcg@10")
    higher, lower = (SingleFeature(direction=way).fit(X, Y, qid=QID) for way in ("higher", "lower"))
    assert (higher.feature_, higher.coef_.sum()) == (means[0].argmax(), 1.0)
    assert (lower.feature_, lower.coef_.sum()) == (means[1].argmax(), -1.0)
    assert SingleFeature().fit(-X, Y, qid=QID).feature_ == SingleFeature().fit(X, Y, qid=QID).feature_


def test_a_feature_may_be_named():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    model = SingleFeature("c").fit(frame, Y, qid=QID)
    assert model.feature_ == 2
    assert np.flatnonzero(~np.isnan(model.measures_)).tolist() == [2]
    assert model.objective_ == pytest.approx(brute_force("ndcg@10")[:, 2].max())
    assert SingleFeature("3").fit(X, Y, qid=QID).feature_ == 2
    assert SingleFeature(2).fit(X, Y, qid=QID).feature_ == 2
    for wrong in ("g", 6, -1, True, 2.0):
        with pytest.raises(LinrankError, match="use a column's number from 0 to 5, or 'a', 'b'"):
            SingleFeature(wrong).fit(frame, Y, qid=QID)


def test_order_and_layout_do_not_matter():
    coarse = np.round(X)
    usual = SingleFeature().fit(coarse, Y, qid=QID)
    order = np.argsort(-Y, kind="stable")
    mixed = SingleFeature().fit(coarse[order], Y[order], qid=QID[order])
    np.testing.assert_allclose(mixed.measures_, usual.measures_)
    thin = SingleFeature().fit(sparse.csr_array(coarse), Y, qid=QID)
    np.testing.assert_allclose(thin.measures_, usual.measures_)


def test_weights_count_in_the_mean():
    weights = np.random.default_rng(0).integers(0, 4, size=40)
    model = SingleFeature(0, direction="higher").fit(X, Y, qid=QID, query_weight=weights)
    assert model.objective_ == pytest.approx(np.average((NDCG @ 10).per_query(X[:, 0], DATA), weights=weights))


def test_of_equal_features_the_first_is_taken():
    twice = np.column_stack([X, X])
    assert SingleFeature().fit(twice, Y, qid=QID).feature_ == SingleFeature().fit(X, Y, qid=QID).feature_


def test_queries_without_a_value_are_said():
    with pytest.warns(UserWarning, match="no query has a value by auc"):
        assert SingleFeature(measure="auc").fit(X, np.ones(len(Y)), qid=QID).coef_.tolist() == [1, 0, 0, 0, 0, 0]


def test_given_weights_are_kept():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    expected = [0.0, 2.0, 0.0, 0.0, -0.5, 0.0]
    for weights in ({"b": 2.0, "e": -0.5}, "b=2, e=-0.5", expected, np.array(expected)):
        model = FixedWeights(weights).fit(frame, Y, qid=QID)
        assert model.coef_.tolist() == expected
        np.testing.assert_allclose(model.predict(frame), X @ expected)
    assert model.to_model().feature_names == tuple("abcdef")
    assert FixedWeights({"2": 2.0, 5: -0.5}).fit(X, Y, qid=QID).coef_.tolist() == expected
    assert FixedWeights().fit(X, Y, qid=QID).coef_.tolist() == [1.0] * 6


def test_the_weights_given_are_not_shared():
    weights = np.ones(6)
    model = FixedWeights(weights).fit(X, Y, qid=QID)
    model.coef_[0] = 7.0
    assert weights[0] == 1.0


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"g": 1.0}, "there is no feature 'g'; there are '1', '2'"),
        ([1.0, 2.0], r"weights have shape \(2,\), but there are 6 features"),
        ({"2": np.nan}, "the weight of feature '2' is not a finite number"),
        ("2=two", "'2=two' is not NAME=NUMBER"),
        ("3", "'3' is not NAME=NUMBER"),
    ],
)
def test_weights_that_do_not_fit_are_refused(weights, message):
    with pytest.raises(LinrankError, match=message):
        FixedWeights(weights).fit(X, Y, qid=QID)
