import subprocess
import sys
import textwrap

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from linrank import LinrankError, RankSVM, make_ranking
from linrank.estimators.reg_rank_svm import RegRankSVM

DATA, _ = make_ranking(40, 15, 8)
X, Y, QID = DATA.features, DATA.labels, DATA.qid
EXACT = {"C": 0.01, "nuclear": 2.0, "tol": 1e-7}


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([RegRankSVM(1.0, 1.0, 0.5, n_threads=2), RegRankSVM(0.1, nuclear=0.0)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_the_documented_attributes_are_there():
    model = RegRankSVM(0.01, 2.0, 40.0, tol=1e-5, keep_dual=True).fit(X, Y, qid=QID)
    assert model.n_iter_ == len(model.history_) - 1
    assert 0.0 <= model.gap_ <= 1e-5 * abs(model.objective_)
    assert model.score(X, Y, qid=QID) > 0.7
    assert model.ranks_.shape == (40,)
    assert 0 < model.ranks_.max() < 14
    value, weights = 0.0, np.zeros(8)
    for query, alpha in zip(DATA.queries.ids, model.dual_, strict=True):
        rows = np.flatnonzero(query == QID)
        rows = rows[np.argsort(Y[rows], kind="stable")]
        higher, lower = rows[Y[rows] > Y[rows].min()], rows[Y[rows] < Y[rows].max()]
        assert alpha.shape == (len(higher), len(lower))
        assert alpha.min() >= 0.0
        assert alpha.max() <= 0.01
        assert not alpha[Y[higher][:, None] <= Y[lower]].any()
        left, sizes, right = np.linalg.svd(alpha, full_matrices=False)
        kept = np.maximum(0.0, sizes - 2.0 / (2 * 40.0))
        value += 2.0 * kept.sum() + 40.0 * np.sum((alpha - left @ np.diag(kept) @ right) ** 2) - alpha.sum()
        weights += alpha.sum(axis=1) @ X[higher] - alpha.sum(axis=0) @ X[lower]
    np.testing.assert_allclose(model.coef_, weights, rtol=1e-9)
    assert model.objective_ == pytest.approx(0.5 * weights @ weights + value, rel=1e-9)
    saved = model.to_model()
    assert saved.method == "reg-ranksvm"
    assert saved.parameters["nuclear"] == 2.0


@pytest.mark.parametrize("C", [0.001, 0.1, 10.0])
def test_without_the_nuclear_norm_it_is_the_hinge_ranksvm(C):
    hinge = RankSVM(C, loss="hinge", tol=1e-8).fit(X, Y, qid=QID)
    for coupling in (None, 0.01, 100.0):
        model = RegRankSVM(C, nuclear=0.0, coupling=coupling, tol=1e-7).fit(X, Y, qid=QID)
        assert -model.objective_ == pytest.approx(hinge.objective_, rel=1e-6)
        assert np.linalg.norm(model.coef_ - hinge.coef_) <= 1e-3 * np.linalg.norm(hinge.coef_)
        assert model.ranks_ is None


def test_it_is_the_hinge_ranksvm_on_letor_data_too(letor):
    (train,) = letor.parts("MQ2008", 1, "train")
    hinge = RankSVM(0.01, loss="hinge", tol=1e-6).fit(train.features, train.labels, qid=train.qid)
    model = RegRankSVM(0.01, nuclear=0.0, tol=1e-6).fit(train.features, train.labels, qid=train.qid)
    assert -model.objective_ == pytest.approx(hinge.objective_, rel=2e-6)
    # Both are within their gaps of the minimum, which hold the weights no closer than this.
    assert np.linalg.norm(model.coef_ - hinge.coef_) <= 3e-3 * np.linalg.norm(hinge.coef_)


def test_the_objective_never_rises_on_letor_data(letor):
    (train,) = letor.parts("OHSUMED", 1, "train")
    model = RegRankSVM(nuclear=3.0).fit(train.features, train.labels, qid=train.qid)
    values = np.array([line.value for line in model.history_])
    assert len(values) > 5
    assert np.all(np.diff(values) <= 0.0)
    assert model.gap_ <= 1e-3 * abs(model.objective_)


def test_a_stronger_nuclear_norm_leaves_lower_ranks():
    ranks = [RegRankSVM(0.01, nuclear).fit(X, Y, qid=QID).ranks_.mean() for nuclear in (0.01, 1.0, 5.0, 1e4)]
    assert ranks == sorted(ranks, reverse=True)
    assert ranks[0] > ranks[1] > ranks[2]
    assert ranks[-1] == 0


def test_weights_do_not_depend_on_threads_order_names_or_layout():
    usual = RegRankSVM(**EXACT).fit(X, Y, qid=QID)
    assert RegRankSVM(**EXACT, n_threads=3).fit(X, Y, qid=QID).coef_.tobytes() == usual.coef_.tobytes()
    order = np.random.default_rng(0).permutation(len(Y))
    mixed = RegRankSVM(**EXACT).fit(X[order], Y[order], qid=[f"q{q}" for q in QID[order]])
    np.testing.assert_allclose(mixed.coef_, usual.coef_, rtol=1e-5)
    np.testing.assert_allclose(RegRankSVM(**EXACT).fit(sparse.csr_array(X), Y, qid=QID).coef_, usual.coef_, rtol=1e-5)
    np.testing.assert_allclose(RegRankSVM(**EXACT).fit(X.astype(np.float32), Y, qid=QID).coef_, usual.coef_, rtol=1e-4)


def test_weights_of_documents_and_queries_are_repetitions():
    copies = np.random.default_rng(0).integers(0, 3, size=len(Y))
    rows = np.repeat(np.arange(len(Y)), copies)
    repeated = RegRankSVM(**EXACT).fit(X[rows], Y[rows], qid=QID[rows])
    weighted = RegRankSVM(**EXACT).fit(X, Y, qid=QID, sample_weight=copies)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-5)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-7)
    np.testing.assert_array_equal(weighted.ranks_, repeated.ranks_)
    twice = RegRankSVM(**EXACT).fit(np.vstack([X, X[:15]]), np.append(Y, Y[:15]), qid=[*QID, *["again"] * 15])
    weighted = RegRankSVM(**EXACT).fit(X, Y, qid=QID, query_weight=[2.0] + [1.0] * 39)
    np.testing.assert_allclose(weighted.coef_, twice.coef_, rtol=1e-5)


