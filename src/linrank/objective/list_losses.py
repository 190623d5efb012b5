"""Losses on whole lists, in score space: ListNet's, and XE-NDCG."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.dataset.query_blocks import QueryBlock
from linrank.objective import list_kernels as kernels
from linrank.objective.duality import ConvexDual, Dual
from linrank.objective.pair_losses import LossAtScores


@dataclass(frozen=True)
class TopOneCrossEntropy:
    """Sum over queries of - sum_i P_y(i) log P_s(i), P_v(i) = e^v_i / sum_j e^v_j: the chance of i to stand first.

    A document's weight is how often it stands in its query: with d_i copies of each, the loss is
    log(sum_j d_j e^s_j) - sum_i t_i s_i with t_i = d_i e^y_i / sum_j d_j e^y_j. A query's weight multiplies its loss.
    A query whose labels are all equal wants equal scores. `sums` holds the "least" value the loss can have: the entropy
    of the labels' chances, where the scores are the labels.
    """

    dual: ClassVar[Dual] = ConvexDual()

    compares: ClassVar[str] = "queries"

    def at(self, scores: Vector, block: QueryBlock) -> LossAtScores:
        return _cross_entropy(scores, block.labels, block)


@dataclass(frozen=True)
class GainCrossEntropy:
    """Sum over queries of - sum_i t_i log P_s(i), P_s as above, t_i = E[(2^y_i - g_i) / sum_j (2^y_j - g_j)].

    The g are independent and uniform on [0, 1]; the loss is linear in t, so that this is what Bruch's is expected to
    be when they are drawn. Labels below 0 count as 0, as their gains do. Weights, queries of equal labels and "least"
    are those of `TopOneCrossEntropy`.
    """

    dual: ClassVar[Dual] = ConvexDual()

    compares: ClassVar[str] = "queries"

    def at(self, scores: Vector, block: QueryBlock) -> LossAtScores:
        wanted = np.empty(len(scores))
        kernels.log_expected_gains(block.labels, block.document_weights, block.query_starts, wanted)
        return _cross_entropy(scores, wanted, block)


def _cross_entropy(scores: Vector, wanted: Vector, block: QueryBlock) -> LossAtScores:
    """That of the softmax of `wanted` and of the scores."""
    chances, slopes = np.empty(len(scores)), np.empty(len(scores))
    value, least = kernels.cross_entropy(
        scores, wanted, block.document_weights, block.query_starts, block.query_weights, chances, slopes
    )
    return LossAtScores(value, slopes, _Covariance(block, chances), {"least": least})


@dataclass(frozen=True, slots=True)
class _Covariance:
    """Query weight x (diag(p) - p p') of each query, p being the chances of its documents to stand first."""

    block: QueryBlock
    chances: Vector

    def product(self, values: Vector) -> Vector:
        return self.matrix_product(values[:, None])[:, 0]

    def matrix_product(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        products = np.empty(matrix.shape)
        kernels.centre_columns(
            self.chances, matrix, self.block.query_starts, self.block.query_weights, np.empty(matrix.shape[1]), products
        )
        return products

    def diagonal(self) -> Vector:
        weights = np.repeat(self.block.query_weights, np.diff(self.block.query_starts))
        diagonal: Vector = weights * self.chances * (1.0 - self.chances)
        return diagonal
