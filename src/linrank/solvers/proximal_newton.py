"""Newton's method for penalties with corners and bounds: the loss is modelled with a sample's Hessian."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.objective.objective import EvaluatedPoint, RankingObjective
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.objective.samples import Sample
from linrank.solvers.l1_model import minimum_of_model
from linrank.solvers.newton_cg import MOST_FEATURES_IN_A_MATRIX, NewtonCG
from linrank.solvers.solution import Journal, Solution
from linrank.solvers.solver import Solver, wants_smooth_loss, wants_weight_penalty

_SUFFICIENT = 1e-2
_MOST_HALVINGS = 3
# Damping starts at this share of the diagonal.
_LEAST_DAMPING = 1 / 16
# Values that differ by a smaller share may be equal.
_ROUNDING = 1e-12
# A promise of more than this share of the one before is a sign of slow progress.
_SLOW = 0.5
_MOST_IDLE = 16
# A sample's Hessian serves for so many steps of a path.
_STEPS_A_SAMPLE = 8
# A sample that misleads is followed by one so many times larger.
_ENLARGE = 4
# One shard of so many has weights of its own in the dual, found in at most so many rounds.
_SHARDS_A_PART = 16
_MOST_ROUNDS = 8


class SecantHessian:
    """The loss's Hessian as one matrix: that of a sample of the data, corrected by what a few steps since have shown.

    Along a path a step resembles the one before: there the corrected matrix foretells more than the sample's at the
    very point, and costs nothing. A feature that the sample does not contain has the diagonal that all of the data give
    it. Where steps show that the sample misleads, it is enlarged, in the end to all of the data.
    """

    def __init__(self) -> None:
        self._matrix: NDArray[np.float64] | None = None
        self._steps = 0
        self._documents = 0
        self._steepest: Vector | None = None

    def at(self, point: EvaluatedPoint, *, anew: bool = False) -> NDArray[np.float64] | None:
        """The matrix as it is known, or that of a sample at the point; None where the features are too many."""
        sample = self._sample(point.objective.data)
        if sample is not None and (anew or self._matrix is None or self._steps >= _STEPS_A_SAMPLE):
            self._matrix = _sampled(point, sample)
            self._steps = 0
        return self._matrix

    def learn(self, before: EvaluatedPoint, after: EvaluatedPoint) -> None:
        """Correct the matrix by a step."""
        if self._matrix is not None:
            self._matrix = _corrected(self._matrix, before, after)
            self._steps += 1

    def steepest_diagonal(self, point: EvaluatedPoint) -> Vector:
        """What the Hessian's diagonal without cross terms is hardly above anywhere, from all of the data."""
        if self._steepest is None:
            self._steepest = point.steepest_diagonal()
        return self._steepest

    def enlarge(self, data: PlacedData) -> bool:
        """Take a larger sample from now on; False where there is none."""
        if self._matrix is None or self._wanted(data) >= data.most_sampled:
            return False
        self._documents = _ENLARGE * self._wanted(data)
        return True

    def _sample(self, data: PlacedData) -> Sample | None:
        return data.sample(self._wanted(data)) if data.n_features <= MOST_FEATURES_IN_A_MATRIX else None

    def _wanted(self, data: PlacedData) -> int:
        usual = NewtonCG().documents_for_a_matrix(data)
        # A step by a diagonal is worth so little that here a matrix always pays.
        least = 4 * data.n_features if usual is None else usual
        return min(data.most_sampled, max(least, self._documents))


def _sampled(point: EvaluatedPoint, sample: Sample) -> NDArray[np.float64]:
    hessian = point.with_penalty(L2(0.0)).sampled_hessian(sample)
    unseen = np.diagonal(hessian) <= 0.0
    unseen[point.objective.idle] = False
    columns = np.flatnonzero(unseen)
    if len(columns):
        hessian[columns, columns] = point.crude_diagonal_of_some(columns)
    return hessian


