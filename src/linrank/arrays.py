"""The array types of the library, and the few things every stage does with arrays."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linrank.maps import refuse_cut_maps

Vector: TypeAlias = NDArray[np.float64]
Offsets: TypeAlias = NDArray[np.int64]
Indices: TypeAlias = NDArray[np.int32]


class _Memory:
    """Memory of another array, under a description of our own; keeps that array alive."""

    def __init__(self, owner: NDArray[Any]) -> None:
        self.owner = owner
        address, _ = owner.__array_interface__["data"]
        self.__array_interface__ = {**owner.__array_interface__, "data": (address, False)}


def for_kernels(array: NDArray[Any]) -> NDArray[Any]:
    """Return the same memory as an array that is not marked read-only, for a kernel that only reads it.

    Numba compiles a kernel anew for read-only arrays, such as memory maps and columns of a DataFrame.
    """
    if array.flags.writeable or array.size == 0:
        return array
    return np.asarray(_Memory(array))


def offsets_from_sizes(sizes: NDArray[Any]) -> Offsets:
    """Where each of consecutive runs starts, and where the last one ends."""
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


# What is summed at a time of rows that have to be copied as float64: it stays in cache.
_NUMBERS_AT_A_TIME = 1 << 16


def float_rows(X: Any) -> NDArray[Any]:
    """Rows as a C-ordered array of float32 or float64; anything else is converted, never changed."""
    values = np.asarray(X)
    refuse_cut_maps(values)
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    return np.ascontiguousarray(values)


def dense_scores(X: NDArray[Any], weights: Vector) -> Vector:
    """X . weights, each row summed in float64 in an order that the number of features alone decides.

    So a document has one score, to the last bit: alone or among others, however they lie in memory, with any number of
    threads. The product of BLAS, `X @ weights`, promises none of that. Float32 rows are not copied all at once.
    """
    refuse_cut_maps(X)
    weights = np.require(weights, np.float64, ["C", "A"])
    # Of rows like these, einsum makes one loop a row; of others it may change the order, or sum them in pieces.
    if X.dtype == np.float64 and X.flags.c_contiguous and X.flags.aligned:
        return np.einsum("ij,j->i", X, weights)  # type: ignore[no-any-return]
    scores = np.empty(len(X))
    step = max(1, _NUMBERS_AT_A_TIME // max(1, len(weights)))
    for start in range(0, len(X), step):
        with np.errstate(invalid="ignore"):
            # (A NaN of float32 may be one that its conversion speaks of; whoever scores looks for NaN.)
            rows = np.require(X[start : start + step], np.float64, ["C", "A"])
        np.einsum("ij,j->i", rows, weights, out=scores[start : start + step])
    return scores
