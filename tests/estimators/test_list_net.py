"""ListNet: exact, sparse if asked, and what it makes of weights and of queries of equal labels."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from linrank import LinrankError, RankSVM, make_ranking
from linrank.estimators.list_net import ListNet

DATA, _ = make_ranking(60, 20, 10, skew=False)
X, Y, QID = DATA.features, DATA.labels, DATA.qid


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([ListNet(penalty="l1", tol=1e-10), ListNet(100.0, n_threads=2)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def softmax(values):
    powers = np.exp(values - values.max())
    return powers / powers.sum()


def cross_entropy(weights, X=X, Y=Y, QID=QID):
    """The sum over queries and its gradient."""
    value, gradient = 0.0, np.zeros(len(weights))
    for query in np.unique(QID):
        rows = query == QID
        found, wanted = softmax(X[rows] @ weights), softmax(Y[rows])
        value -= wanted @ np.log(found)
        gradient += X[rows].T @ (found - wanted)
    return value, gradient


def test_it_finds_the_minimum_that_a_general_solver_finds():
    def objective(weights):
        value, gradient = cross_entropy(weights)
        return 0.5 * weights @ weights + 3.0 * value, weights + 3.0 * gradient

    other = minimize(objective, np.zeros(10), jac=True, options={"gtol": 1e-9})
    model = ListNet(C=3.0, tol=1e-12).fit(X, Y, qid=QID)
    np.testing.assert_allclose(model.coef_, other.x, rtol=1e-5, atol=1e-8)
    assert model.objective_ == pytest.approx(objective(model.coef_)[0], rel=1e-12)
    assert model.objective_ == pytest.approx(other.fun, rel=1e-12)
    assert model.n_iter_ == len(model.history_) - 1
    assert model.score(X, Y, qid=QID) > 0.8
    assert model.to_model().method == "listnet"
    assert model.to_model().objective.startswith("w.w / 2 + C * sum over queries of the cross entropy")


@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize("max_iter", [1, 2, 100])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_gap_is_never_less_than_what_is_left(penalty, max_iter):
    exact = ListNet(0.5, penalty=penalty, tol=1e-13).fit(X, Y, qid=QID)
    model = ListNet(0.5, penalty=penalty, max_iter=max_iter).fit(X, Y, qid=QID)
    assert model.objective_ - exact.objective_ <= model.gap_ * (1 + 1e-9) + 1e-10
    if max_iter == 100:
        assert model.objective_ - exact.objective_ <= 1e-6 * model.objective_


@pytest.mark.parametrize("C", [0.05, 0.5, 20.0])
def test_with_l1_the_weights_meet_the_condition_of_the_minimum(C):
    model = ListNet(C, penalty="l1", tol=1e-13).fit(X, Y, qid=QID)
    value, gradient = cross_entropy(model.coef_)
    assert model.objective_ == pytest.approx(np.abs(model.coef_).sum() + C * value, rel=1e-12)
    used = model.coef_ != 0
    np.testing.assert_allclose(C * gradient[used], -np.sign(model.coef_[used]), atol=1e-5)
    assert np.all(np.abs(C * gradient[~used]) <= 1 + 1e-5)
    assert {0.05: 0, 0.5: 1, 20.0: 8}[C] <= used.sum() <= {0.05: 3, 0.5: 8, 20.0: 10}[C]


def test_weights_do_not_depend_on_threads_order_names_or_layout():
    usual = ListNet(tol=1e-12).fit(X, Y, qid=QID)
    assert ListNet(tol=1e-12, n_threads=3).fit(X, Y, qid=QID).coef_.tobytes() == usual.coef_.tobytes()
    order = np.random.default_rng(0).permutation(len(Y))
    mixed = ListNet(tol=1e-12).fit(X[order], Y[order], qid=[f"q{q}" for q in QID[order]])
    np.testing.assert_allclose(mixed.coef_, usual.coef_, rtol=1e-6)
    thin = ListNet(tol=1e-12).fit(sparse.csr_array(X), Y, qid=QID)
    np.testing.assert_allclose(thin.coef_, usual.coef_, rtol=1e-6)
    half = ListNet(tol=1e-12).fit(X.astype(np.float32), Y, group=[20] * 60)
    np.testing.assert_allclose(half.coef_, usual.coef_, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_weights_of_documents_and_queries_are_repetitions(penalty):
    model = ListNet(penalty=penalty, tol=1e-12)
    copies = np.random.default_rng(0).integers(0, 3, size=len(Y))
    rows = np.repeat(np.arange(len(Y)), copies)
    repeated = model.fit(X[rows], Y[rows], qid=QID[rows]).coef_
    np.testing.assert_allclose(model.fit(X, Y, qid=QID, sample_weight=copies).coef_, repeated, rtol=1e-5, atol=1e-8)
    twice = model.fit(np.vstack([X, X[:20]]), np.append(Y, Y[:20]), qid=[*QID, *["again"] * 20]).coef_
    weighted = model.fit(X, Y, qid=QID, query_weight=[2.0] + [1.0] * 59).coef_
    np.testing.assert_allclose(weighted, twice, rtol=1e-5, atol=1e-8)


def test_a_query_of_equal_labels_counts_and_one_of_one_document_does_not():
    rest = np.arange(len(Y)) >= 20
    labels = np.where(rest, Y, 1.0)
    with_it = ListNet(tol=1e-12).fit(X, labels, qid=QID)
    without = ListNet(tol=1e-12).fit(X[rest], Y[rest], qid=QID[rest])
    assert np.linalg.norm(with_it.coef_) < np.linalg.norm(without.coef_)
    one = ListNet(tol=1e-12).fit(X[19:], Y[19:], qid=QID[19:])
    np.testing.assert_allclose(one.coef_, without.coef_, rtol=1e-6)


def test_nothing_to_learn_is_said():
    with pytest.warns(UserWarning, match="no query has two documents with different labels"):
        assert not ListNet().fit(X, np.ones(len(Y)), qid=QID).coef_.any()
    with pytest.warns(UserWarning, match="no query has two documents with different labels"):
        assert not ListNet().fit(X, Y, qid=np.arange(len(Y))).coef_.any()


def test_labels_of_any_size_and_negative_ones_are_taken():
    shifted = ListNet(tol=1e-12).fit(X, Y - 5000.0, qid=QID)
    np.testing.assert_allclose(shifted.coef_, ListNet(tol=1e-12).fit(X, Y, qid=QID).coef_, rtol=1e-6)
    assert np.isfinite(ListNet().fit(X, 1e4 * Y, qid=QID).coef_).all()


def test_patience_keeps_the_best_weights_on_the_validation_set_and_reports_them():
    train, vali = DATA.split(0.2, 0.8)
    model = ListNet(C=1e4, patience=1, tol=1e-14).fit(
        train.features, train.labels, qid=train.qid, eval_set=[(vali.features, vali.labels)], eval_qid=[vali.qid]
    )
    assert model.score(vali.features, vali.labels, qid=vali.qid) == pytest.approx(max(model.eval_history_)[0])
    value, gradient = cross_entropy(model.coef_, train.features, train.labels, train.qid)
    assert model.objective_ == pytest.approx(0.5 * model.coef_ @ model.coef_ + 1e4 * value, rel=1e-9)
    assert model.gap_ == pytest.approx(0.5 * np.sum((model.coef_ + 1e4 * gradient) ** 2), rel=1e-4)
    with pytest.raises(LinrankError, match="needs eval_set"):
        ListNet(patience=3).fit(X, Y, qid=QID)


def test_a_warm_start_needs_fewer_iterations_and_progress_sees_each():
    lines = []
    model = ListNet(warm_start=True, progress=lines.append).fit(X, Y, qid=QID)
    assert tuple(lines) == model.history_
    cold = model.n_iter_
    assert model.fit(X, Y, qid=QID).n_iter_ < cold
    with pytest.raises(LinrankError, match="10 weights, but 7 features"):
        model.fit(X[:, :7], Y, qid=QID)


def test_an_unfinished_fit_warns():
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        ListNet(max_iter=1, tol=1e-14).fit(X, Y, qid=QID)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"C": 0}, "C=0"),
        ({"C": np.inf}, "C=inf"),
        ({"penalty": "l0"}, "penalty='l0'; use one of 'l2', 'l1'"),
        ({"tol": -1.0}, "tol=-1.0"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"n_threads": 0}, "n_threads=0"),
        ({"measure": "quality"}, "quality"),
    ],
)
def test_what_cannot_work_is_refused(settings, message):
    with pytest.raises(LinrankError, match=message):
        ListNet(**settings).fit(X, Y, qid=QID)


def test_a_few_features_rank_ohsumed_as_well_as_ranksvm_with_all(letor):
    # Both C are the best on the real validation parts, of powers of 10 and thrice them for ListNet, of 10 for RankSVM.
    kept, ours, theirs = [], [], []
    for fold in range(1, 6):
        train, test = letor.parts("OHSUMED", fold, "train", "test")
        few = ListNet(3.0, penalty="l1").fit(train.features, train.labels, qid=train.qid)
        rival = RankSVM(C=1e-4).fit(train.features, train.labels, qid=train.qid)
        kept.append(np.count_nonzero(few.coef_))
        ours.append(few.score(test.features, test.labels, qid=test.qid))
        theirs.append(rival.score(test.features, test.labels, qid=test.qid))
    assert np.mean(kept) < 45 / 4
    assert np.mean(ours) > 0.98 * np.mean(theirs)
