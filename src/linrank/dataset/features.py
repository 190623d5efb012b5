"""Rows of features, dense or sparse, float32 or float64: the two products every method is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from linrank.arrays import Indices, Offsets, Vector, dense_scores, float_rows, for_kernels
from linrank.compiled import kernel, summing_kernel
from linrank.dataset.sound_rows import narrow, sound_csr
from linrank.errors import LinrankError, UnusableNumberError
from linrank.loaded import is_sparse
from linrank.maps import refuse_cut_maps

# Columns are numbered in 32 bits: half the memory of 64, and enough.
_MOST_COLUMNS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class DenseFeatures:
    """Rows in one C-ordered array of float32 or float64."""

    values: NDArray[Any]

    @property
    def n_rows(self) -> int:
        return int(self.values.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.values.shape[1])

    @property
    def n_bytes(self) -> int:
        return int(self.values.nbytes)

    def in_memory(self) -> DenseFeatures:
        """Themselves: features on disk read all of theirs."""
        return self

    def rows(self, start: int, stop: int) -> DenseFeatures:
        return DenseFeatures(self.values[start:stop])

    def take(self, rows: Offsets) -> DenseFeatures:
        return DenseFeatures(self.values[rows])

    def joined(self, others: Sequence[Any]) -> DenseFeatures:
        """Their rows and, after them, those of the others."""
        return DenseFeatures(np.concatenate([self.values, *(other.values for other in others)]))

    def product(self, weights: Vector, scores: Vector) -> Vector:
        """scores_i = x_i . weights, summed in float64."""
        _dense_product(self.values, weights, scores)
        return scores

    def transposed_product(self, slopes: Vector, total: Vector) -> Vector:
        """Add sum_i slopes_i x_i to `total`, in float64."""
        _dense_transposed_product(self.values, slopes, total)
        return total

    def transposed_square_product(self, slopes: Vector, total: Vector) -> Vector:
        """Add sum_i slopes_i x_i ** 2, feature by feature, to `total`."""
        total += slopes @ np.square(self.values, dtype=np.float64)
        return total

    def magnitudes(self) -> DenseFeatures:
        """The absolute values."""
        return DenseFeatures(np.abs(self.values))

    def to_dense(self, columns: Offsets | None = None) -> NDArray[Any]:
        """All columns as a view, or a copy of some."""
        return self.values if columns is None else self.values[:, columns]


@dataclass(frozen=True, slots=True)
class SparseFeatures:
    """Rows in compressed form: row i has `values[starts[i]:starts[i + 1]]` at `columns[starts[i]:starts[i + 1]]`."""

    values: NDArray[Any]
    columns: Indices
    starts: Offsets
    n_features: int

    @property
    def n_rows(self) -> int:
        return len(self.starts) - 1

    @property
    def n_bytes(self) -> int:
        entries = int(self.starts[-1] - self.starts[0])
        return entries * (self.values.itemsize + self.columns.itemsize) + self.starts.nbytes

    def in_memory(self) -> SparseFeatures:
        """Themselves: features on disk read all of theirs."""
        return self

    def rows(self, start: int, stop: int) -> SparseFeatures:
        # The offsets stay those of the whole: a block is a view.
        return SparseFeatures(self.values, self.columns, self.starts[start : stop + 1], self.n_features)

    def take(self, rows: Offsets) -> SparseFeatures:
        starts = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(self.starts[rows + 1] - self.starts[rows], out=starts[1:])
        values, columns = np.empty(starts[-1], self.values.dtype), np.empty(starts[-1], self.columns.dtype)
        _take_rows(self.values, self.columns, self.starts, rows, starts, values, columns)
        return SparseFeatures(values, columns, starts, self.n_features)

    def joined(self, others: Sequence[Any]) -> SparseFeatures:
        """Their rows and, after them, those of the others."""
        return _from_csr(scipy.sparse.vstack([self.to_csr(), *(other.to_csr() for other in others)], format="csr"))

    def product(self, weights: Vector, scores: Vector) -> Vector:
        """scores_i = x_i . weights, summed in float64."""
        _sparse_product(self.values, self.columns, self.starts, weights, scores)
        return scores

    def transposed_product(self, slopes: Vector, total: Vector) -> Vector:
        """Add sum_i slopes_i x_i to `total`, in float64."""
        _sparse_transposed_product(self.values, self.columns, self.starts, slopes, total)
        return total

    def transposed_square_product(self, slopes: Vector, total: Vector) -> Vector:
        """Add sum_i slopes_i x_i ** 2, feature by feature, to `total`."""
        _sparse_transposed_square_product(self.values, self.columns, self.starts, slopes, total)
        return total

    def magnitudes(self) -> SparseFeatures:
        """The absolute values."""
        first, last = int(self.starts[0]), int(self.starts[-1])
        return SparseFeatures(
            np.abs(self.values[first:last]), self.columns[first:last], self.starts - first, self.n_features
        )

    def to_csr(self) -> scipy.sparse.csr_array:
        first, last = int(self.starts[0]), int(self.starts[-1])
        parts = (self.values[first:last], self.columns[first:last], self.starts - first)
        return scipy.sparse.csr_array(parts, shape=(self.n_rows, self.n_features))

    def to_dense(self, columns: Offsets | None = None) -> NDArray[Any]:
        """All columns, or some."""
        matrix = self.to_csr()
        return np.asarray((matrix if columns is None else matrix[:, columns]).toarray())


Features: TypeAlias = DenseFeatures | SparseFeatures


def as_features(X: Any) -> Features:
    """View a C-ordered array or a CSR matrix as features; anything else is converted, never changed.

    Every matrix comes through here before a kernel sees it, and its indices are checked.
    """
    if hasattr(X, "transposed_product"):
        # Features already, which are computed with as they are.
        of_rows: Features = X
        return of_rows
    return _from_csr(X) if is_sparse(X) else DenseFeatures(for_kernels(float_rows(X)))


def scores_of(X: Any, weights: Vector) -> Vector:
    """X . weights, summed in float64 without a float64 copy of float32 features; a row's score depends on it alone."""
    if not is_sparse(X):
        return dense_scores(np.asarray(X), weights)
    features = _from_csr(X)
    return features.product(np.ascontiguousarray(weights, dtype=np.float64), np.empty(features.n_rows))


