"""Linear support vector regression: its formula, its peer, and scikit-learn's checks."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVR
from sklearn.utils.estimator_checks import parametrize_with_checks

import oracles
from linrank import LinrankError, RankSVM, make_ranking
from linrank.dataset.query_blocks import QueryBlock, cut_into_blocks
from linrank.dataset.with_constant import WithConstant
from linrank.estimators.linear_svr import LinearSVRRanker
from linrank.executors.local import Threads
from linrank.objective.objective import RankingObjective
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.objective.pointwise_losses import (
    EpsilonInsensitive,
    SmoothedEpsilonInsensitive,
    SquaredEpsilonInsensitive,
)
from strategies import datasets

DATA, _ = make_ranking(40, 15, 8, skew=False, correlation=0.0)
X, Y, QID = DATA.features, DATA.labels, DATA.qid
EPSILON = 0.3


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([LinearSVRRanker(loss="l1"), LinearSVRRanker(0.1, epsilon=0.0, n_threads=2)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def value_of(loss, lack):
    u = max(0.0, abs(lack) - EPSILON)
    if isinstance(loss, SquaredEpsilonInsensitive):
        return u * u
    if isinstance(loss, EpsilonInsensitive):
        return u
    return u * u / (2 * loss.width) if u < loss.width else u - loss.width / 2


LOSSES = [
    SquaredEpsilonInsensitive(EPSILON),
    EpsilonInsensitive(EPSILON),
    SmoothedEpsilonInsensitive(EPSILON, 0.5),
]


def block_of(data):
    block: QueryBlock = cut_into_blocks(data, block_bytes=1 << 30)[0]
    return block


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@given(data=datasets(weighted=True, interleaved=False), seed=st.integers(0, 99))
def test_value_slope_and_curvature_equal_the_listed_ones(loss, data, seed):
    block = block_of(data)
    # Off the corners, where one-sided slopes differ.
    scores = np.random.default_rng(seed).standard_normal(block.n_documents)
    at = loss.at(scores, block)
    weights = data.document_weights * np.repeat(data.query_weights, data.queries.sizes)
    rows = range(block.n_documents)

    def document(i, score):
        return weights[i] * value_of(loss, data.labels[i] - score)

    assert at.value == pytest.approx(sum(document(i, scores[i]) for i in rows))
    slopes = [(document(i, scores[i] + 1e-6) - document(i, scores[i] - 1e-6)) / 2e-6 for i in rows]
    np.testing.assert_allclose(at.slopes, slopes, atol=1e-5)
    if at.curvature is not None:
        ahead, behind = (loss.at(scores + h, block).slopes for h in (1e-6, -1e-6))
        np.testing.assert_allclose(at.curvature.diagonal(), (ahead - behind) / 2e-6, atol=1e-4)
        np.testing.assert_allclose(at.curvature.product(scores), at.curvature.diagonal() * scores)
        np.testing.assert_allclose(at.curvature.matrix_product(np.eye(len(scores))), np.diag(at.curvature.diagonal()))
    if at.sums:
        beyond = [weights[i] * max(0.0, abs(data.labels[i] - scores[i]) - EPSILON) for i in rows]
        pulls = -at.slopes
        dual = pulls @ data.labels - EPSILON * np.abs(pulls).sum()
        assert at.sums == pytest.approx({"sharp": sum(beyond), "sharp_dual": dual})


@given(datasets(interleaved=False))
def test_the_constant_that_is_not_stored_is_a_column_of_ones(data):
    block = block_of(data)
    wide = WithConstant(block.features)
    written = np.column_stack([oracles.dense(data.features), np.ones(data.n_documents)])
    rng = np.random.default_rng(0)
    weights, slopes = rng.standard_normal(wide.n_features), rng.standard_normal(wide.n_rows)
    assert (wide.n_rows, wide.n_features) == written.shape
    np.testing.assert_allclose(wide.to_dense(), written)
    np.testing.assert_allclose(wide.product(weights, np.empty(wide.n_rows)), written @ weights, atol=1e-9)
    zeros = np.zeros((2, wide.n_features))
    np.testing.assert_allclose(wide.transposed_product(slopes, zeros[0]), written.T @ slopes, atol=1e-9)
    np.testing.assert_allclose(wide.transposed_square_product(slopes, zeros[1]), (written**2).T @ slopes, atol=1e-8)
    np.testing.assert_allclose(wide.rows(0, 1).to_dense(), written[:1])
    np.testing.assert_allclose(wide.take(np.array([0])).to_dense(), written[:1])
    with Threads(1) as executor:
        blocks = [replace(block, features=wide)]
        objective = RankingObjective(LOSSES[0], L2(), 2.0, PlacedData.of_blocks(blocks, wide.n_features, executor))
        point = objective.at(weights)
        curved = 2.0 * np.diag(LOSSES[0].at(written @ weights, block).curvature.diagonal())
        hessian = np.eye(wide.n_features) + written.T @ curved @ written
        np.testing.assert_allclose(point.hessian_product(weights), hessian @ weights, atol=1e-7)
        np.testing.assert_allclose(point.sampled_hessian(objective.data.sample(10**6)), hessian, atol=1e-7)


def objective_of(model, loss, C, epsilon, features=X, labels=Y, weights=1.0):
    lacks = np.maximum(0, np.abs(labels - features @ model.coef_ - model.intercept_) - epsilon)
    centred = model.intercept_ - np.average(labels, weights=np.broadcast_to(weights, labels.shape))
    return 0.5 * (model.coef_ @ model.coef_ + centred**2) + C * np.sum(weights * lacks ** (2 if loss == "l2" else 1))


@pytest.mark.parametrize("loss", ["l2", "l1"])
@pytest.mark.parametrize("C", [1e-4, 0.01, 0.5])
def test_it_is_liblinears_minimum_on_labels_without_their_mean(loss, C):
    model = LinearSVRRanker(C, loss=loss, epsilon=EPSILON, tol=1e-8 if loss == "l2" else 1e-4).fit(X, Y, qid=QID)
    name = {"l2": "squared_epsilon_insensitive", "l1": "epsilon_insensitive"}[loss]
    peer = LinearSVR(C=C, loss=name, epsilon=EPSILON, dual=True, tol=1e-8, max_iter=100_000, random_state=0)
    peer.fit(X, Y - Y.mean())
    assert model.objective_ == pytest.approx(objective_of(model, loss, C, EPSILON))
    tolerance = 1e-7 if loss == "l2" else 2e-4
    peers = objective_of(peer, loss, C, EPSILON, labels=Y - Y.mean())
    assert model.objective_ == pytest.approx(peers, rel=tolerance)
    assert model.objective_ - model.gap_ <= peers * (1 + 1e-12)
    if loss == "l2":
        np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-3 * np.abs(peer.coef_).max())


def test_the_intercept_is_no_part_of_the_ranking():
    model = LinearSVRRanker(0.01).fit(X, Y, qid=QID)
    np.testing.assert_allclose(model.predict(X), X @ model.coef_)
    assert model.coef_.shape == (8,)
    assert model.to_model().n_features == 8
    shifted = LinearSVRRanker(0.01).fit(X, Y + 1000.0, qid=QID)
    np.testing.assert_allclose(shifted.coef_, model.coef_, rtol=1e-6)
    assert shifted.intercept_ == pytest.approx(model.intercept_ + 1000.0)


@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_threads_queries_order_and_layout_do_not_matter(loss):
    settings = {"C": 0.01, "loss": loss, "tol": 1e-9 if loss == "l2" else 1e-3}
    usual = LinearSVRRanker(**settings, n_threads=1).fit(X, Y, qid=QID).coef_
    assert LinearSVRRanker(**settings, n_threads=3).fit(X, Y, qid=QID).coef_.tobytes() == usual.tobytes()
    order = np.random.default_rng(0).permutation(len(Y))
    interleaved = LinearSVRRanker(**settings).fit(X, Y, qid=QID[order]).coef_
    assert interleaved.tobytes() == usual.tobytes()
    tolerance = {"rtol": 1e-5, "atol": 1e-5 * np.abs(usual).max()}
    mixed = LinearSVRRanker(**settings).fit(X[order], Y[order], qid=QID[order]).coef_
    np.testing.assert_allclose(mixed, usual, **tolerance)
    thin = LinearSVRRanker(**settings).fit(sparse.csr_array(X), Y, qid=QID).coef_
    np.testing.assert_allclose(thin, usual, **tolerance)


def test_weights_of_documents_and_queries_are_repetitions():
    copies = np.random.default_rng(0).integers(0, 3, size=len(Y))
    rows = np.repeat(np.arange(len(Y)), copies)
    repeated = LinearSVRRanker(0.01, tol=1e-10).fit(X[rows], Y[rows], qid=QID[rows])
    weighted = LinearSVRRanker(0.01, tol=1e-10).fit(X, Y, qid=QID, sample_weight=copies)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-6)
    query_weights = np.random.default_rng(1).integers(0, 3, size=40)
    by_query = LinearSVRRanker(0.01, tol=1e-10).fit(X, Y, qid=QID, query_weight=query_weights)
    by_document = LinearSVRRanker(0.01, tol=1e-10).fit(
        X, Y, qid=QID, sample_weight=query_weights[DATA.queries.of_rows()]
    )
    np.testing.assert_allclose(by_query.coef_, by_document.coef_, rtol=1e-9)


def test_a_warm_start_needs_fewer_iterations():
    model = LinearSVRRanker(warm_start=True).fit(X, Y, qid=QID)
    cold = model.n_iter_
    again = model.fit(X, Y, qid=QID)
    assert again.n_iter_ <= cold
    assert again.history_[0].value == pytest.approx(again.objective_, rel=1e-5)


def test_an_unfinished_fit_warns():
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        LinearSVRRanker(10.0, max_iter=1, tol=1e-15).fit(X, Y, qid=QID)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"C": 0}, "C=0"),
        ({"loss": "huber"}, "loss='huber'; use one of 'l2', 'l1'"),
        ({"epsilon": -0.1}, "epsilon=-0.1"),
        ({"epsilon": 100.0}, "epsilon=100.0; every label is within"),
        ({"tol": 0.0}, "tol=0.0"),
        ({"max_iter": 0}, "max_iter=0"),
    ],
)
def test_what_cannot_work_is_refused(settings, message):
    with pytest.raises(LinrankError, match=message):
        LinearSVRRanker(**settings).fit(X, Y, qid=QID)


def test_data_that_says_nothing():
    with pytest.raises(LinrankError, match="every query weight is zero"):
        LinearSVRRanker().fit(X, Y, qid=QID, query_weight=np.zeros(40))
    with pytest.warns(UserWarning, match="every weight is zero"):
        assert not LinearSVRRanker().fit(X, np.ones(len(Y)), qid=QID).coef_.any()


def test_mq2008_is_ranked_as_well_as_by_other_linear_methods(letor):
    train, test = letor.parts("MQ2008", 1, "train", "test")
    assert LinearSVRRanker(0.1).fit(train).score(test) > 0.9 * RankSVM(C=0.01).fit(train).score(test)


@pytest.mark.parametrize("loss", ["l2", "l1"])
@pytest.mark.parametrize("bounds", [None, "non-negative", (-0.02, 0.05), {"1": "-", "4": (0.1, 0.2)}], ids=str)
@pytest.mark.parametrize("with_prior", [False, True], ids=["", "prior"])
def test_bounds_and_a_prior_are_of_the_weights_and_not_of_the_intercept(loss, bounds, with_prior):
    prior = np.linspace(-0.3, 0.4, X.shape[1]) if with_prior else None
    model = LinearSVRRanker(0.01, loss=loss, bounds=bounds, prior=prior).fit(X, Y - 5.0, qid=QID)
    lower, upper = np.full(X.shape[1], -np.inf), np.full(X.shape[1], np.inf)
    if isinstance(bounds, dict):
        upper[0], lower[3], upper[3] = 0.0, 0.1, 0.2
    elif bounds is not None:
        lower[:], upper[:] = (0.0, np.inf) if bounds == "non-negative" else bounds
    assert ((model.coef_ >= lower) & (model.coef_ <= upper)).all()
    centre = np.append(np.zeros(X.shape[1]) if prior is None else prior, (Y - 5.0).mean())

    def value(weights):
        missed = np.maximum(np.abs(X @ weights[:-1] + weights[-1] - Y + 5.0) - 0.1, 0.0)
        return 0.5 * np.sum((weights - centre) ** 2) + 0.01 * np.sum(missed**2 if loss == "l2" else missed)

    found = np.append(model.coef_, model.intercept_)
    assert model.objective_ == pytest.approx(value(found))
    assert model.gap_ <= (1e-6 if loss == "l2" else 1e-3) * model.objective_
    sides = [*zip(lower, upper, strict=True), (None, None)]
    other = optimize.minimize(value, found, method="Powell", bounds=sides).fun
    assert model.objective_ - model.gap_ <= other * (1 + 1e-9)
    assert model.intercept_ < 0.0
    assert ("bounds" in model.objective, "prior" in model.objective) == (bounds is not None, with_prior)
