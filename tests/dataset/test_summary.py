import itertools

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse

from linrank import RankingDataset
from linrank.dataset.summary import count_pairs
from strategies import datasets


@given(datasets())
def test_pairs_are_counted_as_if_listed(data):
    qid, labels = data.qid, data.labels
    for query, counted in zip(data.queries.ids, count_pairs(data), strict=True):
        of_query = labels[qid == query]
        assert counted == sum(a > b for a, b in itertools.product(of_query, of_query))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_features_that_cannot_help_are_found(make):
    X = np.array([[1, 5, 0, 2, 1, np.nan, 0], [2, 5, 0, 2, 2, 1, 0], [0, 5, 0, 3, 0, 1, 0], [4, 5, 0, 0, 4, 1, 0.0]])
    names = ["first", "five", "zero", "other", "copy", "gap", "nought"]
    summary = RankingDataset.from_arrays(make(X), [0, 1, 1, 0], qid=[1, 1, 2, 3], feature_names=names).describe()
    assert summary.constant_features == ("five", "zero", "nought")
    assert summary.duplicated_features == (("first", "copy"),)
    assert summary.missing_values == {"gap": 1}
    assert summary.n_pairs == 1
    assert summary.queries_without_pairs == 2
    assert summary.label_histogram == {0.0: 2, 1.0: 2}
    assert (summary.smallest_query, summary.median_query, summary.largest_query) == (1, 1.0, 2)
    assert summary.layout == ("sparse" if sparse.issparse(make(X)) else "dense")


def test_many_labels_are_counted_in_ten_ranges():
    summary = RankingDataset.from_arrays(np.zeros((100, 1)), np.arange(100), qid=[1] * 100).describe()
    assert summary.n_levels == 100
    assert list(summary.label_histogram.values()) == [10] * 10
    assert summary.n_pairs == 4950


@pytest.mark.parametrize("name", ["MQ2008", "OHSUMED"])
def test_letor_data_is_counted_right(letor, name):
    (train,) = letor.parts(name, 1, "train")
    summary, known = train.describe(), letor.known[name]
    assert (summary.n_queries, summary.n_documents) == (known.n_queries, known.n_documents)
    assert (summary.n_features, summary.n_pairs) == (known.n_features, known.n_pairs)


def test_no_rows_and_the_oddest_numbers_are_described():
    none = RankingDataset.from_arrays(np.empty((0, 2)), np.empty(0), qid=np.empty(0)).describe()
    assert (none.n_documents, none.repeated_rows.repeated) == (0, 0)
    odd = np.array([[5e-324, np.inf], [1.0, -np.inf], [np.inf, 1e308], [5e-324, np.inf]])
    found = RankingDataset.from_arrays(odd, [0, 1, 2, 0], qid=[1, 1, 1, 1]).describe()
    assert (found.n_documents, found.n_pairs, found.repeated_documents) == (4, 5, None)
