import itertools
import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from linrank import LinrankError, QueryKFold, RankSVM, make_ranking
from linrank.duals.low_rank import low_rank
from linrank.estimators.fac_rank_svm import FacRankSVM
from linrank.measures import MAP, NDCG

DATA, _ = make_ranking(60, 20, 10)
X, Y, QID = DATA.features, DATA.labels, DATA.qid


# Weights are repetitions exactly, but a long descent may enlarge the rounding by which the two differ; these are short.
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([FacRankSVM(rank=1, C=1e-4), FacRankSVM(rank=20, C=0.01, random_state=3)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def hinge_objective(weights, C, features=X, labels=Y, qid=QID):
    scores = features @ weights
    pairs = (qid[:, None] == qid) & (labels[:, None] > labels)
    return 0.5 * weights @ weights + C * np.maximum(0, 1 - (scores[:, None] - scores))[pairs].sum()


def test_the_documented_attributes_are_there():
    lines = []
    model = FacRankSVM(rank=3, C=1e-3, progress=lines.append).fit(X, Y, qid=QID)
    assert model.coef_.shape == (10,)
    assert model.objective_ == model.history_[-1].value < 0.0
    assert model.gap_ == pytest.approx(model.objective_ + hinge_objective(model.coef_, 1e-3))
    assert model.n_iter_ == len(model.history_) - 1
    assert tuple(lines) == model.history_
    assert model.history_[-1].gap <= 1e-4 < model.history_[-2].gap
    assert model.score(X, Y, qid=QID) > 0.8
    assert model.to_model().method == "fac-ranksvm"


@pytest.mark.parametrize("rank", [1, 5, 20])
@pytest.mark.parametrize("C", [1e-4, 1e-3, 1e-2])
def test_the_objective_is_a_little_above_the_least_of_the_hinge_dual(rank, C):
    exact = RankSVM(C, loss="hinge", tol=1e-7).fit(X, Y, qid=QID)
    model = FacRankSVM(rank, C, tol=1e-6, max_iter=2000).fit(X, Y, qid=QID)
    least = -exact.objective_
    assert least <= model.objective_ <= 0.75 * least
    assert model.objective_ - least <= model.gap_
    assert hinge_objective(model.coef_, C) - exact.objective_ <= model.gap_


def test_the_seed_decides_and_nothing_else():
    first, again, other = (FacRankSVM(random_state=seed).fit(X, Y, qid=QID).coef_ for seed in (1, 1, 2))
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != other.tobytes()
    grouped = FacRankSVM(random_state=1).fit(X, Y, group=[20] * 60)
    assert grouped.coef_.tobytes() == first.tobytes()
    named = FacRankSVM(random_state=1).fit(X, Y, qid=[f"q{q}" for q in QID])
    assert named.coef_.tobytes() == first.tobytes()


def test_mixed_rows_and_other_layouts_give_the_same_ranking():
    usual = FacRankSVM(C=1e-4).fit(X, Y, qid=QID)
    order = np.random.default_rng(0).permutation(len(Y))
    mixed = FacRankSVM(C=1e-4).fit(X[order], Y[order], qid=QID[order])
    np.testing.assert_allclose(mixed.coef_, usual.coef_, rtol=1e-4)
    np.testing.assert_allclose(mixed.predict(X[order]), usual.predict(X)[order], rtol=1e-4)
    compressed = FacRankSVM(C=1e-4).fit(sparse.csr_array(X), Y, qid=QID)
    np.testing.assert_allclose(compressed.coef_, usual.coef_, rtol=1e-4)
    single = FacRankSVM(C=1e-4).fit(X.astype(np.float32), Y, qid=QID)
    np.testing.assert_allclose(single.coef_, usual.coef_, rtol=1e-2)


def test_real_labels_and_one_query_work():
    labels = X[:, 0] - 2.5 * X[:, 1]
    model = FacRankSVM(C=1e-5, max_iter=1000).fit(X, labels, group=[len(Y)])
    pairs = labels[:, None] > labels
    scores = model.predict(X)
    assert np.mean((scores[:, None] > scores)[pairs]) > 0.9


def test_patience_keeps_the_best_weights_on_the_validation_set():
    train, vali = DATA.split(0.2, 0.8)
    model = FacRankSVM(C=1.0, patience=3).fit(
        train.features, train.labels, qid=train.qid, eval_set=[(vali.features, vali.labels)], eval_qid=[vali.qid]
    )
    best = max(values[0] for values in model.eval_history_)
    assert model.score(vali.features, vali.labels, qid=vali.qid) == pytest.approx(best)
    assert len(model.eval_history_) == len(model.history_)
    assert model.objective_ in [line.value for line in model.history_]
    primal = hinge_objective(model.coef_, 1.0, train.features, train.labels, train.qid)
    assert model.gap_ == pytest.approx(model.objective_ + primal)
    # The vectors of the last epoch would not make these weights.
    assert model.factors_ is None
    assert model.ranks_ is None
    with pytest.raises(LinrankError, match="needs eval_set"):
        FacRankSVM(patience=3).fit(X, Y, qid=QID)


def test_the_vectors_are_kept_a_row_each_and_make_the_weights():
    order = np.random.default_rng(0).permutation(len(Y))
    features, labels, qid = X[order], Y[order], QID[order]
    model = FacRankSVM(rank=3, C=0.01).fit(features, labels, qid=qid)
    vectors, weights = model.factors_, np.zeros(X.shape[1])
    assert vectors.shape == (len(Y), 3)
    assert 0.0 <= vectors.min() <= vectors.max() <= np.sqrt(0.01 / 3) * (1 + 1e-12)
    for i, j in itertools.product(range(len(Y)), repeat=2):
        if qid[i] == qid[j] and labels[i] > labels[j]:
            weights += vectors[i] @ vectors[j] * (features[i] - features[j])
    np.testing.assert_allclose(model.coef_, weights, rtol=1e-8, atol=1e-12)
    in_order = list(dict.fromkeys(qid))
    assert model.ranks_.tolist() == [np.linalg.matrix_rank(vectors[qid == query]) for query in in_order]


def test_the_analysis_of_ranks_takes_the_vectors_that_were_kept():
    model = FacRankSVM(rank=2, C=0.01).fit(X, Y, qid=QID)
    found = low_rank(model, DATA)
    pairs = found.matrix(0)
    expected = (model.factors_[pairs.rows] @ model.factors_[pairs.columns].T) * (
        Y[pairs.rows][:, None] > Y[pairs.columns]
    )
    np.testing.assert_allclose(pairs.values, expected)
    with pytest.raises(LinrankError, match="Pass its training data"):
        low_rank(model, DATA.subset([0, 1]))


@pytest.mark.parametrize("scaler_first", [False, True])
def test_grid_search_takes_only_qid(scaler_first):
    ranker = make_pipeline(StandardScaler(), FacRankSVM()) if scaler_first else FacRankSVM()
    name = "facranksvm__C" if scaler_first else "C"
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(ranker, {name: [1e-4, 1e-3]}, cv=QueryKFold(4), error_score="raise")
        search.fit(X, Y, qid=QID)
    assert set(search.best_params_) == {name}
    assert 0.8 < search.best_score_ < 1.0


def test_nothing_to_learn_is_said():
    with pytest.warns(UserWarning, match="no query has two documents with different labels"):
        assert not FacRankSVM().fit(X, np.ones(len(Y)), qid=QID).coef_.any()


def test_an_unfinished_fit_warns():
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2.*Lower C"):
        FacRankSVM(C=1.0, max_iter=2).fit(X, Y, qid=QID)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rank": 0}, "rank=0; use a whole number"),
        ({"rank": 2.5}, "rank=2.5; use a whole number"),
        ({"C": 0}, "C=0"),
        ({"C": np.inf}, "C=inf"),
        ({"tol": -1.0}, "tol=-1.0"),
        ({"max_iter": 0}, "max_iter=0"),
    ],
)
def test_what_cannot_work_is_refused(settings, message):
    with pytest.raises(LinrankError, match=message):
        FacRankSVM(**settings).fit(X, Y, qid=QID)


