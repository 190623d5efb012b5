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
