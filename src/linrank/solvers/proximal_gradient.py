"""Accelerated proximal gradient (FISTA) for penalties with corners and bounds, stopped by the duality gap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linrank.arrays import Vector
from linrank.objective.objective import EvaluatedPoint, RankingObjective
from linrank.objective.penalties import ProximalPenalty
from linrank.solvers.solution import Journal, Solution
from linrank.solvers.solver import Solver, wants_proximal_penalty, wants_smooth_loss

# K grows by doubling where it was too small, and is tried a little smaller each time: fewer pairs count as w grows.
_GROW, _RELAX = 2.0, 0.9
# Values that differ by a smaller share may be equal, while the gap still falls: so many steps may be like that.
_ROUNDING = 1e-13
_MOST_IDLE = 100
# Of differences that are a smaller share, the rounding is too large a part.
_UNTOLD = 1e-12


def largest_l1(point_at_zero: EvaluatedPoint) -> float:
    """The largest useful strength of an L1 penalty: max_j |gradient_j| at w = 0.

    From there upwards the solution is exactly zero; below, it is not.
    """
    return float(np.max(np.abs(point_at_zero.gradient)))


@dataclass(frozen=True)
class ProximalGradient(Solver):
    """Minimises a smooth loss with a penalty of corners or bounds; stops at a duality gap of `tolerance` x the value.

    Each step is w = shrunk(a - g(a) / (K d), 1 / (K d)) from a point a ahead of the last one (momentum). K is the
    Lipschitz constant of the gradient, found by backtracking, in units of d, the diagonal of the curvature at w = 0: so
    features on different scales cost nothing. The momentum begins anew where it points uphill; but for rounding, f
    never rises.

    The second rule, `subgradient_tolerance`, is for penalties that leave features free, where the gap says nothing: it
    stops where every entry of the least subgradient is at most that. Either rule ends it.
    """

    tolerance: float = 1e-4
    subgradient_tolerance: float = 0.0
    max_iterations: int = 10_000
    max_seconds: float = np.inf

    def refuses(self, objective: RankingObjective) -> str | None:
        return wants_smooth_loss(objective) or wants_proximal_penalty(objective)

    def _run(self, objective: RankingObjective, start: Vector | None, journal: Journal) -> Solution:
        return self.continue_from(objective.start(start), journal)[0]

    def continue_from(self, point: EvaluatedPoint, journal: Journal) -> tuple[Solution, EvaluatedPoint]:
        """Minimise from a point that is evaluated already; also return the last point."""
        metric = _Metric.at(point)
        ahead, momentum = point, 1.0
        value = point.value
        lowest, idle = value, 0
        bound = -np.inf
        evaluations = 0
        for _ in range(self.max_iterations):
            bound = max(bound, point.lower_bound())
            message, converged = self._note(point, value, bound, journal, evaluations, metric.K)
            if message:
                return journal.solution(message, converged=converged), point
            trial, metric, evaluations = self._step(ahead, metric)
            trial_value = trial.value
            # Written so that a value too large for float64 counts as a rise.
            if not trial_value <= lowest + _ROUNDING * abs(lowest) or idle == _MOST_IDLE:
                if ahead is point:
                    return journal.stalled(point, point.least_subgradient), point
                ahead, momentum = point, 1.0
                continue
            lowest, idle = (trial_value, 0) if trial_value < lowest else (lowest, idle + 1)
            moved = trial.weights - point.weights
            if float((ahead.weights - trial.weights) @ (metric.diagonal * moved)) > 0.0:
                momentum = 1.0
            following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
            ahead = trial
            if momentum > 1.0:
                ahead = point.objective.at(trial.weights + (momentum - 1.0) / following * moved)
                evaluations += 1
            point, value, momentum = trial, trial_value, following
        bound = max(bound, point.lower_bound())
        message, converged = self._note(point, value, bound, journal, evaluations, metric.K)
        return journal.solution(
            message or f"out of iterations (max_iter={self.max_iterations})", converged=converged
        ), point

    def _step(self, ahead: EvaluatedPoint, metric: _Metric) -> tuple[EvaluatedPoint, _Metric, int]:
        """The proximal step from a point, with the least K tried that bounds the curvature along it."""
        penalty = ahead.objective.proximal_penalty
        K = _RELAX * metric.K
        evaluations = 0
        while True:
            steps = 1.0 / (K * metric.diagonal)
            trial = ahead.objective.at(penalty.shrunk(ahead.weights - steps * ahead.gradient, steps))
            evaluations += 1
            move = trial.weights - ahead.weights
            allowed = 0.5 * K * float(move @ (metric.diagonal * move))
            # Near the minimum values differ by their rounding, and tell nothing. Gradients still do: a change of theirs
            # within the allowed puts the value below the bound too, f being convex.
            change = _smooth_change(ahead, trial, penalty)
            rounded = allowed <= _UNTOLD * abs(ahead.value)
            above = rounded or change > float(ahead.gradient @ move) + allowed
            if not (above and float((trial.gradient - ahead.gradient) @ move) > allowed):
                return trial, _Metric(metric.diagonal, K), evaluations
            K *= _GROW

    def _note(
        self, point: EvaluatedPoint, value: float, bound: float, journal: Journal, evaluations: int, K: float
    ) -> tuple[str | None, bool]:
        """Write a line; return why to stop, and whether that is for having arrived."""
        least = point.least_subgradient
        gap = max(0.0, value - bound)
        stop = journal.note(
            point.weights, value, float(np.linalg.norm(least)), gap=gap, certified_gap=gap, inner=evaluations,
            step=1.0 / K,
        )  # fmt: skip
        if gap <= self.tolerance * value:
            return "the duality gap is below the tolerance", True
        if float(np.max(np.abs(least))) <= self.subgradient_tolerance:
            return "the least subgradient is below the tolerance", True
        return stop, False


def _smooth_change(before: EvaluatedPoint, after: EvaluatedPoint, penalty: ProximalPenalty) -> float:
    """By how much the loss and the penalty's smooth part rise."""
    corners = penalty.value_of_corners(after.weights) - penalty.value_of_corners(before.weights)
    return after.value - before.value - corners


@dataclass(frozen=True, slots=True)
class _Metric:
    """The second derivative is taken to be at most K x diagonal."""

    diagonal: Vector
    K: float

    @classmethod
    def at(cls, point: EvaluatedPoint) -> _Metric:
        """The curvatures without cross terms at w = 0, where every pair counts; K along the descent from the point."""
        diagonal = point.steepest_diagonal() + point.objective.penalty.curvature(point.weights)
        # A feature without curvature is the same everywhere, and its weight never moves.
        diagonal[diagonal == 0.0] = 1.0
        diagonal = 1.0 / point.objective.proximal_penalty.steps(1.0 / diagonal)
        descent = point.gradient / diagonal
        size = float(descent @ point.gradient)
        bend = float(descent @ point.hessian_product(descent))
        return cls(diagonal, bend / size if bend > 0.0 else 1.0)
