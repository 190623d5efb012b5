"""The group lasso: features that come together, such as those of one field, are kept or dropped together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.errors import LinrankError
from linrank.objective.penalties import Each, Within


@dataclass(frozen=True, eq=False)
class GroupL1(Within):
    """P(w) = strength x the sum over groups g of sqrt(size_g) |w_g| + ridge / 2 w.w, |w_g| being the length of w_g.

    `groups` holds the number of each feature's group, from 0. Groups of one feature each are L1.
    """

    groups: NDArray[np.int64]
    strength: float = 1.0
    ridge: float = 0.0

    def __post_init__(self) -> None:
        groups = np.asarray(self.groups)
        if groups.ndim != 1 or groups.dtype.kind not in "iu" or (groups.size and groups.min() < 0):
            raise LinrankError("groups are whole numbers from 0, one a feature.")
        object.__setattr__(self, "groups", groups.astype(np.int64))

    @property
    def thresholds(self) -> Vector:
        """One a group."""
        return self.strength * np.sqrt(np.bincount(self.groups))

    def value(self, weights: Vector) -> float:
        return 0.5 * self.ridge * float(weights @ weights) + self.value_of_corners(weights)

    def value_of_corners(self, weights: Vector) -> float:
        return float(self.thresholds @ self._lengths(weights))

    def gradient(self, weights: Vector) -> Vector:
        return self.ridge * weights

    def curvature(self, weights: Vector) -> Vector:
        return np.full_like(weights, self.ridge)

    def add_curvature_product(self, direction: Vector, total: Vector) -> None:
        total += self.ridge * direction

    def steps(self, steps: Vector) -> Vector:
        """The shortest step of each group: a group moves by one."""
        shortest = np.full(len(self.thresholds), np.inf)
        np.minimum.at(shortest, self.groups, steps)
        return shortest[self.groups]

    def shrunk(self, weights: Vector, step: Each) -> Vector:
        """The proximal step of the corners: each group shortened by step x threshold, and no further than zero."""
        pulls = np.broadcast_to(step, weights.shape) * self.thresholds[self.groups]
        # Zero is added so that no weight is -0.
        return weights * self._shares(weights, pulls) + 0.0

    def least_subgradient(self, weights: Vector, gradient: Vector) -> Vector:
        lengths = self._lengths(weights)[self.groups]
        with np.errstate(divide="ignore", invalid="ignore"):
            away = gradient + self.thresholds[self.groups] * np.where(lengths > 0.0, weights / lengths, 0.0)
        at_zero = gradient * self._shares(gradient, self.thresholds[self.groups])
        return np.where(lengths > 0.0, away, at_zero)

    def conjugate(self, slopes: Vector) -> float:
        beyond = np.maximum(self._lengths(slopes) - self.thresholds, 0.0)
        if self.ridge > 0.0:
            return float(beyond @ beyond) / (2.0 * self.ridge)
        return np.inf if beyond.any() else 0.0

    def gap(self, weights: Vector, slopes: Vector) -> float:
        return max(0.0, self.value(weights) + self.conjugate(slopes) - float(slopes @ weights))

    def room(self, slopes: Vector) -> float:
        if self.ridge > 0.0:
            return np.inf
        lengths = self._lengths(slopes)
        share = (self.thresholds[lengths > 0.0] / lengths[lengths > 0.0]).min(initial=np.inf)
        # A little less: the slopes times the share, rounded, must not be beyond a threshold that they just reach.
        return float(share * (1.0 - 8.0 * np.finfo(np.float64).eps))

    def _lengths(self, vector: Vector) -> Vector:
        return np.sqrt(np.bincount(self.groups, vector * vector))

    def _shares(self, vector: Vector, pulls: Any) -> Vector:
        """What is left of each group's length when the pull is taken off it."""
        lengths = self._lengths(vector)[self.groups]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(lengths > pulls, 1.0 - pulls / lengths, 0.0)