def _from_csr(matrix: Any) -> SparseFeatures:
    if matrix.shape[1] > _MOST_COLUMNS:
        raise LinrankError(
            f"{matrix.shape[1]} features; at most {_MOST_COLUMNS} can be told apart. Hash them to fewer."
        )
    refuse_cut_maps(matrix)
    sound = sound_csr(matrix)
    values = sound.data
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    return SparseFeatures(for_kernels(values), *narrow(sound.indices, sound.indptr), int(sound.shape[1]))


# One row after the other: the processor foresees a single stream of memory, and fetches it ahead. Several rows at a
# time, to load each weight once, took two and a half times as long.


def refuse_missing(matrix: Any, names: Sequence[str]) -> None:
    """Raise for features that hold NaN or infinity, naming the first such column."""
    refuse_cut_maps(matrix)
    values = matrix.data if is_sparse(matrix) else matrix
    with np.errstate(over="ignore", invalid="ignore"):
        # One number tells, at the speed of memory: a sum that is finite has no other terms.
        if np.isfinite(np.sum(values)):
            return
    bad = ~np.isfinite(values)
    columns = matrix.indices[bad] if is_sparse(matrix) else np.nonzero(bad)[1]
    if len(columns) == 0:
        return
    column = int(columns.min())
    found = values[bad][columns == column]
    kind = "NaN" if np.isnan(found).any() else "infinity"
    others = len(np.unique(columns)) - 1
    also = f" ({others:,} more {'feature is' if others == 1 else 'features are'} in some)" if others else ""
    remedy = "Fill such values (reading with missing=0 or missing='query_min' does), or"
    if kind == "infinity":
        remedy = "Replace such values by the largest that means something, or"
    raise UnusableNumberError(
        f"feature {names[column]!r} is {kind} in {len(found):,} of {matrix.shape[0]:,} documents{also}. {remedy} drop "
        "the documents or the feature."
    )


@summing_kernel
def _dense_product(values, weights, scores):  # type: ignore[no-untyped-def]
    n_rows, n_features = values.shape
    for i in range(n_rows):
        score = 0.0
        for j in range(n_features):
            score += values[i, j] * weights[j]
        scores[i] = score


@summing_kernel
def _dense_transposed_product(values, slopes, total):  # type: ignore[no-untyped-def]
    n_rows, n_features = values.shape
    for i in range(n_rows):
        slope = slopes[i]
        for j in range(n_features):
            total[j] += slope * values[i, j]


# Places and columns are read as unsigned numbers: a signed index might be negative, and would be looked at twice.


@kernel
def _sparse_product(values, columns, starts, weights, scores):  # type: ignore[no-untyped-def]
    for i in range(len(starts) - 1):
        score = 0.0
        for entry in range(np.uint64(starts[i]), np.uint64(starts[i + 1])):
            score += values[entry] * weights[np.uint32(columns[entry])]
        scores[i] = score


@kernel
def _take_rows(values, columns, starts, rows, to_starts, to_values, to_columns):  # type: ignore[no-untyped-def]
    for i in range(len(rows)):
        start, to_start = starts[rows[i]], to_starts[i]
        for entry in range(to_starts[i + 1] - to_start):
            to_values[to_start + entry] = values[start + entry]
            to_columns[to_start + entry] = columns[start + entry]


@kernel
def _sparse_transposed_product(values, columns, starts, slopes, total):  # type: ignore[no-untyped-def]
    for i in range(len(starts) - 1):
        slope = slopes[i]
        if slope != 0.0:
            for entry in range(np.uint64(starts[i]), np.uint64(starts[i + 1])):
                total[np.uint32(columns[entry])] += slope * values[entry]


@kernel
def _sparse_transposed_square_product(values, columns, starts, slopes, total):  # type: ignore[no-untyped-def]
    for i in range(len(starts) - 1):
        slope = slopes[i]
        if slope != 0.0:
            for entry in range(np.uint64(starts[i]), np.uint64(starts[i + 1])):
                total[np.uint32(columns[entry])] += slope * values[entry] * values[entry]
