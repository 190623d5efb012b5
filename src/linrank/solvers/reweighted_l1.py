"""Concave penalties by a sequence of L1 penalties, each touching the concave one at the last solution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linrank.arrays import Vector
from linrank.objective.concave_penalties import ConcavePenalty
from linrank.objective.objective import EvaluatedPoint, RankingObjective
from linrank.objective.penalties import L1
from linrank.solvers.proximal_gradient import ProximalGradient, largest_l1
from linrank.solvers.solution import Journal, Solution
from linrank.solvers.solver import Solver, wants_smooth_loss

# An inner problem begins as far from its first-order condition as the whole is, and is solved until this share is left.
_LEFT = 0.1


@dataclass(frozen=True)
class ReweightedL1(Solver):
    """Minimises a smooth loss with a concave penalty; stops where the first-order condition holds.

    What is measured is the largest entry of the least subgradient: |g_j + sign(w_j) p'(|w_j|)| where w_j is not zero,
    max(0, |g_j| - p'(0)) where it is. It must be at most `tolerance` x max_j |g_j| at w = 0. The problem is not convex:
    the point found depends on the start, and no gap can be certified.

    Each iteration solves the L1 problem whose thresholds are the slopes of the penalty at the last point. It is nowhere
    below the concave one and touches it there, so the objective never rises.
    """

    tolerance: float = 1e-4
    max_iterations: int = 100
    max_seconds: float = np.inf

    def refuses(self, objective: RankingObjective) -> str | None:
        if not isinstance(objective.penalty, ConcavePenalty):
            return f"the penalty must be a concave one, such as MCP, not {objective.penalty}."
        return wants_smooth_loss(objective)

    def _run(self, objective: RankingObjective, start: Vector | None, journal: Journal) -> Solution:
        if start is None:
            convex = objective.with_penalty(L1(_concave(objective).strength))
            start = ProximalGradient().continue_from(convex.start(), journal.part())[0].weights
        top = largest_l1(objective.start())
        return self._descend(objective.start(start), top, journal)

    def _descend(self, point: EvaluatedPoint, top: float, journal: Journal) -> Solution:
        inner = 0
        for _ in range(self.max_iterations):
            least, distance, stop = self._note(point, top, journal, inner)
            if distance <= self.tolerance * top:
                return journal.solution("the first-order condition holds to the tolerance", converged=True)
            if stop:
                return journal.solution(stop)
            # The gap is no rule here: a feature beyond MCP's knee is free, and the dual point shrinks to nothing.
            solver = ProximalGradient(tolerance=0.0, subgradient_tolerance=_LEFT * distance)
            before, penalty = point.weights, _concave(point.objective)
            touching = point.with_penalty(penalty.tangent(before))
            solution, point = solver.continue_from(touching, journal.part())
            point = point.with_penalty(penalty)
            inner = solution.inner_iterations
            if np.array_equal(point.weights, before) and journal.seconds_left > 0.0:
                return journal.stalled(point, least)
        self._note(point, top, journal, inner)
        return journal.solution(f"out of iterations (max_iter={self.max_iterations})")

    def _note(
        self, point: EvaluatedPoint, top: float, journal: Journal, inner: int
    ) -> tuple[Vector, float, str | None]:
        least = point.least_subgradient
        distance = float(np.max(np.abs(least)))
        return least, distance, journal.note(
            point.weights, point.value, float(np.linalg.norm(least)), gap=np.inf, certified_gap=np.inf, inner=inner,
            step=1.0, shown=distance / top if top > 0.0 else 0.0,
        )  # fmt: skip


def _concave(objective: RankingObjective) -> ConcavePenalty:
    assert isinstance(objective.penalty, ConcavePenalty), "others are refused"
    return objective.penalty
