"""The logistic loss on preference pairs, in score space: RankNet's, and LambdaRank's."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector
from linrank.dataset.query_blocks import QueryBlock
from linrank.objective import logistic_kernels as kernels
from linrank.objective.duality import ConvexDual, Dual, NoDual
from linrank.objective.ndcg_weighted import NDCGWeights
from linrank.objective.pair_losses import LossAtScores
from linrank.objective.sorted_pairs import PairSums
from linrank.ordering import order_ascending


@dataclass(frozen=True)
class Logistic:
    """Sum over preference pairs (i above j) of log(1 + exp(-(s_i - s_j))).

    Every pair is visited, and none is stored: O(pairs) time and O(l) memory.
    """

    dual: ClassVar[Dual] = ConvexDual()

    def at(self, scores: Vector, block: QueryBlock) -> LossAtScores:
        pairs = _LogisticPairs.of(scores, block, np.empty(0), np.empty(0))
        value, slopes = pairs.value_and_slopes()
        return LossAtScores(value, slopes, _Laplacian(pairs, above=False))


@dataclass(frozen=True)
class NDCGWeightedLogistic:
    """Sum over preference pairs of omega_ij log(1 + exp(-(s_i - s_j))), omega_ij as in `NDCGWeightedHuber`.

    omega_ij = |gain_i - gain_j| |b_i - b_j| / ideal DCG is taken in the order of the very scores at which the loss is
    taken, and counts as a constant in the slopes. The curvature is that of parabolas which touch the loss of each pair
    at these scores and lie nowhere below it, omega held. `sums` holds the sum over queries of query weight x "ndcg",
    with the ties of `NDCGWeights`: of equal scores the lower label is ranked first.
    """

    dual: ClassVar[Dual] = NoDual()

    over: PairSums = field(default_factory=PairSums, repr=False)

    def at(self, scores: Vector, block: QueryBlock) -> LossAtScores:
        gains, discounts = NDCGWeights.of(scores, block, self.over).by_row()
        pairs = _LogisticPairs.of(scores, block, gains, discounts)
        value, slopes = pairs.value_and_slopes()
        of_queries = np.add.reduceat(block.document_weights * gains * discounts, block.query_starts[:-1])
        ndcg = float(block.query_weights @ of_queries)
        return LossAtScores(value, slopes, _Laplacian(pairs, above=True), {"ndcg": ndcg})


@dataclass(frozen=True, slots=True)
class _LogisticPairs:
    """A block's documents from the lowest label to the highest of each query; gains and discounts may be none."""

    block: QueryBlock
    rows: Offsets
    lower_counts: Offsets
    scores: Vector
    odds: Vector
    weights: Vector
    gains: Vector
    discounts: Vector

    @classmethod
    def of(cls, scores: Vector, block: QueryBlock, gains: Vector, discounts: Vector) -> _LogisticPairs:
        rows, lower_counts = np.empty(len(scores), np.int64), np.empty(len(scores), np.int64)
        labels, odds = np.empty(len(scores)), np.empty(len(scores))
        order_ascending(block.labels, block.query_starts, rows, labels)
        kernels.count_lower(labels, block.query_starts, lower_counts)
        in_order = scores[rows]
        kernels.find_odds(in_order, block.query_starts, odds)
        if len(gains):
            gains, discounts = gains[rows], discounts[rows]
        return cls(block, rows, lower_counts, in_order, odds, block.document_weights[rows], gains, discounts)

    def value_and_slopes(self) -> tuple[float, Vector]:
        in_order, slopes = np.zeros(len(self.rows)), np.empty(len(self.rows))
        value: float = kernels.add_losses(*self.columns(), *self.room(), in_order)
        slopes[self.rows] = in_order
        return value, slopes

    def columns(self) -> tuple[NDArray[Any], ...]:
        """What the kernels read."""
        return (
            self.scores, self.odds, self.weights, self.gains, self.discounts, self.lower_counts,
            self.block.query_starts, self.block.query_weights,
        )  # fmt: skip

    def room(self) -> tuple[Vector, Vector]:
        """What the kernels keep the pairs of one document in."""
        return np.empty(len(self.rows)), np.empty(len(self.rows))


@dataclass(frozen=True, slots=True)
class _Laplacian:
    """The Laplacian of the graph whose edges weigh the second derivatives of pairs, or of parabolas above them."""

    pairs: _LogisticPairs
    above: bool

    def product(self, values: Vector) -> Vector:
        return self._product(values[self.pairs.rows], 1.0)

    def diagonal(self) -> Vector:
        return self._product(np.ones(len(self.pairs.rows)), 0.0)

    def _product(self, in_order: Vector, across: float) -> Vector:
        swept, products = np.zeros(len(in_order)), np.empty(len(in_order))
        pairs = self.pairs
        kernels.add_curvature(*pairs.columns(), self.above, across, in_order, *pairs.room(), swept)
        products[pairs.rows] = swept
        return products

    def matrix_product(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        products = np.zeros(matrix.shape)
        pairs = self.pairs
        kernels.add_curvature_of_columns(pairs.rows, *pairs.columns(), self.above, matrix, *pairs.room(), products)
        return products
