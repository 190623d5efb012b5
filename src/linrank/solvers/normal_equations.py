"""Pairwise least squares solved exactly: the normal equations from one pass over the data, for every gamma at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from linrank.arrays import Vector
from linrank.cached import cached_property
from linrank.dataset.features import Features
from linrank.dataset.query_blocks import QueryBlock
from linrank.objective.least_squares import Centring
from linrank.objective.objective import RankingObjective
from linrank.objective.placed_blocks import PlacedBlock, Shard, SpreadQuery
from linrank.solvers.heavy_ball import wants_least_squares
from linrank.solvers.solution import Journal, Solution
from linrank.solvers.solver import Solver

# Rows are centred in a copy of this size, which stays in cache while its products are summed; smaller ones cost more in
# calls than they save in memory.
_TILE_BYTES = 1 << 21
# With many features it is rather the matrix that is read and written for every tile: then more rows share the cost.
_FEWEST_ROWS = 256
# Each task sums into a matrix of its own; as many of them as fit in this are at work at a time.
_SUMS_BYTES = 1 << 28
# Each correction by the residual takes off most of what rounding left.
_CORRECTIONS = 2
# Left-out scores are exact to this share of the change of the weights; beyond so many steps a factorisation is quicker.
_LEFT_OUT_TOLERANCE = 1e-10
_LEFT_OUT_STEPS = 30

# A matrix of so many features takes 800 MB, and minutes to decompose.
_MOST_FEATURES_IN_A_MATRIX = 10_000

Matrix = NDArray[np.float64]


def wants_matrix(n_features: int, remedy: str) -> str | None:
    """Why a matrix of features x features that is too large is refused."""
    if n_features <= _MOST_FEATURES_IN_A_MATRIX:
        return None
    return (
        f"{n_features} features make a matrix of {8e-9 * n_features**2:.1f} GB; at most "
        f"{_MOST_FEATURES_IN_A_MATRIX} features can be solved so. For more, {remedy}."
    )


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """(G + gamma I) w = b with G = sum X'LX and b = sum X'Ly, the zero of F's gradient; y'Ly / 2 is F(0).

    Sums are over queries, and L is the curvature of `LeastSquares`, with its weights.
    """

    gram: Matrix
    right: Vector
    square: float
    """y'Ly"""

    @classmethod
    def of(cls, objective: RankingObjective) -> NormalEquations:
        """Read the data once: rows are centred in cache, and their products summed there."""
        data, by_pair = objective.data, objective.loss.pair_weight == "pair"  # type: ignore[attr-defined]
        total = _Scatter.zero(data.n_features)
        for (places,) in _some_at_a_time(data.n_features, range(data.n_shards)):
            for scatter in data.some(places).tell(_scatter_of_shard, by_pair=by_pair):
                total.add(scatter)
        for zeroed in (total.gram, total.gram.T, total.right):
            zeroed[objective.idle] = 0.0
        return cls(objective.C * total.gram, objective.C * total.right, objective.C * total.square)

    def toward(self, centres: Vector | float, gamma: float) -> NormalEquations:
        """Those of the penalty gamma / 2 |w - centres|²."""
        centres = np.broadcast_to(centres, self.right.shape)
        square = self.square + gamma * float(centres @ centres)
        return replace(self, right=self.right + gamma * centres, square=square)

    def solution(self, gamma: float) -> Vector:
        """The weights for one gamma, by Cholesky factors."""
        matrix = self.gram + 0.0
        matrix[np.diag_indices_from(matrix)] += gamma
        # With a unit diagonal, features on different scales do not spoil the factors.
        scale = 1.0 / np.sqrt(np.diagonal(matrix))[:, None]
        try:
            factor = cho_factor(scale * matrix * scale.T, overwrite_a=True, check_finite=False)
        except LinAlgError:
            # Rounding has made the smallest eigenvalues negative: among the eigenvalues they can be told apart.
            return self.path(np.array([gamma])).ravel()
        return self._corrected(lambda rest: scale * cho_solve(factor, scale * rest, check_finite=False), gamma).ravel()

    def path(self, gammas: Vector) -> Matrix:
        """The weights for every gamma, a row each, from one eigendecomposition."""
        values, vectors = self.spectrum
        shifted = values[:, None] + gammas
        return np.ascontiguousarray(
            self._corrected(lambda rest: vectors @ ((vectors.T @ rest) / shifted), gammas[None]).T
        )

    def _corrected(self, inverse: Callable[[Matrix], Matrix], gammas: Matrix | float) -> Matrix:
        right = self.right[:, None]
        weights = inverse(right)
        for _ in range(_CORRECTIONS):
            weights = weights + inverse(right - self.gram @ weights - gammas * weights)
        return weights

    @cached_property
    def spectrum(self) -> tuple[Vector, Matrix]:
        """The eigenvalues of G in ascending order, none below 0, and its eigenvectors."""
        # Divide and conquer is the quickest; SciPy 1.13.0 reserves too little room for it to divide one feature.
        driver = "evd" if len(self.gram) > 1 else "ev"
        values, vectors = eigh(self.gram, driver=driver, check_finite=False)
        return np.maximum(values, 0.0), vectors


