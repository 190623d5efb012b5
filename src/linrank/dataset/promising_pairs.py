"""Which products of two features would lower a loss: by its slope along each of them, found for all pairs at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector
from linrank.compiled import kernel, summing_kernel
from linrank.errors import LinrankError

# Lines of so many rows are in cache while those of every two features are multiplied.
_ROWS_AT_A_TIME = 128
# Two sums for every two features: of so many, 512 MB.
_MOST_FEATURES = 5_792


def check_pairs_can_be_compared(n_features: int) -> None:
    """Refuse features of which there are more pairs than can be held."""
    if n_features > _MOST_FEATURES:
        raise LinrankError(
            f"interactions among {n_features:,} features: there are {n_features * (n_features - 1) // 2:,} pairs of "
            f"them, and those of {_MOST_FEATURES:,} can be compared. Leave out features that are rare, or interactions."
        )


def promising_pairs(
    lines: Callable[[slice], NDArray[np.float64]], slopes: Vector, weights: Vector, most: int
) -> NDArray[np.int64]:
    """At most so many pairs of features, those first along whose product the loss falls most steeply.

    Per unit of the product's size, which is |sum_i slope_i l_ia l_ib| / sqrt(sum_i weight_i l_ia² l_ib²), so that no
    unit makes a difference. `lines` has l of some rows, a column a feature. Equal ones keep the order of the features.
    """
    n_features = lines(slice(0, 0)).shape[1]
    along, squares = np.zeros((2, n_features, n_features))
    for first in range(0, len(slopes), _ROWS_AT_A_TIME):
        part = slice(first, min(first + _ROWS_AT_A_TIME, len(slopes)))
        _add_products(np.ascontiguousarray(lines(part).T), slopes[part], weights[part], along, squares)
    return _steepest(along, squares, most)


def _steepest(along: NDArray[np.float64], squares: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    one, other = np.triu_indices(len(along), 1)
    sizes = np.sqrt(squares[one, other])
    slopes = np.divide(np.abs(along[one, other]), sizes, out=np.zeros(len(one)), where=sizes > 0.0)
    order: Offsets = np.argsort(-slopes, kind="stable")[:most]
    order = order[slopes[order] > 0.0]
    return np.column_stack([one[order], other[order]]).astype(np.int64)


@summing_kernel
def _dot(one, other):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(len(one)):
        total += one[i] * other[i]
    return total


@kernel
def _add_products(lines, slopes, weights, along, squares):  # type: ignore[no-untyped-def]
    """Add sum_i slope_i l_ia l_ib and sum_i weight_i (l_ia l_ib)² of some rows, for a < b."""
    n_features, n_rows = lines.shape
    squared = lines * lines
    times_slope, times_weight = np.empty(n_rows), np.empty(n_rows)
    for a in range(n_features):
        for i in range(n_rows):
            times_slope[i] = slopes[i] * lines[a, i]
            times_weight[i] = weights[i] * squared[a, i]
        for b in range(a + 1, n_features):
            along[a, b] += _dot(times_slope, lines[b])
            squares[a, b] += _dot(times_weight, squared[b])
