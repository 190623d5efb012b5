"""The L1 ball as a penalty: nothing within it, and nothing allowed outside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linrank.arrays import Vector
from linrank.objective.penalties import WithoutSmoothPart


@dataclass(frozen=True)
class L1Ball(WithoutSmoothPart):
    """0 where sum_j |w_j| <= radius, and not allowed elsewhere; its conjugate is radius x max_j |u_j|."""

    radius: float

    def value(self, weights: Vector) -> float:  # noqa: ARG002
        return 0.0

    def within(self, weights: Vector) -> Vector:
        """The weights themselves in the ball; outside, all scaled down alike."""
        size = float(np.sum(np.abs(weights)))
        return weights if size <= self.radius * (1.0 + 1e-12) else weights * (self.radius / size)

    def vertex(self, slopes: Vector) -> Vector:
        """Where u.w is greatest in the ball: all of the radius on the feature with the largest |u_j|."""
        steepest = int(np.argmax(np.abs(slopes)))
        vertex = np.zeros_like(slopes)
        vertex[steepest] = self.radius * np.sign(slopes[steepest])
        return vertex

    def least_subgradient(self, weights: Vector, gradient: Vector) -> Vector:
        """The gradient inside the ball; on its border, less what the border holds."""
        if float(np.sum(np.abs(weights))) < self.radius * (1.0 - 1e-12):
            return gradient
        used = weights != 0.0
        held = max(0.0, float(np.mean(-gradient[used] * np.sign(weights[used]))))
        away = gradient + held * np.sign(weights)
        return np.where(used, away, np.sign(gradient) * np.maximum(np.abs(gradient) - held, 0.0))

    def conjugate(self, slopes: Vector) -> float:
        return self.radius * float(np.max(np.abs(slopes), initial=0.0))

    def gap(self, weights: Vector, slopes: Vector) -> float:
        # At the least point of the ball it is zero, and rounding may take it below.
        return max(0.0, self.conjugate(slopes) - float(slopes @ weights))

    def room(self, slopes: Vector) -> float:  # noqa: ARG002
        return np.inf
