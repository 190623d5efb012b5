"""RankingObjective: penalty(w) + C x loss(Xw), with everything known at a point held by that point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector
from linrank.cached import cached_property
from linrank.errors import LinrankError
from linrank.objective.duality import NoDual
from linrank.objective.pair_losses import PairLoss
from linrank.objective.penalties import Penalty, ProximalPenalty, WeightPenalty
from linrank.objective.placement import PlacedData
from linrank.objective.samples import Sample
from linrank.objective.shard_tasks import (
    ShardSums,
    added,
    diagonal_of_columns,
    diagonal_of_shard,
    evaluate_along,
    evaluate_shard,
    gradient_of_shard,
    hessian_of_block,
    hessian_product_of_shard,
    scores_of_shard,
    sizes_of_shard,
    slopes_of_shard,
)

# Sums of many terms lose a few more bits than one.
_ROUNDINGS = 16.0


@dataclass(frozen=True)
class RankingObjective:
    """f(w) = penalty(w) + C x (sum of the loss over all queries at the scores X w).

    A feature that is the same in all documents of each query changes no loss, and only adds to the penalty: it has
    neither slope nor curvature, and a solver that starts from `start` gives it no weight but one that the penalty pulls
    it to. That is settled here, for all of them: computed, the slope would be a sum of numbers that cancel but for
    rounding. Columns far from zero that hardly vary within queries are taken less what one document of the query has,
    for the same reason.
    """

    loss: PairLoss
    penalty: Penalty
    C: float
    data: PlacedData

    def __post_init__(self) -> None:
        if self.centred:
            object.__setattr__(self, "data", self.data.compared(ties=self.compares == "queries"))

    def start(self, weights: Vector | None = None) -> EvaluatedPoint:
        """The point a solver starts from: zero, or given weights, but for those that the data or the penalty forbid."""
        start = np.zeros(self.data.n_features) if weights is None else np.array(weights, dtype=np.float64)
        if len(start) == self.data.n_features:
            start[self.idle] = 0.0
            start = self.penalty.within(start)
        return self.at(start)

    def at(self, weights: Vector) -> EvaluatedPoint:
        """Evaluate value and gradient in one pass over the features: each block is used twice while it is in cache."""
        weights = np.ascontiguousarray(weights, dtype=np.float64)
        if weights.shape != (self.data.n_features,):
            # The kernels do not look: a vector that is too short would be read beyond its end.
            raise LinrankError(
                f"{len(weights)} weights, but {self.data.n_features} features. Start from weights of the same data."
            )
        states, told = self.data.keep(evaluate_shard, weights=self.moving(weights), loss=self.loss)
        return EvaluatedPoint(self, weights, states, [ShardSums(*of_shard) for of_shard in told])

    @property
    def idle(self) -> Offsets:
        """The features that can have no weight."""
        if not self.centred:
            return np.empty(0, dtype=np.int64)
        return self.data.idle_features(ties=self.compares == "queries")

    def moving(self, weights: Vector) -> Vector:
        """The weights that scores are computed with: none of idle features, which move nothing that is compared.

        A prior or bounds may give them one, and rounding of what all documents of a query have may drown the rest.
        """
        if not weights[self.idle].any():
            return weights
        moving = weights.copy()
        moving[self.idle] = 0.0
        return moving

    @property
    def compares(self) -> str:
        """What the loss compares: documents of different labels, of one query, or each with its label."""
        return getattr(self.loss, "compares", "pairs")

    @property
    def centred(self) -> bool:
        """Whether only differences of documents count, so that a row may be taken less another of its query."""
        return self.compares != "labels"

    @property
    def is_separable(self) -> bool:
        """Whether the penalty is a sum over features."""
        return isinstance(self.penalty, WeightPenalty)

    @property
    def proximal_penalty(self) -> ProximalPenalty:
        """The penalty, for a solver that needs its proximal step."""
        if not hasattr(self.penalty, "shrunk"):
            raise LinrankError(f"{self.penalty} has no proximal step: use another solver.")
        return cast(ProximalPenalty, self.penalty)

    @property
    def weight_penalty(self) -> WeightPenalty:
        """The penalty, for a solver that needs a sum over features."""
        if not isinstance(self.penalty, WeightPenalty):
            raise LinrankError(f"{self.penalty} is no sum of L1, L2 and bounds over features: use another solver.")
        return self.penalty

    def with_C(self, C: float) -> RankingObjective:
        return replace(self, C=C)

    def with_penalty(self, penalty: Penalty) -> RankingObjective:
        return replace(self, penalty=penalty)

    def with_loss(self, loss: PairLoss) -> RankingObjective:
        return replace(self, loss=loss)


@dataclass(frozen=True)
class EvaluatedPoint:
    """Weights, and all that is known of the objective there: `states` where the shards are, `told` here."""

    objective: RankingObjective
    weights: Vector
    states: Any
    told: Sequence[ShardSums]

    def with_C(self, C: float) -> EvaluatedPoint:
        """The same point of the objective with another C: nothing is computed again."""
        return self._of(self.objective.with_C(C))

    def with_penalty(self, penalty: Penalty) -> EvaluatedPoint:
        """The same point of the objective with another penalty: nothing is computed again."""
        return self._of(self.objective.with_penalty(penalty))

    def _of(self, objective: RankingObjective) -> EvaluatedPoint:
        point = EvaluatedPoint(objective, self.weights, self.states, self.told)
        for known in ("loss_value", "loss_gradient", "sums", "sampled"):
            if known in self.__dict__:
                point.__dict__[known] = self.__dict__[known]
        return point

    @cached_property
    def value(self) -> float:
        return self.objective.penalty.value(self.weights) + self.objective.C * self.loss_value

    @cached_property
    def gradient(self) -> Vector:
        """Of the loss and the penalty's smooth part."""
        return self.objective.penalty.gradient(self.weights) + self.objective.C * self.loss_gradient

    @cached_property
    def loss_value(self) -> float:
        return sum(told.value for told in self.told)

    @cached_property
    def sums(self) -> dict[str, float]:
        """The loss's further sums over all queries, by name."""
        return added([told.sums for told in self.told])

    @cached_property
    def loss_gradient(self) -> Vector:
        data = self.objective.data
        total = np.zeros(data.n_features)
        gradients: Sequence[Any] = [told.gradient for told in self.told]
        if any(gradient is None for gradient in gradients):
            gradients = data.tell(gradient_of_shard, self.states, gradients)
        for gradient in gradients:
            total += gradient
        total[self.objective.idle] = 0.0
        return total

    def document_slopes(self) -> Vector:
        """The loss's slope in the score of each document, in the grouped order of the data, which is in memory."""
        slopes = np.zeros(self.objective.data.n_documents)
        for of_shard in self.objective.data.tell(slopes_of_shard, self.states):
            for first_row, of_block in of_shard:
                slopes[first_row : first_row + len(of_block)] = of_block
        return slopes

    def hessian_product(self, direction: Vector) -> Vector:
        """Product (penalty'' + C X' loss'' X) direction, in one pass over the features."""
        total: Vector = self.objective.data.total(
            hessian_product_of_shard, self.states, direction=self.objective.moving(direction)
        )
        total *= self.objective.C
        total[self.objective.idle] = 0.0
        self.objective.penalty.add_curvature_product(direction, total)
        return total

    def sampled_hessian(self, sample: Sample) -> NDArray[np.float64]:
        """The second derivative estimated from a sample of the data, as a matrix of features x features."""
        if sample not in self.sampled:
            objective = self.objective
            self.sampled[sample] = objective.data.executor.total(
                hessian_of_block,
                sample.blocks,
                weights=objective.moving(self.weights),
                loss=objective.loss,
                centred=objective.centred,
            )
        hessian: NDArray[np.float64] = self.objective.C * self.sampled[sample]
        diagonal = np.diag_indices_from(hessian)
        # Never negative but by rounding, where features are far from zero and hardly differ.
        hessian[diagonal] = np.maximum(hessian[diagonal], 0.0) + self.objective.penalty.curvature(self.weights)
        return hessian

    @cached_property
    def sampled(self) -> dict[Sample, NDArray[np.float64]]:
        """The loss's part of the Hessian of each sample it was asked for."""
        return {}

    def crude_hessian_diagonal(self) -> Vector:
        """Return penalty'' + C sum_i (loss'')_ii x_i ** 2: the Hessian's diagonal without its cross terms."""
        total: Vector = self.objective.data.total(diagonal_of_shard, self.states)
        total *= self.objective.C
        total += self.objective.penalty.curvature(self.weights)
        return total

    def steepest_diagonal(self) -> Vector:
        """What the loss's `crude_hessian_diagonal` is hardly above: that at w = 0, where every pair counts."""
        loss, times = getattr(self.objective.loss, "steepest", (self.objective.loss, 1.0))
        origin = replace(self.objective, loss=loss, penalty=WeightPenalty(), C=times * self.objective.C).start()
        return origin.crude_hessian_diagonal()

    def crude_diagonal_of_some(self, columns: Offsets) -> Vector:
        """C sum_i (loss'')_ii (x_i - a of the query) ** 2 for some features, a being their mean.

        Where documents are compared, what all of a query have changes no curvature: it is taken off.
        """
        total: Vector = self.objective.data.total(
            diagonal_of_columns, self.states, columns=columns, centred=self.objective.centred
        )
        return self.objective.C * total

    def gradient_rounding(self) -> Vector:
        """How far each entry of the gradient may be from the truth: the rounding of the sums it is made of.

        A score is wrong by a share of sum_j |x_ij w_j|, a slope by as much times its curvature, and by a share of
        itself.
        """
        objective = self.objective
        total = np.abs(objective.penalty.gradient(self.weights))
        total += objective.C * objective.data.total(
            sizes_of_shard, self.states, sizes=np.abs(objective.moving(self.weights))
        )
        return _ROUNDINGS * np.finfo(np.float64).eps * total

    @property
    def least_subgradient(self) -> Vector:
        """The shortest subgradient of the objective: the gradient where it is smooth, and zero at its minimum."""
        return self.objective.penalty.least_subgradient(self.weights, self.gradient)

    def gap(self) -> float:
        """A bound on f - min f that rests on no assumption but that the loss is convex; infinite where it is not."""
        whole = np.inf
        if self.objective.loss.dual != NoDual():
            # All of the slopes: what the penalty and its conjugate leave, summed so that nothing is lost near zero.
            whole = self.objective.penalty.gap(self.weights, -self.objective.C * self.loss_gradient)
        share = self._share
        return whole if share == 1.0 else min(whole, max(0.0, self.value - self._dual_at(share)))

    def with_part(self, before: EvaluatedPoint, after: EvaluatedPoint) -> EvaluatedPoint:
        """A part of the data, which is at these weights `before`, at others, and all else as it is here.

        It has no states: it is for who asks for values, slopes and what they say of the dual.
        """
        others = ShardSums(
            self.loss_value - before.loss_value,
            {name: value - before.sums[name] for name, value in self.sums.items()},
            self.loss_gradient - before.loss_gradient,
        )
        mixed = EvaluatedPoint(self.objective, after.weights, None, [others, *after.told])
        mixed.__dict__["along"] = self.along - before.along + after.along
        return mixed

    def lower_bound(self) -> float:
        """A value that the objective never goes below."""
        return self.value - self.gap()

    def dual_value(self) -> float:
        """The dual objective at the best share of the loss's slopes."""
        return max(self._dual_at(1.0), self._dual_at(self._share))

    @cached_property
    def along(self) -> float:
        """The loss's slopes times the scores, which is its gradient times the weights."""
        return float(self.loss_gradient @ self.weights)

    @property
    def _share(self) -> float:
        """How much of the loss's slopes is worth taking in the dual, and leaves its value finite."""
        objective = self.objective
        best = objective.loss.dual.best(self.loss_value, self.along)
        return min(best, objective.penalty.room(-objective.C * self.loss_gradient))

    def _dual_at(self, share: float) -> float:
        objective = self.objective
        of_loss = objective.loss.dual.at(share, self.loss_value, self.along, self.sums.get("least", 0.0))
        return objective.C * of_loss - objective.penalty.conjugate(-share * objective.C * self.loss_gradient)

    def toward(self, direction: Vector) -> Line:
        """The half-line from here; one pass over the features, and none for any value on it."""
        moving = self.objective.moving(direction)
        return Line(self, direction, self.objective.data.keep(scores_of_shard, weights=moving)[0])


@dataclass(frozen=True)
class Line:
    """Points `start + step x direction`, their values found in score space: the features are not touched."""

    start: EvaluatedPoint
    direction: Vector
    _along: Any

    def at(self, step: float) -> PointOnLine:
        """What the objective and its slope are at a step."""
        point, objective = self.start, self.start.objective
        told = objective.data.tell(evaluate_along, point.states, self._along, step=step, loss=objective.loss)
        weights = self.weights_at(step)
        value = objective.penalty.value(weights) + objective.C * sum(value for value, _ in told)
        slope = float(objective.penalty.gradient(weights) @ self.direction) + objective.C * sum(s for _, s in told)
        return PointOnLine(step, value, slope)

    def weights_at(self, step: float) -> Vector:
        return self.start.weights + step * self.direction

    def point_at(self, step: float) -> EvaluatedPoint:
        """The point itself, evaluated from its weights as any other: what is known of it depends on nothing else."""
        return self.start.objective.at(self.weights_at(step))


@dataclass(frozen=True, slots=True)
class PointOnLine:
    """The objective at a step along a line, and its derivative there along the line."""

    step: float
    value: float
    slope: float
