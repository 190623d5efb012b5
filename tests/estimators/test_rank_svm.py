import subprocess
import sys
import textwrap

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from linrank import LinrankError, QueryKFold, RankSVM, RankSVMCV, make_ranking
from linrank.measures import MeanNDCG, PairwiseAccuracy
from oracles import listed_pairs

DATA, WEIGHTS = make_ranking(60, 20, 10)
X, Y, QID = DATA.features, DATA.labels, DATA.qid


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        RankSVM(solver="tron"),
        RankSVM(loss="hinge"),
        RankSVM(penalty="l1", tol=1e-10),
        RankSVM(penalty="elasticnet"),
        RankSVM(pairs="adjacent", sums="tree", n_threads=2),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_the_documented_attributes_are_there():
    model = RankSVM(C=0.5).fit(X, Y, qid=QID)
    assert model.coef_.shape == (10,)
    margins = model.predict(X)
    pairs = (QID[:, None] == QID) & (Y[:, None] > Y)
    losses = np.maximum(0, 1 - (margins[:, None] - margins))[pairs] ** 2
    assert model.objective_ == pytest.approx(0.5 * model.coef_ @ model.coef_ + 0.5 * losses.sum())
    assert model.gap_ >= 0
    assert model.n_iter_ == len(model.history_) - 1
    assert model.score(X, Y, qid=QID) > 0.8


def test_weights_do_not_depend_on_threads_order_names_or_layout_of_queries():
    usual = RankSVM(tol=1e-12).fit(X, Y, qid=QID)
    assert RankSVM(tol=1e-12, n_threads=3).fit(X, Y, qid=QID).coef_.tobytes() == usual.coef_.tobytes()
    order = np.random.default_rng(0).permutation(len(Y))
    mixed = RankSVM(tol=1e-12).fit(X[order], Y[order], qid=[f"q{q}" for q in QID[order]])
    np.testing.assert_allclose(mixed.coef_, usual.coef_, rtol=1e-6)
    np.testing.assert_allclose(mixed.predict(X[order]), usual.predict(X)[order], rtol=1e-6)
    grouped = RankSVM(tol=1e-12).fit(X, Y, group=[20] * 60)
    assert grouped.coef_.tobytes() == usual.coef_.tobytes()


def test_dense_sparse_and_float32_agree():
    usual = RankSVM(tol=1e-12).fit(X, Y, qid=QID).coef_
    np.testing.assert_allclose(RankSVM(tol=1e-12).fit(sparse.csr_array(X), Y, qid=QID).coef_, usual, rtol=1e-6)
    np.testing.assert_allclose(RankSVM(tol=1e-12).fit(X.astype(np.float32), Y, qid=QID).coef_, usual, rtol=1e-4)


def test_direct_count_and_tree_give_the_same_weights():
    direct, tree = (RankSVM(sums=sums, tol=1e-12).fit(X, Y, qid=QID).coef_ for sums in ("direct", "tree"))
    np.testing.assert_allclose(direct, tree, rtol=1e-8)


def test_query_weights_are_repetitions():
    twice = RankSVM(tol=1e-12).fit(np.vstack([X, X[:20]]), np.append(Y, Y[:20]), qid=[*QID, *["again"] * 20])
    weighted = RankSVM(tol=1e-12).fit(X, Y, qid=QID, query_weight=[2.0] + [1.0] * 59)
    np.testing.assert_allclose(twice.coef_, weighted.coef_, rtol=1e-6)


def test_without_qid_it_warns_and_score_follows():
    with pytest.warns(UserWarning, match="as one query"):
        model = RankSVM().fit(X, Y)
    assert model.score(X, Y) == model.score(X, Y, group=[len(Y)])
    with pytest.raises(LinrankError, match="Pass qid"):
        RankSVM().fit(X, Y, qid=QID).score(X, Y)


def test_data_frames_bring_names_that_predict_checks():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=[f"f{j}" for j in range(10)])
    model = RankSVM().fit(frame, Y, qid=QID)
    assert model.to_model().feature_names == tuple(frame.columns)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[frame.columns[::-1]])


def test_polars_and_arrow_are_accepted():
    polars = pytest.importorskip("polars")
    usual = RankSVM().fit(X, Y, qid=QID)
    frame = polars.DataFrame(X, schema=[f"f{j}" for j in range(10)])
    assert RankSVM().fit(frame, Y, qid=QID).coef_.tobytes() == usual.coef_.tobytes()
    assert RankSVM().fit(frame.to_arrow(), Y, qid=QID).coef_.tobytes() == usual.coef_.tobytes()


@pytest.mark.parametrize("scaler_first", [False, True])
def test_grid_search_takes_only_qid(scaler_first):
    ranker = make_pipeline(StandardScaler(), RankSVM()) if scaler_first else RankSVM()
    name = "ranksvm__C" if scaler_first else "C"
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(ranker, {name: [0.001, 1.0]}, cv=QueryKFold(4), error_score="raise")
        search.fit(X, Y, qid=QID)
    assert set(search.best_params_) == {name}
    assert 0.8 < search.best_score_ < 1.0


