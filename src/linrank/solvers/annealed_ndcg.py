"""Descent on ever sharper versions of NDCG, by limited-memory quasi-Newton steps: SmoothRank's way."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from linrank.arrays import Vector
from linrank.objective.objective import EvaluatedPoint, RankingObjective
from linrank.objective.smoothed_ndcg import SmoothedNDCG
from linrank.solvers.solution import Journal, Solution
from linrank.solvers.solver import Solver, wants_smooth_penalty

# How many times as wide the loss is before it has its own width.
WIDER = (64.0, 16.0, 4.0, 1.0)
# Pairs of changes that a quasi-Newton step remembers.
_MEMORY = 8
# A step must gain this share of what its slope promises; one that is steeper than the other share goes on.
_SUFFICIENT = 1e-4
_STEEP = 0.9
_MOST_TRIES = 25
_BITS = 20


@dataclass(frozen=True)
class AnnealedNDCG(Solver):
    """Minimises a smoothed NDCG of 64, 16, 4 and 1 times its width, each from where the last one ended.

    A width is done where a step lowers the objective by no more than `tolerance` of it, or after a fourth of
    `max_iterations`. The objective is not convex: what is found is a local minimum near the start, and nothing is
    certified.
    """

    tolerance: float = 1e-4
    max_iterations: int = 200
    max_seconds: float = np.inf

    def refuses(self, objective: RankingObjective) -> str | None:
        if not isinstance(objective.loss, SmoothedNDCG):
            return f"it sharpens the ranks of a smoothed NDCG, and {objective.loss} has none. Use solver='newton'."
        return wants_smooth_penalty(objective)

    def _run(self, objective: RankingObjective, start: Vector | None, journal: Journal) -> Solution:
        weights, stop = snapped(objective.start(start).weights), None
        done, steps = False, 0
        for number, wider in enumerate(WIDER, start=1):
            loss = replace(objective.loss, width=wider * objective.loss.width)  # type: ignore[type-var, attr-defined]
            point, memory, done = objective.with_loss(loss).at(weights), _Memory(), False
            if number == 1:
                stop = self._note(journal, point, 0.0)
            while stop is None and not done and steps < self.max_iterations * number // len(WIDER):
                point, gained, step = _advance(point, memory)
                done = gained <= self.tolerance * abs(point.value)
                steps += 1
                stop = self._note(journal, point, step)
            if stop is not None:
                return journal.solution(stop)
            weights = point.weights
        if done:
            return journal.solution("a step lowers the objective by no more than the tolerance", converged=True)
        return journal.solution(f"out of iterations (max_iter={self.max_iterations})")

    def _note(self, journal: Journal, point: EvaluatedPoint, step: float) -> str | None:
        norm = float(np.linalg.norm(point.gradient))
        return journal.note(
            point.weights, point.value, norm, gap=np.inf, certified_gap=np.inf, inner=0, step=step, shown=1.0
        )


class _Memory:
    """The last changes of weights and of gradients: what is known of the curvature."""

    def __init__(self) -> None:
        self._changes: list[tuple[Vector, Vector]] = []

    def add(self, before: EvaluatedPoint, after: EvaluatedPoint) -> None:
        """Remember a step, unless the slope along it has not risen: the curvature there is none to go by."""
        moved, turned = after.weights - before.weights, after.gradient - before.gradient
        if float(moved @ turned) > 1e-10 * float(np.linalg.norm(moved) * np.linalg.norm(turned)):
            self._changes = [*self._changes[1 - _MEMORY :], (moved, turned)]

    def direction(self, gradient: Vector) -> Vector:
        """Minus the inverse of the remembered curvature times the gradient, by the two loops of L-BFGS."""
        left, shares = gradient.copy(), []
        for moved, turned in reversed(self._changes):
            share = float(moved @ left) / float(moved @ turned)
            left -= share * turned
            shares.append(share)
        if self._changes:
            moved, turned = self._changes[-1]
            left *= float(moved @ turned) / float(turned @ turned)
        for (moved, turned), share in zip(self._changes, reversed(shares), strict=True):
            left += (share - float(turned @ left) / float(moved @ turned)) * moved
        return -left


def _advance(point: EvaluatedPoint, memory: _Memory) -> tuple[EvaluatedPoint, float, float]:
    """The next point, what it is lower by, and the step taken, in score space: no features are read on the line."""
    direction = memory.direction(point.gradient)
    slope = float(point.gradient @ direction)
    if slope >= 0.0:
        return point, 0.0, 0.0
    line = point.toward(direction)
    low, high, step, best = 0.0, np.inf, 1.0, 0.0
    for _ in range(_MOST_TRIES):
        trial = line.at(step)
        if trial.value > point.value + _SUFFICIENT * step * slope:
            high = step
        else:
            best = step
            if trial.slope >= _STEEP * slope:
                break
            low = step
        step = 0.5 * (low + high) if np.isfinite(high) else 2.0 * step
    ahead = point.objective.at(snapped(line.weights_at(best)))
    if ahead.value >= point.value:
        return point, 0.0, 0.0
    memory.add(point, ahead)
    return ahead, point.value - ahead.value, best


def snapped(weights: Vector) -> Vector:
    """The weights to 20 bits: what rounding makes of another order of the rows is gone before it can grow.

    Where the objective is not convex a difference of the last bit may lead to another minimum after a hundred steps.
    """
    digits, exponents = np.frexp(weights)
    near: Vector = np.ldexp(np.round(np.ldexp(digits, _BITS)), exponents - _BITS)
    return near