@dataclass(frozen=True)
class ProximalNewton(Solver):
    """Minimises a smooth loss with a `WeightPenalty`; stops where the duality gap is `tolerance` x the value.

    Each step minimises a quadratic model of the loss plus the penalty by coordinate descent, and goes as far towards
    that as lowers the objective. The model's Hessian is that of a sample of the data (of everything, where that is
    little), or a diagonal for wide data. With `curvature`, the first step goes by what earlier runs have learnt of it.
    """

    tolerance: float = 1e-6
    max_iterations: int = 500
    max_seconds: float = np.inf
    curvature: SecantHessian | None = None

    def refuses(self, objective: RankingObjective) -> str | None:
        return wants_smooth_loss(objective) or wants_weight_penalty(objective)

    def _run(self, objective: RankingObjective, start: Vector | None, journal: Journal) -> Solution:
        return self.continue_from(objective.start(start), journal)[0]

    def continue_from(self, point: EvaluatedPoint, journal: Journal) -> tuple[Solution, EvaluatedPoint]:
        """Minimise from a point that is evaluated already; also return the last point."""
        curvature = self.curvature or SecantHessian()
        damping, step = 0.0, 1.0
        highest, promised = -np.inf, -np.inf
        progress = _Progress()
        for number in range(self.max_iterations):
            value, least = point.value, point.least_subgradient
            highest = max(highest, point.lower_bound())
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
            if not progress.made(value, gap):
                return journal.stalled(point, least), point
            hessian = curvature.at(point, anew=number > 0)
            more = damping * curvature.steepest_diagonal(point) if damping > 0.0 else 0.0
            target = self._model_minimum(point, hessian, more)
            before, promised = promised, self._promised(point, target)
            moved, step = self._toward(point, target, value, promised)
            if step > 0.0:
                curvature.learn(point, moved)
            # Short steps, and a promise that is not much less than the one before, mean that the model is wrong: it
            # gets more data, and where there are no more, or what is flat here is steep a little further on, damping.
            if number > 0 and (step < 1.0 or promised < _SLOW * before):
                curvature.enlarge(point.objective.data)
            damping = 0.25 * damping if step == 1.0 else max(_LEAST_DAMPING, 4.0 * damping)
            damping = damping if damping >= _LEAST_DAMPING else 0.0
            point = moved
        return journal.solution(f"out of iterations (max_iter={self.max_iterations})"), point

    def _model_minimum(
        self, point: EvaluatedPoint, hessian: NDArray[np.float64] | None, damping: Vector | float = 0.0
    ) -> Vector:
        """Where the penalty plus the quadratic model is least, with the loss's Hessian and a diagonal added to it."""
        penalty = point.objective.weight_penalty
        if hessian is None:
            curvature = damping + point.crude_hessian_diagonal()
            # A feature without curvature has no slope either.
            steps = np.divide(1.0, curvature, out=np.zeros(len(point.weights)), where=curvature > 0.0)
            moved = penalty.shrunk(point.weights - point.gradient * steps, steps)
            return np.where(curvature > 0.0, moved, penalty.within(np.zeros_like(moved)))
        model = hessian.copy()
        model[np.diag_indices_from(model)] += damping + penalty.curvature(point.weights)
        return minimum_of_model(model, point.gradient.copy(), penalty, point.weights.copy())

    def _dual_value_of_parts(self, point: EvaluatedPoint, hessian: NDArray[np.float64] | None, value: float) -> float:
        """A dual value for which the pairs of a few shards are taken at weights of their own.

        The dual has a number for every pair, and nothing says that all come from the same weights. With those of one
        point, whose gradient is beyond some threshold by a little, all must shrink by as much. In place of that, a few
        shards move to where their loss, the slope of the others' loss at the point and the penalty are least together.
        What is lost then is the decrease still to come, divided by their share: it is tried where that is little.
        """
        places = range(0, len(point.told), _SHARDS_A_PART)
        if hessian is None or len(point.told) < _SHARDS_A_PART or not point.loss_value > 0.0:
            return -np.inf
        share = sum(point.told[place].value for place in places) / point.loss_value
        if self._decrease(point, hessian) >= share * self.tolerance * value:
            return -np.inf
        data = point.objective.data
        part = replace(point.objective, data=data.some(places))
        mixed, hessian = point, share * hessian
        highest = -np.inf
        for _ in range(_MOST_ROUNDS):
            moved = part.at(self._model_minimum(mixed, hessian))
            states, told = data.mixed(point.states, places, moved.states), list(point.told)
            told[::_SHARDS_A_PART] = moved.told
            before, mixed = mixed, EvaluatedPoint(point.objective, moved.weights, states, told)
            hessian = _corrected(hessian, before, mixed)
            # The dual asks for the weights only to multiply the gradient by them, and here there are two parts of it.
            others = mixed.loss_gradient - moved.loss_gradient
            along = others @ (point.weights - moved.weights) / (mixed.loss_gradient @ mixed.loss_gradient)
            equal = replace(mixed, weights=moved.weights + along * mixed.loss_gradient)
            highest = max(highest, equal.dual_value())
            if value - highest <= self.tolerance * value:
                break
        return highest

    def _decrease(self, point: EvaluatedPoint, hessian: NDArray[np.float64]) -> float:
        """By how much the model's minimum is below the point."""
        target = self._model_minimum(point, hessian)
        direction = target - point.weights
        curved = hessian @ direction + point.objective.penalty.curvature(point.weights) * direction
        below = float((point.gradient + 0.5 * curved) @ direction)
        corners = point.objective.weight_penalty.value_of_corners
        return corners(point.weights) - corners(target) - below

    def _promised(self, point: EvaluatedPoint, target: Vector) -> float:
        """The change of the objective that the slopes at the point promise for the target: negative."""
        # Feature by feature: the difference of two sums would lose what is left near the minimum.
        changes = point.objective.weight_penalty.thresholds * (np.abs(target) - np.abs(point.weights))
        return float(np.sum(point.gradient * (target - point.weights) + changes))

    def _toward(
        self, point: EvaluatedPoint, target: Vector, value: float, promised: float
    ) -> tuple[EvaluatedPoint, float]:
        """The farthest point on the way to the target, by halves, that keeps a share of the promised decrease."""
        if not promised < 0.0:
            return point, 0.0
        direction = target - point.weights
        step = 1.0
        for _ in range(_MOST_HALVINGS):
            trial = point.objective.at(point.weights + step * direction if step < 1.0 else target)
            reached = trial.value
            if reached <= value + _SUFFICIENT * step * promised:
                return trial, step
            # Near the minimum values differ by their rounding, and slopes do not yet. The objective is convex: where it
            # still falls, or rises by less than it fell at first, it is lower than at the start.
            if reached <= value + _ROUNDING * abs(value) and self._slope_to(trial, direction) <= -promised * (
                1.0 - 2.0 * _SUFFICIENT
            ):
                return trial, step
            step /= 2
        return point, 0.0

    def _slope_to(self, trial: EvaluatedPoint, direction: Vector) -> float:
        """The objective's derivative along a direction, where it comes to the trial from."""
        signs = np.where(trial.weights != 0.0, np.sign(trial.weights), -np.sign(direction))
        return float((trial.gradient + trial.objective.weight_penalty.thresholds * signs) @ direction)


class _Progress:
    """Whether a solver still moves: some steps may bring nothing, while the model is mended."""

    def __init__(self) -> None:
        self._value, self._gap = np.inf, np.inf
        self._idle = 0

    def made(self, value: float, gap: float) -> bool:
        """Take note of a point; False after several that were no better than an earlier one."""
        better = value < self._value - _ROUNDING * abs(value) or gap < 0.99 * self._gap
        self._idle = 0 if better else self._idle + 1
        self._value, self._gap = min(value, self._value), min(gap, self._gap)
        return self._idle < _MOST_IDLE


def _corrected(hessian: NDArray[np.float64], before: EvaluatedPoint, after: EvaluatedPoint) -> NDArray[np.float64]:
    """A Hessian of the loss changed so that it turns a step into the change of the gradient that was seen (BFGS)."""
    step = after.weights - before.weights
    seen = after.objective.C * (after.loss_gradient - before.loss_gradient)
    foretold = hessian @ step
    if not step @ seen > 1e-8 * (step @ foretold) > 0.0:
        return hessian
    return hessian - np.outer(foretold, foretold / (step @ foretold)) + np.outer(seen, seen / (step @ seen))