def test_folds_are_whole_queries():
    for train, test in QueryKFold(5).split(X, qid=QID):
        assert not set(QID[train]) & set(QID[test])
        assert len(train) + len(test) == len(Y)
    tested = np.concatenate([test for _, test in QueryKFold(7).split(X, groups=QID)])
    assert sorted(tested) == list(range(len(Y)))
    assert QueryKFold(7).get_n_splits() == 7
    with pytest.raises(LinrankError, match="needs to know the queries"):
        next(QueryKFold().split(X))
    with pytest.raises(LinrankError, match="use from 2 to the number of queries"):
        next(QueryKFold(61).split(X, qid=QID))


def test_the_call_pyterrier_makes():
    # PyTerrier's apply_learned_model(..., form="ltr") passes groups and an eval_set this way.
    model = RankSVM().fit(X, Y, group=np.array([20] * 60), eval_set=[(X, Y)], eval_group=[np.array([20] * 60)])
    assert len(model.eval_history_) == len(model.history_)
    assert model.eval_history_[-1][0] == pytest.approx(model.score(X, Y, qid=QID))


def test_patience_keeps_the_best_weights_on_the_validation_set():
    train, vali = DATA.split(0.2, 0.8)
    model = RankSVM(C=1e4, patience=1, tol=1e-12).fit(
        train.features, train.labels, qid=train.qid, eval_set=[(vali.features, vali.labels)], eval_qid=[vali.qid]
    )
    best = max(values[0] for values in model.eval_history_)
    assert model.score(vali.features, vali.labels, qid=vali.qid) == pytest.approx(best)


def test_a_warm_start_needs_fewer_iterations():
    model = RankSVM(warm_start=True).fit(X, Y, qid=QID)
    cold = model.n_iter_
    assert model.fit(X, Y, qid=QID).n_iter_ < cold


def test_progress_is_called_with_every_iteration():
    lines = []
    model = RankSVM(progress=lines.append).fit(X, Y, qid=QID)
    assert tuple(lines) == model.history_


def test_an_unfinished_fit_warns():
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        RankSVM(max_iter=1, tol=1e-14).fit(X, Y, qid=QID)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"C": 0}, "C=0"),
        ({"C": np.inf}, "C=inf"),
        ({"loss": "log"}, "loss='log'; use one of 'squared_hinge', 'hinge'"),
        ({"pairs": "some"}, "pairs='some'"),
        ({"sums": "quick"}, "sums='quick'"),
        ({"solver": "sgd"}, "solver='sgd'"),
        ({"loss": "hinge", "solver": "tron"}, "Hinge has corners, .* Use solver='smoothed'"),
        ({"solver": "smoothed"}, "SquaredHinge has no corners to round. Use solver='newton'"),
        ({"penalty": "l0"}, "penalty='l0'; use one of 'l2', 'l1', 'elasticnet'"),
        ({"penalty": "l1", "solver": "tron"}, "corners or bounds. Use solver='proximal-newton'"),
        ({"penalty": "elasticnet", "l1_ratio": 1.5}, "l1_ratio=1.5"),
        ({"tol": -1.0}, "tol=-1.0"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"n_threads": 0}, "n_threads=0"),
    ],
)
def test_what_cannot_work_is_refused(settings, message):
    with pytest.raises(LinrankError, match=message):
        RankSVM(**settings).fit(X, Y, qid=QID)


def test_eval_sets_that_do_not_fit_are_refused():
    with pytest.raises(LinrankError, match="eval_qid has 1 entries, but eval_set has 2"):
        RankSVM().fit(X, Y, qid=QID, eval_set=[(X, Y), (X, Y)], eval_qid=[QID])
    with pytest.raises(LinrankError, match="either qid"):
        RankSVM().fit(X, Y, qid=QID, eval_set=[(X, Y)])


def test_cross_validation_chooses_a_good_C():
    model = RankSVMCV(one_se=False).fit(X, Y, qid=QID)
    assert model.measures_.shape == (26, 60)
    assert model.Cs_[np.argmax(model.mean_measure_)] == model.C_
    alone = RankSVM(C=model.C_).fit(X, Y, qid=QID)
    assert model.coef_.tobytes() == alone.coef_.tobytes()
    plainer = RankSVMCV(one_se=True).fit(X, Y, qid=QID)
    assert plainer.C_ < model.C_
    best = np.argmax(model.mean_measure_)
    assert plainer.mean_measure_[plainer.Cs_ == plainer.C_] >= model.mean_measure_[best] - model.standard_error_[best]


def test_a_validation_set_decides_where_there_is_one():
    train, vali = DATA.split(0.5, 0.5)
    model = RankSVMCV(Cs=[1e-6, 1e-2, 1.0]).fit(
        train.features, train.labels, qid=train.qid, eval_set=[(vali.features, vali.labels)], eval_qid=[vali.qid]
    )
    assert model.measures_.shape == (3, vali.n_queries)
    for C, mean in zip(model.Cs_, model.mean_measure_, strict=True):
        fit = RankSVM(C=C).fit(train.features, train.labels, qid=train.qid)
        assert fit.score(vali.features, vali.labels, qid=vali.qid) == pytest.approx(mean, abs=2e-3)


