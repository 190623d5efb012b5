"""Gradient steps on a loss whose pair weights are taken anew at each sort: LambdaRank's way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linrank.arrays import Vector
from linrank.objective.logistic_pairs import NDCGWeightedLogistic
from linrank.objective.objective import EvaluatedPoint, RankingObjective
from linrank.solvers.solution import Journal, Solution
from linrank.solvers.solver import Solver, wants_smooth_penalty

# Many points rank the data alike, and their measures differ by rounding.
_EQUAL = 1e-9


@dataclass(frozen=True)
class LambdaGradient(Solver):
    """w <- w - step x gradient; stops where |gradient| is at most `tolerance` x |gradient at 0|.

    The loss changes from point to point, as pair weights frozen at each sort do; its curvature H must be that of a
    parabola which lies nowhere below the frozen loss. The step g.g / g.H g then leads to the parabola's least point
    along the gradient, and the frozen objective falls; what the next order of the documents makes of it is another
    matter. With a penalty of w.w / 2 the step is at most 1, so that each weight moves towards minus C x its slope of
    the loss, and not beyond: none grows past the largest such slope met, and the method cannot diverge.

    The loss's first total is its measure on the training data: of all points the one with the highest is returned, the
    last one of equals.
    """

    tolerance: float = 1e-2
    max_iterations: int = 300
    max_seconds: float = np.inf

    def refuses(self, objective: RankingObjective) -> str | None:
        if not isinstance(objective.loss, NDCGWeightedLogistic):
            return f"it follows the NDCG of the loss, and {objective.loss} has none. Use solver='newton'."
        return wants_smooth_penalty(objective)

    def _run(self, objective: RankingObjective, start: Vector | None, journal: Journal) -> Solution:
        best = _Best()
        # The best point, which need not be the last.
        journal.also(lambda: best.known)
        origin = objective.start()
        point = origin if start is None else objective.start(start)
        return self._descend(point, float(np.linalg.norm(origin.gradient)), journal, best)

    def _descend(self, point: EvaluatedPoint, first_norm: float, journal: Journal, best: _Best) -> Solution:
        for number in range(self.max_iterations + 1):
            gradient = point.gradient
            square = float(gradient @ gradient)
            norm = float(np.sqrt(square))
            bend = float(gradient @ point.hessian_product(gradient))
            step = square / bend if bend > 0.0 else 0.0
            best.compare(point, norm)
            # The parabola falls by step x |gradient|² / 2; no bound on the objective itself is known.
            stop = journal.note(
                point.weights, point.value, norm, gap=0.5 * step * square, certified_gap=np.inf, inner=1, step=step,
                shown=norm / first_norm if first_norm > 0.0 else 0.0,
            )  # fmt: skip
            if norm <= self.tolerance * first_norm:
                return journal.solution("|gradient| <= tolerance |gradient at 0|", converged=True)
            if stop:
                return journal.solution(stop)
            if number < self.max_iterations:
                point = point.objective.at(point.weights - step * gradient)
        return journal.solution(f"out of iterations (max_iter={self.max_iterations})")


class _Best:
    """The point with the highest measure so far."""

    def __init__(self) -> None:
        self._measure = -np.inf
        self.known: dict[str, Any] = {}

    def compare(self, point: EvaluatedPoint, gradient_norm: float) -> None:
        measure = point.sums["ndcg"]
        if not self.known or measure >= self._measure - _EQUAL * abs(self._measure):
            self.known = {"weights": point.weights, "value": point.value, "gradient_norm": gradient_norm}
        self._measure = max(self._measure, measure)
