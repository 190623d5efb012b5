"""Rows in compressed form, looked at once before a compiled loop, which does not look, follows their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from linrank.arrays import Indices, Offsets, for_kernels
from linrank.compiled import kernel
from linrank.errors import LinrankError
from linrank.loaded import is_sparse

_ASCENDING, _UNORDERED, _BAD_START, _BAD_COLUMN = 0, 1, 2, 3


def sound_csr(X: Any) -> scipy.sparse.csr_array:
    """A scipy matrix as CSR with ascending columns and no repeats, its places and columns checked; never changed.

    Nothing is copied where the matrix is so already.

    Raises
    ------
    LinrankError
        If a row's place or a column lies outside the matrix.
    """
    if X.format != "csr":
        refuse_unsound(X)
    matrix = X.tocsr()
    columns, starts = matrix.indices, matrix.indptr
    problem, ascending = look_at_rows(columns, starts, len(matrix.data), matrix.shape)
    if problem:
        raise _unsound(problem)
    if not ascending:
        # Every reader may count on ascending columns without repeats; the caller's matrix stays as it is.
        matrix = matrix.copy()
        # scipy goes by what it has noted, which may be from before the columns were changed.
        matrix.has_sorted_indices = matrix.has_canonical_format = False
        matrix.sum_duplicates()
    return matrix


def csr_of(
    values: NDArray[Any], columns: NDArray[Any], starts: NDArray[Any], n_features: int
) -> scipy.sparse.csr_array:
    """A CSR matrix of arrays as they are: scipy looks at all of them, and copies a small part of a large one."""
    matrix = scipy.sparse.csr_array((len(starts) - 1, n_features), dtype=values.dtype)
    matrix.data, matrix.indices, matrix.indptr = values, columns, starts
    return matrix


def refuse_unsound(X: Any) -> None:
    """Refuse a scipy matrix of any form whose indices lead out of it, before scipy or scikit-learn follows them."""
    if not is_sparse(X):
        return
    try:
        if X.format == "csr" and (problem := look_at_rows(X.indices, X.indptr, len(X.data), X.shape)[0]):
            raise _unsound(problem)
        if X.format in ("csc", "bsr"):
            X.check_format(full_check=True)
        elif X.format == "coo":
            for along, length in zip(X.coords, X.shape, strict=True):
                if len(along) != len(X.data) or (len(along) and not 0 <= along.min() <= along.max() < length):
                    raise _unsound(f"an index of its coordinates is not within 0..{length - 1}")
    except LinrankError:
        raise
    except ValueError as error:
        raise _unsound(str(error).rstrip(".")) from None


def look_at_rows(
    columns: NDArray[Any], starts: NDArray[Any], n_values: int, shape: tuple[int, int]
) -> tuple[str | None, bool]:
    """What is wrong with rows in compressed form, if anything; and whether each row's columns ascend."""
    n_rows, n_features = shape
    if columns.dtype.kind not in "iu" or starts.dtype.kind not in "iu" or columns.ndim != 1 or starts.ndim != 1:
        return f"its indices are of type {columns.dtype} and {starts.dtype}, not whole numbers in one row each", False
    if len(starts) != n_rows + 1:
        return f"there are {len(starts)} row pointers for {n_rows} rows", False
    if columns.dtype != np.int32 and len(columns) and not 0 <= columns.min() <= columns.max() < n_features:
        # In 32 bits they might look as if they were within.
        return f"a column is not within 0..{n_features - 1}", False
    found, row = _look_at_rows(
        *narrow(columns, starts), min(len(columns), n_values), min(n_features, np.iinfo(np.int32).max)
    )
    if found == _BAD_START:
        return f"row {row} starts at {starts[row]} and ends at {starts[row + 1]} of {n_values} values", False
    if found == _BAD_COLUMN:
        return f"row {row} has an entry outside the {n_features} columns", False
    return None, found == _ASCENDING


def narrow(columns: NDArray[Any], starts: NDArray[Any]) -> tuple[Indices, Offsets]:
    """One type of columns and one of places only, so that each kernel is compiled once."""
    return for_kernels(columns.astype(np.int32, copy=False)), for_kernels(starts.astype(np.int64, copy=False))


def _unsound(problem: str) -> LinrankError:
    return LinrankError(f"the sparse features are damaged: {problem}. Make the matrix anew.")


@kernel
def _look_at_rows(columns, starts, n_values, n_features):  # type: ignore[no-untyped-def]
    """Return what is found, and in which row: the first fault, or whether all columns ascend."""
    found = _ASCENDING
    for row in range(len(starts) - 1):
        first, last = starts[row], starts[row + 1]
        if not (0 <= first <= last <= n_values) or (row == 0 and first != 0):
            return _BAD_START, row
        # As an unsigned number, a negative one is too large.
        largest = np.uint32(0)
        falls = 0
        for entry in range(np.uint64(first), np.uint64(last)):
            largest = max(largest, np.uint32(columns[entry]))
        for entry in range(np.uint64(first + 1), np.uint64(last)):
            falls += int(columns[entry] <= columns[entry - np.uint64(1)])
        if last > first and largest >= n_features:
            return _BAD_COLUMN, row
        if falls:
            found = _UNORDERED
    return found, 0
