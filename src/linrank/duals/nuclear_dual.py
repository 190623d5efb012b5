"""The dual of the hinge with a nuclear norm on the matrices of its variables, by accelerated alternation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector
from linrank.dataset.query_blocks import QueryBlock
from linrank.duals import nuclear_dual_kernels as kernels
from linrank.duals.dual_solver import DualSolver
from linrank.duals.pair_rectangles import OffsetHinge, Rectangles
from linrank.duals.singular_values import Matrix, shrink
from linrank.errors import LinrankError
from linrank.objective.objective import EvaluatedPoint, RankingObjective
from linrank.objective.pair_losses import Hinge
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.objective.samples import Sample
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.solution import Journal, Solution

# The loss of the first Newton steps has its corners rounded this wide, so that every pair of w = 0 has a curvature; the
# width is then divided, down to that of the problem.
_FIRST_WIDTH, _NARROW = 2.0, 8.0
# Without a nuclear norm the coupling is free, and a step is the longer the weaker it is: the widths are these.
_PLAIN_WIDTH, _PLAIN_SHRINK, _LEAST_PLAIN_WIDTH = 0.5, 0.3, 1e-4
# The step in alpha is solved until what is left of it is this share of the last gap, and less where f then rises.
_SHARE, _LEAST_SHARE = 1e-4, 1e-16
_FIRST_SHARE = 1e-6
# A rise of f within its rounding is none.
_ROUNDING = 1e-12
# Groups of queries that threads take; the number is the same whatever the number of threads.
_MOST_GROUPS = 32


class _NewtonOnQueries(NewtonCG):
    """Newton's method whose preconditioner samples whole queries: a rectangle cannot be thinned."""

    def sample_for(self, data: PlacedData) -> Sample | None:
        documents = self.documents_for_a_matrix(data)
        return None if documents is None else data.sample(documents, thin=False)


@dataclass(frozen=True, repr=False, kw_only=True)
class NuclearSolution(Solution):
    """Also the rank of each query's matrix A (None without a nuclear norm), and the dual variables if they are kept.

    `dual[q]` has a row for each document of query q with others below it and a column for each with others above, both
    in ascending order of label; the weights are the sum of dual_ij (x_i - x_j).
    """

    ranks: Offsets | None
    dual: tuple[Matrix, ...] | None


@dataclass(frozen=True)
class NuclearDual(DualSolver[RankingObjective, Vector]):
    """Minimises the hinge's dual with low-rank variables; stops where the duality gap is at most `tolerance` x |f|.

    f(a, A) = |w|² / 2 - sum a_ij + nuclear |A|_* + coupling |a - A|²,  w = sum a_ij (x_i - x_j),  0 <= a_ij <= C,
    with a matrix a and a matrix A a query, and |A|_* the sum of A's singular values (Xu et al., 2018, eq. 15). Cells
    without a pair have a = 0. A pair of documents of weights d_i, d_j has a_ij <= C d_i d_j, and stands in the norms as
    a_ij / sqrt(d_i d_j); a query's weight multiplies its terms: so weights are repetitions.

    Two steps alternate: the best a for given A, by Newton's method on the weights, of which it is the dual of a smooth
    loss (`OffsetHinge`); and the best A for that a, whose singular values are those of a less nuclear / (2 coupling).
    Together they are a proximal gradient step in A; momentum accelerates it, and begins anew where it points uphill or
    f would rise: f never rises. With nuclear = 0, A = a and the coupling has no part in f: it is weakened step by step.

    The gap is what f(a, A) has above a lower bound: -min f is the least value, over w and matrices Z whose singular
    values are at most `nuclear`, of |w|² / 2 + |Z|² / (4 coupling) + C sum max(0, 1 - Z_ij - w.(x_i - x_j)). The bound
    is taken at Z = 2 coupling (a - A).
    """

    solution: ClassVar = NuclearSolution

    nuclear: float
    coupling: float
    tolerance: float = 1e-3
    max_iterations: int = 1000
    max_seconds: float = np.inf
    max_bytes: float = 2e9
    keep_dual: bool = False

    def refuses(self, objective: RankingObjective) -> str | None:
        if objective.loss != Hinge() or str(objective.penalty) != str(L2()):
            return (
                f"the dual is that of Hinge() with L2() on all pairs, not of {objective.loss} with {objective.penalty}."
            )
        return None

    def _run(self, objective: RankingObjective, start: Vector | None, journal: Journal) -> Solution:
        rectangles = Rectangles.of(objective.data.blocks)
        self._check_size(rectangles, objective.data.executor.n_threads)
        work = _Alternation(self, objective, rectangles)
        journal.also(lambda: {"ranks": work.ranks, "dual": work.dual()})
        return self._alternate(work, start, journal)

    def _check_size(self, rectangles: Rectangles, n_threads: int) -> None:
        # Two numbers a cell, two more for a dual that is kept and handed over, three for the query a thread is at.
        n_bytes = 8 * ((2 + 2 * self.keep_dual) * rectangles.n_cells + 3 * rectangles.largest * n_threads)
        if n_bytes > self.max_bytes:
            raise LinrankError(
                f"{rectangles.n_pairs} pairs, in rectangles of {rectangles.n_cells} cells, need about "
                f"{n_bytes / 1e9:.3g} GB; max_memory={self.max_bytes / 1e9:g}. Raise it, take fewer documents a query, "
                "or use RankSVM or FacRankSVM, which keep no number a pair."
            )

    def _alternate(self, work: _Alternation, start: Vector | None, journal: Journal) -> Solution:
        weights = work.approach(start, journal)
        value, highest, gap, speed, share = np.inf, -np.inf, np.inf, 1.0, _SHARE
        done = 0
        while done < self.max_iterations:
            point, products = work.best_alphas(weights, share * gap, journal)
            step = work.best_matrices(point)
            weights = point.weights
            if step.value > value + _ROUNDING * abs(value):
                if stop := journal.too_late():
                    return journal.solution(stop)
                if speed == 1.0 and not step.certified:
                    work.certify = True
                elif speed == 1.0:
                    # A plain step from the best alphas cannot rise: they must be found more exactly.
                    share *= _SHARE
                    if share < _LEAST_SHARE:
                        return journal.solution("no step lowers the objective: the limit of float64")
                speed = 1.0
                work.step_back()
                continue
            done += 1
            value = step.value
            highest = max(highest, value - step.gap) if step.certified else highest
            gap = min(step.gap, value - highest)
            following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * speed * speed))
            momentum = (speed - 1.0) / following
            stop = journal.note(
                step.weights, value, step.residual, gap=gap, certified_gap=value - highest, inner=products,
                step=momentum, shown=gap / abs(value) if value else 0.0,
            )  # fmt: skip
            if gap <= self.tolerance * abs(value):
                if step.certified:
                    return journal.solution("the duality gap is below the tolerance", converged=True)
                work.certify = True
            if stop:
                return journal.solution(stop)
            speed = 1.0 if step.uphill or self.nuclear == 0.0 else following
            work.look_ahead(0.0 if speed == 1.0 else momentum)
        return journal.solution(f"out of iterations (max_iter={self.max_iterations})")


