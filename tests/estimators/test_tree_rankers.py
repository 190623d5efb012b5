"""Rankers made of trees behind the same face: what they see and what they count."""

import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from linrank import LinrankError, make_ranking
from linrank.errors import MissingDependencyError
from linrank.estimators import lambda_mart, tree_rankers
from linrank.estimators.lambda_mart import LightGBMRanker, XGBoostRanker
from linrank.estimators.tree_rankers import GradientBoostedTrees, RandomForest

DATA, _ = make_ranking(60, 20, 6, n_informative=3)
X, Y, QID = DATA.features, DATA.labels, DATA.qid

# One thread: these are small trees, and threads that wait for one another take longer.
QUICK = {"n_trees": 10, "n_threads": 1}
RANKERS = [
    GradientBoostedTrees(**QUICK, min_leaf=5),
    RandomForest(**QUICK, min_leaf=5),
    LightGBMRanker(**QUICK, min_leaf=5),
    XGBoostRanker(**QUICK),
]
LAMBDA_MART = RANKERS[2:]


@pytest.fixture(autouse=True)
def the_library_is_there(request):
    """Skips tests of rankers whose library is not installed."""
    given = getattr(request.node, "callspec", None)
    for value in given.params.values() if given else ():
        if isinstance(value, lambda_mart.LambdaMART):
            pytest.importorskip(value.library)


def fitted(ranker, features=X, labels=Y, qid=QID, settings=None, **weights):
    return clone(ranker).set_params(**(settings or {})).fit(features, labels, qid=qid, **weights)


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: type(ranker).__name__)
def test_they_rank_what_they_were_trained_on_better_than_chance(ranker):
    model = fitted(ranker)
    assert model.score(X, Y, qid=QID) > fitted(ranker, labels=np.random.default_rng(0).permutation(Y)).score(
        X, Y, qid=QID
    )
    assert model.n_iter_ == 10
    assert not hasattr(model, "to_model")
    with pytest.raises(LinrankError, match="Pass qid"):
        model.score(X, Y)


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: type(ranker).__name__)
def test_features_that_are_not_counted_make_no_difference(ranker):
    # Three columns of noise, and room for a few splits only.
    shallow = {"max_depth": 1} if isinstance(ranker, XGBoostRanker) else {"min_leaf": 200}
    model = fitted(ranker, settings={**shallow, "n_trees": 2})
    used = model._columns_used()
    assert 0 < model.feature_count_ == len(used) < 6
    scores = model.predict(X)
    for column in range(6):
        changed = X.copy()
        changed[:, column] = np.random.default_rng(column).permutation(changed[:, column])
        assert (model.predict(changed) == scores).all() == (column not in used)


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: type(ranker).__name__)
def test_the_same_data_gives_the_same_trees_for_any_number_of_threads(ranker):
    usual = fitted(ranker).predict(X)
    assert fitted(ranker).predict(X).tobytes() == usual.tobytes()
    assert fitted(ranker, settings={"n_threads": 2}).predict(X).tobytes() == usual.tobytes()


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: type(ranker).__name__)
def test_sparse_rows_mean_what_dense_ones_do(ranker):
    thin = np.where(np.abs(X) < 0.5, 0.0, X)
    dense, compressed = fitted(ranker, thin), fitted(ranker, sparse.csr_array(thin))
    np.testing.assert_allclose(compressed.predict(sparse.csr_array(thin)), dense.predict(thin), rtol=1e-5)
    np.testing.assert_allclose(compressed.predict(thin), dense.predict(thin), rtol=1e-5)


def test_a_forest_takes_the_librarys_own_sparse_rows_with_their_long_offsets():
    data, _ = make_ranking(20, 20, 30, density=0.2)
    rows = data.features.copy()
    rows.indptr = rows.indptr.astype(np.int64)
    scores = RandomForest(3).fit(rows, data.labels, qid=data.qid).predict(rows)
    np.testing.assert_array_equal(scores, RandomForest(3).fit(rows.toarray(), data.labels, qid=data.qid).predict(rows))


@pytest.mark.parametrize("ranker", LAMBDA_MART, ids=lambda ranker: type(ranker).__name__)
def test_queries_may_be_interleaved(ranker):
    usual = fitted(ranker).predict(X)
    # Documents of one query after those of another, each query's in their order: the same queries.
    order = np.argsort(np.tile(np.arange(20), 60), kind="stable")
    mixed = fitted(ranker, X[order], Y[order], [f"q{q}" for q in QID[order]])
    np.testing.assert_allclose(mixed.predict(X), usual, rtol=1e-6)
    assert not np.allclose(fitted(ranker, qid=np.zeros(len(Y))).predict(X), usual)


@pytest.mark.parametrize("ranker", LAMBDA_MART, ids=lambda ranker: type(ranker).__name__)
def test_labels_count_by_their_gain_and_need_not_be_whole(ranker):
    usual = fitted(ranker).predict(X)
    # 0 or less gains nothing, so that one such label is as good as another.
    np.testing.assert_allclose(fitted(ranker, labels=np.where(Y == 0, -3.0, Y)).predict(X), usual, rtol=1e-6)
    assert not np.allclose(fitted(ranker, labels=Y / 2).predict(X), usual)
    with pytest.raises(LinrankError, match="labels up to 31"):
        fitted(ranker, labels=Y + 40.0)


