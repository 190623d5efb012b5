import uuid

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse

from linrank import LinrankError, RankingDataset, make_ranking
from linrank.dataset.query_blocks import cut_into_blocks
from strategies import datasets

X = np.arange(12.0).reshape(6, 2)
Y = [0, 1, 2, 0, 1, 0]


def rows_of(data, query):
    return np.flatnonzero(data.qid == query)


@pytest.mark.parametrize(
    "qid",
    [
        [7, 7, 3, 7, 3, 9],
        ["b", "b", "a", "b", "a", "ü"],
        [uuid.UUID(int=2), uuid.UUID(int=2), uuid.UUID(int=1), uuid.UUID(int=2), uuid.UUID(int=1), uuid.UUID(int=0)],
        [2.5, 2.5, -1.0, 2.5, -1.0, 0.0],
    ],
    ids=["integers", "text", "uuid", "floats"],
)
def test_queries_of_any_kind_and_in_any_order_are_grouped_stably(qid):
    data = RankingDataset.from_arrays(X, Y, qid=qid)
    assert data.queries.ids.tolist() == [qid[0], qid[2], qid[5]]
    assert data.queries.order.tolist() == [0, 1, 3, 2, 4, 5]
    assert data.queries.starts.tolist() == [0, 3, 5, 6]
    assert data.qid.tolist() == qid


@given(datasets())
def test_scores_come_back_in_the_order_given(data):
    scores = np.arange(data.n_documents, dtype=float)
    np.testing.assert_array_equal(data.queries.ungrouped(data.queries.grouped(scores)), scores)
    grouped = data.queries.grouped(data.qid)
    assert all(len(set(grouped[a:b])) == 1 for a, b in zip(data.queries.starts, data.queries.starts[1:], strict=False))


def test_group_sizes_are_consecutive_queries():
    data = RankingDataset.from_arrays(X, Y, group=[2, 4])
    assert data.qid.tolist() == [0, 0, 1, 1, 1, 1]


def test_arrays_in_the_right_form_are_not_copied():
    data = RankingDataset.from_arrays(X, np.array(Y, dtype=float), qid=[1] * 6)
    assert data.features is X


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_table_brings_its_names(library):
    module = pytest.importorskip(library)
    table = (module.table if library == "pyarrow" else module.DataFrame)({"bm25": X[:, 0], "age": X[:, 1]})
    data = RankingDataset.from_arrays(table, Y, qid=[1] * 6)
    assert data.feature_names == ("bm25", "age")
    assert data.names == ("bm25", "age")
    np.testing.assert_array_equal(data.features, X)
    assert RankingDataset.from_arrays(X, Y, qid=[1] * 6).names == ("1", "2")


@given(datasets(weighted=True))
def test_a_subset_has_the_rows_of_its_queries_in_the_order_given(data):
    chosen = np.arange(data.n_queries) % 2 == 0
    part = data.subset(chosen)
    kept = np.flatnonzero(np.isin(data.qid, data.queries.ids[chosen]))
    np.testing.assert_array_equal(part.qid, data.qid[kept])
    np.testing.assert_array_equal(part.labels, data.labels[kept])
    np.testing.assert_array_equal(part.document_weights, data.document_weights[kept])
    for number, query in enumerate(part.queries.ids):
        assert part.query_weights[number] == data.query_weights[data.queries.ids.tolist().index(query)]
    difference = part.features - data.features[kept]
    assert abs(difference).max(initial=0) == 0 if not sparse.issparse(difference) else difference.nnz == 0


@given(datasets(max_queries=9))
def test_a_split_never_cuts_a_query_and_loses_none(data):
    if data.n_queries < 3:
        return
    parts = data.split(0.5, 0.3, 0.2, random_state=1)
    ids = [query for part in parts for query in part.queries.ids.tolist()]
    assert sorted(ids) == sorted(data.queries.ids.tolist())
    assert sum(part.n_documents for part in parts) == data.n_documents


def test_folds_test_each_query_once():
    data, _ = make_ranking(10, 3, 2)
    tested = [query for _, test in data.folds(3) for query in test.queries.ids.tolist()]
    assert sorted(tested) == sorted(data.queries.ids.tolist())
    for train, test in data.folds(3):
        assert not set(train.queries.ids) & set(test.queries.ids)


