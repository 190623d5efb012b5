"""The least point of a quadratic model plus corners and bounds: coordinate descent, and jumps where it creeps."""

from __future__ import annotations

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.compiled import kernel
from linrank.objective.penalties import WeightPenalty
from linrank.solvers.cholesky import CholeskyFactor

# Coordinate descent ends where no weight moves by more than this share of the largest, each times its root curvature,
_STILL = 1e-9
# and no slope is farther than this share of its threshold from where it should be.
_CLOSE = 1e-5
# After so many sweeps the weights that are not zero jump to their common least point, which ends all creeping. Few
# jumps are needed: the limit is for rounding, and what a model lacks of its least point the next model makes good.
_SWEEPS = 32
_MOST_JUMPS = 200
_RIDGES = (0.0, 1e-14, 1e-11, 1e-8, 1e-4)


def minimum_of_model(hessian: NDArray[np.float64], slopes: Vector, penalty: WeightPenalty, weights: Vector) -> Vector:
    """Where slopes . d + d' H d / 2 + the penalty's corners at weights + d is least within its bounds.

    `slopes` and `weights`, which are within the bounds, are written over.
    """
    thresholds, lower, upper = (
        np.ascontiguousarray(np.broadcast_to(np.asarray(each, dtype=np.float64), weights.shape))
        for each in (penalty.thresholds, penalty.lower, penalty.upper)
    )
    for _ in range(_MOST_JUMPS):
        if _descend_coordinates(hessian, slopes, thresholds, lower, upper, weights, _STILL, _CLOSE, _SWEEPS):
            break
        if not _jump(hessian, slopes, thresholds, lower, upper, weights):
            break
    return weights


def _jump(
    hessian: NDArray[np.float64], slopes: Vector, thresholds: Vector, lower: Vector, upper: Vector, weights: Vector
) -> bool:
    """Move the weights that no corner or bound holds to their least point; say whether any moved.

    Those that would go beyond a corner or a bound stop there, and stay until the next sweep over all.
    """
    moved = False
    at_bound = ((weights <= lower) & (slopes >= 0.0)) | ((weights >= upper) & (slopes <= 0.0))
    at_corner = (weights == 0.0) & (thresholds > 0.0)
    moving = np.flatnonzero(~at_bound & ~at_corner & (lower < upper) & (np.diagonal(hessian) > 0.0))
    while len(moving):
        before, pulls = weights[moving], thresholds[moving]
        signs = np.sign(before) * (pulls > 0.0)
        part = hessian[np.ix_(moving, moving)]
        change = _solution(part, -(slopes[moving] + signs * pulls))
        least = np.where(signs > 0.0, np.maximum(lower[moving], 0.0), lower[moving])
        most = np.where(signs < 0.0, np.minimum(upper[moving], 0.0), upper[moving])
        after = np.clip(before + change, least, most)
        crossing = after != before + change
        if crossing.any():
            # All of them at once, if that is lower; or else the first on the way.
            shares = np.where(crossing, (after - before) / np.where(crossing, change, 1.0), np.inf)
            first = np.where(shares == shares.min(), after, before + shares.min() * change)
            after = min((after, first), key=lambda to: _change_of_model(part, slopes[moving], pulls, before, to))
        if _change_of_model(part, slopes[moving], pulls, before, after) >= 0.0:
            break
        weights[moving] = after
        slopes += hessian[:, moving] @ (after - before)
        moved = True
        if not crossing.any():
            break
        moving = moving[(after != least) & (after != most)]
    return moved


def _solution(matrix: NDArray[np.float64], right: Vector) -> Vector:
    """Solve matrix d = right. With a unit diagonal, features on different scales do not spoil the factors."""
    scale = 1.0 / np.sqrt(np.diagonal(matrix))
    scaled = matrix * scale[:, None] * scale
    for ridge in _RIDGES:
        scaled[np.diag_indices_from(scaled)] = 1.0 + ridge
        try:
            factor = CholeskyFactor.of(scaled)
        except LinAlgError:
            continue
        solved: Vector = scale * factor.solve(scale * right)
        return solved
    return np.full(len(right), np.nan)


def _change_of_model(
    hessian: NDArray[np.float64], slopes: Vector, thresholds: Vector, before: Vector, after: Vector
) -> float:
    """By how much the model changes; infinite where that leaves float64, as along mixes that it hardly sees."""
    step = after - before
    with np.errstate(over="ignore", invalid="ignore"):
        change = float((slopes + 0.5 * (hessian @ step)) @ step + thresholds @ (np.abs(after) - np.abs(before)))
    return change if np.isfinite(change) else np.inf


@kernel
def _descend_coordinates(  # type: ignore[no-untyped-def]
    hessian, slopes, thresholds, lower, upper, weights, still, close, most_sweeps
):
    """Minimise one weight at a time, keeping `slopes` up to date; return whether all stand still.

    Between sweeps over all weights come sweeps over those that are not zero, until they stand still.
    """
    n = len(weights)
    all_of_them = True
    for _ in range(most_sweeps):
        largest, farthest = 0.0, 0.0
        for j in range(n):
            curvature = hessian[j, j]
            if lower[j] == upper[j] or (weights[j] == 0.0 and not all_of_them):
                continue
            if curvature <= 0.0:
                # The model does not see the feature: its weight costs, and brings nothing.
                if abs(slopes[j]) < thresholds[j] and lower[j] <= 0.0 <= upper[j]:
                    weights[j] = 0.0
                continue
            wanted = weights[j] - slopes[j] / curvature
            shrink = thresholds[j] / curvature
            if wanted > shrink:
                wanted -= shrink
            elif wanted < -shrink:
                wanted += shrink
            else:
                wanted = 0.0
            wanted = min(max(wanted, lower[j]), upper[j])
            change = wanted - weights[j]
            if change != 0.0:
                weights[j] = wanted
                for k in range(n):
                    slopes[k] += change * hessian[j, k]
                largest = max(largest, abs(change) * np.sqrt(curvature))
                if thresholds[j] > 0.0:
                    farthest = max(farthest, abs(change) * curvature / thresholds[j])
        scale = 0.0
        for j in range(n):
            if weights[j] != 0.0:
                scale = max(scale, abs(weights[j]) * np.sqrt(max(0.0, hessian[j, j])))
        if largest == 0.0 or (largest <= still * scale and farthest <= close):
            if all_of_them:
                return True
            all_of_them = True
        else:
            all_of_them = False
    return False
