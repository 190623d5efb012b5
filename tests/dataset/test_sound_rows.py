"""Indices that lead out of a sparse matrix are refused by every way in, before a compiled loop follows them."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from linrank.dataset.applied_scaling import ColumnScaling
from linrank.dataset.features import as_features, scores_of
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError
from linrank.estimators.rank_svm import RankSVM
from linrank.model import LinearModel

DENSE = np.array([[1.0, 0, 2, 0], [0, 3, 0, 0], [0, 0, 0, 4], [5, 6, 0, 0]])
LABELS, QID = [2, 1, 0, 1], [1, 1, 1, 1]
SCALING = ColumnScaling("standard", np.zeros(4), np.ones(4))
FITTED = RankSVM().fit(DENSE, LABELS, qid=QID)

WAYS_IN = {
    "as_features": as_features,
    "from_arrays": lambda X: RankingDataset.from_arrays(X, LABELS, qid=QID),
    "scores_of": lambda X: scores_of(X, np.ones(4)),
    "fit": lambda X: RankSVM().fit(X, LABELS, qid=QID),
    "fit, eval_set": lambda X: RankSVM().fit(DENSE, LABELS, qid=QID, eval_set=[(X, LABELS)], eval_qid=[QID]),
    "predict": FITTED.predict,
    "LinearModel.predict": FITTED.to_model().predict,
    "LinearModel.predict, scaled": LinearModel(np.ones(4), tuple("wxyz"), SCALING).predict,
}


def damaged(form="csr", **parts):
    matrix = sparse.csr_array(DENSE).asformat(form)
    for name, values in parts.items():
        setattr(matrix, name, np.asarray(values))
    return matrix


BAD = {
    "a column too large": damaged(indices=np.array([0, 4, 1, 3, 0, 1], "i4")),
    "a column far too large": damaged(indices=np.array([0, 2**31 - 1, 1, 3, 0, 1], "i4")),
    "a negative column": damaged(indices=np.array([0, -1, 1, 3, 0, 1], "i4")),
    "a column that is right in 32 bits": damaged(indices=np.array([0, 2**32 + 2, 1, 3, 0, 1])),
    "a row beyond the values": damaged(indptr=np.array([0, 2, 3, 4, 10**6], "i4")),
    "a row that ends before it starts": damaged(indptr=np.array([0, 3, 2, 4, 6], "i4")),
    "a row that starts before the first": damaged(indptr=np.array([-5, 2, 3, 4, 6], "i4")),
    "too few row pointers": damaged(indptr=np.array([0, 2], "i4")),
    "fewer values than columns": damaged(data=[1.0]),
    "indices that are no whole numbers": damaged(indices=[0.0, 2, 1, 3, 0, 1]),
    "columns first": damaged("csc", indices=np.array([0, 10**6, 1, 3, 0, 2], "i4")),
    "in blocks": damaged("bsr", indices=np.array([10**6] * 6, "i4")),
    "coordinates": damaged("coo", coords=(np.array([0, 0, 1, 2, 3, 10**6]), np.array([0, 2, 1, 3, 0, 1]))),
}


@pytest.mark.parametrize("way", WAYS_IN)
@pytest.mark.parametrize("bad", BAD)
def test_a_matrix_whose_indices_lead_out_of_it_is_refused(way, bad):
    with pytest.raises(LinrankError, match=r"the sparse features are damaged: .*\. Make the matrix anew"):
        WAYS_IN[way](BAD[bad])


@pytest.mark.parametrize("way", [as_features, lambda X: as_features(WAYS_IN["from_arrays"](X).features)])
@pytest.mark.parametrize(
    "unusual",
    [
        damaged(indices=np.array([2, 0, 1, 3, 1, 0], "i4"), data=[2.0, 1, 3, 4, 6, 5]),
        damaged(
            indices=np.array([0, 2, 1, 3, 1, 1, 0]), data=[1.0, 2, 3, 4, 2, 4, 5], indptr=np.array([0, 2, 3, 4, 7])
        ),
        sparse.csc_array(DENSE),
        sparse.coo_array(DENSE),
        sparse.bsr_array(DENSE, blocksize=(2, 2)),
        sparse.csr_matrix(DENSE.astype(int)),
        sparse.lil_array(DENSE),
    ],
    ids=["unsorted", "repeated, 64 bits", "csc", "coo", "bsr", "whole numbers", "lists"],
)
def test_every_other_form_of_the_same_matrix_is_the_same_features(way, unusual):
    unusual.has_canonical_format = True
    features = way(unusual)
    np.testing.assert_array_equal(features.to_dense(), DENSE)
    assert features.columns.dtype == np.int32
    assert features.starts.dtype == np.int64
    assert all((np.diff(features.columns[a:b]) > 0).all() for a, b in pairwise(features.starts))


def test_what_is_in_order_is_not_copied():
    matrix = sparse.csr_array(DENSE)
    features = as_features(matrix)
    assert np.shares_memory(features.values, matrix.data)
    assert np.shares_memory(features.columns, matrix.indices)