@given(datasets(max_queries=8, weighted=True))
def test_blocks_are_whole_queries_in_grouped_order(data):
    blocks = cut_into_blocks(data, block_bytes=150)
    labels = np.concatenate([block.labels for block in blocks])
    np.testing.assert_array_equal(labels, data.queries.grouped(data.labels))
    weights = np.concatenate([block.document_weights for block in blocks])
    np.testing.assert_array_equal(weights, data.queries.grouped(data.document_weights))
    sizes = np.concatenate([np.diff(block.query_starts) for block in blocks])
    np.testing.assert_array_equal(sizes, data.queries.sizes)
    rows = np.concatenate([block.features.to_dense() for block in blocks])
    np.testing.assert_array_equal(rows, data.grouped_features().to_dense())
    for block in blocks:
        assert block.features.n_bytes <= 150 + block.n_documents * 80 or block.n_queries == 1
        assert block.labels[0] == labels[block.first_row]


def test_blocks_fit_and_are_as_few_as_can_be():
    data, _ = make_ranking(100, 10, 16)
    blocks = cut_into_blocks(data, block_bytes=10 * 16 * 8 * 4)
    assert [block.n_queries for block in blocks] == [4] * 25
    assert len(cut_into_blocks(data, block_bytes=1)) == 100
    assert np.shares_memory(blocks[3].features.values, data.features)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"qid": None}, "either qid .* or group"),
        ({"group": [6]}, "either qid .* or group"),
        ({"qid": [1, 2]}, "2 values, but there are 6 rows"),
        ({"qid": [[1] * 6]}, "one value a row"),
        ({"qid": [1.0, 1, 1, np.nan, 1, 1]}, "nan in row 3"),
        ({"qid": ["a", "a", None, "a", "a", "a"]}, "None in row 2"),
        ({"qid": None, "group": [2, 3]}, "add up to 5, but there are 6 rows"),
        ({"qid": None, "group": [6, 0]}, r"group\[1\] is 0"),
        ({"qid": None, "group": [2.5, 3.5]}, "whole numbers"),
        ({"y": [0, 1, 2, 0, 1]}, "one label a row"),
        ({"y": [0, 1, np.inf, 0, 1, 2]}, "label in row 2 is inf"),
        ({"y": list("abcdef")}, "labels must be numbers"),
        ({"X": np.arange(6.0)}, "one row a document"),
        ({"X": np.array([["a", "b"]] * 6)}, "features must be numbers"),
        ({"feature_names": ["a"]}, "1 feature names, but 2 features"),
        ({"feature_names": ["a", "a"]}, "'a' is given twice"),
        ({"comments": ["x"]}, "1 comments, but 6 rows"),
        ({"document_weights": [1, 1, 1, 1, 1, -1]}, r"document_weights\[5\] is -1"),
        ({"document_weights": [1]}, "one number a row, 6 in all"),
        ({"query_weights": [1.0, np.nan]}, r"query_weights\[1\] is nan"),
    ],
)
def test_what_does_not_fit_together_is_refused(change, message):
    arguments = {"X": X, "y": Y, "qid": [1, 1, 1, 2, 2, 2], **change}
    with pytest.raises(LinrankError, match=message):
        RankingDataset.from_arrays(arguments.pop("X"), arguments.pop("y"), **arguments)


def test_impossible_splits_are_refused():
    data, _ = make_ranking(3, 2, 2)
    for shares in ((), (0.5, -0.1), (np.inf, 1)):
        with pytest.raises(LinrankError, match="positive numbers"):
            data.split(*shares)
    with pytest.raises(LinrankError, match="cannot be split into 4 parts"):
        data.split(1, 1, 1, 1)
    with pytest.raises(LinrankError, match="from 2 to the number of queries"):
        list(data.folds(4))


def test_document_ids_are_read_out_of_comments():
    comments = ["docid = GX-1 inc = 1", "d2", "", "some DocID=D4", "#", "x y"]
    data = RankingDataset.from_arrays(X, Y, qid=[1] * 6, comments=comments)
    assert data.docids == ["GX-1", "d2", "", "D4", "#", "x"]


def test_queries_that_do_not_exist_are_refused():
    data, _ = make_ranking(3, 2, 2)
    for wrong in ([-1], [3], [True, False]):
        with pytest.raises(LinrankError):
            data.subset(np.asarray(wrong))
    assert data.subset([2, 0, 0]).queries.ids.tolist() == ["1", "3"]
