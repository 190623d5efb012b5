"""Least squares on all pairs of a query, in linear time: as sums of squares about the query's mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.compiled import kernel, summing_kernel
from linrank.dataset.binned_features import BinnedFeatures
from linrank.dataset.features import DenseFeatures
from linrank.dataset.query_blocks import QueryBlock
from linrank.dataset.with_products import WithProducts
from linrank.objective.duality import Dual, QuadraticDual
from linrank.objective.pair_losses import LossAtScores

PairWeight: TypeAlias = Literal["document", "pair"]


@dataclass(frozen=True)
class LeastSquares:
    """Half the sum over pairs {i, j} of one query of ((s_i - s_j) - (y_i - y_j)) ** 2, over the query's size.

    A pair weighs d_i d_j, its documents' weights, and the size is their sum D, so that a weight is a repetition. With
    e = s - y this is half the sum of d_i (e_i - mean e) ** 2: for equal weights |L(s - y)|² / 2, L the query's centring
    matrix. With `pair_weight="pair"` it is not divided by the size.
    """

    dual: ClassVar[Dual] = QuadraticDual()

    compares: ClassVar[str] = "queries"
    pair_weight: PairWeight = "document"

    def at(self, scores: Vector, block: QueryBlock) -> LossAtScores:
        slopes = np.empty(len(scores))
        curvature = Centring(block, self.pair_weight == "pair")
        value = 0.5 * curvature.centre(scores - block.labels, slopes)
        return LossAtScores(value, slopes, curvature)

    def mass(self, block: QueryBlock) -> float:
        """The sum of c d_i: what the block's documents weigh in the loss."""
        curvature = Centring(block, self.pair_weight == "pair")
        return float(curvature.scales() @ curvature.masses())


@dataclass(frozen=True, slots=True)
class Centring:
    """The curvature of least squares, the same at all scores: v -> c d_i (v_i - mean v), query by query.

    The mean is weighted by d, and c is the query's weight, times its size where pairs are not divided by it.
    """

    block: QueryBlock
    by_pair: bool

    def centre(self, values: Vector, centred: Vector) -> float:
        """Write the product with the values, and return values . product without cancellation."""
        block = self.block
        squares: float = _centre(
            values, block.document_weights, block.query_starts, block.query_weights, self.by_pair, centred
        )
        return squares

    def product(self, values: Vector) -> Vector:
        centred = np.empty(len(values))
        self.centre(values, centred)
        return centred

    def matrix_product(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        roots = self.roots()
        return roots[:, None] * self.centred_rows(matrix, roots, np.empty_like(matrix))

    def diagonal(self) -> Vector:
        masses = np.repeat(self.masses(), np.diff(self.block.query_starts))
        shares = np.divide(self.block.document_weights, masses, out=np.zeros(len(masses)), where=masses > 0.0)
        return self.roots() ** 2 * (1.0 - shares)

    def masses(self) -> Vector:
        """D, the sum of the document weights of each query."""
        return np.add.reduceat(self.block.document_weights, self.block.query_starts[:-1])

    def scales(self) -> Vector:
        """The factor c of each query."""
        return self.block.query_weights * self.masses() if self.by_pair else self.block.query_weights

    def roots(self) -> Vector:
        """sqrt(c d_i): rows centred by query and multiplied by them have the Hessian as their Gram matrix."""
        return np.sqrt(np.repeat(self.scales(), np.diff(self.block.query_starts)) * self.block.document_weights)

    def centred_rows(
        self, rows: NDArray[Any], roots: Vector, out: NDArray[np.float64], queries: slice = slice(None)
    ) -> NDArray[np.float64]:
        """roots_i (x_i - mean x), for rows of float32 or float64: the mean is taken off before anything is squared.

        The rows are those of the whole block, or of some consecutive queries of it.
        """
        starts = self.block.query_starts[queries.start : queries.stop and queries.stop + 1]
        documents = slice(starts[0], starts[-1])
        weights = self.block.document_weights[documents]
        _centre_rows(rows, weights, roots[documents], starts, np.empty(rows.shape[1]), out)
        return out

    def hessian_diagonal(self) -> Vector:
        """The sum of c d_i (x_i - mean x) ** 2, feature by feature."""
        features = self.block.features
        if isinstance(features, DenseFeatures | BinnedFeatures | WithProducts):
            values = features.to_dense()
            rows = self.centred_rows(values, self.roots(), np.empty(values.shape))
            squares: Vector = np.einsum("ij,ij->j", rows, rows)
            return squares
        total = np.zeros(features.n_features)
        _add_sparse_diagonal(
            features.values, features.columns, features.starts, self.block.document_weights, self.block.query_starts,
            self.masses(), self.scales(), np.zeros(len(total)), total,
        )  # fmt: skip
        return np.maximum(total, 0.0, out=total)


# Sums and stores are in loops of their own. One loop of both is vectorised only where the arrays are far enough apart
# in memory, and is summed in another order where they are not.


@summing_kernel
def _centre(values, document_weights, query_starts, query_weights, by_pair, centred):  # type: ignore[no-untyped-def]
    """centred_i = c d_i (v_i - mean v); return the sum of c d_i (v_i - mean v) ** 2."""
    squares = 0.0
    for query in range(len(query_starts) - 1):
        first, last = query_starts[query], query_starts[query + 1]
        mass, total = 0.0, 0.0
        for i in range(first, last):
            mass += document_weights[i]
            total += document_weights[i] * values[i]
        mean = total / mass if mass > 0.0 else 0.0
        scale = query_weights[query] * mass if by_pair else query_weights[query]
        of_query = 0.0
        for i in range(first, last):
            away = values[i] - mean
            of_query += document_weights[i] * away * away
        squares += scale * of_query
        for i in range(first, last):
            centred[i] = scale * document_weights[i] * (values[i] - mean)
    return squares


@kernel
def _centre_rows(rows, document_weights, roots, query_starts, mean, out):  # type: ignore[no-untyped-def]
    """out_i = root_i (x_i - mean x), the mean over the document's query; rows begin with the first query."""
    n_features = rows.shape[1]
    first = query_starts[0]
    for query in range(len(query_starts) - 1):
        mean[:] = 0.0
        mass = 0.0
        for i in range(query_starts[query] - first, query_starts[query + 1] - first):
            mass += document_weights[i]
            for j in range(n_features):
                mean[j] += document_weights[i] * rows[i, j]
        if mass > 0.0:
            for j in range(n_features):
                mean[j] /= mass
        for i in range(query_starts[query] - first, query_starts[query + 1] - first):
            for j in range(n_features):
                out[i, j] = roots[i] * (rows[i, j] - mean[j])


@kernel
def _add_sparse_diagonal(  # type: ignore[no-untyped-def]
    values, columns, starts, document_weights, query_starts, masses, scales, sums, total
):
    """Add c (sum of d x ** 2 - (sum of d x) ** 2 / D) of each query and feature; `sums` is zero before and after."""
    for query in range(len(query_starts) - 1):
        for i in range(query_starts[query], query_starts[query + 1]):
            for entry in range(starts[i], starts[i + 1]):
                weighted = document_weights[i] * values[entry]
                total[columns[entry]] += scales[query] * weighted * values[entry]
                sums[columns[entry]] += weighted
        for i in range(query_starts[query], query_starts[query + 1]):
            for entry in range(starts[i], starts[i + 1]):
                column = columns[entry]
                if sums[column] != 0.0:
                    total[column] -= scales[query] * sums[column] * sums[column] / masses[query]
                    sums[column] = 0.0
