"""What every ranker that sees all of the data at once owes: the order of rows, and dense or sparse, change nothing.

Iterative solvers stop before rounding does, so that where samples of the data steer them the samples must be the same.
"""

import warnings

import numpy as np
import pytest
from scipy import sparse

from linrank import RankingDataset, RankSVM, RankSVMCV, make_ranking
from linrank.estimators.catalogue import METHODS
from linrank.measures import NDCG
from linrank.solvers import curvature

# They take queries one after the other, or draw pairs or rows by their place: see their documentation.
IN_ORDER = {"minbatsrank", "minbatsrank-nonfea", "sampled-sgd", "random-forest", "lightgbm", "xgboost"}
QUICKER = {
    "best": {"transforms": ["signed-log", "rank-gauss"], "penalties": ["l2"], "Cs": [0.01, 1.0], "cv": 3},
    "lambdarank": {"patience": None, "max_iter": 50},
    "smoothrank": {"patience": None},
    "fenchelrank": {"tol": 0.1},
    "svr-absolute": {"tol": 1e-2},
    "gbt": {"n_trees": 3},
}
# Its weights of pairs jump where two documents change places, and rounding decides which step that is.
LOOSER = {"lambdarank": 1e-4}


def others(data, seed):
    """The same documents in other orders, and as sparse rows; with the order of each."""
    rng = np.random.default_rng(seed)
    X, y, qid = data.features, data.labels, data.qid
    for order in (
        rng.permutation(len(y)),
        np.concatenate([np.flatnonzero(qid == query) for query in rng.permutation(np.unique(qid))]),
    ):
        yield order, RankingDataset.from_arrays(X[order], y[order], qid=qid[order])
    yield np.arange(len(y)), RankingDataset.from_arrays(sparse.csr_array(X), y, qid=qid)


@pytest.fixture(autouse=True)
def small_samples(monkeypatch):
    """As with much data: Hessians are those of a small share of the queries."""
    monkeypatch.setattr(curvature, "FREE_MULTIPLICATIONS", 0.0)


def scores_of(ranker, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ranker.fit(data).predict(data)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if name not in IN_ORDER])
def test_the_order_of_rows_and_sparse_or_dense_change_no_score(name, seed):
    method = METHODS[name]
    data, _ = make_ranking(60, (5, 30), 12, random_state=seed)
    settings = {**method.settings, **QUICKER.get(name, {})}
    scores = scores_of(method.load()(**settings), data)
    ndcg = (NDCG @ 10).mean(scores, data)
    for order, other in others(data, seed):
        again = np.empty_like(scores)
        again[order] = scores_of(method.load()(**settings), other)
        np.testing.assert_allclose(again, scores, rtol=0, atol=LOOSER.get(name, 1e-8) * np.ptp(scores))
        assert (NDCG @ 10).mean(again, data) == pytest.approx(ndcg, abs=LOOSER.get(name, 1e-9))


@pytest.mark.parametrize("penalty", ["l2", "elasticnet"])
def test_the_order_changes_no_weights_even_where_training_ends_early(penalty):
    data, _ = make_ranking(100, 20, 20)
    weights = RankSVM(penalty=penalty, tol=1e-2).fit(data).coef_
    for _, other in others(data, 0):
        np.testing.assert_allclose(RankSVM(penalty=penalty, tol=1e-2).fit(other).coef_, weights, rtol=1e-8, atol=1e-10)


def test_the_order_does_not_choose_another_C():
    data, _ = make_ranking(40, 10, 8, noise=2.0)
    settings = {"Cs": tuple(4.0**k for k in range(-6, 3)), "cv": 4}
    first = RankSVMCV(**settings).fit(data)
    for _, other in others(data, 0):
        again = RankSVMCV(**settings).fit(other)
        np.testing.assert_allclose(again.mean_measure_, first.mean_measure_, atol=1e-12)
        assert again.C_ == first.C_
