"""Frank-Wolfe on the L1 ball: one feature an iteration, a line search, and a duality gap for free."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linrank.arrays import Vector
from linrank.objective.duality import NoDual
from linrank.objective.l1_ball import L1Ball
from linrank.objective.objective import EvaluatedPoint, RankingObjective
from linrank.solvers.line_search import lower_point
from linrank.solvers.solution import Journal, Solution
from linrank.solvers.solver import Solver, wants_smooth_loss

# The line search ends where the slope is this share of the first one: what is lost of its gain is the square of that.
# To the last digit it takes half as long again, and as many iterations.
_FLAT = 1e-3
_MOST_TRIES = 50


@dataclass(frozen=True)
class FrankWolfe(Solver):
    """Minimises a smooth loss over an `L1Ball`, |w|_1 <= radius; stops at a duality gap of `tolerance` x f.

    The gap is g.(w - v), with g the gradient at w and v = -radius sign(g_j) e_j, j being the feature with the largest
    |g_j|: v is where the ball goes farthest down the slope, and f, being convex, is nowhere in the ball less than
    f(w) - g.(w - v). Each iteration goes from w towards v as far as f falls (Lai et al., FenchelRank), or to where its
    slope is at most 1/1000 of that at w.
    """

    tolerance: float = 1e-2
    max_iterations: int = 10_000
    max_seconds: float = np.inf

    def refuses(self, objective: RankingObjective) -> str | None:
        if not isinstance(objective.penalty, L1Ball):
            return f"the penalty must be an L1Ball, not {objective.penalty}."
        return wants_smooth_loss(objective)

    def _run(self, objective: RankingObjective, start: Vector | None, journal: Journal) -> Solution:
        return self._descend(objective.start(start), journal)

    def _descend(self, point: EvaluatedPoint, journal: Journal) -> Solution:
        step, tries = 0.0, 0
        for _ in range(self.max_iterations):
            direction = self._to_the_vertex(point)
            gap, stop = self._note(point, direction, journal, tries, step)
            if gap <= self.tolerance * point.value:
                return journal.solution("the duality gap is below the tolerance", converged=True)
            if stop:
                return journal.solution(stop)
            point, step, tries = _least_on_segment(point, direction, -gap)
            if step == 0.0:
                # The gap is a sum of slopes: it may be no more than their rounding.
                rounding = float(point.gradient_rounding() @ np.abs(direction))
                return journal.stalled(point, np.array([np.inf]), gap=gap, rounding=rounding)
        self._note(point, self._to_the_vertex(point), journal, tries, step)
        return journal.solution(f"out of iterations (max_iter={self.max_iterations})")

    def _to_the_vertex(self, point: EvaluatedPoint) -> Vector:
        ball = point.objective.penalty
        assert isinstance(ball, L1Ball), "others are refused"
        return ball.vertex(-point.gradient) - point.weights

    def _note(
        self, point: EvaluatedPoint, direction: Vector, journal: Journal, tries: int, step: float
    ) -> tuple[float, str | None]:
        # At the least point of the ball the gap is zero, and rounding may take it below.
        gap = max(0.0, -float(point.gradient @ direction))
        norm = float(np.linalg.norm(point.gradient))
        certified = np.inf if point.objective.loss.dual == NoDual() else gap
        return gap, journal.note(
            point.weights, point.value, norm, gap=gap, certified_gap=certified, inner=tries, step=step
        )


def _least_on_segment(point: EvaluatedPoint, direction: Vector, slope: float) -> tuple[EvaluatedPoint, float, int]:
    """The least point at a step from 0 to 1, the step, and how many points were tried; (point, 0, tries) if none.

    The slope along the line never falls, and is linear in pieces for the squared hinge: secants that keep a bracket
    find its zero, from a first guess by the curvature.
    """
    line = point.toward(direction)
    bend = float(direction @ point.hessian_product(direction))
    low, low_slope = 0.0, slope
    high, high_slope = 1.0, 0.0
    step = min(1.0, -slope / bend) if bend > 0.0 else 1.0
    least, best_step = point.value, 0.0
    tries = 0
    while tries < _MOST_TRIES:
        tries += 1
        trial = line.at(step)
        if trial.value < least:
            least, best_step = trial.value, step
        if abs(trial.slope) <= _FLAT * abs(slope) or (step == 1.0 and trial.slope < 0.0):
            break
        if trial.slope < 0.0:
            # Until a point that rises is known, the secant is the one through the last two that fall.
            rise = (trial.slope - low_slope) / (step - low)
            low, low_slope = step, trial.slope
        else:
            high, high_slope = step, trial.slope
        if high_slope > 0.0:
            rise = (high_slope - low_slope) / (high - low)
        step = min(high, low - low_slope / rise) if rise > 0.0 else high
        if step <= low or (step >= high and high_slope > 0.0):
            break
    return *lower_point(line, best_step), tries
