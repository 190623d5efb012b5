"""Penalties on the weights that are sums over features: one form, closed under addition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from linrank.arrays import Vector
from linrank.errors import LinrankError

Each = Vector | float
"""One number a feature, or one for all."""


class Penalty(Protocol):
    """P(w) = a smooth part, with a gradient and a diagonal curvature, plus a part with corners or bounds.

    The second part is met by its subgradients; and where P is convex, the whole of it by its conjugate,
    P*(u) = max over w of u.w - P(w), from which every lower bound comes.
    """

    def value(self, weights: Vector) -> float:
        """P at weights that are allowed."""
        ...

    def gradient(self, weights: Vector) -> Vector:
        """Of the smooth part."""
        ...

    def curvature(self, weights: Vector) -> Vector:
        """The diagonal of the smooth part's second derivative."""
        ...

    def add_curvature_product(self, direction: Vector, total: Vector) -> None:
        """Add the second derivative times a direction."""
        ...

    def within(self, weights: Vector) -> Vector:
        """The nearest weights that are allowed."""
        ...

    def least_subgradient(self, weights: Vector, gradient: Vector) -> Vector:
        """The shortest subgradient of a sum, given the gradient of its smooth parts: zero at the minimum."""
        ...

    def conjugate(self, slopes: Vector) -> float:
        """P*(u): infinite where nothing holds a weight that pays."""
        ...

    def gap(self, weights: Vector, slopes: Vector) -> float:
        """P(w) + P*(u) - u.w, which is never negative."""
        ...

    def room(self, slopes: Vector) -> float:
        """The largest share of the slopes whose conjugate is finite."""
        ...


class ProximalPenalty(Penalty, Protocol):
    """A penalty whose part with corners or bounds has a proximal step."""

    def value_of_corners(self, weights: Vector) -> float:
        """Of the part with corners."""
        ...

    def steps(self, steps: Vector) -> Vector:
        """Steps that `shrunk` can take, none of them longer than those given."""
        ...

    def shrunk(self, weights: Vector, step: Each) -> Vector:
        """Argmin over v of (v - w)² / (2 step) + the part with corners and bounds at v."""
        ...


class Within:
    """What a penalty that allows all weights has to say of them."""

    def within(self, weights: Vector) -> Vector:
        return weights


class WithoutSmoothPart(Within):
    """What a penalty of corners alone has to say of its smooth part."""

    def gradient(self, weights: Vector) -> Vector:
        return np.zeros_like(weights)

    def curvature(self, weights: Vector) -> Vector:
        return np.zeros_like(weights)

    def add_curvature_product(self, direction: Vector, total: Vector) -> None:
        """Nothing is added."""


