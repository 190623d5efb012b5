"""What a solver returns, and what it says on the way."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self, TypeAlias

import numpy as np

from linrank.arrays import Vector
from linrank.errors import left_float64
from linrank.objective.objective import EvaluatedPoint
from linrank.showing import above_minimum

# Values that differ by a smaller share may be equal: sums of many terms, each right to 1e-16.
_ROUNDING = 1e-13


@dataclass(frozen=True, slots=True)
class Iteration:
    """One line of a solver's history."""

    number: int
    value: float
    """The objective."""
    gap: float
    """What the solver goes by: the estimate of (f - min f) / f, or |g| / |g at 0| for TRON."""
    gradient_norm: float
    inner: int
    """Conjugate-gradient steps at this point, each one pass over the data."""
    step: float
    """The share of the Newton step, or the trust region's ratio of steps, that led here."""
    seconds: float
    certified_gap: float = np.inf
    """A bound on f - min f, where one is known; one above f itself says nothing."""

    def __str__(self) -> str:
        # A gap of all of f or more tells nothing.
        gap = f"{self.gap:.1e}" if self.gap < 1.0 else "unknown"
        return (
            f"iter {self.number:3d}  f {self.value:.6e}  gap {gap:7s}  |g| {self.gradient_norm:.1e}  "
            f"CG {self.inner:3d}  step {self.step:.2f}"
        )


Watch: TypeAlias = Callable[[Iteration, Vector], object]
"""Called after each iteration with the weights there; a true answer stops the solver."""


@dataclass(frozen=True, repr=False)
class Solution:
    """The weights found, and how good they are known to be.

    `certified_gap` is a bound on f(weights) - min f that holds without any assumption: a duality gap. For the smooth
    losses it is half the squared length of the gradient, since f minus w.w / 2 is convex. `estimated_gap` is what the
    solver went by, such as the Newton decrement. Both are in the units of f.
    """

    weights: Vector
    value: float
    gradient_norm: float
    certified_gap: float
    estimated_gap: float
    iterations: int
    """Steps taken; the history has a line for the first point too."""
    inner_iterations: int
    converged: bool
    """Whether the solver's rule holds to its tolerance, or the gap is within the rounding of f."""
    interrupted: bool
    message: str
    history: tuple[Iteration, ...]

    def at(self, line: Iteration, weights: Vector) -> Self:
        """The same run, as if it had ended at an earlier line of its history."""
        return replace(
            self,
            weights=weights,
            value=line.value,
            gradient_norm=line.gradient_norm,
            certified_gap=line.certified_gap,
            estimated_gap=line.gap * abs(line.value),
        )

    def __repr__(self) -> str:
        state = "converged" if self.converged else "not converged"
        known = above_minimum(self.value, self.certified_gap)
        return (
            f"Solution({state}: {self.message}; f {self.value:.6e}{'' if known is None else f', {known}'}, "
            f"{self.iterations} iterations, {np.count_nonzero(self.weights)} of {len(self.weights)} weights not 0)"
        )


class Journal:
    """The history of one run: it keeps the last point, watches the clock, and asks the watcher whether to go on."""

    def __init__(self, watch: Watch | None = None, max_seconds: float = np.inf) -> None:
        self._watch = watch
        self._max_seconds = max_seconds
        self._started = time.perf_counter()
        self._lines: list[Iteration] = []
        self._weights: Vector | None = None
        self._gap = np.inf
        self._certified_gap = np.inf
        self.so_far: Vector | None = None
        """Weights found before there is a point of the whole data to note."""

    @property
    def last_weights(self) -> Vector | None:
        return self._weights

    @property
    def is_empty(self) -> bool:
        return not self._lines

    def note(
        self, weights: Vector, value: float, gradient_norm: float, *, gap: float, certified_gap: float, inner: int,
        step: float, shown: float | None = None,
    ) -> str | None:  # fmt: skip
        """Add a line; return why to stop, if there is a reason beside convergence. What is not finite is refused.

        The gaps are in the units of f; `shown` stands in the line in place of gap / f.
        """
        if not (np.isfinite(value) and np.isfinite(weights).all()):
            largest = np.abs(weights).max(initial=0.0)
            raise left_float64(
                f"the objective is {value:g} and the largest weight {largest:g} in step {len(self._lines)}"
            )
        self._weights, self._gap, self._certified_gap = weights, gap, certified_gap
        if shown is None:
            shown = gap / value if value > 0.0 else 0.0
        seconds = time.perf_counter() - self._started
        line = Iteration(len(self._lines), value, shown, gradient_norm, inner, step, seconds, certified_gap)
        self._lines.append(line)
        if self._watch is not None and self._watch(line, weights):
            return "the validation measure no longer improves"
        return f"out of time (max_seconds={self._max_seconds:g})" if seconds > self._max_seconds else None

    def note_smooth(
        self, point: EvaluatedPoint, *, gap: float | None = None, inner: int, step: float, shown: float | None = None
    ) -> str | None:
        """Add a line for a point of a smooth objective."""
        norm = float(np.linalg.norm(point.gradient))
        certified = point.gap()
        gap = certified if gap is None else gap
        return self.note(
            point.weights, point.value, norm, gap=gap, certified_gap=certified, inner=inner, step=step, shown=shown
        )

    def stalled(self, point: EvaluatedPoint, least: Vector, *, gap: float = np.inf, rounding: float = 0.0) -> Solution:
        """What is known where no step lowers the objective.

        It has converged where the gap, the point's own or a smaller `gap`, is within the rounding of the value. Where
        the gap is within its own `rounding`, or what is left of the gradient, `least`, within that of its sums, float64
        allows no more, and the tolerance is not met all the same. Anywhere else it is a failure.
        """
        known = min(gap, point.gap())
        if known <= _ROUNDING * abs(point.value):
            return self.solution("no step lowers the objective: the limit of float64", converged=True)
        if known <= rounding or (np.abs(least) <= point.gradient_rounding()).all():
            return self.solution("no step lowers the objective: the limit of float64, short of the tolerance")
        return self.solution("no step lowers the objective, though it is not at its minimum; scale the features")

    def solution(self, message: str, *, converged: bool = False, interrupted: bool = False) -> Solution:
        """What is known at the last point noted."""
        if self._weights is None:
            # Interrupted before the first point was evaluated: there is nothing to hand over.
            raise KeyboardInterrupt
        last = self._lines[-1]
        return Solution(
            self._weights,
            last.value,
            last.gradient_norm,
            self._certified_gap,
            self._gap,
            max(1, len(self._lines) - 1),
            sum(line.inner for line in self._lines),
            converged,
            interrupted,
            message,
            tuple(self._lines),
        )
