"""Losses on single documents: how far each score is from its label, beyond a tube of half-width epsilon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.dataset.query_blocks import QueryBlock
from linrank.objective.duality import ConvexDual, Dual, QuadraticDual
from linrank.objective.pair_losses import LossAtScores


@dataclass(frozen=True)
class SquaredEpsilonInsensitive:
    """Sum over documents of max(0, |y_i - s_i| - epsilon) ** 2."""

    dual: ClassVar[Dual] = QuadraticDual()

    compares: ClassVar[str] = "labels"
    epsilon: float

    @property
    def steepest(self) -> tuple[SquaredEpsilonInsensitive, float]:
        """A loss, and how many times its curvature at zero scores that of this one is nowhere above."""
        # Beyond a tube of negative width is every document, whatever its label.
        return SquaredEpsilonInsensitive(-1.0), 1.0

    def at(self, scores: Vector, block: QueryBlock) -> LossAtScores:
        signs, beyond = _beyond_the_tube(scores, block, self.epsilon)
        weights = _weights(block)
        pulls = weights * beyond
        return LossAtScores(
            float(np.sum(pulls * beyond)), -2.0 * signs * pulls, DiagonalCurvature(2.0 * weights * (beyond > 0.0))
        )


@dataclass(frozen=True)
class EpsilonInsensitive:
    """Sum over documents of max(0, |y_i - s_i| - epsilon); the slopes are a subgradient."""

    dual: ClassVar[Dual] = ConvexDual()

    compares: ClassVar[str] = "labels"
    epsilon: float

    def at(self, scores: Vector, block: QueryBlock) -> LossAtScores:
        signs, beyond = _beyond_the_tube(scores, block, self.epsilon)
        weights = _weights(block)
        return LossAtScores(float(np.sum(weights * beyond)), -signs * weights * (beyond > 0.0), None)

    def smoothed(self, width: float) -> SmoothedEpsilonInsensitive:
        return SmoothedEpsilonInsensitive(self.epsilon, width)


@dataclass(frozen=True)
class SmoothedEpsilonInsensitive:
    """The same with its corners rounded over a width d: for u = max(0, |y_i - s_i| - epsilon), u² / (2 d) up to d.

    Beyond that it is u - d / 2. For the loss with its corners, `sums` holds the value "sharp", the sum of u, and the
    "sharp_dual" that these slopes give, with b_i their negatives the sum of b_i y_i - epsilon |b_i|.
    """

    dual: ClassVar[Dual] = ConvexDual()

    compares: ClassVar[str] = "labels"
    epsilon: float
    width: float

    @property
    def steepest(self) -> tuple[SquaredEpsilonInsensitive, float]:
        """A loss, and how many times its curvature at zero scores that of this one is nowhere above."""
        return SquaredEpsilonInsensitive(-1.0), 0.5 / self.width

    def at(self, scores: Vector, block: QueryBlock) -> LossAtScores:
        signs, beyond = _beyond_the_tube(scores, block, self.epsilon)
        weights = _weights(block)
        within = np.minimum(beyond, self.width)
        # u² / 2d up to d and u - d / 2 from there on, in one formula.
        value = float(np.sum(weights * within * (beyond - 0.5 * within))) / self.width
        pulls = weights * within / self.width
        round_part = (beyond > 0.0) & (beyond < self.width)
        sharp = float(np.sum(weights * beyond))
        sharp_dual = float(np.sum(pulls * (signs * block.labels - self.epsilon)))
        curvature = DiagonalCurvature(weights * round_part / self.width)
        return LossAtScores(value, -signs * pulls, curvature, {"sharp": sharp, "sharp_dual": sharp_dual})


@dataclass(frozen=True, slots=True)
class DiagonalCurvature:
    """The curvature of a loss whose documents do not see one another."""

    of_documents: Vector

    def product(self, values: Vector) -> Vector:
        return self.of_documents * values

    def matrix_product(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.of_documents[:, None] * matrix

    def diagonal(self) -> Vector:
        return self.of_documents


def _beyond_the_tube(scores: Vector, block: QueryBlock, epsilon: float) -> tuple[Vector, Vector]:
    """The sign of y_i - s_i, and max(0, |y_i - s_i| - epsilon)."""
    lacks = block.labels - scores
    return np.sign(lacks), np.maximum(np.abs(lacks) - epsilon, 0.0)


def _weights(block: QueryBlock) -> Vector:
    return block.document_weights * np.repeat(block.query_weights, np.diff(block.query_starts))
