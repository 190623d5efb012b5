"""The modified Huber loss on pairs that weigh what their swap would change of NDCG: RSRank's loss, in score space."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.dataset.query_blocks import QueryBlock
from linrank.errors import LinrankError
from linrank.objective import ndcg_kernels as kernels
from linrank.objective.duality import Dual, NoDual
from linrank.objective.pair_losses import LossAtScores
from linrank.objective.sorted_pairs import PairSums, SortedPairs

SlopesAndValues: TypeAlias = NDArray[np.complex128]

# A table of this many discounts takes half a gigabyte.
_MOST_RANKS = 1 << 26
# What the sweeps keep for a level: coefficients of a quadratic, the same times a discount, and the level's gain.
_SUMS_A_LEVEL = 7


@dataclass(frozen=True)
class NDCGWeightedHuber:
    """Sum over preference pairs of omega_ij phi(s_i - s_j), omega_ij = |gain_i - gain_j| |b_i - b_j| / ideal DCG.

    phi(v) is -4 v below -1, (1 - v) ** 2 up to 1 and 0 above. Gains are max(0, 2 ** y - 1), b = 1 / log2(1 + rank) in
    the order of the very scores at which the loss is taken; in the slopes, omega counts as a constant (it is frozen).
    Of equal scores the lower label is ranked first, so a tie is wrong; equal scores with equal labels share the mean of
    their b. A document's weight is how often it stands in its query: it takes so many ranks, in the ideal order too.
    The curvature is a bound: that of the frozen loss is nowhere larger.
    """

    dual: ClassVar[Dual] = NoDual()

    over: PairSums = field(default_factory=PairSums, repr=False)

    def at(self, scores: Vector, block: QueryBlock) -> LossAtScores:
        weights = NDCGWeights.of(scores, block, self.over)
        slopes = np.empty(len(scores))
        value = weights.add_up(weights.sweep(weights.documents.scores, 1.0, 1.0), slopes)
        return LossAtScores(value, slopes, _CurvatureBound(weights))


@dataclass(frozen=True, slots=True)
class NDCGWeights:
    """What the weights omega_ij = |gain_i - gain_j| |b_i - b_j| of a block are made of, in order of score."""

    documents: SortedPairs
    gains: Vector
    """max(0, 2 ** y - 1) / the ideal DCG of the query."""
    discounts: Vector

    @classmethod
    def of(cls, scores: Vector, block: QueryBlock, over: PairSums) -> NDCGWeights:
        if over.pairs != "all":
            raise LinrankError(f"pairs={over.pairs!r}; any swap of two labels changes NDCG. Use pairs='all'.")
        documents = SortedPairs.of(scores, block, over)
        table = discount_table(kernels.heaviest_query(block.document_weights, block.query_starts))
        gains, discounts = np.empty(len(scores)), np.empty(len(scores))
        room = np.zeros((2, block.most_levels))
        kernels.find_gains(
            block.labels, block.levels, block.document_weights, block.query_starts, block.level_counts, table,
            room[0], room[1], gains,
        )  # fmt: skip
        room[1] = 0.0
        kernels.find_discounts(
            documents.scores, documents.levels, documents.weights, block.query_starts, table, room[1], discounts
        )
        return cls(documents, gains[documents.rows], discounts)

    def sweep(self, values: Vector, margin: float, shift: float) -> tuple[SlopesAndValues, SlopesAndValues]:
        """Over each position's partners with lower labels, and with higher ones: see `sum_over_partners`."""
        over = partial(self._sweep, values, margin, shift)
        return self.documents.over.both(lambda: over(upward=False), lambda: over(upward=True))

    def _sweep(self, values: Vector, margin: float, shift: float, *, upward: bool) -> SlopesAndValues:
        documents, block = self.documents, self.documents.block
        sums = np.empty(len(values), dtype=np.complex128)
        kernels.sum_over_partners(
            documents.scores, values, documents.levels, documents.weights, self.gains, self.discounts,
            block.query_starts, block.level_counts, upward, margin, shift,
            np.empty((block.most_levels, _SUMS_A_LEVEL)), sums,
        )  # fmt: skip
        return sums

    def add_up(self, swept: tuple[SlopesAndValues, SlopesAndValues], slopes: Vector) -> float:
        """Return the value, and write the slopes in the order of the block's rows."""
        documents, block = self.documents, self.documents.block
        value: float = kernels.add_sums(
            documents.rows, documents.weights, *swept, block.query_starts, block.query_weights, slopes
        )
        return value

    def by_row(self) -> tuple[Vector, Vector]:
        """Gains and discounts in the order of the block's rows."""
        gains, discounts = np.empty(len(self.gains)), np.empty(len(self.gains))
        gains[self.documents.rows] = self.gains
        discounts[self.documents.rows] = self.discounts
        return gains, discounts


@dataclass(frozen=True, slots=True)
class _CurvatureBound:
    """Twice the Laplacian of the graph whose edges weigh omega: phi'' is at most 2."""

    weights: NDCGWeights

    def product(self, values: Vector) -> Vector:
        products = np.empty(len(values))
        swept = self.weights.sweep(np.ascontiguousarray(values)[self.weights.documents.rows], math.inf, 0.0)
        self.weights.add_up(swept, products)
        return products

    def matrix_product(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.column_stack([self.product(column) for column in matrix.T])

    def diagonal(self) -> Vector:
        # Of (0 - 0 - 1) ** 2 for every pair the slope is -2, seen from either side.
        lower, higher = self.weights.sweep(np.zeros(len(self.weights.gains)), math.inf, 1.0)
        diagonal = np.empty(len(lower))
        self.weights.add_up((-lower, higher), diagonal)
        return diagonal


def discount_table(heaviest: float) -> Vector:
    """1 / log2(1 + rank) of as many ranks as the heaviest query needs, from rank 1 on."""
    if heaviest > _MOST_RANKS:
        raise LinrankError(
            f"the documents of a query weigh {heaviest:g} together, and take as many ranks; at most {_MOST_RANKS} "
            "can be told apart. Divide the weights."
        )
    # Powers of two, so that few tables are made.
    return _discounts_of_ranks(1 << math.ceil(heaviest + 2.0).bit_length())


@lru_cache(maxsize=4)
def _discounts_of_ranks(n_ranks: int) -> Vector:
    discounts: Vector = 1.0 / np.log2(2.0 + np.arange(n_ranks))
    return discounts
