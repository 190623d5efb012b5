"""Penalties on the weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linrank.arrays import Vector


@dataclass(frozen=True)
class L2:
    """strength / 2 x w . w"""

    strength: float = 1.0

    def value(self, weights: Vector) -> float:
        return 0.5 * self.strength * float(weights @ weights)

    def gradient(self, weights: Vector) -> Vector:
        return self.strength * weights

    def curvature(self, weights: Vector) -> Vector:
        """The diagonal of the second derivative."""
        return np.full_like(weights, self.strength)

    def add_curvature_product(self, weights: Vector, direction: Vector, total: Vector) -> None:  # noqa: ARG002
        """Add the second derivative at the weights times a direction."""
        total += direction if self.strength == 1.0 else self.strength * direction


@dataclass(frozen=True, eq=False)
class L1:
    """strength x the sum of scale_j |w_j|; every scale is 1 unless told, and may be a feature's cost.

    Not smooth: it is not part of a `RankingObjective`, whose penalty is then `L2(0.0)`; solvers add it to that.
    """

    strength: float
    scales: Vector | None = None

    @property
    def thresholds(self) -> Vector | float:
        """The slope of the penalty away from zero, feature by feature."""
        return self.strength if self.scales is None else self.strength * self.scales

    def value(self, weights: Vector) -> float:
        return float(np.sum(self.thresholds * np.abs(weights)))

    def shrunk(self, weights: Vector, step: Vector | float) -> Vector:
        """The proximal step: each weight moved towards zero by step x threshold, and no further than zero."""
        # Zero is added so that no weight is -0.
        return np.sign(weights) * np.maximum(np.abs(weights) - step * self.thresholds, 0.0) + 0.0

    def least_subgradient(self, weights: Vector, gradient: Vector) -> Vector:
        """The shortest of all gradient + subgradients of the penalty: zero where the sum is at its minimum."""
        pull = self.thresholds
        away = gradient + np.sign(weights) * pull
        return np.where(weights != 0.0, away, np.sign(gradient) * np.maximum(np.abs(gradient) - pull, 0.0))
