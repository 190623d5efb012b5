"""A dataset written as a table is the same when it is read."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import linrank
from linrank import LinrankError, RankingDataset
from linrank.dataset.unretrieved import Unretrieved
from linrank.reading.write_parquet import write_parquet

pytest.importorskip("pyarrow")


def dataset(**changes):
    arrays = {
        "X": np.arange(8.0).reshape(4, 2) / 3,
        "y": [1.0, 0.0, 2.0, 0.0],
        "qid": ["b", "a a", "b", "a a"],
        "feature_names": ["bm25(title)", "with, comma"],
        "comments": [f"docid = d{row}" for row in range(4)],
        "document_weights": [1.0, 2.0, 1.0, 0.5],
    }
    return RankingDataset.from_arrays(**(arrays | changes))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, np.float32], ids=["dense", "sparse", "f4"])
def test_what_is_written_is_read(tmp_path, kind):
    data = dataset(X=kind(np.arange(8.0).reshape(4, 2) / 3))
    write_parquet(tmp_path / "data.parquet", data)
    again = linrank.read(tmp_path / "data.parquet", docid="docid", weight="weight")
    wanted = data.features.toarray() if data.is_sparse else data.features
    assert again.features.dtype == wanted.dtype
    assert (again.features == wanted).all()
    assert (again.names, again.docids, again.qid.tolist()) == (data.names, data.docids, data.qid.tolist())
    assert again.labels.tolist() == data.labels.tolist()
    assert again.document_weights.tolist() == [1.0, 2.0, 1.0, 0.5]


def test_weights_of_queries_are_those_of_their_rows(tmp_path):
    write_parquet(tmp_path / "data.parquet", dataset(query_weights=[3.0, 0.5]))
    roles = {"docid": "docid", "weight": "weight", "query_weight": "query_weight"}
    again = linrank.read(tmp_path / "data.parquet", **roles)
    assert (again.names, again.query_weights.tolist()) == (dataset().names, [3.0, 0.5])


def test_what_a_table_has_no_place_for_is_said(tmp_path):
    data = replace(dataset(), unretrieved=Unretrieved.of([[1.0], []]))
    with pytest.warns(UserWarning, match="no place for the labels of 1 judged documents"):
        write_parquet(tmp_path / "data.parquet", data)
    with pytest.raises(LinrankError, match="a feature is called 'qid'"):
        write_parquet(tmp_path / "data.parquet", dataset(feature_names=["f", "qid"]))
