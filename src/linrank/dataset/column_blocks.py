"""Sparse rows kept block of columns after block: of a vector with a place for each of very many, one part is in use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Indices, Offsets, Vector
from linrank.compiled import kernel
from linrank.dataset.features import Features, SparseFeatures

# So many columns to a block: their place in it takes 16 bits, and their part of a vector half of a core's cache.
_BLOCK_BITS = 16
# Vectors of fewer features are in cache as a whole, or nearly.
_FEWEST_FEATURES = 1 << 18
# Fewer entries to a block would not pay for bringing its part of the vector.
_FEWEST_ENTRIES = 1 << 12


@dataclass(frozen=True, slots=True)
class ColumnBlocks:
    """Entry e from `starts[b]` up to `starts[b + 1]` is `values[e]` in row `rows[e]`, column b * 2**16 + `columns[e]`.

    Within a block entries are in the order of the rows. So each sum has its terms in the order in which it has them
    from `by_rows`, and the same bits: most of what that order costs is waiting for places of the vector that are far
    apart.
    """

    by_rows: SparseFeatures
    values: NDArray[Any]
    columns: NDArray[np.uint16]
    rows: Indices
    starts: Offsets

    @property
    def n_rows(self) -> int:
        return self.by_rows.n_rows

    @property
    def n_features(self) -> int:
        return self.by_rows.n_features

    def product(self, weights: Vector, scores: Vector) -> Vector:
        """scores_i = x_i . weights, summed in float64."""
        _blocked_product(self.values, self.columns, self.rows, self.starts, weights, scores)
        return scores

    def transposed_product(self, slopes: Vector, total: Vector) -> Vector:
        """Add sum_i slopes_i x_i to `total`, in float64."""
        _blocked_transposed_product(self.values, self.columns, self.rows, self.starts, slopes, total)
        return total

    def transposed_square_product(self, slopes: Vector, total: Vector) -> Vector:
        """Add sum_i slopes_i x_i ** 2, feature by feature, to `total`."""
        _blocked_transposed_square_product(self.values, self.columns, self.rows, self.starts, slopes, total)
        return total


def in_column_blocks(features: Features) -> Features | ColumnBlocks:
    """A copy in blocks of columns, where that makes products faster; otherwise the features themselves."""
    if not isinstance(features, SparseFeatures) or features.n_features < _FEWEST_FEATURES:
        return features
    n_blocks = ((features.n_features - 1) >> _BLOCK_BITS) + 1
    n_entries = int(features.starts[-1] - features.starts[0])
    if n_entries < _FEWEST_ENTRIES * n_blocks:
        return features
    starts = np.zeros(n_blocks + 1, dtype=np.int64)
    if not _count_entries(features.columns, features.starts, starts):
        # A row whose columns do not ascend would be summed in another order.
        return features
    values, columns = np.empty(n_entries, dtype=features.values.dtype), np.empty(n_entries, dtype=np.uint16)
    rows = np.empty(n_entries, dtype=np.int32)
    _fill_blocks(features.values, features.columns, features.starts, starts[:-1].copy(), values, columns, rows)
    return ColumnBlocks(features, values, columns, rows, starts)


@kernel
def _count_entries(columns, row_starts, starts):  # type: ignore[no-untyped-def]
    """Write where each block starts; return whether the columns of each row ascend."""
    ascends = True
    for i in range(len(row_starts) - 1):
        last = -1
        for entry in range(row_starts[i], row_starts[i + 1]):
            column = columns[entry]
            ascends &= column > last
            last = column
            starts[(column >> _BLOCK_BITS) + 1] += 1
    for block in range(1, len(starts)):
        starts[block] += starts[block - 1]
    return ascends


@kernel
def _fill_blocks(values, columns, row_starts, next_of_block, to_values, to_columns, to_rows):  # type: ignore[no-untyped-def]
    for i in range(len(row_starts) - 1):
        for entry in range(row_starts[i], row_starts[i + 1]):
            column = columns[entry]
            block = column >> _BLOCK_BITS
            place = next_of_block[block]
            next_of_block[block] = place + 1
            to_values[place] = values[entry]
            to_columns[place] = column & ((1 << _BLOCK_BITS) - 1)
            to_rows[place] = i


@kernel
def _blocked_product(values, columns, rows, starts, weights, scores):  # type: ignore[no-untyped-def]
    for i in range(len(scores)):
        scores[i] = 0.0
    for block in range(len(starts) - 1):
        part = weights[block << _BLOCK_BITS :]
        for entry in range(np.uint64(starts[block]), np.uint64(starts[block + 1])):
            scores[np.uint32(rows[entry])] += values[entry] * part[columns[entry]]


@kernel
def _blocked_transposed_product(values, columns, rows, starts, slopes, total):  # type: ignore[no-untyped-def]
    for block in range(len(starts) - 1):
        part = total[block << _BLOCK_BITS :]
        for entry in range(np.uint64(starts[block]), np.uint64(starts[block + 1])):
            slope = slopes[np.uint32(rows[entry])]
            if slope != 0.0:
                part[columns[entry]] += slope * values[entry]


@kernel
def _blocked_transposed_square_product(values, columns, rows, starts, slopes, total):  # type: ignore[no-untyped-def]
    for block in range(len(starts) - 1):
        part = total[block << _BLOCK_BITS :]
        for entry in range(np.uint64(starts[block]), np.uint64(starts[block + 1])):
            part[columns[entry]] += slopes[np.uint32(rows[entry])] * values[entry] * values[entry]
