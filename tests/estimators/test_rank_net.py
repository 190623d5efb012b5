"""RankNet is exact; LambdaRank descends on what moves with the order, keeps its best point, and cannot diverge."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from linrank import LinrankError, RankSVM, make_ranking
from linrank.estimators.lambda_rank import LambdaRank
from linrank.estimators.rank_net import RankNet
from linrank.executors.local import Threads
from linrank.measures import NDCG
from linrank.objective.logistic_pairs import NDCGWeightedLogistic
from linrank.objective.objective import RankingObjective
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.solvers.lambda_gradient import LambdaGradient

DATA, _ = make_ranking(60, 20, 10, skew=False)
X, Y, QID = DATA.features, DATA.labels, DATA.qid
HIGHER, LOWER = np.nonzero((QID[:, None] == QID) & (Y[:, None] > Y))
RANKERS = [RankNet(0.1, tol=1e-12), LambdaRank()]


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([RankNet(penalty="l1", tol=1e-10), LambdaRank(0.1, max_iter=50, n_threads=2)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def logistic_sum(weights):
    """The sum over listed pairs and its gradient."""
    differences = X[HIGHER] - X[LOWER]
    margins = differences @ weights
    return np.logaddexp(0, -margins).sum(), -differences.T @ (1 / (1 + np.exp(margins)))


def test_it_finds_the_minimum_that_a_general_solver_finds():
    def objective(weights):
        value, gradient = logistic_sum(weights)
        return 0.5 * weights @ weights + 0.1 * value, weights + 0.1 * gradient

    other = minimize(objective, np.zeros(10), jac=True, options={"gtol": 1e-9})
    model = RankNet(C=0.1, tol=1e-12).fit(X, Y, qid=QID)
    np.testing.assert_allclose(model.coef_, other.x, rtol=1e-5, atol=1e-8)
    assert model.objective_ == pytest.approx(objective(model.coef_)[0], rel=1e-12)
    assert model.objective_ == pytest.approx(other.fun, rel=1e-12)
    assert model.n_iter_ == len(model.history_) - 1
    assert model.score(X, Y, qid=QID) > 0.8
    assert model.to_model().method == "ranknet"


@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize("max_iter", [1, 2, 100])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_gap_is_never_less_than_what_is_left(penalty, max_iter):
    exact = RankNet(0.01, penalty=penalty, tol=1e-13).fit(X, Y, qid=QID)
    model = RankNet(0.01, penalty=penalty, max_iter=max_iter).fit(X, Y, qid=QID)
    assert model.objective_ - exact.objective_ <= model.gap_ * (1 + 1e-9) + 1e-10
    if max_iter == 100:
        assert model.objective_ - exact.objective_ <= 1e-6 * model.objective_


def test_with_l1_the_weights_meet_the_condition_of_the_minimum():
    model = RankNet(0.01, penalty="l1", tol=1e-13).fit(X, Y, qid=QID)
    value, gradient = logistic_sum(model.coef_)
    assert model.objective_ == pytest.approx(np.abs(model.coef_).sum() + 0.01 * value, rel=1e-12)
    used = model.coef_ != 0
    assert 1 <= used.sum() < 10
    np.testing.assert_allclose(0.01 * gradient[used], -np.sign(model.coef_[used]), atol=1e-5)
    assert np.all(np.abs(0.01 * gradient[~used]) <= 1 + 1e-5)


@pytest.mark.parametrize("ranker", RANKERS, ids=["ranknet", "lambdarank"])
def test_weights_do_not_depend_on_threads_order_names_or_layout(ranker):
    usual = ranker.fit(X, Y, qid=QID).coef_
    assert ranker.set_params(n_threads=3).fit(X, Y, qid=QID).coef_.tobytes() == usual.tobytes()
    assert ranker.set_params(n_threads=None).fit(X, Y, group=[20] * 60).coef_.tobytes() == usual.tobytes()
    order = np.random.default_rng(0).permutation(len(Y))
    mixed = ranker.fit(X[order], Y[order], qid=[f"q{q}" for q in QID[order]]).coef_
    np.testing.assert_allclose(mixed, usual, rtol=1e-6)
    np.testing.assert_allclose(ranker.fit(sparse.csr_array(X), Y, qid=QID).coef_, usual, rtol=1e-6)


@pytest.mark.parametrize("ranker", RANKERS, ids=["ranknet", "lambdarank"])
def test_weights_of_documents_and_queries_are_repetitions(ranker):
    copies = np.random.default_rng(0).integers(0, 3, size=len(Y))
    rows = np.repeat(np.arange(len(Y)), copies)
    repeated = ranker.fit(X[rows], Y[rows], qid=QID[rows]).coef_
    np.testing.assert_allclose(ranker.fit(X, Y, qid=QID, sample_weight=copies).coef_, repeated, rtol=1e-6)
    twice = ranker.fit(np.vstack([X, X[:20]]), np.append(Y, Y[:20]), qid=[*QID, *["again"] * 20]).coef_
    np.testing.assert_allclose(ranker.fit(X, Y, qid=QID, query_weight=[2.0] + [1.0] * 59).coef_, twice, rtol=1e-6)


@pytest.mark.parametrize("ranker", RANKERS, ids=["ranknet", "lambdarank"])
def test_queries_without_pairs_change_nothing_and_nothing_to_learn_is_said(ranker):
    rest = np.arange(len(Y)) >= 20
    labels = np.where(rest, Y, 1.0)
    np.testing.assert_allclose(
        ranker.fit(X, labels, qid=QID).coef_, ranker.fit(X[rest], Y[rest], qid=QID[rest]).coef_, rtol=1e-6
    )
    with pytest.warns(UserWarning, match="no query has two documents with different labels"):
        assert not ranker.fit(X, np.ones(len(Y)), qid=QID).coef_.any()


@pytest.mark.parametrize("ranker", [RankNet(1e4, tol=1e-14), LambdaRank(1e4)], ids=["ranknet", "lambdarank"])
def test_patience_keeps_the_best_weights_on_the_validation_set(ranker):
    train, vali = DATA.split(0.2, 0.8)
    ranker.set_params(patience=2)
    model = ranker.fit(
        train.features, train.labels, qid=train.qid, eval_set=[(vali.features, vali.labels)], eval_qid=[vali.qid]
    )
    assert len(model.eval_history_) == len(model.history_)
    assert model.score(vali.features, vali.labels, qid=vali.qid) == pytest.approx(max(model.eval_history_)[0])
    assert model.objective_ in [line.value for line in model.history_]
    with pytest.raises(LinrankError, match="needs eval_set"):
        ranker.fit(X, Y, qid=QID)


def test_a_warm_start_needs_fewer_iterations_and_progress_sees_each():
    lines = []
    model = RankNet(warm_start=True, progress=lines.append).fit(X, Y, qid=QID)
    assert tuple(lines) == model.history_
    cold = model.n_iter_
    assert model.fit(X, Y, qid=QID).n_iter_ < cold


@pytest.mark.parametrize("ranker", [RankNet, LambdaRank])
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"C": 0}, "C=0"),
        ({"C": np.nan}, "C=nan"),
        ({"tol": 0.0}, "tol=0.0"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"n_threads": 0}, "n_threads=0"),
    ],
)
def test_what_cannot_work_is_refused(ranker, settings, message):
    with pytest.raises(LinrankError, match=message):
        ranker(**settings).fit(X, Y, qid=QID)


# LambdaRank.


def changes_of_ndcg(scores):
    """How much the swap of each listed pair would change the NDCG of its query; the scores have no ties."""
    changes = np.zeros((len(Y), len(Y)))
    for query in np.unique(QID):
        rows = np.flatnonzero(query == QID)
        b = 1 / np.log2(2 + np.argsort(np.argsort(-scores[rows])))
        gains = 2.0 ** Y[rows] - 1
        ideal = np.sort(gains)[::-1] @ (1 / np.log2(2 + np.arange(len(rows))))
        changes[np.ix_(rows, rows)] = np.abs((gains[:, None] - gains) * (b[:, None] - b)) / max(ideal, 1e-300)
    return changes[HIGHER, LOWER]


def test_the_documented_attributes_are_there():
    model = LambdaRank(0.5).fit(X, Y, qid=QID)
    scores = model.predict(X)
    losses = changes_of_ndcg(scores) * np.logaddexp(0, -(scores[HIGHER] - scores[LOWER]))
    assert model.objective_ == pytest.approx(0.5 * model.coef_ @ model.coef_ + 0.5 * losses.sum(), rel=1e-9)
    assert model.n_iter_ == len(model.history_) - 1
    assert not hasattr(model, "gap_")
    assert model.score(X, Y, qid=QID) > 0.8
    assert model.to_model().method == "lambdarank"
    assert "penalty" not in model.get_params()


def test_without_validation_the_best_point_on_the_training_data_is_kept():
    points = []

    def remember(line, weights):
        points.append((line.value, NDCG.mean(X @ weights, DATA)))

    with Threads(1) as executor:
        objective = RankingObjective(NDCGWeightedLogistic(), L2(), 1e3, PlacedData.of(DATA, executor))
        found = LambdaGradient(1e-9, max_iterations=60).minimize(objective, watch=remember)
    best = max(ndcg for _, ndcg in points)
    assert NDCG.mean(X @ found.weights, DATA) == pytest.approx(best)
    assert found.value == [value for value, ndcg in points if ndcg > best - 1e-9][-1]
    assert found.value != points[-1][0]


def test_a_step_lowers_the_objective_with_its_weights_held():
    weights = [np.zeros(10)]
    with Threads(1) as executor:
        objective = RankingObjective(NDCGWeightedLogistic(), L2(), 1.0, PlacedData.of(DATA, executor))
        history = (
            LambdaGradient(1e-9, max_iterations=20)
            .minimize(objective, np.full(10, 0.1), watch=lambda _, there: weights.append(there))
            .history
        )
    for here, there, line in zip(weights[1:-1], weights[2:], history, strict=False):
        held = changes_of_ndcg(X @ here)
        values = [0.5 * w @ w + held @ np.logaddexp(0, -((X[HIGHER] - X[LOWER]) @ w)) for w in (here, there)]
        assert values[0] == pytest.approx(line.value)
        # By at least what the parabola promises.
        assert values[1] <= values[0] - 0.5 * line.step * line.gradient_norm**2 * (1 - 1e-9)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_it_diverges_for_no_size_of_features_and_no_C(scale):
    for C in (1e-6, 1.0, 1e6):
        model = LambdaRank(C, max_iter=50, tol=1e-6).fit(scale * X, Y, qid=QID)
        # Each weight stays within the largest slope the loss can have: that of every pair the wrong way round.
        most = C * scale * np.abs(X[HIGHER] - X[LOWER]).sum(axis=0)
        assert np.all(np.abs(model.coef_) <= most)
        assert all(0 < line.step <= 1 for line in model.history_ if line.gradient_norm > 0)
        # (A tiny C leaves the weights near zero, and only the direction of the first gradients.)
        assert C * scale**2 < 1 or model.score(scale * X, Y, qid=QID) > 0.8


def test_it_stops_where_the_gradient_is_a_share_of_that_at_zero():
    model = LambdaRank(0.01, tol=0.05).fit(X, Y, qid=QID)
    first, last = model.history_[0], model.history_[-1]
    assert last.gradient_norm <= 0.05 * first.gradient_norm
    assert all(line.gradient_norm > 0.05 * first.gradient_norm for line in model.history_[:-1])
    # The share is of the gradient at 0 wherever it starts.
    again = LambdaRank(0.01, tol=0.05, warm_start=True)
    again.fit(X, Y, qid=QID).fit(X, Y, qid=QID)
    assert again.history_[0].gap == pytest.approx(again.history_[0].gradient_norm / first.gradient_norm)
    assert len(again.history_) <= len(model.history_)
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        LambdaRank(max_iter=2).fit(X, Y, qid=QID)


def test_with_an_eval_set_and_no_patience_the_best_point_on_it_is_kept():
    train, vali = DATA.split(0.3, 0.7)
    model = LambdaRank(1e3, measure="map").fit(
        train.features, train.labels, qid=train.qid, eval_set=(vali.features, vali.labels), eval_qid=vali.qid
    )
    assert len(model.eval_history_) == len(model.history_)
    kept = [line.value for line in model.history_].index(model.objective_)
    assert model.eval_history_[kept] == max(model.eval_history_)


def test_it_ranks_mq2008_as_well_as_ranksvm(letor):
    ours, theirs = [], []
    for fold in range(1, 6):
        train, test = letor.parts("MQ2008", fold, "train", "test")
        for ranker, scores in ((LambdaRank(), ours), (RankSVM(C=1e-3), theirs)):
            ranker.fit(train.features, train.labels, qid=train.qid)
            scores.append(ranker.score(test.features, test.labels, qid=test.qid))
    assert np.mean(ours) > 0.98 * np.mean(theirs)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_returns_at_once_and_leaves_the_best_point():
    script = textwrap.dedent("""
        import numpy as np, os, signal
        from linrank import make_ranking
        from linrank.estimators.lambda_rank import LambdaRank
        data, _ = make_ranking(300, 20, 10)
        def press(line):
            if line.number == 1:
                os.kill(os.getpid(), signal.SIGINT)
        model = LambdaRank(tol=1e-15, max_iter=10**9, progress=press)
        try:
            model.fit(data.features, data.labels, qid=data.qid)
        except KeyboardInterrupt:
            print("interrupted after", model.n_iter_, np.isfinite(model.coef_).all())
    """)
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert result.stdout.startswith("interrupted after 1 True"), result.stdout + result.stderr
