"""What is there twice is found: rows, documents, and columns that say the same in other words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from linrank import RankingDataset, make_ranking
from linrank.dataset.repeats import repeated_columns, repeated_documents, repeated_rows, without_repeated_columns

LAYOUTS = pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
SMALL = st.sampled_from([0.0, -0.0, 1.0, -2.5, 1e300, np.nan])


@LAYOUTS
@given(rows=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), SMALL, SMALL), min_size=1, max_size=12))
def test_repeated_rows_are_those_that_comparing_each_with_each_finds(make, rows):
    qid, labels, X = [row[0] for row in rows], [float(row[1]) for row in rows], np.array([row[2:] for row in rows])
    repeated = contradictory = 0
    labels_of = {}
    for query, label, row in zip(qid, labels, X.tolist(), strict=True):
        key = (query, *("nan" if value != value else value + 0.0 for value in row))
        if key in labels_of:
            repeated += 1
            contradictory += labels_of[key] != label
        else:
            labels_of[key] = label
    found = repeated_rows(RankingDataset.from_arrays(make(X), labels, qid=qid))
    assert (found.repeated, found.contradictory) == (repeated, contradictory)
    assert len(found.examples) == min(3, contradictory)


def test_a_document_with_two_grades_is_named():
    data = RankingDataset.from_arrays(
        np.arange(6.0)[:, None],
        [2, 0, 1, 1, 0, 0],
        qid=["a", "a", "b", "a", "b", "b"],
        comments=["docid = x", "docid = y", "docid = x", "docid = x", "docid = x", ""],
    )
    found = repeated_documents(data)
    assert (found.repeated, found.contradictory) == (2, 2)
    assert found.examples == (("a", "x", 2.0, 1.0), ("b", "x", 1.0, 0.0))
    assert repeated_rows(data).repeated == 0
    assert repeated_documents(RankingDataset.from_arrays([[1.0]], [1], qid=[1])) is None


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_column_in_other_units_is_a_repeat(dtype):
    data, _ = make_ranking(30, 12, 4)
    X = data.features
    of_query = np.random.default_rng(0).standard_normal(data.n_queries)[data.queries.of_rows()]
    X = np.column_stack([X, X[:, 1], -2.5 * X[:, 0] + 40, X[:, 2] + of_query, X[:, 3] + 1e-3 * X[:, 0], of_query])
    data = RankingDataset.from_arrays(X.astype(dtype), data.labels, qid=data.qid)
    found = repeated_columns(data)
    assert [(same.column, same.of) for same in found] == [(4, 1), (5, 0), (6, 2)]
    np.testing.assert_allclose([same.factor for same in found], [1.0, -2.5, 1.0], rtol=1e-5)


def test_a_multiple_of_a_sparse_column_is_a_repeat():
    data, _ = make_ranking(30, 12, 6, density=0.3)
    X = sparse.hstack([data.features, 3.0 * data.features[:, [2]], data.features[:, [1]]], format="csr")
    data = RankingDataset.from_arrays(X, data.labels, qid=data.qid)
    assert [(same.column, same.of, round(same.factor, 9)) for same in repeated_columns(data)] == [
        (6, 2, 3.0),
        (7, 1, 1.0),
    ]


@LAYOUTS
def test_columns_that_lack_different_values_differ(make):
    data, _ = make_ranking(20, 10, 2)
    X = np.column_stack([data.features, data.features[:, 0], data.features[:, 0], data.features[:, 1]])
    X[3, [0, 2]] = np.nan
    X[4, 3] = np.nan
    found = repeated_columns(RankingDataset.from_arrays(make(X), data.labels, qid=data.qid))
    assert [(same.column, same.of, round(same.factor, 9)) for same in found] == [(2, 0, 1.0), (4, 1, 1.0)]


@LAYOUTS
def test_the_cheapest_of_equal_columns_stays(make):
    data, _ = make_ranking(20, 10, 3)
    X = np.column_stack([data.features, data.features[:, 0], data.features[:, 0]])
    data = RankingDataset.from_arrays(make(X), data.labels, qid=data.qid, feature_names=list("abcde"))
    before = data.fingerprint()
    kept, repeated = without_repeated_columns(data, np.ones(5))
    assert repeated == {"d": "a", "e": "a"}
    np.testing.assert_array_equal((abs(kept.features).sum(axis=0) > 0), [True, True, True, False, False])
    _, repeated = without_repeated_columns(data, np.array([3.0, 1.0, 1.0, 2.0, 2.0]))
    assert repeated == {"a": "d", "e": "d"}
    assert data.fingerprint() == before


def test_nothing_is_made_of_too_little():
    empty = RankingDataset.from_arrays(np.empty((0, 2)), [], qid=[])
    assert repeated_columns(empty) == []
    assert repeated_columns(RankingDataset.from_arrays(np.ones((3, 2)), [0, 1, 1], qid=[1, 1, 2])) == []
