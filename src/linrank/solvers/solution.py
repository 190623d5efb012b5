"""What a solver returns, and what it says on the way."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np

from linrank.arrays import Vector
from linrank.errors import left_float64
from linrank.objective.objective import EvaluatedPoint
from linrank.showing import above_minimum

# Values that differ by a smaller share may be equal: sums of many terms, each right to 1e-16.
_ROUNDING = 1e-13


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a history, of whatever kind."""

    number: int
    value: float
    """The objective."""
    seconds: float
    """Since the beginning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Iteration(Line):
    """A point of a solver."""

    gap: float
    """What the solver goes by: the estimate of (f - min f) / f, or |g| / |g at 0| for TRON."""
    gradient_norm: float
    inner: int
    """Conjugate-gradient steps at this point, each one pass over the data."""
    step: float
    """The share of the Newton step, or the trust region's ratio of steps, that led here."""
    certified_gap: float = np.inf
    """A bound on f - min f, where one is known; one above f itself says nothing."""

    def __str__(self) -> str:
        # A gap of all of f or more tells nothing.
        gap = f"{self.gap:.1e}" if self.gap < 1.0 else "unknown"
        return (
            f"iter {self.number:3d}  f {self.value:.6e}  gap {gap:7s}  |g| {self.gradient_norm:.1e}  "
            f"CG {self.inner:3d}  step {self.step:.2f}"
        )


Watch: TypeAlias = Callable[[Any, Vector], object]
"""Called with each line of the history and the weights there; a true answer ends the run."""


@dataclass(frozen=True, repr=False, kw_only=True)
class Solution:
    """The weights found, and how good they are known to be.

    `certified_gap` is a bound on f(weights) - min f that holds without any assumption: a duality gap. `estimated_gap`
    is what the solver went by, such as the Newton decrement. Both are in the units of f.
    """

    weights: Vector
    value: float
    history: tuple[Any, ...]
    """Lines of one kind: `Iteration`s of a solver."""
    message: str
    converged: bool
    """Whether the solver's rule holds to its tolerance, or the gap is within the rounding of f."""
    interrupted: bool
    iterations: int
    """Steps taken; the history has a line for the first point too."""
    gradient_norm: float = np.nan
    certified_gap: float = np.inf
    estimated_gap: float = np.inf
    inner_iterations: int = 0
    round: int | None = None
    """Which of several problems, one after the other, the weights are of, counted from 1; None of one alone."""

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

    def certified(self, gap: float) -> Self:
        """The same run, with a bound on f - min f at its end that is known to be no more than this."""
        return replace(self, certified_gap=min(gap, self.certified_gap))

    def __repr__(self) -> str:
        state = "converged" if self.converged else "not converged"
        known = above_minimum(self.value, self.certified_gap)
        return (
            f"Solution({state}: {self.message}; f {self.value:.6e}{'' if known is None else f', {known}'}, "
            f"{self.iterations} iterations, {np.count_nonzero(self.weights)} of {len(self.weights)} weights not 0)"
        )


class Journal:
    """The history of one run: it keeps the last point, has the clock, asks the watcher, and hears Ctrl-C."""

    def __init__(
        self, watch: Watch | None = None, max_seconds: float = np.inf, solution: type[Solution] = Solution
    ) -> None:
        self._watch = watch
        self._max_seconds = max_seconds
        self._solution = solution
        self._started = time.perf_counter()
        self._lines: list[Any] = []
        self._weights: Vector | None = None
        self._gap = np.inf
        self._also: Callable[[], dict[str, Any]] = dict
        self._so_far: Vector | None = None

    def part(self) -> Journal:
        """The journal of a smaller problem on the way: by the same clock, and what it finds is not lost to Ctrl-C."""

        def remember(_: Iteration, weights: Vector) -> None:
            self._so_far = weights

        part = Journal(remember, self._max_seconds)
        part._started = self._started
        return part

    @property
    def seconds_left(self) -> float:
        return max(0.0, self._max_seconds - (time.perf_counter() - self._started))

    def also(self, tell: Callable[[], dict[str, Any]]) -> None:
        """What else the solution is to tell, or tell otherwise than the last line does: asked for at the end."""
        self._also = tell

    def until_ctrl_c(
        self, work: Callable[[], Solution], start: Callable[[Vector], EvaluatedPoint] | None = None
    ) -> Solution:
        """What the work returns; Ctrl-C ends it at the last point, or at the point from which it was to `start`."""
        try:
            return work()
        except KeyboardInterrupt:
            if not self._lines and self._so_far is not None and start is not None:
                # It came while a first point was looked for: what was found by then is handed over.
                self.note_smooth(start(self._so_far), inner=0, step=0.0)
            return self.solution("interrupted", interrupted=True)

    def add(self, kind: type[Line], weights: Vector, value: float, **known: Any) -> str | None:
        """Add a line of a kind; return why to stop, if there is a reason beside convergence.

        What is not finite is refused.
        """
        if not (np.isfinite(value) and np.isfinite(weights).all()):
            largest = np.abs(weights).max(initial=0.0)
            raise left_float64(
                f"the objective is {value:g} and the largest weight {largest:g} in step {len(self._lines)}"
            )
        seconds = time.perf_counter() - self._started
        self._weights = weights
        self._lines.append(kind(number=len(self._lines), value=value, seconds=seconds, **known))
        if self._watch is not None and self._watch(self._lines[-1], weights):
            return "the validation measure no longer improves"
        return self.too_late()

    def too_late(self) -> str | None:
        """Why to stop, where the time is over."""
        late = time.perf_counter() - self._started > self._max_seconds
        return f"out of time (max_seconds={self._max_seconds:g})" if late else None

    def note(
        self, weights: Vector, value: float, gradient_norm: float, *, gap: float, certified_gap: float, inner: int,
        step: float, shown: float | None = None,
    ) -> str | None:  # fmt: skip
        """Add an `Iteration`; return why to stop, as `add` does.

        The gaps are in the units of f; `shown` stands in the line in place of gap / f.
        """
        if shown is None:
            shown = gap / value if value > 0.0 else 0.0
        self._gap = gap
        return self.add(
            Iteration, weights, value, gap=shown, gradient_norm=gradient_norm, inner=inner, step=step,
            certified_gap=certified_gap,
        )  # fmt: skip

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
        """What is known at the last point."""
        known: dict[str, Any] = {"iterations": max(1, len(self._lines) - 1)}
        if self._lines:
            known |= {"weights": self._weights, "value": self._lines[-1].value}
        if self._lines and isinstance(self._lines[-1], Iteration):
            known |= {
                "gradient_norm": self._lines[-1].gradient_norm,
                "certified_gap": self._lines[-1].certified_gap,
                "estimated_gap": self._gap,
                "inner_iterations": sum(line.inner for line in self._lines),
            }
        known |= self._also()
        if "weights" not in known:
            # Interrupted before the first point was evaluated: there is nothing to hand over.
            raise KeyboardInterrupt
        return self._solution(
            message=message, converged=converged, interrupted=interrupted, history=tuple(self._lines), **known
        )
