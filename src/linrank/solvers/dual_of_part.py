"""A higher value of the dual: the pairs of a part of the data are taken at weights of their own.

The dual has a number for every pair, and nothing says that all come from the same weights. With those of one point,
what is lost is the square of the gradient's length, which goes by the features' units; or, where the gradient is beyond
some threshold by a little, all must shrink by as much. In place of that a sample of the queries moves to where its
loss, the slope of the others' loss at the point and the penalty are least together. What is lost then is about the
decrease still to come, divided by the sample's share of the data, in any units.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from linrank.arrays import Vector
from linrank.objective.objective import EvaluatedPoint
from linrank.objective.penalties import WeightPenalty
from linrank.objective.samples import Sample

# Values are sums of many terms: a bound is no nearer to them than this share.
ROUNDING = 1e-14


@dataclass(frozen=True)
class PartOfDual:
    """A point, and the part of the data that moves, `here` at the point's weights."""

    point: EvaluatedPoint
    here: EvaluatedPoint

    @classmethod
    def of(cls, point: EvaluatedPoint, sample: Sample) -> PartOfDual | None:
        """With a sample as the part, if it is one."""
        if not sample.is_part:
            return None
        part = replace(point.objective, data=point.objective.data.of_sample(sample))
        return cls(point, part.at(point.weights))

    def with_tangent(self) -> EvaluatedPoint:
        """The part alone at the point's weights, the others' loss being its tangent there: what is to be least."""
        whole, here, C = self.point, self.here, self.point.objective.C
        slopes = C * (whole.loss_gradient - here.loss_gradient)
        others = C * (whole.loss_value - here.loss_value)
        return here.with_penalty(WithTangent(whole.objective.weight_penalty, whole.weights, others, slopes))

    def mixed(self, moved: EvaluatedPoint) -> EvaluatedPoint:
        """All of the data, of which the part is at other weights."""
        return self.point.with_part(self.here, moved)

    def gap(self, moved: EvaluatedPoint) -> float:
        """The bound on f - min f at the point that other weights of the part give."""
        value = self.point.value
        return max(0.0, value - self.mixed(moved).dual_value()) + ROUNDING * abs(value)


@dataclass(frozen=True, eq=False)
class WithTangent:
    """A smooth penalty and the tangent of a loss at some weights: P(w) + value + slopes . (w - at)."""

    penalty: WeightPenalty
    at: Vector
    value_there: float
    slopes: Vector

    def value(self, weights: Vector) -> float:
        return self.penalty.value(weights) + self.value_there + float(self.slopes @ (weights - self.at))

    def gradient(self, weights: Vector) -> Vector:
        return self.penalty.gradient(weights) + self.slopes

    def curvature(self, weights: Vector) -> Vector:
        return self.penalty.curvature(weights)

    def add_curvature_product(self, direction: Vector, total: Vector) -> None:
        self.penalty.add_curvature_product(direction, total)

    def within(self, weights: Vector) -> Vector:
        return self.penalty.within(weights)

    def least_subgradient(self, weights: Vector, gradient: Vector) -> Vector:
        return self.penalty.least_subgradient(weights, gradient)

    def conjugate(self, slopes: Vector) -> float:
        return self.penalty.conjugate(slopes - self.slopes) - self.value_there + float(self.slopes @ self.at)

    def gap(self, weights: Vector, slopes: Vector) -> float:
        return self.penalty.gap(weights, slopes - self.slopes)

    def room(self, slopes: Vector) -> float:
        return self.penalty.room(slopes - self.slopes)