def test_lightgbm_sees_whole_labels_as_they_are():
    lightgbm = pytest.importorskip("lightgbm")
    model = fitted(RANKERS[2])
    peer = lightgbm.train(
        {"objective": "lambdarank", "learning_rate": 0.05, "num_leaves": 15, "min_data_in_leaf": 5, "verbosity": -1,
         "num_threads": 1, "deterministic": True, "force_row_wise": True},
        lightgbm.Dataset(X, Y, group=[20] * 60), 10,
    )  # fmt: skip
    np.testing.assert_allclose(model.predict(X), peer.predict(X))


def test_a_setting_that_xgboost_refuses_is_told_in_its_words():
    pytest.importorskip("xgboost")
    with pytest.raises(
        LinrankError, match=r"XGBoost refuses its settings: .*learning_rate.*1e\+39.* Change learning_rate"
    ):
        XGBoostRanker(learning_rate=1e39).fit(X, Y, group=[20] * 60)


def test_xgboost_sees_whole_labels_as_they_are():
    xgboost = pytest.importorskip("xgboost")
    model = fitted(RANKERS[3])
    settings = {"objective": "rank:ndcg", "learning_rate": 0.05, "max_depth": 4, "nthread": 1}
    peer = xgboost.train(settings, xgboost.DMatrix(X, Y, group=[20] * 60), 10)
    np.testing.assert_allclose(model.predict(X), peer.predict(xgboost.DMatrix(X)), rtol=1e-5)


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: type(ranker).__name__)
def test_query_weights_count(ranker):
    # Half of the queries prefer the opposite; whoever has the weight decides.
    contrary = np.where(DATA.queries.of_rows() < 30, Y, Y.max() - Y)
    first, second = (np.where(np.arange(60) < 30, a, b) for a, b in ((1.0, 1e-3), (1e-3, 1.0)))
    one = fitted(ranker, labels=contrary, query_weight=first).predict(X)
    other = fitted(ranker, labels=contrary, query_weight=second).predict(X)
    assert np.corrcoef(one, other)[0, 1] < 0


@pytest.mark.parametrize("ranker", RANKERS[:2], ids=lambda ranker: type(ranker).__name__)
def test_document_weights_count(ranker):
    weights = np.random.default_rng(0).random(len(Y))
    query_weights = np.random.default_rng(1).random(60)
    both = fitted(ranker, sample_weight=weights, query_weight=query_weights)
    product = fitted(ranker, sample_weight=weights * query_weights[DATA.queries.of_rows()])
    assert both.predict(X).tobytes() == product.predict(X).tobytes()
    assert not np.allclose(both.predict(X), fitted(ranker).predict(X))


@pytest.mark.parametrize(
    ("ranker", "settings", "message"),
    [
        (RANKERS[0], {"n_trees": 0}, "n_trees=0"),
        (RANKERS[0], {"max_leaves": 1}, "max_leaves=1; use a whole number, at least 2"),
        (RANKERS[0], {"learning_rate": 0.0}, "learning_rate=0.0"),
        (RANKERS[1], {"min_leaf": 0}, "min_leaf=0"),
        (RANKERS[1], {"n_threads": 0}, "n_threads=0"),
        (RANKERS[2], {"learning_rate": -1.0}, "learning_rate=-1.0"),
        (RANKERS[3], {"max_depth": 0}, "max_depth=0"),
        (RANKERS[3], {"min_child_weight": -1.0}, "min_child_weight=-1.0"),
    ],
    ids=str,
)
def test_what_cannot_work_is_refused(ranker, settings, message):
    with pytest.raises(LinrankError, match=message):
        fitted(ranker, settings=settings)


def test_what_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(lambda_mart, "_MOST_DOCUMENTS_A_QUERY", 19)
    pytest.importorskip("lightgbm")
    with pytest.raises(LinrankError, match="a query has 20 documents; LightGBM takes 19"):
        fitted(RANKERS[2])
    monkeypatch.setattr(tree_rankers, "_MOST_DENSE_BYTES", 1000)
    with pytest.raises(LinrankError, match="1200 x 6 sparse features written out in full"):
        fitted(RANKERS[0], sparse.csr_array(X))


@pytest.mark.parametrize("ranker", LAMBDA_MART, ids=lambda ranker: type(ranker).__name__)
def test_a_library_that_is_not_installed_is_named(ranker, monkeypatch):
    monkeypatch.setitem(sys.modules, ranker.library, None)
    with pytest.raises(MissingDependencyError, match=rf"pip install 'linrank\[{ranker.library}\]'"):
        fitted(ranker)


def test_data_frames_bring_names_that_predict_checks():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    model = fitted(RANKERS[0], frame)
    assert model.feature_names_in_.tolist() == list("abcdef")
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[frame.columns[::-1]])
