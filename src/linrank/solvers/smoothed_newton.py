"""The hinge loss, exactly: Newton's method on rounder and rounder corners, until the duality gap is small."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from linrank.arrays import Vector
from linrank.objective.objective import EvaluatedPoint, RankingObjective
from linrank.solvers.dual_of_part import ROUNDING, PartOfDual
from linrank.solvers.newton_cg import NewtonCG, part_to_start_from
from linrank.solvers.proximal import proximal_solver
from linrank.solvers.proximal_gradient import ProximalGradient
from linrank.solvers.proximal_newton import ProximalNewton
from linrank.solvers.solution import Journal, Solution
from linrank.solvers.solver import Solver, wants_strength, wants_weight_penalty

_FIRST_WIDTH = 1.0
_LEAST_WIDTH = 1e-9
# A corner is made sharper by as much as the gap asks for, but neither hardly nor all at once.
_SHRINK_LEAST, _SHRINK_MOST = 0.5, 0.1
# What the corner's roundness may lose, as a share of the gap that is asked for; the rest is for what is not solved.
_FOR_ROUNDNESS = 0.5
# How exactly a rounded corner is solved, as a share of that gap: a certificate shows what is left many times as large.
_FOR_NEWTON = 1e-3
_MORE_EXACT = 0.1
_MOST_EXACT = 1e-15
# The gap of a penalty with corners is a difference of values: it cannot be told below their rounding.
_EXACT_WITH_CORNERS = 1e-9


@dataclass(frozen=True)
class SmoothedNewton(Solver):
    """Minimises a loss with corners, such as the hinge, and a penalty; stops at a duality gap of `tolerance` x f.

    The slopes of the rounded hinge, times C, are a feasible point of the dual: max over 0 <= a <= C of
    sum a - |sum a_ij (x_i - x_j)|² / 2. So every width gives an upper and a lower bound on the least value. How sharp
    the corner has to be is found on samples of the data.
    """

    tolerance: float = 1e-3
    max_iterations: int = 100
    max_seconds: float = np.inf

    def refuses(self, objective: RankingObjective) -> str | None:
        if not hasattr(objective.loss, "smoothed"):
            return f"{type(objective.loss).__name__} has no corners to round. Use solver='newton'."
        reason = wants_weight_penalty(objective)
        if reason is None and objective.weight_penalty.is_smooth:
            return wants_strength(objective)
        return reason

    def _run(self, objective: RankingObjective, start: Vector | None, journal: Journal) -> Solution:
        weights, width = start, _FIRST_WIDTH
        if start is None and objective.weight_penalty.is_smooth:
            weights, width = self._start_from_samples(objective, journal)
        best: Vector | None = None
        least, highest = np.inf, -np.inf
        exactness = _FOR_NEWTON * self.tolerance
        while width >= _LEAST_WIDTH:
            inner = self._inner(objective, exactness)
            solved, point = inner.continue_from(_rounded(objective, width).start(weights), journal.part())
            weights = solved.weights
            upper, lower = _sharp_value(point), _sharp_dual(point)
            if isinstance(inner, NewtonCG) and upper - max(highest, lower) > self.tolerance * upper:
                lower = max(lower, upper - inner.gap_by_part(point, solved.estimated_gap, journal, _sharp_gap))
            highest = max(highest, lower)
            if best is None or upper < least:
                best, least = weights, upper
            gap = max(0.0, least - highest)
            stop = journal.note(
                best, least, solved.gradient_norm, gap=gap, certified_gap=gap, inner=solved.inner_iterations, step=width
            )
            if gap <= self.tolerance * least:
                return journal.solution("the duality gap is below the tolerance", converged=True)
            if stop:
                return journal.solution(stop)
            lost = _lost_by_roundness(point)
            if isinstance(inner, NewtonCG) and lost <= self._for_roundness(least) and exactness > _MOST_EXACT:
                # It is not the corner that keeps the bounds apart.
                exactness *= _MORE_EXACT
            else:
                width = self._sharper(width, lost, least)
        return journal.solution("the hinge's corner cannot be made sharper in float64")

    def _start_from_samples(self, objective: RankingObjective, journal: Journal) -> tuple[Vector, float]:
        """The solution of a sample of the data and how sharp its corner is; it starts from a round one on a smaller."""
        width = _FIRST_WIDTH
        part = part_to_start_from(objective.data)
        if part is None:
            return np.zeros(objective.data.n_features), width
        smaller = replace(objective, data=part)
        weights = NewtonCG().start_from_samples(_rounded(smaller, width), journal)
        newton = NewtonCG(_FOR_NEWTON * self.tolerance, max_iterations=self.max_iterations).loosened(part)
        while True:
            solved, point = newton.continue_from(_rounded(smaller, width).at(weights), journal.part())
            weights = solved.weights
            upper, lost = _sharp_value(point), _lost_by_roundness(point)
            if lost <= self._for_roundness(upper) or width <= _LEAST_WIDTH or journal.seconds_left == 0.0:
                return weights, width
            width = self._sharper(width, lost, upper)

    def _sharper(self, width: float, lost: float, value: float) -> float:
        """The next width: what a corner loses is about as the square of it."""
        share = np.sqrt(self._for_roundness(value) / lost) if lost > 0.0 else _SHRINK_LEAST
        return width * float(np.clip(share, _SHRINK_MOST, _SHRINK_LEAST))

    def _for_roundness(self, value: float) -> float:
        """What the corner's roundness may lose where the objective has this value."""
        return _FOR_ROUNDNESS * self.tolerance * value

    def _inner(self, objective: RankingObjective, exactness: float) -> NewtonCG | ProximalNewton | ProximalGradient:
        """What minimises the rounded loss with the objective's penalty."""
        if objective.weight_penalty.is_smooth:
            return NewtonCG(exactness, max_iterations=self.max_iterations)
        return proximal_solver(objective)(max(0.2 * self.tolerance, _EXACT_WITH_CORNERS))


def _rounded(objective: RankingObjective, width: float) -> RankingObjective:
    return objective.with_loss(objective.loss.smoothed(width))  # type: ignore[attr-defined]


def _sharp_value(point: EvaluatedPoint) -> float:
    """The objective with the loss's corner, at a point of the rounded one."""
    return point.objective.penalty.value(point.weights) + point.objective.C * point.sums["sharp"]


def _sharp_dual(point: EvaluatedPoint) -> float:
    """Its dual at the rounded loss's slopes, or at as much of them as the penalty allows."""
    C, penalty = point.objective.C, point.objective.penalty
    slopes = -C * point.loss_gradient
    share = min(1.0, penalty.room(slopes))
    return C * share * point.sums["sharp_dual"] - penalty.conjugate(share * slopes)


def _lost_by_roundness(point: EvaluatedPoint) -> float:
    """The gap of the loss with its corner where the rounded one is at its minimum: what its slopes lose in the dual.

    For the hinge rounded over a width d that is C d times the sum of t (1 - t) over the pairs in the corner, t being
    the sizes of their slopes.
    """
    return point.objective.C * max(0.0, point.sums["sharp"] - point.sums["sharp_dual"] - point.along)


def _sharp_gap(part: PartOfDual, moved: EvaluatedPoint) -> float:
    """The bound on f - min f of the loss with its corner that other weights of a part give."""
    value = _sharp_value(part.point)
    return value - _sharp_dual(part.mixed(moved)) + ROUNDING * abs(value)