def test_impossible_paths_are_refused():
    with pytest.raises(LinrankError, match="positive numbers"):
        RankSVMCV(Cs=[]).fit(X, Y, qid=QID)
    with pytest.warns(UserWarning, match="cannot be cross-validated"):
        assert RankSVMCV(Cs=[0.1, 2.0]).fit(X, Y, group=[len(Y)]).C_ == 2.0


def test_the_pairwise_accuracy_is_that_of_listed_pairs(made_letor):
    train, test = made_letor.parts("MQ2008", 1, "train", "test")
    model = RankSVM(C=2.0**7).fit(train)
    for data in (train, test):
        scores = data.features @ model.coef_
        right = [scores[i] > scores[j] for i, j, _ in listed_pairs(data)]
        assert PairwiseAccuracy.mean(model.predict(data), data) == np.mean(right) > 0.75


def test_mq2008_pairwise_accuracy_is_the_papers(real_letor):
    train, test = real_letor.parts("MQ2008", 1, "train", "test")
    scores = RankSVM(C=2.0**7).fit(train.features, train.labels, qid=train.qid).predict(test.features)
    assert round(100 * PairwiseAccuracy.mean(scores, test), 1) == 82.7
    assert MeanNDCG.mean(scores, test) == pytest.approx(0.458, abs=0.003)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_returns_at_once_and_leaves_the_last_point():
    script = textwrap.dedent("""
        import numpy as np, os, signal
        from linrank import RankSVM, make_ranking
        data, _ = make_ranking(300, 20, 10)
        def press(line):
            if line.number == 1:
                os.kill(os.getpid(), signal.SIGINT)
        model = RankSVM(C=1e6, tol=1e-300, progress=press)
        try:
            model.fit(data.features, data.labels, qid=data.qid)
        except KeyboardInterrupt:
            print("interrupted after", len(model.history_), np.isfinite(model.coef_).all())
    """)
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert result.stdout.startswith("interrupted after 2 True"), result.stdout + result.stderr


def test_a_warm_start_from_other_data_is_refused():
    model = RankSVM(warm_start=True).fit(X, Y, qid=QID)
    with pytest.raises(LinrankError, match="10 weights, but 7 features"):
        model.fit(X[:, :7], Y, qid=QID)


def test_copied_and_summed_columns_of_great_size_are_no_obstacle():
    parts = 1e6 * np.abs(X[:, :3])
    wide = np.column_stack([parts, parts.sum(axis=1), parts[:, 0]])
    model = RankSVM().fit(wide, Y, qid=QID)
    scaled = RankSVM(C=1e12, tol=1e-9).fit(wide / 1e6, Y, qid=QID)
    assert model.score(wide, Y, qid=QID) == pytest.approx(scaled.score(wide / 1e6, Y, qid=QID), abs=0.02)


def test_a_feature_on_another_scale_does_not_stop_it_early():
    rng = np.random.default_rng(0)
    features = rng.standard_normal((300, 3))
    labels = (features[:, 0] + 0.3 * rng.standard_normal(300) > 0).astype(float)
    features[rng.random(300) < 0.4, 2] += 1e6
    model = RankSVM().fit(features, labels, group=[300])
    other = RankSVM().fit(features / [1, 1, 1e6], labels, group=[300])
    weights = other.coef_ / [1, 1, 1e6]
    pairs = labels[:, None] > labels
    margins = (features @ weights)[:, None] - features @ weights
    reachable = 0.5 * weights @ weights + np.sum(np.maximum(0, 1 - margins)[pairs] ** 2)
    assert model.objective_ <= 1.01 * reachable


def test_patience_reports_the_point_it_keeps():
    train, vali = DATA.split(0.2, 0.8)
    model = RankSVM(C=1e4, patience=1, tol=1e-12).fit(
        train.features, train.labels, qid=train.qid, eval_set=[(vali.features, vali.labels)], eval_qid=[vali.qid]
    )
    assert model.objective_ in [line.value for line in model.history_]
    scores = model.predict(train.features)
    same = (train.qid[:, None] == train.qid) & (train.labels[:, None] > train.labels)
    losses = np.maximum(0, 1 - (scores[:, None] - scores))[same] ** 2
    assert model.objective_ == pytest.approx(0.5 * model.coef_ @ model.coef_ + 1e4 * losses.sum(), rel=1e-9)
    with pytest.raises(LinrankError, match="needs eval_set"):
        RankSVM(patience=3).fit(X, Y, qid=QID)


def test_nothing_to_learn_is_said():
    with pytest.warns(UserWarning, match="no query has two documents with different labels"):
        assert not RankSVM().fit(X, np.ones(len(Y)), qid=QID).coef_.any()


def test_the_chosen_C_is_in_the_model():
    model = RankSVMCV(Cs=[0.5]).fit(X, Y, qid=QID).to_model()
    assert model.parameters["C"] == 0.5
    assert RankSVM(C=np.float32(0.25)).fit(X, Y, qid=QID).to_model().parameters["C"] == 0.25
