"""The hinge loss, exactly: Newton's method on rounder and rounder corners, until the duality gap is small."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linrank.arrays import Vector
from linrank.objective.objective import EvaluatedPoint, RankingObjective
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.proximal import proximal_solver
from linrank.solvers.proximal_gradient import ProximalGradient
from linrank.solvers.proximal_newton import ProximalNewton
from linrank.solvers.solution import Journal, Solution
from linrank.solvers.solver import Solver, wants_strength, wants_weight_penalty

_FIRST_WIDTH = 1.0
_SHRINK = 0.25
_LEAST_WIDTH = 1e-9
_EXACT = 1e-22
# The gap of a penalty with corners is a difference of values: it cannot be told below their rounding.
_EXACT_WITH_CORNERS = 1e-9


@dataclass(frozen=True)
class SmoothedNewton(Solver):
    """Minimises a loss with corners, such as the hinge, and a penalty; stops at a duality gap of `tolerance` x f.

    The slopes of the rounded hinge, times C, are a feasible point of the dual: max over 0 <= a <= C of
    sum a - |sum a_ij (x_i - x_j)|² / 2. So every width gives an upper and a lower bound on the least value.
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
        width = _FIRST_WIDTH
        weights, least = start, np.inf
        best: Vector | None = None
        highest = -np.inf
        share = 1.0
        while width >= _LEAST_WIDTH:
            # No more exact than the corner's roundness is worth, and than is asked for in the end.
            newton = self._inner(objective, max(0.02 * share, 0.2 * self.tolerance))
            smooth = objective.with_loss(objective.loss.smoothed(width))  # type: ignore[attr-defined]
            if weights is None and isinstance(newton, NewtonCG):
                weights = newton.start_from_samples(smooth, journal)
            solved, point = newton.continue_from(smooth.start(weights), journal.part())
            upper, lower = _bounds(point)
            if upper - max(highest, lower) <= self.tolerance * upper:
                # The last corner is solved to the end, so that the answer does not depend on the way here.
                polish = self._inner(objective, _EXACT)
                solved, point = polish.continue_from(point, journal.part())
                upper, lower = _bounds(point)
            weights = solved.weights
            highest = max(highest, lower)
            if best is None or upper < least:
                best, least = weights, upper
            gap = max(0.0, least - highest)
            share = gap / least if least > 0.0 else 0.0
            stop = journal.note(
                best, least, solved.gradient_norm, gap=gap, certified_gap=gap, inner=solved.inner_iterations, step=width
            )
            if gap <= self.tolerance * least:
                return journal.solution("the duality gap is below the tolerance", converged=True)
            if stop:
                return journal.solution(stop)
            width *= _SHRINK
        return journal.solution("the hinge's corner cannot be made sharper in float64")

    def _inner(self, objective: RankingObjective, tolerance: float) -> NewtonCG | ProximalNewton | ProximalGradient:
        """What minimises the rounded loss with the objective's penalty, to a certified gap."""
        if objective.weight_penalty.is_smooth:
            return NewtonCG(tolerance, certified=True, max_iterations=self.max_iterations)
        return proximal_solver(objective)(max(tolerance, _EXACT_WITH_CORNERS))


def _bounds(point: EvaluatedPoint) -> tuple[float, float]:
    """The objective with its corners at the point, and the dual's value at the point that its slopes make.

    The dual of a loss with corners is linear along its slopes: as much of them is taken as keeps the penalty's finite.
    """
    C, penalty = point.objective.C, point.objective.penalty
    upper = penalty.value(point.weights) + C * point.sums["sharp"]
    slopes = -C * point.loss_gradient
    share = min(1.0, penalty.room(slopes))
    return upper, C * share * point.sums["sharp_dual"] - penalty.conjugate(share * slopes)
