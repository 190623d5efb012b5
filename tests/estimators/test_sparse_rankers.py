"""FenchelRank, SparseRank and MCPRank: their formulas, their zeros, and scikit-learn's checks."""

import os
import signal

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

import oracles
from linrank import LinrankError, RankSVM, make_ranking
from linrank.estimators.fenchel_rank import FenchelRank
from linrank.estimators.mcp_rank import MCPRank
from linrank.estimators.sparse_rank import SparseRank
from linrank.objective.concave_penalties import MCP, Log, Lp
from linrank.objective.objective import EvaluatedPoint

DATA, WEIGHTS = make_ranking(40, 15, 10, n_informative=4, correlation=0.0)
X, Y, QID = DATA.features, DATA.labels, DATA.qid
RANKERS = [
    FenchelRank(radius=0.5),
    SparseRank(l1=300.0),
    MCPRank(l1=300.0),
    MCPRank(l1=300.0, penalty="log"),
    MCPRank(l1=300.0, penalty="lp"),
]


def fitted(ranker, **settings):
    return type(ranker)(**{**ranker.get_params(), **settings}).fit(X, Y, qid=QID)


def loss_of(weights):
    return oracles.loss_at_scores(DATA, X @ weights, oracles.squared_hinge)[0]


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        FenchelRank(radius=0.1, n_threads=2),
        SparseRank(l1=20.0, n_threads=2),
        MCPRank(l1=5.0, penalty="log"),
        MCPRank(l1=2.0, penalty="lp", n_threads=2),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_fenchel_rank_minimises_its_formula():
    model = fitted(RANKERS[0])
    assert model.objective_ == pytest.approx(loss_of(model.coef_))
    assert np.sum(np.abs(model.coef_)) <= 0.5 * (1 + 1e-12)
    nearer = fitted(RANKERS[0], tol=1e-3)
    assert nearer.objective_ <= model.objective_ <= nearer.objective_ + model.gap_
    assert model.gap_ <= 1e-2 * model.objective_


def test_sparse_rank_minimises_its_formula():
    model = fitted(RANKERS[1])
    assert model.objective_ == pytest.approx(loss_of(model.coef_) + 300.0 * np.sum(np.abs(model.coef_)))
    nearer = fitted(RANKERS[1], tol=1e-10)
    assert nearer.objective_ <= model.objective_ <= nearer.objective_ + model.gap_
    assert model.gap_ <= 1e-4 * model.objective_


@pytest.mark.parametrize(("penalty", "kind"), [("mcp", MCP), ("log", Log), ("lp", Lp)])
def test_mcp_rank_minimises_its_formula_from_the_l1_solution(penalty, kind):
    model = MCPRank(l1=300.0, penalty=penalty).fit(X, Y, qid=QID)
    assert isinstance(model.penalty_, kind)
    assert model.objective_ == pytest.approx(loss_of(model.coef_) + model.penalty_.value(model.coef_))
    start = SparseRank(l1=300.0).fit(X, Y, qid=QID).coef_
    assert model.history_[0].value == pytest.approx(loss_of(start) + model.penalty_.value(start))
    assert model.objective_ < model.history_[0].value
    assert not hasattr(model, "gap_")


def test_mcp_rank_takes_the_shape_it_is_given_and_else_the_size_of_the_l1_solution():
    start = SparseRank(l1=300.0).fit(X, Y, qid=QID).coef_
    usual = np.mean(np.abs(start[start != 0]))
    assert MCPRank(l1=300.0).fit(X, Y, qid=QID).penalty_.shape == pytest.approx(usual / 300.0)
    assert MCPRank(l1=300.0, penalty="log").fit(X, Y, qid=QID).penalty_.shape == pytest.approx(usual)
    assert MCPRank(l1=300.0, penalty="lp").fit(X, Y, qid=QID).penalty_ == Lp(300.0, 0.5, pytest.approx(usual / 100))
    assert MCPRank(300.0, 1e-3).fit(X, Y, qid=QID).penalty_ == MCP(300.0, 1e-3)
    assert MCPRank(300.0, 0.2, penalty="log").fit(X, Y, qid=QID).penalty_ == Log(300.0, 0.2)
    assert MCPRank(300.0, 0.7, penalty="lp").fit(X, Y, qid=QID).penalty_.power == 0.7


@pytest.mark.parametrize("ranker", RANKERS, ids=str)
def test_zeros_are_exact_and_the_documented_attributes_are_there(ranker):
    model = fitted(ranker)
    assert model.coef_.shape == (10,)
    assert np.flatnonzero(model.coef_).tolist() == np.flatnonzero(WEIGHTS).tolist()
    assert not np.signbit(model.coef_[model.coef_ == 0.0]).any()
    assert model.score(X, Y, qid=QID) > 0.9
    assert 1 <= model.n_iter_ <= len(model.history_)
    assert model.history_[-1].value == model.objective_
    saved = model.to_model()
    assert saved.method == model.method
    assert saved.objective == model.objective
    assert saved.objective.startswith("sum over pairs of max(0, 1 - w.(x_i - x_j))^2")