def test_a_query_with_many_features_and_one_with_any_labels():
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((60, 3000))
    model = RegRankSVM(0.001, 1.0, tol=1e-5).fit(wide, wide[:, 0], group=[60])
    assert model.gap_ <= 1e-5 * abs(model.objective_)
    assert model.score(wide, wide[:, 0] > 0, group=[60]) > 0.9


def test_a_query_of_more_features_than_fit_in_a_block_is_not_thinned():
    # More than 8 MB in one query: its rows are spread over chunks elsewhere.
    rng = np.random.default_rng(0)
    large = rng.standard_normal((1100, 1000))
    labels = (large[:, 0] + rng.standard_normal(1100) > 1.5).astype(float)
    model = RegRankSVM(1e-5, 1.0, tol=1e-3).fit(large, labels, group=[1100])
    assert model.gap_ <= 1e-3 * abs(model.objective_)


def test_a_warm_start_ends_at_the_same_point_and_progress_sees_each_round():
    lines = []
    model = RegRankSVM(**EXACT, warm_start=True, progress=lines.append).fit(X, Y, qid=QID)
    assert tuple(lines) == model.history_
    cold = model.coef_
    np.testing.assert_allclose(model.set_params(C=0.02).fit(X, Y, qid=QID).set_params(C=0.01).fit(X, Y, qid=QID).coef_,
                               cold, rtol=1e-4)  # fmt: skip


def test_an_unfinished_fit_warns():
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        RegRankSVM(1.0, 5.0, 50.0, max_iter=2, tol=1e-9).fit(X, Y, qid=QID)


def test_nothing_to_learn_is_said():
    with pytest.warns(UserWarning, match="no query has two documents with different labels"):
        assert not RegRankSVM().fit(X, np.ones(len(Y)), qid=QID).coef_.any()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"C": 0.0}, "C=0.0"),
        ({"C": np.inf}, "C=inf"),
        ({"nuclear": -1.0}, r"nuclear=-1.0; use 0 or a positive number: 0 is the hinge RankSVM"),
        ({"coupling": 0.0}, "coupling=0.0; use a positive number, or None"),
        ({"tol": 0.0}, "tol=0.0"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"max_memory": 0.0}, "max_memory=0.0"),
        ({"max_memory": 1e-5}, r"2564 pairs, in rectangles of \d+ cells, need about .* GB; max_memory=1e-05. Raise it"),
        ({"n_threads": 0}, "n_threads=0"),
    ],
)
def test_what_cannot_work_is_refused(settings, message):
    with pytest.raises(LinrankError, match=message):
        RegRankSVM(**settings).fit(X, Y, qid=QID)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_returns_at_once_and_leaves_the_last_point():
    script = textwrap.dedent("""
        import numpy as np, os, signal
        from linrank import make_ranking
        from linrank.estimators.reg_rank_svm import RegRankSVM
        data, _ = make_ranking(30, 20, 10)
        def press(line):
            if line.number == 1:
                os.kill(os.getpid(), signal.SIGINT)
        model = RegRankSVM(1.0, 5.0, 50.0, tol=1e-15, progress=press)
        try:
            model.fit(data.features, data.labels, qid=data.qid)
        except KeyboardInterrupt:
            print("interrupted after", len(model.history_), np.isfinite(model.coef_).all())
    """)
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert result.stdout.startswith("interrupted after 2 True"), result.stdout + result.stderr


@pytest.mark.parametrize("unit", [1e12, 1e15])
def test_the_weight_of_a_large_feature_is_not_what_rounding_leaves(unit):
    """(Sums of a_ij (x_i - x_j) are differences of numbers of the unit; the weight is of its inverse.)"""
    units = np.ones(8)
    units[3] = 1e6
    usual = RegRankSVM().fit(X * units, Y, qid=QID)
    large = RegRankSVM().fit(X * (units * np.where(units > 1.0, unit / 1e6, 1.0)), Y, qid=QID)
    assert large.coef_[3] * unit == pytest.approx(usual.coef_[3] * 1e6, rel=1e-3)
    np.testing.assert_allclose(np.delete(large.coef_, 3), np.delete(usual.coef_, 3), rtol=1e-3, atol=1e-9)
