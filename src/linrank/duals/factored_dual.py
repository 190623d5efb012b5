"""The dual of the hinge RankSVM with a multiplier <v_i, v_j> for the pair (i, j), descended on query by query."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector, for_kernels
from linrank.dataset.features import Features, SparseFeatures
from linrank.dataset.query_blocks import QueryBlock, cut_into_blocks
from linrank.dataset.query_offsets import without_offsets
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.varying import variation_of
from linrank.duals import factored_dual_kernels as kernels
from linrank.duals.dual_solver import DualSolver
from linrank.objective.pair_losses import Hinge
from linrank.solvers.solution import Journal, Solution

Factors: TypeAlias = NDArray[np.float64]
Marks: TypeAlias = NDArray[np.uint64]

# Few enough for Ctrl-C to be heard at once, enough for the cost of a call not to matter.
_QUERIES_A_CALL = 128
# The weights follow the vectors step by step; after so many epochs they are taken anew from them.
_EXACT_EVERY = 10
_ROWS_A_CHUNK = 1 << 12
# Odd, and without pattern in its bits: its multiples are spread evenly over all 64-bit numbers.
_SPREAD = 0x9E3779B97F4A7C15


@dataclass(frozen=True, eq=False)
class FactoredObjective:
    """f(u) = |w|² / 2 - sum a_ij with w = sum a_ij (x_i - x_j), a_ij = C / rank q d_i d_j <u_i, u_j>, each u in [0, 1].

    The sums are over preference pairs (i above j); q is the weight of their query, d those of documents. So a_ij is
    from 0 to C q d_i d_j, as in the dual of C sum q d_i d_j max(0, 1 - w.(x_i - x_j)) + |w|² / 2, and without weights
    a_ij = <v_i, v_j> for the vectors v = sqrt(C / rank) u of Xu et al. (2018). `data` is one block of all queries; its
    columns that hardly vary are less what one document of the query has. `rows` are the features as they were given.
    """

    data: QueryBlock
    C: float
    rank: int
    rows: Features

    @classmethod
    def of(cls, dataset: RankingDataset, C: float, rank: int) -> FactoredObjective:
        (data,) = cut_into_blocks(dataset, block_bytes=sys.maxsize)
        weights = for_kernels(data.document_weights), for_kernels(data.query_weights)
        data = replace(data, document_weights=weights[0], query_weights=weights[1])
        # Of those that do not vary at all too, the weights would be what rounding leaves, and their squares in f.
        hardly = np.flatnonzero(~variation_of([data], dataset.n_features, ties=False).widely)
        return cls(without_offsets(data, hardly) if len(hardly) else data, C, rank, data.features)

    @property
    def scale(self) -> float:
        return self.C / self.rank

    def at(self, factors: Factors) -> FactoredPoint:
        """The point of the given vectors u, which become its own."""
        point = FactoredPoint(self, factors, np.zeros(self.data.features.n_features), 0.0)
        point.refresh()
        return point

    def gap(self, weights: Vector, value: float) -> float:
        """Return value + the hinge objective at the weights: never less than value - the least of all a in the box.

        Low rank or not, no multipliers have a value below minus the least hinge objective.
        """
        scores = self.data.features.product(weights, np.empty(self.data.n_documents))
        hinge = Hinge().at(scores, self.data).value
        return max(0.0, value + 0.5 * float(weights @ weights) + self.C * hinge)


@dataclass(eq=False)
class FactoredPoint:
    """Vectors u, one a document, and the weights w they make; a solver moves them in place."""

    objective: FactoredObjective
    factors: Factors
    weights: Vector
    value: float

    def refresh(self) -> float:
        """Take weights and value anew from the vectors; return the sum of all a."""
        data = self.objective.data
        shares = np.empty(data.n_documents)
        tables = np.empty((kernels.TABLES, data.most_levels + 1, self.objective.rank))
        total = kernels.shares_of_all(
            self.factors, data.document_weights, data.query_weights, data.query_starts, data.levels, data.level_counts,
            self.objective.scale, tables, shares,
        )  # fmt: skip
        self.weights[:] = 0.0
        data.features.transposed_product(shares, self.weights)
        self.value = 0.5 * float(self.weights @ self.weights) - total
        return float(total)

    def shrink(self) -> None:
        """Multiply all vectors by the number up to 1 that is best: f(t u) = t^4 |w|² / 2 - t² sum a."""
        # Not from the value, in which the squares of large features leave nothing of the sum.
        total = self.refresh()
        squares = float(self.weights @ self.weights)
        if total < squares:
            self.factors *= np.sqrt(total / squares)
            self.refresh()

    def vectors(self) -> Factors:
        """Return v with a_ij = <v_i, v_j>: in grouped order, the documents' and queries' weights in it."""
        data = self.objective.data
        of_queries = np.repeat(data.query_weights, np.diff(data.query_starts))
        lengths = np.sqrt(self.objective.scale * of_queries) * data.document_weights
        return lengths[:, None] * self.factors


@dataclass(frozen=True)
class FactoredSolution(Solution):
    """Also the vectors v that make the weights, a row a document in grouped order; None where they are not known."""

    vectors: Factors | None


@dataclass(frozen=True)
class FactoredDual(DualSolver[FactoredObjective, FactoredPoint]):
    """Minimises a `FactoredObjective`; stops where an epoch lowers it by at most `tolerance` times its size.

    An epoch visits every query once. A visit takes a projected gradient step in the vectors of the query's documents,
    the scores being those of the present w, and moves w with them. Along the way u + t (P(u - rate g) - u), 0 < t <= 1,
    the objective is a polynomial of degree 4 in t whose coefficients are computed, and t is where it turns: so no visit
    ever raises the objective, and there is no learning rate to choose. The next rate is 2 t times this one.

    The order of the queries, and the start, are drawn by the seed and by what stands in the rows: they do not depend on
    the order of rows or queries, and a row that is there twice starts in the same place twice. Xu et al. (2018),
    Algorithm 1, without its misprints.
    """

    tolerance: float = 1e-4
    max_iterations: int = 200
    max_seconds: float = np.inf
    seed: int = 0

    def _run(self, objective: FactoredObjective, start: FactoredPoint | None, journal: Journal) -> FactoredSolution:
        """Descend from `start`, which is moved to the last point, or from a random one."""
        marks = mark_documents(objective.rows, self.seed)
        point = start or random_start(objective, marks)
        solution = self._descend(point, marks, journal)
        # A feature that is the same in all documents of each query has the weight zero, but for rounding.
        varies = variation_of([objective.data], objective.data.features.n_features, ties=False).varies
        weights = np.where(varies, solution.weights, 0.0)
        kept = replace(solution, weights=weights, certified_gap=objective.gap(weights, solution.value))
        return FactoredSolution(**vars(kept), vectors=point.vectors())

    def _descend(self, point: FactoredPoint, marks: Marks, journal: Journal) -> Solution:
        work = _Work(point)
        queries = _mark_queries(point.objective.data, marks)
        stop = _note(journal, point, np.array([np.inf, np.inf, 1.0, 1.0]))
        for epoch in range(1, self.max_iterations + 1):
            if stop:
                return journal.solution(stop)
            tally = work.visit(np.argsort(_mixed(queries, epoch), kind="stable"))
            point.value -= tally[kernels.DECREASE]
            arrived = tally[kernels.DECREASE] <= self.tolerance * abs(point.value)
            if arrived or epoch % _EXACT_EVERY == 0 or epoch == self.max_iterations:
                point.refresh()
            stop = _note(journal, point, tally)
            if arrived:
                return journal.solution("the decrease in an epoch is below the tolerance", converged=True)
        return journal.solution(f"out of iterations (max_iter={self.max_iterations})")


def _note(journal: Journal, point: FactoredPoint, tally: Vector) -> str | None:
    """Add a line; its gradient is the projected one in v, each query's as it was when visited, its step the mean."""
    decrease = float(tally[kernels.DECREASE])
    return journal.note(
        point.weights.copy(), point.value, float(np.sqrt(tally[kernels.SQUARED_GRADIENT])), gap=decrease,
        certified_gap=np.inf, inner=0, step=float(tally[kernels.STEPS]) / max(1.0, float(tally[kernels.VISITS])),
        shown=min(1.0, decrease / max(abs(point.value), np.finfo(float).tiny)),
    )  # fmt: skip


