"""NDCG with its ranks softened: SmoothRank's loss, in score space."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.compiled import kernel
from linrank.dataset.query_blocks import QueryBlock
from linrank.objective.duality import Dual, NoDual
from linrank.objective.ndcg_weighted import NDCGWeights
from linrank.objective.pair_losses import LossAtScores
from linrank.objective.sorted_pairs import PairSums

# Beyond so many widths, as a square, a document has less than 1e-17 of a place.
_FARTHEST = 40.0
# No second derivative of a smoothed gain is larger than this share of the largest gain / width: see `_CurvatureBound`.
_STEEPEST = 2.0 + 12.0 / math.e


@dataclass(frozen=True)
class SmoothedNDCG:
    """Sum over queries of 1 - sum_p b_p sum_i gain_i h_ip, h_ip = e_ip / sum_k e_kp, e_ip = e^(-(s_i - s_p)^2 / width).

    h_ip is how much of document i stands in the place of document p, whose discount is b_p = 1 / log2(1 + rank), and
    gain_i = max(0, 2^y - 1) / ideal DCG: as the width goes to zero this is 1 - NDCG. In the slopes the b_p are held,
    which they are as long as no two documents change places. Ties and weights of documents are those of `NDCGWeights`.
    The curvature is a bound: that of the loss, b held, is nowhere larger.
    """

    dual: ClassVar[Dual] = NoDual()

    width: float = 1.0
    over: PairSums = field(default_factory=PairSums, repr=False)

    def at(self, scores: Vector, block: QueryBlock) -> LossAtScores:
        weights = NDCGWeights.of(scores, block, self.over)
        documents = weights.documents
        slopes, steepest = np.zeros(len(scores)), np.zeros(len(scores))
        value = _smoothed_ndcg(
            documents.rows, documents.scores, documents.weights, weights.gains, weights.discounts, block.query_starts,
            block.query_weights, self.width, np.empty(len(scores)), slopes, steepest,
        )  # fmt: skip
        return LossAtScores(value, slopes, _CurvatureBound(block, _STEEPEST / self.width * steepest))


@dataclass(frozen=True, slots=True)
class _CurvatureBound:
    """The sum over places p of steepest_p x the Laplacian of the star that joins document p to all of its query.

    Of one place the smoothed gain is a function of the differences z_i = s_i - s_p alone. Since h_ip is at most
    e^(-z_i^2 / width), its second derivative in them is at most (2 + 12 / e) x largest gain / width, however many there
    are.
    """

    block: QueryBlock
    steepest: Vector

    def product(self, values: Vector) -> Vector:
        return self.matrix_product(values[:, None])[:, 0]

    def matrix_product(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        products = np.empty(matrix.shape)
        starts = self.block.query_starts
        for first, last in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
            rows, own = matrix[first:last], self.steepest[first:last, None]
            total, count = own.sum(), last - first
            products[first:last] = (total + count * own) * rows - own * rows.sum(axis=0) - (own * rows).sum(axis=0)
        return products

    def diagonal(self) -> Vector:
        sizes = np.diff(self.block.query_starts)
        totals = np.add.reduceat(self.steepest, self.block.query_starts[:-1])
        diagonal: Vector = np.repeat(totals, sizes) + (np.repeat(sizes, sizes) - 2.0) * self.steepest
        return diagonal


@kernel
def _smoothed_ndcg(  # type: ignore[no-untyped-def]
    rows, scores, weights, gains, discounts, query_starts, query_weights, width, room, slopes, steepest
):
    """Return the value; add the slopes and write what bounds their slopes, by row. Positions ascend by score."""
    value = 0.0
    for query in range(len(query_starts) - 1):
        first, last = query_starts[query], query_starts[query + 1]
        largest, heaviest = 0.0, 0.0
        for i in range(first, last):
            largest, heaviest = max(largest, gains[i]), max(heaviest, weights[i])
        if largest == 0.0:
            continue
        reached = 0.0
        near, end = first, first
        for p in range(first, last):
            while (scores[p] - scores[near]) ** 2 > _FARTHEST * width:
                near += 1
            while end < last and (end <= p or (scores[end] - scores[p]) ** 2 <= _FARTHEST * width):
                end += 1
            if weights[p] == 0.0:
                continue
            steepest[rows[p]] = query_weights[query] * discounts[p] * heaviest * largest
            whole, gain = 0.0, 0.0
            for i in range(near, end):
                room[i] = weights[i] * math.exp(-((scores[i] - scores[p]) ** 2) / width)
                whole += room[i]
                gain += room[i] * gains[i]
            gain /= whole
            reached += weights[p] * discounts[p] * gain
            factor = 2.0 * query_weights[query] * weights[p] * discounts[p] / (width * whole)
            for i in range(near, end):
                pull = factor * room[i] * (gains[i] - gain) * (scores[p] - scores[i])
                slopes[rows[i]] -= pull
                slopes[rows[p]] += pull
        value += query_weights[query] * (1.0 - reached)
    return value