@dataclass(eq=False)
class _Scatter:
    """Z'Z, Z'u and u'u for rows Z of centred features and u of centred labels."""

    gram: Matrix
    right: Vector
    square: float

    @classmethod
    def zero(cls, n_features: int) -> _Scatter:
        return cls(np.zeros((n_features, n_features)), np.zeros(n_features), 0.0)

    def add(self, other: _Scatter) -> None:
        self.gram += other.gram
        self.right += other.right
        self.square += other.square

    def add_block(self, block: QueryBlock, by_pair: bool, room: _Room) -> None:
        curvature = Centring(block, by_pair)
        roots = curvature.roots()
        labels = curvature.centred_rows(block.labels[:, None], roots, np.empty((block.n_documents, 1)))[:, 0]
        for queries, documents in tiles(block):
            rows = block.features.rows(documents.start, documents.stop).to_dense()
            centred = curvature.centred_rows(rows, roots, room.rows(len(rows)), queries)
            self.add_rows(centred, labels[documents], room)

    def add_rows(self, rows: Matrix, labels: Vector, room: _Room) -> None:
        # NumPy sees that this is symmetric, and computes half of it. (SciPy's dsyrk would add in place, but of several
        # threads it lets in one at a time.)
        self.gram += np.matmul(rows.T, rows, out=room.gram)
        self.right += labels @ rows
        self.square += float(labels @ labels)


class _Room:
    """Memory that a task uses again and again: new memory costs more than the arithmetic in it."""

    def __init__(self, n_features: int) -> None:
        self.gram = np.empty((n_features, n_features))
        self._rows = np.empty((rows_of_a_tile(n_features), n_features))

    def rows(self, n_rows: int) -> Matrix:
        if n_rows > len(self._rows):
            self._rows = np.empty((n_rows, self._rows.shape[1]))
        return self._rows[:n_rows]