@dataclass(eq=False)
class _Work:
    """A point that is being moved, the rate of each query, and room to work in."""

    point: FactoredPoint
    rates: Vector = field(init=False)

    def __post_init__(self) -> None:
        data, rank = self.point.objective.data, self.point.objective.rank
        longest, n_features = int(np.diff(data.query_starts).max(initial=0)), data.features.n_features
        along = (n_features, 2) if isinstance(data.features, SparseFeatures) else (2, n_features)
        self.rates = np.zeros(data.n_queries)
        self.room = (
            np.empty((kernels.ROWS_OF_COLUMNS, longest)),
            np.empty((kernels.TABLES, data.most_levels + 1, rank)),
            np.empty((longest, rank)),
            np.zeros(along),
        )

    def visit(self, order: Offsets) -> Vector:
        """Visit the queries in the given order; return what the visits add up to."""
        point, data, features = self.point, self.point.objective.data, self.point.objective.data.features
        tally = np.zeros(kernels.ROWS_OF_TALLY)
        for first in range(0, len(order), _QUERIES_A_CALL):
            arguments = (
                data.document_weights, data.query_weights, data.query_starts, data.levels, data.level_counts,
                order[first : first + _QUERIES_A_CALL], point.objective.scale, point.factors, point.weights, self.rates,
                *self.room, tally,
            )  # fmt: skip
            if isinstance(features, SparseFeatures):
                kernels.descend_sparse(features.values, features.columns, features.starts, *arguments)
            else:
                kernels.descend_dense(features.values, *arguments)
        return tally


