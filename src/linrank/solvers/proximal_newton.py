"""Sparse weights by Newton's method: a smooth objective plus an L1 penalty, modelled with a sample's Hessian."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.compiled import kernel
from linrank.objective.objective import EvaluatedPoint, RankingObjective
from linrank.objective.penalties import L1, L2
from linrank.solvers.duality import dual_value
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.solution import Journal, Solution, Watch

_SUFFICIENT = 1e-2
_MOST_HALVINGS = 40
_MOST_SWEEPS = 2000
# A sample's Hessian serves for so many steps of a path.
_STEPS_A_SAMPLE = 8
# One shard of so many has weights of its own in the dual, found in at most so many rounds.
_SHARDS_A_PART = 16
_MOST_ROUNDS = 8


class SecantHessian:
    """The loss's Hessian as one matrix: that of a sample of the data, corrected by what a few steps since have shown.

    Along a path a step resembles the one before: there the corrected matrix foretells more than the sample's at the
    very point, and costs nothing.
    """

    def __init__(self) -> None:
        self._matrix: NDArray[np.float64] | None = None
        self._steps = 0

    def at(self, point: EvaluatedPoint, *, anew: bool = False) -> NDArray[np.float64] | None:
        """The matrix as it is known, or that of a sample at the point; None where the features are too many."""
        sample = NewtonCG().sample_for(point.objective.data)
        if sample is not None and (anew or self._matrix is None or self._steps >= _STEPS_A_SAMPLE):
            self._matrix = point.with_penalty(L2(0.0)).sampled_hessian(sample)
            self._steps = 0
        return self._matrix

    def learn(self, before: EvaluatedPoint, after: EvaluatedPoint) -> None:
        """Correct the matrix by a step."""
        if self._matrix is not None:
            self._matrix = _corrected(self._matrix, before, after)
            self._steps += 1


@dataclass(frozen=True)
class ProximalNewton:
    """Minimises f(w) + sum thresholds_j |w_j| for a smooth f; stops where the duality gap is `tolerance` x the value.

    Each step minimises a quadratic model of f plus the penalty by coordinate descent, and goes as far towards that as
    lowers the objective. The model's Hessian is that of a sample of the data (of everything, where that is little), or
    a diagonal for wide data. With `free`, only the features it marks may have a weight. With `curvature`, the first
    step goes by what earlier runs have learnt of the Hessian.
    """

    penalty: L1
    tolerance: float = 1e-6
    max_iterations: int = 500
    max_seconds: float = np.inf
    free: NDArray[np.bool_] | None = None
    curvature: SecantHessian | None = None

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
        curvature = self.curvature or SecantHessian()
        damping, step = 1.0, 1.0
        highest = -np.inf
        for number in range(self.max_iterations):
            value = point.value + self.penalty.value(point.weights)
            least = self._restricted(self.penalty.least_subgradient(point.weights, point.gradient))
            highest = max(highest, self._dual_value(point))
            if number > 0 and value - highest > self.tolerance * value:
                highest = max(highest, self._dual_value_of_parts(point, curvature.at(point), value))
            gap = max(0.0, value - highest)
            stop = journal.note(
                point.weights, value, float(np.linalg.norm(least)), gap=gap, certified_gap=gap, inner=1, step=step
            )
            if gap <= self.tolerance * value:
                return journal.solution("the duality gap is below the tolerance", converged=True), point
            if stop:
                return journal.solution(stop), point
            target = self._model_minimum(point, damping, curvature.at(point, anew=number > 0))
            moved, step = self._toward(point, target, value)
            if step == 0.0:
                return journal.solution("no step lowers the objective: the limit of float64", converged=True), point
            curvature.learn(point, moved)
            # Short steps mean that the sample's curvature is too small somewhere: the model is made steeper.
            damping = damping / 2 if step == 1.0 else damping * 4
            damping = max(1.0, damping)
            point = moved
        return journal.solution(f"out of iterations (max_iter={self.max_iterations})"), point

    def _dual_value(self, point: EvaluatedPoint) -> float:
        return dual_value(point, self.penalty, self.free)

    def _model_minimum(
        self, point: EvaluatedPoint, damping: float, hessian: NDArray[np.float64] | None = None
    ) -> Vector:
        """Where the penalty plus the quadratic model, with damping x the loss's Hessian, is least."""
        n = point.objective.data.n_features
        thresholds = np.broadcast_to(np.asarray(self.penalty.thresholds, dtype=np.float64), n)
        free = np.ones(n, dtype=bool) if self.free is None else self.free
        hessian = SecantHessian().at(point) if hessian is None else hessian
        if hessian is None:
            curvature = damping * point.crude_hessian_diagonal()
            moved = self.penalty.shrunk(point.weights - point.gradient / curvature, 1.0 / curvature)
            return np.where(free, moved, 0.0)
        model = damping * hessian
        model[np.diag_indices_from(model)] += point.objective.penalty.curvature(point.weights)
        weights = np.where(free, point.weights, 0.0)
        slopes = point.gradient + model @ (weights - point.weights)
        _descend_coordinates(model, slopes, np.ascontiguousarray(thresholds), free, weights, 1e-9, _MOST_SWEEPS)
        return weights

    def _dual_value_of_parts(self, point: EvaluatedPoint, hessian: NDArray[np.float64] | None, value: float) -> float:
        """A dual value for which the pairs of a few shards are taken at weights of their own.

        The dual has a number for every pair, and nothing says that all come from the same weights. With those of one
        point, whose gradient is beyond some threshold by a little, all must shrink by as much. In place of that, a few
        shards move to where their loss, the slope of the others' loss at the point and the penalty are least together.
        What is lost then is the decrease still to come, divided by their share: it is tried where that is little.
        """
        places = range(0, len(point.states), _SHARDS_A_PART)
        if hessian is None or len(point.states) < _SHARDS_A_PART or not point.loss_value > 0.0:
            return -np.inf
        share = sum(point.states[place].value for place in places) / point.loss_value
        if self._decrease(point, hessian) >= share * self.tolerance * value:
            return -np.inf
        data = point.objective.data
        of_places = replace(data, shards=[data.shards[place] for place in places], large_queries=())
        part = replace(point.objective, data=of_places)
        mixed, hessian = point, share * hessian
        highest = -np.inf
        for _ in range(_MOST_ROUNDS):
            moved = part.at(self._model_minimum(mixed, 1.0, hessian))
            states = list(point.states)
            states[::_SHARDS_A_PART] = moved.states
            before, mixed = mixed, EvaluatedPoint(point.objective, moved.weights, states, point.large)
            hessian = _corrected(hessian, before, mixed)
            # The dual asks for the weights only to multiply the gradient by them, and here there are two parts of it.
            others = mixed.loss_gradient - moved.loss_gradient
            along = others @ (point.weights - moved.weights) / (mixed.loss_gradient @ mixed.loss_gradient)
            equal = replace(mixed, weights=moved.weights + along * mixed.loss_gradient)
            highest = max(highest, self._dual_value(equal))
            if value - highest <= self.tolerance * value:
                break
        return highest

    def _decrease(self, point: EvaluatedPoint, hessian: NDArray[np.float64]) -> float:
        """By how much the model's minimum is below the point."""
        target = self._model_minimum(point, 1.0, hessian)
        direction = target - point.weights
        curved = hessian @ direction + point.objective.penalty.curvature(point.weights) * direction
        below = float((point.gradient + 0.5 * curved) @ direction)
        return self.penalty.value(point.weights) - self.penalty.value(target) - below

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


def _corrected(hessian: NDArray[np.float64], before: EvaluatedPoint, after: EvaluatedPoint) -> NDArray[np.float64]:
    """A Hessian of the loss changed so that it turns a step into the change of the gradient that was seen (BFGS)."""
    step = after.weights - before.weights
    seen = after.objective.C * (after.loss_gradient - before.loss_gradient)
    foretold = hessian @ step
    if not step @ seen > 1e-8 * (step @ foretold) > 0.0:
        return hessian
    return hessian - np.outer(foretold, foretold / (step @ foretold)) + np.outer(seen, seen / (step @ seen))


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
