"""Sparse weights by Newton's method: a smooth objective plus an L1 penalty, modelled with a sample's Hessian."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.compiled import kernel
from linrank.objective.objective import EvaluatedPoint, RankingObjective
from linrank.objective.penalties import L1
from linrank.solvers.duality import dual_value
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.solution import Journal, Solution, Watch

_SUFFICIENT = 1e-2
_MOST_HALVINGS = 40
_MOST_SWEEPS = 2000


@dataclass(frozen=True)
class ProximalNewton:
    """Minimises f(w) + sum thresholds_j |w_j| for a smooth f; stops where the duality gap is `tolerance` x the value.

    Each step minimises a quadratic model of f plus the penalty by coordinate descent, and goes as far towards that as
    lowers the objective. The model's Hessian is that of a sample of the data (of everything, where that is little), or
    a diagonal for wide data. With `free`, only the features it marks may have a weight.
    """

    penalty: L1
    tolerance: float = 1e-6
    max_iterations: int = 500
    max_seconds: float = np.inf
    free: NDArray[np.bool_] | None = None

    def minimize(
        self, objective: RankingObjective, start: Vector | None = None, *, watch: Watch | None = None
    ) -> Solution:
        """Minimise from a starting point, or from zero; Ctrl-C ends it at the last point."""
        journal = Journal(watch, self.max_seconds)
        try:
            weights = np.zeros(objective.data.n_features) if start is None else start
            return self.continue_from(objective.at(weights), journal)[0]
        except KeyboardInterrupt:
            return journal.solution("interrupted", interrupted=True)

    def continue_from(self, point: EvaluatedPoint, journal: Journal) -> tuple[Solution, EvaluatedPoint]:
        """Minimise from a point that is evaluated already; also return the last point."""
        damping, step = 1.0, 1.0
        highest = -np.inf
        for _ in range(self.max_iterations):
            value = point.value + self.penalty.value(point.weights)
            least = self._restricted(self.penalty.least_subgradient(point.weights, point.gradient))
            highest = max(highest, dual_value(point, self.penalty, self.free))
            gap = max(0.0, value - highest)
            stop = journal.note(
                point.weights, value, float(np.linalg.norm(least)), gap=gap, certified_gap=gap, inner=1, step=step
            )
            if gap <= self.tolerance * value:
                return journal.solution("the duality gap is below the tolerance", converged=True), point
            if stop:
                return journal.solution(stop), point
            target = self._model_minimum(point, damping)
            moved, step = self._toward(point, target, value)
            if step == 0.0:
                return journal.solution("no step lowers the objective: the limit of float64", converged=True), point
            # Short steps mean that the sample's curvature is too small somewhere: the model is made steeper.
            damping = damping / 2 if step == 1.0 else damping * 4
            damping = max(1.0, damping)
            point = moved
        return journal.solution(f"out of iterations (max_iter={self.max_iterations})"), point

    def _model_minimum(self, point: EvaluatedPoint, damping: float) -> Vector:
        n = point.objective.data.n_features
        thresholds = np.broadcast_to(np.asarray(self.penalty.thresholds, dtype=np.float64), n)
        free = np.ones(n, dtype=bool) if self.free is None else self.free
        sample = NewtonCG().sample_for(point.objective.data)
        if sample is None:
            curvature = damping * point.crude_hessian_diagonal()
            moved = self.penalty.shrunk(point.weights - point.gradient / curvature, 1.0 / curvature)
            return np.where(free, moved, 0.0)
        hessian = point.sampled_hessian(sample)
        hessian *= damping
        weights = np.where(free, point.weights, 0.0)
        slopes = point.gradient + hessian @ (weights - point.weights)
        _descend_coordinates(hessian, slopes, np.ascontiguousarray(thresholds), free, weights, 1e-9, _MOST_SWEEPS)
        return weights

    def _toward(self, point: EvaluatedPoint, target: Vector, value: float) -> tuple[EvaluatedPoint, float]:
        """The farthest point on the way to the target, by halves, that keeps a share of the promised decrease."""
        direction = target - point.weights
        promised = float(point.gradient @ direction) + self.penalty.value(target) - self.penalty.value(point.weights)
        if not promised < 0.0:
            return point, 0.0
        step = 1.0
        for _ in range(_MOST_HALVINGS):
            trial = point.objective.at(point.weights + step * direction if step < 1.0 else target)
            if trial.value + self.penalty.value(trial.weights) <= value + _SUFFICIENT * step * promised:
                return trial, step
            step /= 2
        return point, 0.0

    def _restricted(self, subgradient: Vector) -> Vector:
        return subgradient if self.free is None else np.where(self.free, subgradient, 0.0)


@kernel
def _descend_coordinates(hessian, slopes, thresholds, free, weights, tolerance, most_sweeps):  # type: ignore[no-untyped-def]
    """Minimise the quadratic model plus thresholds . |weights| one weight at a time; `slopes` are kept up to date.

    Between sweeps over all weights come sweeps over those that are not zero, until they stand still.
    """
    n = len(weights)
    all_of_them = True
    for _ in range(most_sweeps):
        largest = 0.0
        for j in range(n):
            curvature = hessian[j, j]
            if not free[j] or curvature <= 0.0 or (weights[j] == 0.0 and not all_of_them):
                continue
            wanted = weights[j] - slopes[j] / curvature
            shrink = thresholds[j] / curvature
            if wanted > shrink:
                wanted -= shrink
            elif wanted < -shrink:
                wanted += shrink
            else:
                wanted = 0.0
            change = wanted - weights[j]
            if change != 0.0:
                weights[j] = wanted
                for k in range(n):
                    slopes[k] += change * hessian[j, k]
                largest = max(largest, abs(change) * np.sqrt(curvature))
        scale = 0.0
        for j in range(n):
            scale = max(scale, abs(weights[j]) * np.sqrt(hessian[j, j]))
        if largest <= tolerance * scale or largest == 0.0:
            if all_of_them:
                return
            all_of_them = True
        else:
            all_of_them = False