@dataclass(frozen=True, slots=True)
class _Step:
    """What is known after one round: f and its gap, how far A is from where the round began, times 2 coupling."""

    weights: Vector
    value: float
    gap: float
    certified: bool
    residual: float
    uphill: bool


class _Alternation:
    """The matrices of all queries, and the two steps that change them.

    Two numbers a cell: `anchors`, which alpha is held to and where the next A is written, and `settled`, the last A.
    """

    def __init__(self, settings: NuclearDual, objective: RankingObjective, rectangles: Rectangles) -> None:
        self._settings = settings
        self._rectangles = rectangles
        self._C = objective.C
        self._objective = replace(objective, C=1.0)
        self._coupling = settings.coupling if settings.nuclear > 0.0 else _PLAIN_WIDTH / (2.0 * objective.C)
        self._anchors = np.zeros(rectangles.n_cells)
        self._settled = np.zeros(rectangles.n_cells)
        self._alphas = np.zeros(rectangles.n_cells) if settings.keep_dual else None
        self._bases: dict[int, Matrix] = {}
        self._groups = _groups(rectangles)
        self.certify = False
        """Whether singular values are to be found in a way that misses none."""
        self.ranks: Offsets | None = None

    def approach(self, start: Vector | None, journal: Journal) -> Vector:
        """Weights near those of the first step, by losses with wider corners."""
        weights = np.zeros(self._objective.data.n_features) if start is None else start
        coupling = _FIRST_WIDTH / (2.0 * self._C)
        while coupling > self._coupling:
            newton = _NewtonOnQueries(1e-2, certified=True)
            weights = newton.continue_from(self._at(weights, coupling), journal.part())[1].weights
            coupling /= _NARROW
        return weights

    def best_alphas(self, weights: Vector, enough: float, journal: Journal) -> tuple[EvaluatedPoint, int]:
        """The point whose slopes are the best alphas for the anchors, to within `enough` of f, and passes over data."""
        point = self._at(weights, self._coupling)
        tolerance = min(_FIRST_SHARE, enough / point.value) if point.value > 0.0 else _FIRST_SHARE
        newton = _NewtonOnQueries(tolerance, certified=True)
        solved, point = newton.continue_from(point, journal.part())
        return point, solved.inner_iterations

    def _at(self, weights: Vector, coupling: float) -> EvaluatedPoint:
        loss = OffsetHinge(self._rectangles, self._anchors, self._C, coupling)
        return replace(self._objective, loss=loss).start(weights)

    def best_matrices(self, point: EvaluatedPoint) -> _Step:
        """Shrink the singular values of the alphas at a point; A takes the place of the anchors."""
        executor = self._objective.data.executor
        scores = np.concatenate(executor.map(_scores_of_block, self._objective.data.blocks, weights=point.weights))
        parts = executor.map(_settle_queries, self._groups, work=self, scores=scores)
        of_queries = np.concatenate(parts)
        linear, distance, gap, moved, uphill, norm = (self._rectangles.query_weights @ of_queries[:, :6]).tolist()
        self.ranks = of_queries[:, 6].astype(np.int64) if self._settings.nuclear > 0.0 else None
        # The alphas make these weights; the point's own differ from them by its gradient, which Newton has made small.
        made = point.weights - point.gradient
        value = 0.5 * float(made @ made) - linear + self._settings.nuclear * norm + self._coupling * distance
        gap += 0.5 * float(point.gradient @ point.gradient)
        certified = bool(of_queries[:, 7].all())
        # Of large features what alphas make may be all rounding, which their scores would be full of: then the point's.
        told = np.where(np.abs(point.gradient) <= point.gradient_rounding(), point.weights, made)
        return _Step(told, value, gap, certified, 2.0 * self._coupling * float(np.sqrt(moved)), uphill > 0.0)

    def settle_query(self, q: int, scores: Vector, sums: Vector) -> None:
        """Find the best A of one query for the alphas at the given scores; `sums` is told what `_Step` is made of."""
        shape = self._rectangles.shapes[q]
        if 0 in shape:
            return
        alphas = np.empty(shape)
        known = (*self._rectangles.arrays, self._anchors, self._C, self._coupling)
        kernels.fill_rectangle(scores, q, *known, alphas)
        shrunk = alphas
        if self._settings.nuclear > 0.0:
            basis = None if self.certify else self._bases.get(q)
            found = shrink(alphas, self._settings.nuclear / (2.0 * self._coupling), basis)
            shrunk, sums[5:] = found.matrix, (found.norm, found.rank, found.complete)
            if found.basis is not None:
                self._bases[q] = found.basis
        kernels.settle(scores, q, *known, alphas, shrunk, self._settled, sums[:5])
        if self._alphas is not None:
            self._alphas[self._cells(q)] = alphas.ravel()

    def look_ahead(self, momentum: float) -> None:
        """Accept the last A, and hold the next alphas to a point ahead of it."""
        kernels.look_ahead(self._anchors, self._settled, momentum)
        if self._settings.nuclear == 0.0:
            self._coupling = max(_PLAIN_SHRINK * self._coupling, _LEAST_PLAIN_WIDTH / (2.0 * self._C))

    def step_back(self) -> None:
        """Take the last A back, and hold the next alphas to the one before."""
        np.copyto(self._anchors, self._settled)

    def dual(self) -> tuple[Matrix, ...] | None:
        """The dual variables of each query: alpha with its pair's weight and its query's."""
        if self._alphas is None:
            return None
        matrices = []
        roots, of_rows, of_columns = self._rectangles.roots, self._rectangles.row_starts, self._rectangles.column_starts
        for q, shape in enumerate(self._rectangles.shapes):
            rows = roots[self._rectangles.rows[of_rows[q] : of_rows[q + 1]]]
            columns = roots[self._rectangles.columns[of_columns[q] : of_columns[q + 1]]]
            alphas = self._alphas[self._cells(q)].reshape(shape)
            matrices.append(self._rectangles.query_weights[q] * rows[:, None] * columns * alphas)
        return tuple(matrices)

    def _cells(self, q: int) -> slice:
        return slice(int(self._rectangles.cell_starts[q]), int(self._rectangles.cell_starts[q + 1]))


def _groups(rectangles: Rectangles) -> list[tuple[int, int]]:
    """Runs of queries that take about equally long to decompose."""
    shapes = np.asarray(rectangles.shapes, dtype=np.float64).reshape(-1, 2)
    # A query costs something even where it has few pairs.
    costs = np.cumsum(1e4 + shapes.prod(axis=1) * shapes.min(axis=1))
    group_of = np.minimum(costs * (_MOST_GROUPS / costs[-1]), _MOST_GROUPS - 1).astype(np.int64)
    bounds = [0, *(np.flatnonzero(np.diff(group_of)) + 1).tolist(), rectangles.n_queries]
    return list(pairwise(bounds))


# Tasks: module-level functions whose inputs are arguments.


def _scores_of_block(block: QueryBlock, *, weights: Vector) -> Vector:
    return block.features.product(weights, np.empty(block.n_documents))


def _settle_queries(queries: tuple[int, int], *, work: _Alternation, scores: Vector) -> NDArray[Any]:
    first, stop = queries
    sums = np.zeros((stop - first, 8))
    sums[:, 7] = 1.0
    for q in range(first, stop):
        work.settle_query(q, scores, sums[q - first])
    return sums