@pytest.mark.parametrize("rank", [1, 5, 20])
def test_ohsumed_is_ranked_as_well_as_by_the_hinge_ranksvm_whatever_the_rank(made_letor, rank):
    train, test = made_letor.parts("OHSUMED", 1, "train", "test")
    exact, model = RankSVM(FacRankSVM().C, loss="hinge").fit(train), FacRankSVM(rank).fit(train)
    assert MAP.mean(model.predict(test), test) == pytest.approx(MAP.mean(exact.predict(test), test), abs=0.01)
    assert -exact.objective_ <= model.objective_ <= -0.75 * exact.objective_


@pytest.mark.parametrize(("rank", "published"), [(1, 0.3472), (5, 0.3486), (20, 0.3476)])
def test_ohsumed_fold1_is_the_papers_table_7(real_letor, rank, published):
    train, test = real_letor.parts("OHSUMED", 1, "train", "test")
    model = FacRankSVM(rank).fit(train.features, train.labels, qid=train.qid)
    assert MAP.mean(model.predict(test.features), test) == pytest.approx(published, abs=0.004)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_returns_at_once_and_leaves_the_last_point():
    script = textwrap.dedent("""
        import numpy as np, os, signal
        from linrank import make_ranking
        from linrank.estimators.fac_rank_svm import FacRankSVM
        data, _ = make_ranking(300, 20, 10)
        def press(line):
            if line.number == 2:
                os.kill(os.getpid(), signal.SIGINT)
        model = FacRankSVM(C=1.0, tol=0.0, progress=press)
        try:
            model.fit(data.features, data.labels, qid=data.qid)
        except KeyboardInterrupt:
            print("interrupted after", model.n_iter_, np.isfinite(model.coef_).all())
    """)
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert result.stdout.startswith("interrupted after 2 True"), result.stdout + result.stderr


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 1e3, 1e5, "of each its own"])
def test_it_ranks_in_any_units(scale):
    made, _ = make_ranking(40, 15, 8, random_state=2)
    own = 10.0 ** np.random.default_rng(0).uniform(-6, 5, 8)
    data = replace(made, features=made.features * (own if scale == "of each its own" else scale))
    best = (NDCG @ 10).mean(RankSVM().fit(made).predict(made), made)
    model = FacRankSVM().fit(data)
    assert (NDCG @ 10).mean(model.predict(data), data) >= best - 0.03
    assert model.solution_.converged
    # The gap is that of the features as they were divided.
    weights, divided = model.coef_ * model.units_, data.features / model.units_
    hinge = hinge_objective(weights, model.C, divided, data.labels, data.qid)
    assert model.gap_ == pytest.approx(model.objective_ + hinge, rel=1e-6)


def test_features_in_usual_units_are_left_as_they_are():
    assert (FacRankSVM(max_iter=2, tol=0.0).fit(X, Y, qid=QID).units_ == 1.0).all()