@pytest.mark.parametrize("ranker", RANKERS, ids=str)
def test_threads_layout_and_order_do_not_matter(ranker):
    usual = fitted(ranker, n_threads=1).coef_
    assert fitted(ranker, n_threads=3).coef_.tobytes() == usual.tobytes()
    thin = type(ranker)(**ranker.get_params()).fit(sparse.csr_array(X), Y, qid=QID)
    np.testing.assert_allclose(thin.coef_, usual, rtol=1e-6)
    order = np.random.default_rng(0).permutation(len(Y))
    mixed = type(ranker)(**ranker.get_params()).fit(X[order], Y[order], qid=[f"q{q}" for q in QID[order]])
    np.testing.assert_allclose(mixed.coef_, usual, rtol=1e-6)


@pytest.mark.parametrize("ranker", RANKERS, ids=str)
def test_query_weights_are_repetitions(ranker):
    parts = np.vstack([X, X[:15]]), np.append(Y, Y[:15])
    twice = type(ranker)(**ranker.get_params()).fit(*parts, qid=[*QID, *["again"] * 15])
    weighted = type(ranker)(**ranker.get_params()).fit(X, Y, qid=QID, query_weight=[2.0] + [1.0] * 39)
    np.testing.assert_allclose(twice.coef_, weighted.coef_, rtol=1e-6)


def test_fenchel_and_sparse_rank_find_the_same_model():
    penalised = fitted(RANKERS[1], tol=1e-8)
    within = fitted(RANKERS[0], radius=float(np.sum(np.abs(penalised.coef_))), tol=1e-3)
    assert within.objective_ == pytest.approx(loss_of(penalised.coef_), rel=1e-3)


def test_progress_is_called_with_every_iteration():
    for ranker in RANKERS:
        lines = []
        assert fitted(ranker, progress=lines.append).history_ == tuple(lines)


def test_data_without_pairs_has_zero_weights_and_a_warning():
    for ranker in RANKERS:
        with pytest.warns(UserWarning, match="no query has two documents"):
            model = type(ranker)(**ranker.get_params()).fit(np.eye(4), np.ones(4), qid=[1, 1, 2, 2])
        assert model.coef_.tolist() == [0.0] * 4


def test_an_unfinished_fit_warns():
    for ranker in (FenchelRank(radius=5.0), SparseRank(l1=10.0), MCPRank(l1=50.0)):
        with pytest.warns(ConvergenceWarning, match="max_iter=1"):
            fitted(ranker, max_iter=1, tol=1e-7)


@pytest.mark.parametrize("ranker", RANKERS[:3], ids=str)
def test_ctrl_c_leaves_the_last_point(ranker):
    def press(line):
        if line.number == 1:
            os.kill(os.getpid(), signal.SIGINT)

    model = type(ranker)(**{**ranker.get_params(), "progress": press, "tol": 1e-12})
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, qid=QID)
    assert np.isfinite(model.coef_).all()
    assert len(model.history_) >= 2


def test_ctrl_c_on_the_way_to_the_l1_solution_leaves_a_point_of_the_right_objective(monkeypatch):
    calls = []
    lower_bound = EvaluatedPoint.lower_bound

    def press(point):
        calls.append(point)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return lower_bound(point)

    monkeypatch.setattr(EvaluatedPoint, "lower_bound", press)
    model = MCPRank(l1=300.0)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, qid=QID)
    assert model.coef_.any()
    assert model.objective_ == pytest.approx(loss_of(model.coef_) + model.penalty_.value(model.coef_))
    assert not hasattr(model, "gap_")


@pytest.mark.parametrize(
    ("ranker", "message"),
    [
        (FenchelRank(radius=0), "radius=0"),
        (FenchelRank(tol=0), "tol=0"),
        (FenchelRank(max_iter=0), "max_iter=0"),
        (SparseRank(l1=0), "l1=0; use a positive number: for weights without zeros there is RankSVM"),
        (SparseRank(l1=np.inf), "l1=inf"),
        (SparseRank(n_threads=0), "n_threads=0"),
        (MCPRank(l1=-1), "l1=-1"),
        (MCPRank(penalty="scad"), "penalty='scad'; use one of 'mcp', 'log', 'lp'"),
        (MCPRank(shape=0), "shape=0"),
        (MCPRank(shape=1.0, penalty="lp"), "the power of 'lp' must be below 1"),
    ],
)
def test_what_cannot_work_is_refused(ranker, message):
    with pytest.raises(LinrankError, match=message):
        ranker.fit(X, Y, qid=QID)


def test_ohsumed_is_ranked_about_as_well_with_a_few_of_its_features(letor):
    train, test = letor.parts("OHSUMED", 1, "train", "test")
    with_all, l1 = RankSVM(C=0.01).fit(train).score(test), 0.025 * letor.known["OHSUMED"].n_pairs
    for ranker in (SparseRank(l1), FenchelRank(radius=1.0), MCPRank(l1)):
        model = ranker.fit(train)
        assert np.count_nonzero(model.coef_) <= 12
        assert model.score(test) > 0.9 * with_all
