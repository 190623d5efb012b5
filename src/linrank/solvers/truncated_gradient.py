"""Truncated gradient: gradient steps, and every few of them all weights moved towards zero."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linrank.arrays import Vector
from linrank.errors import left_float64
from linrank.objective.duality import NoDual
from linrank.objective.objective import EvaluatedPoint, RankingObjective
from linrank.objective.penalties import L1
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.own_units import in_own_units
from linrank.solvers.solution import Journal, Solution
from linrank.solvers.solver import Solver, wants_smooth_loss, wants_weight_penalty

# With features up to 1e30 the curvature, whose inverse is a rate that is short enough, stays far below its inverse.
_LEAST_RATE = 1e-200
# Where the weights hardly move, so many times the tolerance, up to a share, may be left of the objective.
_TIMES_THE_TOLERANCE, _MOST_LEFT = 10.0, 0.1
# So few of Newton's show whether it is so.
_NEWTON_STEPS = 10


@dataclass(frozen=True)
class TruncatedGradient(Solver):
    """w <- w - rate x gradient; every `truncate_every`-th time then |w_j| <- max(0, |w_j| - rate x l1), all j.

    Sun et al. (2009), Algorithm 1: l1 is its g, rate its eta, `truncate_every` its K. What it descends on is
    f(w) = loss(w) + l1 / K |w|_1, for a truncation comes once in K steps: so the objective's penalty is L1(l1 / K). It
    stops where a round of K steps has moved the weights, for each unit of rate, by at most `tolerance` times what the
    first round did: with K = 1 that is the length of (w - w_next) / rate, which is zero exactly where zero is a
    subgradient of f. With one feature in large units that is soon so: it has converged only where the slopes, each in
    units of its feature, say that hardly anything is left.

    A loss may change from step to step, as weights of pairs frozen at each sort do; its curvature must then bound that
    of the frozen loss. Where f has risen after a step d, the step stands if rate x d.H d <= d.d for that bound H: then
    the frozen loss and the penalty have not risen together. Otherwise the rate is halved, for good. With `safe=False`
    every step stands, as in the paper, and f may rise without end.
    """

    rate: float = 1e-3
    truncate_every: int = 1
    safe: bool = True
    tolerance: float = 1e-2
    max_iterations: int = 1000
    max_seconds: float = np.inf

    def refuses(self, objective: RankingObjective) -> str | None:
        reason = wants_smooth_loss(objective) or wants_weight_penalty(objective)
        if reason is None and objective.weight_penalty.is_bounded:
            return "truncation knows no bounds. Use solver='proximal-newton'."
        return reason

    def _run(self, objective: RankingObjective, start: Vector | None, journal: Journal) -> Solution:
        # What is not finite is refused where it is noted.
        with np.errstate(over="ignore", invalid="ignore"):
            return self._descend(objective.start(start), journal)

    def _descend(self, point: EvaluatedPoint, journal: Journal) -> Solution:
        rate, of_round = self.rate, 0.0
        before = point.weights
        paces: list[float] = []
        stop = self._note(journal, point, paces, rate)
        for number in range(1, self.max_iterations + 1):
            if stop:
                return journal.solution(stop)
            truncating = number % self.truncate_every == 0
            point, rate = _step(point, rate, self.truncate_every if truncating else 0, safe=self.safe)
            of_round += rate
            if truncating:
                paces.append(float(np.linalg.norm(point.weights - before)) / of_round)
                before, of_round = point.weights, 0.0
            stop = self._note(journal, point, paces, rate)
            if truncating and paces[-1] <= self.tolerance * paces[0]:
                return self._judged(point, journal)
        return journal.solution(f"out of iterations (max_iter={self.max_iterations})")

    def _judged(self, point: EvaluatedPoint, journal: Journal) -> Solution:
        """What is known where the weights hardly move: whether steps in units of each feature's own would gain more."""
        said = "the weights no longer move, to within the tolerance"
        slopes = point.least_subgradient
        steps = np.empty_like(slopes)
        # Where nothing bends, a slope has no end: what is left is not finite, or none.
        with np.errstate(divide="ignore", invalid="ignore"):
            in_own_units(point)(slopes, steps)
        left = 0.5 * float(slopes[slopes != 0.0] @ steps[slopes != 0.0])
        if np.isfinite(steps).all():
            # Further on a loss may bend less than here.
            line = point.toward(-steps)
            left = max(left, *(point.value - line.at(times).value for times in (1.0, 4.0, 16.0, 64.0)))
        newton = NewtonCG(self.tolerance, max_iterations=_NEWTON_STEPS, makes_sure=False)
        is_in_doubt = False
        if newton.refuses(point.objective) is None and point.objective.loss.dual != NoDual():
            left = max(left, point.value - newton.continue_from(point, journal.part())[0].value)
            is_in_doubt = newton.is_in_doubt(point)
        share = left / max(abs(point.value), np.finfo(float).tiny)
        if share <= min(_MOST_LEFT, _TIMES_THE_TOLERANCE * self.tolerance) and not is_in_doubt:
            return journal.solution(said, converged=True)
        return journal.solution(f"{said}, but those of some features would; scale the features, or use another solver")

    def _note(self, journal: Journal, point: EvaluatedPoint, paces: list[float], rate: float) -> str | None:
        pace, share = (paces[-1], paces[-1] / max(paces[0], np.finfo(float).tiny)) if paces else (np.inf, 1.0)
        # rate x pace^2 / 2 is what a safe step is sure to take off the frozen objective; no bound on f is known.
        return journal.note(
            point.weights, point.value, pace, gap=0.5 * rate * pace * pace, certified_gap=np.inf, inner=0, step=rate,
            shown=share,
        )  # fmt: skip


def _step(point: EvaluatedPoint, rate: float, times: int, *, safe: bool) -> tuple[EvaluatedPoint, float]:
    """The next point, truncated by so many times the penalty, and the rate that led there."""
    penalty = point.objective.weight_penalty
    # A convex loss does not change from step to step, and rises by rounding alone.
    changes = point.objective.loss.dual == NoDual()
    slack = 0.0 if changes else 1e-13
    whole = L1(float(times), np.broadcast_to(penalty.thresholds, point.weights.shape))

    def value(at: EvaluatedPoint) -> float:
        return at.value - penalty.value_of_corners(at.weights) + whole.value_of_corners(at.weights)

    while True:
        ahead = point.objective.at(whole.shrunk(point.weights - rate * point.gradient, rate))
        if not safe or value(ahead) <= value(point) + slack * abs(value(point)):
            return ahead, rate
        change = ahead.weights - point.weights
        # Reached at 1 / the largest eigenvalue of the bound, if not before; rounding must not keep it from being met.
        if changes and rate * float(change @ point.hessian_product(change)) <= (1.0 + 1e-9) * float(change @ change):
            return ahead, rate
        rate /= 2.0
        if rate < _LEAST_RATE:
            raise left_float64("no step is short enough to lower the objective")