def mark_documents(features: Features, seed: int) -> Marks:
    """Return a number for each row, drawn by the seed and the row's values to the precision of float32.

    The sum modulo 2^64 of bits x a random number a column: equal rows have equal marks, dense or sparse.
    """
    keys = np.random.default_rng(seed).integers(1, 2**64 - 1, size=features.n_features, dtype=np.uint64, endpoint=True)
    marks = np.empty(features.n_rows, dtype=np.uint64)
    for start in range(0, features.n_rows, _ROWS_A_CHUNK):
        part = features.rows(start, min(start + _ROWS_A_CHUNK, features.n_rows))
        if isinstance(part, SparseFeatures):
            first, last = int(part.starts[0]), int(part.starts[-1])
            sums = np.zeros(last - first + 1, dtype=np.uint64)
            np.cumsum(_bits(part.values[first:last]) * keys[part.columns[first:last]], out=sums[1:])
            of_part = sums[part.starts[1:] - first] - sums[part.starts[:-1] - first]
        else:
            of_part = _bits(part.values) @ keys
        marks[start : start + part.n_rows] = of_part
    return marks


def _bits(values: NDArray[np.floating]) -> Marks:
    with np.errstate(over="ignore"):
        # (Adding 0 makes a negative zero a plain one, whose bits are those of an absent value: none.)
        single = values.astype(np.float32) + np.float32(0.0)
    return single.view(np.uint32).astype(np.uint64)


def _mixed(marks: Marks, turn: int) -> Marks:
    """Numbers without pattern, the same for the same mark and turn (the last steps of SplitMix64)."""
    mixed = marks + np.uint64(turn * _SPREAD % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


def random_start(objective: FactoredObjective, marks: Marks) -> FactoredPoint:
    """Each entry evenly from [0, 1), by its document's mark; then all of them shrunk to the best length."""
    factors = np.empty((len(marks), objective.rank))
    for k in range(objective.rank):
        # The upper 53 bits: as many as float64 has.
        np.multiply(_mixed(marks, k) >> np.uint64(11), 2.0**-53, out=factors[:, k])
    point = objective.at(factors)
    point.shrink()
    return point


def _mark_queries(data: QueryBlock, marks: Marks) -> Marks:
    """The largest mark of a query's documents that have a weight: the same whatever is repeated in it."""
    counted = np.where(data.document_weights > 0.0, marks, np.uint64(0))
    return np.maximum.reduceat(counted, data.query_starts[:-1])
