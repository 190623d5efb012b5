"""Cutting planes: the loss from below by its tangents, as in RankSVM-Struct and TreeRankSVM."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import numpy as np

from linrank.arrays import Vector
from linrank.objective.duality import NoDual
from linrank.objective.objective import EvaluatedPoint, RankingObjective
from linrank.solvers.simplex_program import least_on_simplex
from linrank.solvers.solution import Journal, Solution
from linrank.solvers.solver import Solver, wants_strength

# Sums of many terms are right to this share of the sizes of these.
_ROUNDING = 16.0 * float(np.finfo(np.float64).eps)
# A tangent that has not held the model up for so many iterations is forgotten, as in SVM-struct.
_FORGOTTEN_AFTER = 50


@dataclass(frozen=True)
class Bundle(Solver):
    """Minimises the penalty plus the highest of the loss's tangents so far, and adds the tangent there.

    A convex loss lies above its tangents, so the minimum of that model is a lower bound: it stops where the lowest
    value found is within `tolerance` x f of the highest bound. Joachims (2006), one slack for all pairs; Teo et al.
    (2010), BMRM without a line search. One pass over the features an iteration, and no curvature: for losses with
    corners and without.
    """

    tolerance: float = 1e-3
    max_iterations: int = 10_000
    max_seconds: float = np.inf

    def refuses(self, objective: RankingObjective) -> str | None:
        if objective.loss.dual == NoDual():
            return f"{type(objective.loss).__name__} is not convex, and may lie below its tangents. Leave out solver."
        if not (objective.is_separable and objective.weight_penalty.is_smooth):
            return f"{objective.penalty} has corners or bounds. Leave out solver."
        return wants_strength(objective)

    def _run(self, objective: RankingObjective, start: Vector | None, journal: Journal) -> Solution:
        point = best = objective.start(start)
        tangents, highest = _Tangents(best), -np.inf
        for number in count():
            tangents.add(point)
            ahead, bound = tangents.least()
            best = point if point.value < best.value else best
            highest = max(highest, bound)
            gap = max(0.0, best.value - highest)
            norm = float(np.linalg.norm(best.gradient))
            stop = journal.note(best.weights, best.value, norm, gap=gap, certified_gap=gap, inner=0, step=1.0)
            if gap <= self.tolerance * best.value:
                return journal.solution("the bundle's gap is below the tolerance", converged=True)
            if stop:
                return journal.solution(stop)
            if number == self.max_iterations:
                return journal.solution(f"out of iterations (max_iter={self.max_iterations})")
            if (ahead == point.weights).all():
                # The tangent there is known: nothing more is to be learned.
                return journal.stalled(best, best.gradient, gap=gap)
            point = objective.at(ahead)
        raise AssertionError("it counts for ever")


class _Tangents:
    """Tangents a.w + b that C x the loss lies above, the level of its least value among them."""

    def __init__(self, point: EvaluatedPoint) -> None:
        objective = point.objective
        self._objective = objective
        self._strengths = np.asarray(objective.weight_penalty.strengths, dtype=np.float64)
        self._centres = np.asarray(objective.weight_penalty.centres, dtype=np.float64)
        self._slopes = [np.zeros(objective.data.n_features)]
        self._constants = np.array([objective.C * point.sums.get("least", 0.0)])
        # The sizes of what a constant is made of: far from the minimum they are large, and cancel.
        self._sizes = np.zeros(1)
        # Their values where the penalty is least, as b.s - P*(-A's) = at_centres.s - s.G s / 2.
        self._at_centres = self._constants
        self._gram = np.zeros((1, 1))
        self._shares = np.ones(1)
        self._unused = np.zeros(1, dtype=np.int64)

    def add(self, point: EvaluatedPoint) -> None:
        """Add the tangent at a point."""
        C = self._objective.C
        slopes = C * point.loss_gradient
        scaled, n = slopes / self._strengths, len(self._slopes)
        products = np.array([float(scaled @ other) for other in (*self._slopes, slopes)])
        gram = np.empty((n + 1, n + 1))
        gram[:n, :n], gram[n], gram[:, n] = self._gram, products, products
        self._gram = gram
        self._slopes.append(slopes)
        self._constants = np.append(self._constants, C * point.loss_value - float(slopes @ point.weights))
        self._sizes = np.append(self._sizes, C * abs(point.loss_value) + float(np.abs(slopes) @ np.abs(point.weights)))
        self._at_centres = np.append(self._at_centres, self._constants[-1] + float(np.sum(slopes * self._centres)))
        self._shares = np.append(self._shares, 0.0)
        self._unused = np.append(self._unused, 0)

    def least(self) -> tuple[Vector, float]:
        """The minimum of the penalty plus the highest tangent: where it is, and a bound on it from below.

        The dual is over shares of the tangents: max of b.s - P*(-A's). Any shares give a bound, less what rounding of
        the tangents may have added to it.
        """
        self._shares = least_on_simplex(self._gram, self._at_centres, self._shares)
        total, sizes = np.zeros((2, self._objective.data.n_features))
        for share, slopes in zip(self._shares, self._slopes, strict=True):
            if share > 0.0:
                total -= share * slopes
                sizes += share * np.abs(slopes)
        ahead = self._centres + total / self._strengths
        bound = float(self._constants @ self._shares) - self._objective.penalty.conjugate(total)
        # Where slopes are wrong by so much, P* is by this times the weights there, and by a parabola.
        wrong = _ROUNDING * sizes
        bound -= _ROUNDING * float(self._sizes @ self._shares)
        bound -= float(wrong @ (np.abs(ahead) + 0.5 * wrong / self._strengths))
        self._forget()
        return ahead, bound

    def _forget(self) -> None:
        self._unused = np.where(self._shares > 0.0, 0, self._unused + 1)
        kept = self._unused <= _FORGOTTEN_AFTER
        kept[0] = True
        if kept.all():
            return
        self._slopes = [slopes for slopes, keep in zip(self._slopes, kept, strict=True) if keep]
        self._constants, self._at_centres = self._constants[kept], self._at_centres[kept]
        self._sizes = self._sizes[kept]
        self._shares, self._unused = self._shares[kept], self._unused[kept]
        self._gram = self._gram[np.ix_(kept, kept)]
