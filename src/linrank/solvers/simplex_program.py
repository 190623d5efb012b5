"""A convex quadratic on the simplex, minimised exactly by an active-set method."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector

_EPS = float(np.finfo(np.float64).eps)
# Slopes closer than this share of their terms are equal but for rounding.
_ROUNDINGS = 64.0


def least_on_simplex(gram: NDArray[np.float64], offsets: Vector, start: Vector) -> Vector:
    """Argmin of a.G a / 2 - b.a over a >= 0 with sum a = 1, from a start that is allowed.

    At the minimum the slopes G a - b of all that have a share are equal, and no other's is lower. One that is lower
    gets a share, all that have one move to where their slopes are equal, and those that would go below zero stay
    behind. Whatever is returned is allowed, and not above the start.
    """
    shares = start.copy()
    has_share = shares > 0.0
    value = _value(gram, offsets, shares)
    while True:
        slopes = gram @ shares - offsets
        lowest = int(np.argmin(slopes))
        rounding = _ROUNDINGS * _EPS * float((np.abs(gram) @ shares + np.abs(offsets)).max())
        if float(shares @ slopes) - slopes[lowest] <= rounding or has_share[lowest]:
            return shares
        has_share[lowest] = True
        moved = _equalised(gram, offsets, shares, has_share)
        ahead = _value(gram, offsets, moved)
        if not ahead < value:
            return shares
        shares, value = moved, ahead


def _equalised(gram: NDArray[np.float64], offsets: Vector, shares: Vector, has_share: NDArray[np.bool_]) -> Vector:
    """Move those that have a share to the least point on their part of the simplex; who stays at 0 loses it."""
    shares = shares.copy()
    while True:
        some = np.flatnonzero(has_share)
        target = _stationary(gram[np.ix_(some, some)], offsets[some])
        short = target <= 0.0
        if not short.any():
            shares[some] = target
            return shares
        now = shares[some]
        reach = np.where(short, 0.0, np.inf)
        np.divide(now, now - target, out=reach, where=short & (now > 0.0))
        step = float(reach.min())
        moved = np.maximum(now + step * (target - now), 0.0)
        stays = reach <= step
        moved[stays] = 0.0
        shares[some] = moved / moved.sum()
        has_share[some[stays]] = False


def _stationary(gram: NDArray[np.float64], offsets: Vector) -> Vector:
    """Where the slopes G a - b are all equal and sum a = 1; G may be singular."""
    n = len(offsets)
    scale = float(np.diag(gram).max(initial=0.0)) or 1.0
    bordered = np.ones((n + 1, n + 1))
    bordered[:n, :n] = gram / scale
    # Copies of a cut would leave it open how they share: a little roundness decides.
    bordered[np.arange(n), np.arange(n)] += n * _EPS
    bordered[n, n] = 0.0
    # A constant changes no share; left in, it would drown the one that they add up to where G is next to nothing.
    found: Vector = np.linalg.solve(bordered, np.append((offsets - offsets.max()) / scale, 1.0))[:n]
    return found


def _value(gram: NDArray[np.float64], offsets: Vector, shares: Vector) -> float:
    return 0.5 * float(shares @ gram @ shares) - float(offsets @ shares)
