"""Lower bounds on an objective from the slopes of its loss: one certificate for every convex loss and penalty.

For f(w) = P(w) + C L(X w), any slopes a, one a document, give f(w) >= -C L*(a) - P*(-C X'a), L* and P* being the
conjugates. At a point, a share of the loss's own slopes is such an a: the whole of them near the minimum, or as much of
them as keeps P* finite. What is known of -L* along that ray is the loss's `dual`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class Dual(Protocol):
    """What -L* is at a share of the slopes of a loss, from its value, slopes . scores (`along`) and its least value."""

    def at(self, share: float, value: float, along: float, least: float) -> float:
        """A bound on -L*(share x slopes) from below."""
        ...

    def best(self, value: float, along: float) -> float:
        """The largest share that is worth taking."""
        ...


@dataclass(frozen=True)
class ConvexDual:
    """Of any convex loss: -L* is concave, value - along at the slopes themselves, and the loss's least value at 0."""

    def at(self, share: float, value: float, along: float, least: float) -> float:
        return share * (value - along) + (1.0 - share) * least

    def best(self, value: float, along: float) -> float:  # noqa: ARG002
        return 1.0


@dataclass(frozen=True)
class QuadraticDual:
    """Of a sum of squares of what is linear in the scores, or of its positive part: -L* is quadratic in the share."""

    def at(self, share: float, value: float, along: float, least: float) -> float:  # noqa: ARG002
        return share * (2.0 * value - along) - share * share * value

    def best(self, value: float, along: float) -> float:
        return max(0.0, 1.0 - 0.5 * along / value) if value > 0.0 else 0.0


@dataclass(frozen=True)
class NoDual:
    """Of a loss that is not convex: nothing is known."""

    def at(self, share: float, value: float, along: float, least: float) -> float:  # noqa: ARG002
        return -float("inf")

    def best(self, value: float, along: float) -> float:  # noqa: ARG002
        return 1.0