@dataclass(frozen=True, eq=False)
class WeightPenalty:
    """P(w) = sum_j threshold_j |w_j| + strength_j / 2 (w_j - centre_j)², where lower_j <= w_j <= upper_j.

    `L2`, `L1`, `ElasticNet`, `Toward` and `Bounds` are of this form, and so is every sum of them. The parabolas are its
    smooth part; the corners and bounds are the rest of it, which solvers meet by

    - `shrunk`, the proximal step: argmin over v of (v - w)² / (2 step) + the rest at v;
    - `conjugate`, P*(u) = max over w of u.w - P(w), from which every lower bound comes.
    """

    thresholds: Each = 0.0
    strengths: Each = 0.0
    centres: Each = 0.0
    lower: Each = -np.inf
    upper: Each = np.inf

    def __add__(self, other: WeightPenalty) -> WeightPenalty:
        strengths = self.strengths + other.strengths
        # Two parabolas are one about a centre between theirs, and a constant, which is left out.
        weighted = self.strengths * self.centres + other.strengths * other.centres
        with np.errstate(invalid="ignore", divide="ignore"):
            centres = np.where(strengths > 0.0, np.divide(weighted, strengths), 0.0)
        lower, upper = np.maximum(self.lower, other.lower), np.minimum(self.upper, other.upper)
        if np.any(lower > upper):
            raise LinrankError("some weight has no value left: its lower bound is above its upper one. Widen them.")
        return WeightPenalty(self.thresholds + other.thresholds, strengths, centres[()], lower, upper)

    def __str__(self) -> str:
        terms = [("L1", self.thresholds, 0.0), ("L2", self.strengths, 0.0), ("toward", self.centres, 0.0)]
        terms += [("at least", self.lower, -np.inf), ("at most", self.upper, np.inf)]
        said = [f"{name} {_shown(values)}" for name, values, usual in terms if not _all_equal(values, usual)]
        return ", ".join(said) or "no penalty"

    @property
    def strength(self) -> float:
        """The strength of a penalty that is strength / 2 x |w - centres|² and nothing else; 0 for none."""
        if not self.is_smooth or np.ndim(self.strengths):
            raise LinrankError(f"a penalty of strength / 2 |w - centres|² is wanted, not {self}.")
        return float(self.strengths)

    @property
    def is_smooth(self) -> bool:
        """Whether it has neither corners nor bounds."""
        return not (np.any(self.thresholds) or self.is_bounded)

    @property
    def is_bounded(self) -> bool:
        return not (_all_equal(self.lower, -np.inf) and _all_equal(self.upper, np.inf))

    def value(self, weights: Vector) -> float:
        """P at weights within the bounds."""
        away = weights - self.centres
        return 0.5 * float(np.sum(self.strengths * away * away)) + self.value_of_corners(weights)

    def value_of_corners(self, weights: Vector) -> float:
        return float(np.sum(self.thresholds * np.abs(weights))) if np.any(self.thresholds) else 0.0

    def gradient(self, weights: Vector) -> Vector:
        """Of the smooth part."""
        return np.asarray(self.strengths * (weights - self.centres), dtype=np.float64)

    def curvature(self, weights: Vector) -> Vector:
        """The diagonal of the second derivative."""
        return np.broadcast_to(np.asarray(self.strengths, dtype=np.float64), weights.shape)

    def add_curvature_product(self, direction: Vector, total: Vector) -> None:
        """Add the second derivative times a direction."""
        unit = np.ndim(self.strengths) == 0 and self.strengths == 1.0
        total += direction if unit else self.strengths * direction

    def steps(self, steps: Vector) -> Vector:
        """A step of its own for each feature."""
        return steps

    def within(self, weights: Vector) -> Vector:
        """The nearest weights that the bounds allow."""
        return np.clip(weights, self.lower, self.upper)

    def shrunk(self, weights: Vector, step: Each) -> Vector:
        """The proximal step of corners and bounds: each weight towards zero by step x threshold, then to its bounds."""
        shrunk = np.sign(weights) * np.maximum(np.abs(weights) - step * self.thresholds, 0.0)
        # Zero is added so that no weight is -0.
        return self.within(shrunk) + 0.0

    def least_subgradient(self, weights: Vector, gradient: Vector) -> Vector:
        """The shortest subgradient of a sum, given the gradient of its smooth parts: zero at the minimum."""
        away = gradient + np.sign(weights) * self.thresholds
        at_zero = np.sign(gradient) * np.maximum(np.abs(gradient) - self.thresholds, 0.0)
        least = np.where(weights != 0.0, away, at_zero)
        # A bound holds a weight that would go beyond it; at a bound of 0, the corner lies on one side only.
        held = ((weights <= self.lower) & (least > 0.0)) | ((weights >= self.upper) & (least < 0.0))
        return np.where(held, 0.0, least)

    def conjugate(self, slopes: Vector) -> float:
        """P*(u): infinite where nothing holds a weight that pays."""
        best = self._best(slopes)
        return float(slopes @ best) - self.value(best) if np.isfinite(best).all() else np.inf

    def gap(self, weights: Vector, slopes: Vector) -> float:
        """P(w) + P*(u) - u.w, which is never negative: summed feature by feature, so that nothing is lost near zero."""
        best = self._best(slopes)
        if not np.isfinite(best).all():
            return np.inf
        move = weights - best
        beyond = slopes - self.strengths * (best - self.centres)
        corners = self.thresholds * (np.abs(weights) - np.abs(best)) - beyond * move
        return float(np.sum(0.5 * self.strengths * move * move + np.maximum(corners, 0.0)))

    def room(self, slopes: Vector) -> float:
        """The largest share of the slopes whose conjugate is finite."""
        bounded = np.isfinite(np.where(slopes > 0.0, self.upper, self.lower))
        unheld = (self.strengths == 0.0) & ~bounded & (slopes != 0.0)
        thresholds = np.broadcast_to(self.thresholds, slopes.shape)[unheld]
        with np.errstate(over="ignore"):
            share = (thresholds / np.abs(slopes[unheld])).min(initial=np.inf)
        # A little less: the slopes times the share, rounded, must not be beyond a threshold that they just reach.
        return float(share * (1.0 - 8.0 * np.finfo(np.float64).eps))

    def _best(self, slopes: Vector) -> Vector:
        """Where u.w - P(w) is greatest, feature by feature."""
        pulled = slopes + self.strengths * self.centres
        beyond = np.sign(pulled) * np.maximum(np.abs(pulled) - self.thresholds, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            free = np.where(beyond == 0.0, 0.0, beyond / self.strengths)
        return self.within(free)


def L2(strength: float = 1.0) -> WeightPenalty:
    """Strength / 2 x w.w"""
    return WeightPenalty(strengths=strength)


def L1(strength: float, scales: Vector | None = None) -> WeightPenalty:
    """Strength x the sum of scale_j |w_j|; every scale is 1 unless told, and may be a feature's cost."""
    return WeightPenalty(thresholds=strength if scales is None else strength * scales)


def ElasticNet(l1_ratio: float, strength: float = 1.0) -> WeightPenalty:
    """Strength x (l1_ratio |w|_1 + (1 - l1_ratio) w.w / 2)"""
    return L1(strength * l1_ratio) + L2(strength * (1.0 - l1_ratio))


def Toward(weights: Vector, strength: float = 1.0) -> WeightPenalty:
    """Strength / 2 x |w - weights|²: a pull towards given weights in place of zero."""
    return WeightPenalty(strengths=strength, centres=np.asarray(weights, dtype=np.float64))


def Bounds(lower: Any = -np.inf, upper: Any = np.inf) -> WeightPenalty:
    """0 where lower_j <= w_j <= upper_j, and not allowed elsewhere."""
    least, most = (np.asarray(side, dtype=np.float64)[()] for side in (lower, upper))
    if np.any(np.isnan(least)) or np.any(np.isnan(most)) or np.any(least == np.inf) or np.any(most == -np.inf):
        raise LinrankError("a bound is no number; use a finite one, or -inf below and inf above for none.")
    return WeightPenalty() + WeightPenalty(lower=least, upper=most)


def _all_equal(values: Each, value: float) -> bool:
    return bool(np.all(values == value))


def _shown(values: Each) -> str:
    return f"{values:g}" if np.ndim(values) == 0 else "by feature"
