"""Where the knots of a feature's curve are: by the ranks of its values alone, so that units make no difference."""

from __future__ import annotations

from typing import Any

import numpy as np

from linrank.arrays import Vector

# What next to nothing weighs has a score all the same.
_LEAST_SHARE = 1e-12


def spaced_knots(column: Any, weights: Vector | None, n_knots: int) -> tuple[Vector, Vector]:
    """At most so many of the values of a column, with their normal scores.

    The score of a value is z = Phi^-1(share of values below it + half of the share of those equal to it). Knots are the
    least and the largest value and, one after the other, the value nearest to the middle, in scores, of the interval
    between knots where (share of values inside) x (difference of the scores of its ends) is largest: between equal
    shares, of which the last would be most of a long tail, and equal differences of scores, most of which would be in
    the tails. Values that many documents have, such as zeros, take no more than one.
    """
    values, masses = _distinct(column, weights)
    scores = normal_scores(masses)
    before = np.concatenate([[0.0], np.cumsum(masses)])
    chosen = sorted({0, len(values) - 1})
    while len(chosen) < min(n_knots, len(values)):
        ends = np.array(chosen)
        inside = before[ends[1:]] - before[ends[:-1] + 1]
        # Never one without values inside, whatever rounding makes of the others.
        widest = int(np.argmax(np.where(np.diff(ends) > 1, inside * np.diff(scores[ends]), -1.0)))
        first, last = chosen[widest], chosen[widest + 1]
        between = np.arange(first + 1, last)
        middle = np.abs(scores[between] - 0.5 * (scores[first] + scores[last]))
        chosen.insert(widest + 1, int(between[np.argmin(middle)]))
    return values[chosen], scores[chosen]


def normal_scores(masses: Vector) -> Vector:
    """Of values in ascending order, each as frequent as its mass says."""
    from scipy.special import ndtri

    shares = (np.cumsum(masses) - 0.5 * masses) / masses.sum()
    scores: Vector = ndtri(np.clip(shares, _LEAST_SHARE, 1.0 - _LEAST_SHARE))
    return scores


def _distinct(column: Any, weights: Vector | None) -> tuple[Vector, Vector]:
    """The values that some document with a weight has, ascending, and how much those documents weigh."""
    if weights is None:
        ordered = np.sort(column)
        of_rows = np.ones(len(ordered))
    else:
        weighs = weights > 0.0
        column, weights = column[weighs], weights[weighs]
        order = np.argsort(column, kind="stable")
        ordered, of_rows = column[order], weights[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return ordered[starts].astype(np.float64), np.add.reduceat(of_rows, starts)
