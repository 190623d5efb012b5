"""Sums over the pairs in a rounded corner, of scores that may be as large as float64 holds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.objective.sorted_pairs import PairsWithin


def add_corner(outer: PairsWithin, inner: PairsWithin, width: float, slopes: Vector) -> tuple[float, float]:
    """Sums over the pairs of `outer` that are not of `inner`, u = 1 - (s_i - s_j) being between 0 and a width.

    Returned are those of u ** 2 and of u; the slopes of the first, divided by twice the width, are added. Where scores
    are large, differences of sums over both sets of pairs leave only rounding. But the scores of such a pair are near
    each other, so that they may be measured around a circle: from one zero for documents far from it on both sides,
    and from the opposite one for the others.
    """
    documents = outer.documents
    around = 4.0 * max(1.0, width - 1.0)
    turned = np.mod(documents.scores, around)
    opposite = np.mod(turned + 0.5 * around, around)
    near = np.abs(turned - 0.5 * around) <= 0.25 * around
    own = np.where(near, turned, opposite)

    def between(first: Vector, second: Vector) -> tuple[Vector, Vector]:
        """Of each document's higher and lower partners in the corner, sums of what they have as seen from it."""
        packed: NDArray[Any] = documents.weights * (first + 1j * second)
        higher, lower = (all_ - below for all_, below in zip(outer.sums(packed), inner.sums(packed), strict=True))
        return np.where(near, higher.real, higher.imag), np.where(near, lower.real, lower.imag)

    ones = np.ones(len(own))
    (above, below), (of_higher, of_lower) = between(ones, ones), between(turned, opposite)
    _, squares_of_lower = between(turned * turned, opposite * opposite)
    block = documents.block
    weights = documents.weights * np.repeat(block.query_weights, np.diff(block.query_starts))
    from_higher = np.clip((1.0 + own) * above - of_higher, 0.0, width * above)
    from_lower = np.clip((1.0 - own) * below + of_lower, 0.0, width * below)
    slopes[documents.rows] += weights * (from_higher - from_lower) / width
    squares = (1.0 - own) ** 2 * below + 2.0 * (1.0 - own) * of_lower + squares_of_lower
    return float(weights @ np.clip(squares, 0.0, width * width * below)), float(weights @ from_lower)
