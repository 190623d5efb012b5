"""How far to go along a direction: first the whole step, then a search in score space that never reads the features."""

from __future__ import annotations

from linrank.arrays import Vector
from linrank.objective.objective import EvaluatedPoint, Line

# A full step must gain this share of what the slope promises.
_SUFFICIENT = 1e-2
# The search ends where the slope is this share of the first one: near the least point of the line.
_FLAT = 0.1
_MOST_TRIES = 30
_FARTHEST = 1e20


def advance(point: EvaluatedPoint, direction: Vector) -> tuple[EvaluatedPoint, float]:
    """The next point along a direction of descent, and the step taken; (point, 0) where no step lowers the value."""
    slope = float(point.gradient @ direction)
    whole = point.objective.at(point.weights + direction)
    if whole.value <= point.value + _SUFFICIENT * slope:
        return whole, 1.0
    return _least_on_line(point, direction, slope)


def _least_on_line(point: EvaluatedPoint, direction: Vector, slope: float) -> tuple[EvaluatedPoint, float]:
    """The objective is convex, so its slope along the line rises through zero: found by secants that keep a bracket."""
    line = point.toward(direction)
    low, low_slope = 0.0, slope
    high, high_slope = 1.0, line.at(1.0).slope
    least, best_step = point.value, 0.0
    last = 0.0
    for _ in range(_MOST_TRIES):
        share = low_slope / (low_slope - high_slope) if high_slope > 0.0 else 0.5
        # Away from the ends, so that the bracket shrinks from both sides.
        step = low + (high - low) * min(0.9, max(0.1, share))
        trial = line.at(step)
        if trial.value < least:
            least, best_step = trial.value, step
        if abs(trial.slope) <= _FLAT * abs(slope) and best_step > 0.0:
            break
        # An end that stays twice is taken for half as steep (the Illinois rule), or the other would creep up to it.
        if trial.slope < 0.0:
            high_slope *= 0.5 if last < 0.0 else 1.0
            low, low_slope = step, trial.slope
        else:
            low_slope *= 0.5 if last > 0.0 else 1.0
            high, high_slope = step, trial.slope
        last = trial.slope
    return lower_point(line, best_step)


def gained_along(point: EvaluatedPoint, direction: Vector) -> float:
    """How much lower the objective is on a line, either way, by steps that grow while the slope is down."""
    line = point.toward(direction)
    if line.at(0.0).slope > 0.0:
        line = point.toward(-direction)
    least, step = point.value, 1.0
    while step < _FARTHEST:
        trial = line.at(step)
        least = min(least, trial.value)
        if trial.slope >= 0.0:
            break
        step *= 4.0
    return point.value - least


def lower_point(line: Line, step: float) -> tuple[EvaluatedPoint, float]:
    """The point at a step and the step, or the line's start and 0 where it is lower by no more than rounding."""
    point = line.point_at(step) if step > 0.0 else line.start
    return (point, step) if point.value < line.start.value else (line.start, 0.0)
