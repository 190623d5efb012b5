"""Each feature alone, against the measure itself."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from linrank import LinrankError, RankingDataset, make_ranking
from linrank.measures import NDCG
from linrank.measures.single_features import single_feature_ndcg
from strategies import datasets

MEASURE = (NDCG @ 10)(ties="average")
LAYOUTS = pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])


def check(data):
    found = single_feature_ndcg(data)
    X = data.features.toarray() if data.is_sparse else data.features
    for j in range(data.n_features):
        higher, lower = (MEASURE.mean(np.where(np.isnan(X[:, j]), -np.inf, s * X[:, j]), data) for s in (1.0, -1.0))
        assert found.values[j] == pytest.approx(max(higher, lower), abs=1e-12)
        assert found.directions[j] == 1.0 or lower > higher - 1e-12
        differs = [len(np.unique(X[data.qid == query, j])) > 1 for query in data.queries.ids]
        assert found.varies[j] == any(differs)
    assert found.any_order == pytest.approx(MEASURE.mean(np.zeros(data.n_documents), data), abs=1e-12)


@pytest.mark.kernels
@LAYOUTS
@given(data=datasets(), seed=st.integers(0, 9))
def test_a_feature_alone_is_measured_as_the_measure_does(make, data, seed):
    rng = np.random.default_rng(seed)
    X = rng.choice([0.0, 1.0, -1.0, 2.0, 0.5, np.nan], size=(data.n_documents, 3))
    check(RankingDataset.from_arrays(make(X), data.labels, qid=data.qid))


@pytest.mark.kernels
@LAYOUTS
@pytest.mark.parametrize("decimals", [0, 1, 9])
def test_long_queries_with_and_without_ties(make, decimals):
    data, _ = make_ranking(6, (1, 60), 4, levels=4)
    check(RankingDataset.from_arrays(make(np.round(data.features, decimals)), data.labels, qid=data.qid))


def test_the_number_of_threads_makes_no_difference():
    data, _ = make_ranking(50, (1, 30), 5)
    one, many = (single_feature_ndcg(data, n_threads=n) for n in (1, 3))
    assert one.values.tobytes() == many.values.tobytes()


def test_labels_are_needed():
    with pytest.raises(LinrankError, match="the data has no labels"):
        single_feature_ndcg(RankingDataset.from_arrays([[1.0], [2.0]], None, qid=[1, 1]))
