"""Losses on preference pairs (i above j), in score space: they see scores and labels, never features."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector
from linrank.dataset.query_blocks import QueryBlock
from linrank.objective import pair_kernels as kernels
from linrank.objective.corner_pairs import add_corner
from linrank.objective.duality import ConvexDual, Dual, QuadraticDual
from linrank.objective.sorted_pairs import Moments, PairSums, PairsWithin, SortedPairs

# Where so many times the documents that have a partner are no more than all, products leave out the others.
_FEW = 2
# Squares of scores farther apart than this leave too little of a corner, and ever less of the slopes.
_FAR = 1e6


class Curvature(Protocol):
    """The second derivative of a loss in the scores of one block: products only.

    One that only some documents have part in may say so: `counting` are their rows, ascending, and `alone(rows)` is
    the same for vectors with a place for each of these rows alone.
    """

    def product(self, values: Vector) -> Vector:
        """The curvature times a vector of one value a document."""
        ...

    def matrix_product(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """The curvature times a matrix with one row a document."""
        ...

    def diagonal(self) -> Vector: ...


@dataclass(frozen=True, slots=True)
class LossAtScores:
    """A loss at the scores of one block. `sums` are further sums over the block that a method asks for, by name."""

    value: float
    slopes: Vector
    curvature: Curvature | None
    sums: Mapping[str, float] = field(default_factory=dict)


class PairLoss(Protocol):
    """A sum over the preference pairs of a block; pair (i, j) is weighted by its documents' and query's weights.

    A loss on other things says so by a class attribute `compares`: "queries" where all documents of a query are
    compared, equal labels or not, and "labels" where each document is compared with its label alone.
    """

    dual: ClassVar[Dual]

    def at(self, scores: Vector, block: QueryBlock) -> LossAtScores:
        """The loss at the given scores."""
        ...


@dataclass(frozen=True)
class SquaredHinge:
    """Sum over preference pairs (i above j) of max(0, 1 - (s_i - s_j)) ** 2."""

    dual: ClassVar[Dual] = QuadraticDual()

    over: PairSums = field(default_factory=PairSums, repr=False)

    def at(self, scores: Vector, block: QueryBlock) -> LossAtScores:
        slopes = np.zeros(len(scores))
        pairs = _MeasuredPairs.of(SortedPairs.of(scores, block, self.over).within(1.0))
        value = max(0.0, pairs.add_squared_hinge(1.0, slopes))
        return LossAtScores(value, slopes, pairs.laplacian(2.0))


@dataclass(frozen=True)
class Hinge:
    """Sum over preference pairs (i above j) of max(0, 1 - (s_i - s_j)); the slopes are a subgradient."""

    dual: ClassVar[Dual] = ConvexDual()

    over: PairSums = field(default_factory=PairSums, repr=False)

    def at(self, scores: Vector, block: QueryBlock) -> LossAtScores:
        slopes = np.zeros(len(scores))
        pairs = _MeasuredPairs.of(SortedPairs.of(scores, block, self.over).within(1.0))
        return LossAtScores(pairs.add_hinge(1.0, slopes), slopes, None)

    def smoothed(self, width: float) -> SmoothedHinge:
        """The loss with its corner rounded."""
        return SmoothedHinge(width, self.over)


@dataclass(frozen=True)
class SmoothedHinge:
    """The hinge with its corner rounded over a width d: (max(0, 1 - m) ** 2 - max(0, 1 - d - m) ** 2) / (2 d).

    At a margin m = s_i - s_j it is linear below 1 - d, quadratic up to 1 and zero above. For the loss with its corner,
    `sums` holds the value "sharp", the sum of max(0, 1 - m), and the "sharp_dual" that these slopes give, the sum of
    their sizes min(1, max(0, 1 - m) / d).
    """

    dual: ClassVar[Dual] = ConvexDual()

    width: float
    over: PairSums = field(default_factory=PairSums, repr=False)

    @property
    def steepest(self) -> tuple[SquaredHinge, float]:
        """A loss, and how many times its curvature at zero scores that of this one is nowhere above."""
        return SquaredHinge(self.over), 0.5 / self.width

    def at(self, scores: Vector, block: QueryBlock) -> LossAtScores:
        documents = SortedPairs.of(scores, block, self.over)
        outer, inner = (_MeasuredPairs.of(documents.within(margin)) for margin in (1.0, 1.0 - self.width))
        slopes, unused = np.zeros(len(scores)), np.zeros(len(scores))
        factor = 0.5 / self.width
        curvature = _Sum(outer.laplacian(2.0 * factor), inner.laplacian(-2.0 * factor))
        hinge = outer.add_hinge(1.0, unused)
        if documents.centred.max(initial=0.0) > _FAR:
            value, slope_sizes = self._add_far_apart(outer, inner, slopes)
        else:
            value = outer.add_squared_hinge(factor, slopes) + inner.add_squared_hinge(-factor, slopes)
            slope_sizes = (hinge - inner.add_hinge(1.0, unused)) / self.width
        value = self._plausible(value, hinge, outer.weight())
        return LossAtScores(value, slopes, curvature, {"sharp": hinge, "sharp_dual": slope_sizes})

    def _add_far_apart(self, outer: _MeasuredPairs, inner: _MeasuredPairs, slopes: Vector) -> tuple[float, float]:
        """The value and the sum of the sizes of the slopes, which are added, with nothing that grows with the scores.

        Below 1 - d the pairs have the hinge's slopes, which are counts; those in the corner have scores of their own.
        """
        weight = inner.weight()
        linear = inner.add_hinge(1.0, slopes) + 0.5 * self.width * weight
        squares, lacking = add_corner(outer.pairs, inner.pairs, self.width, slopes)
        return linear + 0.5 * squares / self.width, weight + lacking / self.width

    def _plausible(self, value: float, hinge: float, weight: float) -> float:
        """The value, or the nearest that the hinge allows: squares of large scores leave rounding."""
        least = max(0.0, hinge - 0.5 * self.width * weight)
        slack = 1e-9 * hinge
        return max(0.0, value) if least - slack <= value <= hinge + slack else min(max(value, least), hinge)


@dataclass(frozen=True, slots=True)
class _MeasuredPairs:
    """The pairs within a margin, with the weights and scores of each document's partners summed."""

    pairs: PairsWithin
    higher: Moments
    lower: Moments

    @classmethod
    def of(cls, pairs: PairsWithin) -> _MeasuredPairs:
        return cls(pairs, *pairs.moments())

    def add_squared_hinge(self, factor: float, slopes: Vector) -> float:
        """Factor x the sum of max(0, margin - (s_i - s_j)) ** 2, whose slopes are added."""
        value: float = kernels.add_squared_hinge(*self._columns(), self.pairs.margin, factor, slopes)
        return value

    def add_hinge(self, factor: float, slopes: Vector) -> float:
        """Factor x the sum of max(0, margin - (s_i - s_j)), whose slopes are added."""
        value: float = kernels.add_hinge(*self._columns(), self.pairs.margin, factor, slopes)
        # Rounding may take it below, where what pairs weigh is far apart.
        return max(0.0, value)

    def weight(self) -> float:
        """What the pairs weigh together."""
        documents, block = self.pairs.documents, self.pairs.documents.block
        of_rows = documents.weights * self.higher.real
        return float(block.query_weights @ np.add.reduceat(of_rows, block.query_starts[:-1]))

    def laplacian(self, factor: float) -> _Laplacian:
        counts = self.higher.real + self.lower.real
        if not _FEW * np.count_nonzero(counts) <= len(counts) or not self.pairs.documents.over.structure.leaves_out:
            return _Laplacian(self.pairs, factor, counts, len(counts))
        positions = np.flatnonzero(counts)
        return _Laplacian(self.pairs.among(positions), factor, counts[positions], len(counts))

    def _columns(self) -> tuple[NDArray[Any], ...]:
        documents, block = self.pairs.documents, self.pairs.documents.block
        return (
            documents.rows, documents.weights, documents.centred, self.higher, self.lower, block.query_starts,
            block.query_weights,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Laplacian:
    """factor x the Laplacian of the graph of pairs within a margin, an edge weighing its documents' weights."""

    pairs: PairsWithin
    factor: float
    counts: Vector
    n_documents: int

    @property
    def counting(self) -> Offsets | None:
        """The documents that have a partner, where few have; None where no other is left out."""
        return None if len(self.counts) == self.n_documents else np.sort(self.pairs.documents.rows).astype(np.int64)

    def alone(self, rows: Offsets) -> _Laplacian:
        return _Laplacian(self.pairs.alone(rows), self.factor, self.counts, len(rows))

    def product(self, values: Vector) -> Vector:
        documents, block = self.pairs.documents, self.pairs.documents.block
        weighted = np.empty(len(self.counts))
        kernels.gather_weighted(documents.rows, documents.weights, values, weighted)
        higher, lower = self.pairs.sums(weighted)
        products = np.zeros(len(values))
        kernels.add_laplacian(
            documents.rows, documents.weights, self.counts, higher, lower, values, block.query_starts,
            block.query_weights, self.factor, products,
        )  # fmt: skip
        return products

    def matrix_product(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        products = np.zeros_like(matrix)
        for upward in (True, False):
            self._sweep_columns(matrix, upward, 1.0, products)
        return products

    def half_product(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        """A matrix M for which the symmetric part of matrix' M is matrix' L matrix, by one sweep in place of two.

        What lower partners add to the quadratic form is the transpose of what higher ones do.
        """
        products = np.zeros_like(matrix)
        self._sweep_columns(matrix, True, 2.0, products)
        return products

    def _sweep_columns(
        self, matrix: NDArray[np.float64], upward: bool, times: float, products: NDArray[np.float64]
    ) -> None:
        documents, block = self.pairs.documents, self.pairs.documents.block
        kernels.add_laplacian_of_columns(
            documents.rows, documents.weights, documents.levels, self.pairs.ends if upward else self.pairs.begins,
            upward, self.counts, matrix, block.query_starts, block.level_counts, block.query_weights,
            documents.over.pairs == "adjacent", self.factor, times,
            np.empty((block.most_levels + 1, matrix.shape[1])), products,
        )  # fmt: skip

    def diagonal(self) -> Vector:
        documents, block = self.pairs.documents, self.pairs.documents.block
        zeros = np.zeros(len(self.counts))
        ones, diagonal = np.ones(self.n_documents), np.zeros(self.n_documents)
        kernels.add_laplacian(
            documents.rows, documents.weights, self.counts, zeros, zeros, ones, block.query_starts,
            block.query_weights, self.factor, diagonal,
        )  # fmt: skip
        return diagonal


@dataclass(frozen=True, slots=True)
class _Sum:
    first: _Laplacian
    second: _Laplacian

    @property
    def counting(self) -> Offsets | None:
        """Those of the first: the pairs of the second are among its pairs."""
        return self.first.counting

    def alone(self, rows: Offsets) -> _Sum:
        return _Sum(self.first.alone(rows), self.second.alone(rows))

    def product(self, values: Vector) -> Vector:
        return self.first.product(values) + self.second.product(values)

    def matrix_product(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.first.matrix_product(matrix) + self.second.matrix_product(matrix)

    def half_product(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.first.half_product(matrix) + self.second.half_product(matrix)

    def diagonal(self) -> Vector:
        return self.first.diagonal() + self.second.diagonal()