def _some_at_a_time(n_features: int, *columns: Sequence[Any]) -> Iterator[list[Sequence[Any]]]:
    """The columns in parts, each of as many tasks as may have their sums in memory at a time."""
    most = max(4, _SUMS_BYTES // (8 * n_features * n_features))
    for first in range(0, len(columns[0]), most):
        yield [column[first : first + most] for column in columns]


def rows_of_a_tile(n_features: int) -> int:
    """How many rows are centred and summed at a time."""
    return max(_FEWEST_ROWS, _TILE_BYTES // (8 * n_features))


def tiles(block: QueryBlock) -> Iterator[tuple[slice, slice]]:
    """Consecutive queries and their documents, as many as make a tile of dense float64 rows; one query may be more."""
    rows, starts = rows_of_a_tile(block.features.n_features), block.query_starts
    first = 0
    while first < block.n_queries:
        stop = max(first + 1, int(np.searchsorted(starts, starts[first] + rows, side="right")) - 1)
        yield slice(first, stop), slice(int(starts[first]), int(starts[stop]))
        first = stop


def _scatter_of_shard(shard: Shard, *, by_pair: bool) -> _Scatter:
    total, room = _Scatter.zero(shard.n_features), _Room(shard.n_features)
    for placed in shard:
        if isinstance(placed, SpreadQuery):
            return _scatter_of_spread(placed, by_pair)
        total.add_block(placed.block, by_pair, room)
    return total


def _scatter_of_spread(query: SpreadQuery, by_pair: bool) -> _Scatter:
    """Tile by tile about the tile's own mean, then the means about the mean of all: Chan, Golub & LeVeque (1983)."""
    block, n = query.block, query.block.features.n_features
    scale = float(Centring(block, by_pair).scales()[0])
    total = _Scatter.zero(n)
    summaries = []
    columns = [query.chunks, query.split(block.labels), query.split(block.document_weights)]
    for some in _some_at_a_time(n, *columns):
        for scatter, of_chunk in query.executor.map(_scatter_of_chunk, *some, scale=scale):
            total.add(scatter)
            summaries += of_chunk
    masses, means, labels = (np.array(column) for column in zip(*summaries, strict=True))
    if masses.any():
        roots, shares = np.sqrt(scale * masses), masses / masses.sum()
        total.add_rows(roots[:, None] * (means - shares @ means), roots * (labels - shares @ labels), _Room(n))
    return total


def _scatter_of_chunk(
    chunk: Features, labels: Vector, weights: Vector, *, scale: float
) -> tuple[_Scatter, list[tuple[float, Vector, float]]]:
    """The scatter within each tile of rows, and each tile's mass, mean features and mean label."""
    total, room = _Scatter.zero(chunk.n_features), _Room(chunk.n_features)
    summaries = []
    for a in range(0, chunk.n_rows, rows_of_a_tile(chunk.n_features)):
        b = min(chunk.n_rows, a + rows_of_a_tile(chunk.n_features))
        tile = QueryBlock.of(chunk.rows(a, b), labels[a:b], np.array([0, b - a]), weights[a:b], np.array([scale]))
        total.add_block(tile, False, room)
        mass = float(weights[a:b].sum())
        sums = tile.features.transposed_product(weights[a:b], np.zeros(chunk.n_features))
        summaries.append((mass, sums / (mass or 1.0), float(weights[a:b] @ labels[a:b]) / (mass or 1.0)))
    return total, summaries


@dataclass(frozen=True, eq=False)
class LeftOut:
    """The weights of all queries but one, for every query and gamma, from the normal equations of all.

    In the eigenvectors of G the weights without query q are c - z, c those of all queries, and

        (eigenvalues + gamma - P'W P) z = P'W r

    with P the query's centred rows, W its weights and r its residuals y - P c. No other query is read.
    """

    equations: NormalEquations
    gammas: Vector
    path: Matrix
    by_pair: bool

    @cached_property
    def _shifted(self) -> Matrix:
        return self.equations.spectrum[0][:, None] + self.gammas

    def scores(self, placed: PlacedBlock) -> Iterator[Matrix]:
        """Each document's score by the other queries' weights, but for its query's mean; a column a gamma, in parts."""
        if isinstance(placed, SpreadQuery):
            # A column a gamma would be larger than the features.
            yield from (placed.scores(weights)[:, None] for weights in self._weights(placed))
        else:
            yield self._scores(placed.block)

    def _scores(self, block: QueryBlock) -> Matrix:
        vectors = self.equations.spectrum[1]
        coefficients = vectors.T @ self.path.T
        curvature, ones = Centring(block, self.by_pair), np.ones(block.n_documents)
        weights = curvature.roots() ** 2
        labels = curvature.centred_rows(block.labels[:, None], ones, np.empty((len(ones), 1)))
        scores = np.empty((len(ones), len(self.gammas)))
        for queries, documents in tiles(block):
            rows = block.features.rows(documents.start, documents.stop).to_dense()
            rotated = curvature.centred_rows(rows, ones, np.empty(rows.shape), queries) @ vectors
            for a, b in pairwise(block.query_starts[queries.start : queries.stop + 1].tolist()):
                P = rotated[a - documents.start : b - documents.start]
                PW = P.T * weights[a:b]
                right = PW @ (labels[a:b] - P @ coefficients)
                scores[a:b] = P @ (coefficients - _solve_without(self._shifted, right, PW, P))
        return scores

    def _weights(self, query: SpreadQuery) -> Matrix:
        """The weights of all other queries, a row a gamma."""
        vectors = self.equations.spectrum[1]
        own = _scatter_of_spread(query, self.by_pair)
        right = vectors.T @ (own.right[:, None] - own.gram @ self.path.T)
        return self.path - (vectors @ _solve_without(self._shifted, right, vectors.T @ own.gram @ vectors)).T


def _solve_without(shifted: Matrix, right: Matrix, *factors: Matrix) -> Matrix:
    """Solve shifted * z - (the factors' product) z = right, by conjugate gradients on all columns at once.

    A query is a small part of the data, so that `shifted` alone is nearly right, and a few steps suffice; where it is
    not, the system is solved as a matrix.
    """
    solution, residual = np.zeros_like(right), right.copy()
    conditioned = residual / shifted
    direction = conditioned.copy()
    rest = np.einsum("ij,ij->j", residual, conditioned)
    enough = _LEFT_OUT_TOLERANCE**2 * rest
    for _ in range(_LEFT_OUT_STEPS):
        product = shifted * direction - _product(factors, direction)
        bend = np.einsum("ij,ij->j", direction, product)
        length = np.divide(rest, bend, out=np.zeros_like(rest), where=(bend > 0.0) & (rest > enough))
        solution += length * direction
        residual -= length * product
        conditioned = residual / shifted
        before, rest = rest, np.einsum("ij,ij->j", residual, conditioned)
        if (rest <= enough).all():
            return solution
        direction *= np.divide(rest, before, out=np.zeros_like(rest), where=before > 0.0)
        direction += conditioned
    whole = _product(factors, np.eye(len(shifted)))
    for column in np.flatnonzero(rest > enough):
        solution[:, column] = np.linalg.solve(np.diag(shifted[:, column]) - whole, right[:, column])
    return solution


def _product(factors: Sequence[Matrix], matrix: Matrix) -> Matrix:
    for factor in reversed(factors):
        matrix = factor @ matrix
    return matrix


@dataclass(frozen=True)
class GramRidge(Solver):
    """The exact solution for one gamma: one pass for the normal equations, and one for the value.

    There are no iterations. Where rounding leaves a gap of more than `tolerance` x F, it says so.
    """

    tolerance: float = 1e-6
    max_iterations: int = 1
    max_seconds: float = np.inf

    def refuses(self, objective: RankingObjective) -> str | None:
        return wants_least_squares(objective) or wants_matrix(objective.data.n_features, "use solver='cg'")

    def _run(self, objective: RankingObjective, start: Vector | None, journal: Journal) -> Solution:  # noqa: ARG002
        gamma, centres = objective.weight_penalty.strength, objective.weight_penalty.centres
        equations = NormalEquations.of(objective).toward(centres, gamma)
        return self.finish(objective, equations, lambda: equations.solution(gamma), journal)

    def finish(
        self, objective: RankingObjective, equations: NormalEquations, solve: Callable[[], Vector], journal: Journal
    ) -> Solution:
        """The solution that such weights are, with what was at 0 as its first line."""
        gamma = objective.weight_penalty.strength

        def note(weights: Vector, value: float) -> tuple[float, str | None]:
            # By the equations, whose rows are centred: the gradient itself is a sum of larger numbers.
            norm = float(np.linalg.norm(equations.gram @ weights + gamma * weights - equations.right))
            gap = norm * norm / (2.0 * gamma)
            return gap, journal.note(weights, value, norm, gap=gap, certified_gap=gap, inner=0, step=1.0)

        _, stop = note(np.zeros(len(equations.right)), 0.5 * equations.square)
        if stop:
            return journal.solution(stop)
        point = objective.at(solve())
        gap, _ = note(point.weights, point.value)
        if gap <= self.tolerance * point.value:
            return journal.solution("solved", converged=True)
        return journal.stalled(point, point.gradient, gap=gap)
