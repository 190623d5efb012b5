"""A number for each pair: where the pairs of a query lie in a rectangle, and the loss that holds them to given ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector, offsets_from_sizes
from linrank.cached import cached_property
from linrank.dataset.query_blocks import QueryBlock
from linrank.duals import nuclear_dual_kernels as kernels
from linrank.duals.singular_values import Matrix
from linrank.objective.duality import ConvexDual, Dual
from linrank.objective.pair_losses import LossAtScores


@dataclass(frozen=True, eq=False)
class Rectangles:
    """Where the pairs of a query lie: a row for each document with others below, a column for each with others above.

    Both ascend by label, so the pairs of row r are its first `ends[r]` cells. Documents and queries without a weight
    are left out. `rows` and `columns` number documents in grouped order; `roots` are the square roots of their weights.
    """

    rows: Offsets
    columns: Offsets
    ends: Offsets
    row_starts: Offsets
    column_starts: Offsets
    cell_starts: Offsets
    roots: Vector
    query_weights: Vector
    query_starts: Offsets

    @classmethod
    def of(cls, blocks: Sequence[QueryBlock]) -> Rectangles:
        sizes = np.concatenate([np.diff(block.query_starts) for block in blocks])
        levels = np.concatenate([block.levels for block in blocks]).astype(np.int64)
        tops = np.repeat(np.concatenate([block.level_counts for block in blocks]) - 1, sizes)
        query_weights = np.concatenate([block.query_weights for block in blocks])
        weights = np.concatenate([block.document_weights for block in blocks])
        queries = np.repeat(np.arange(len(sizes)), sizes)
        counted = (weights > 0.0) & (query_weights[queries] > 0.0)
        order = np.lexsort((levels, queries))
        rows, columns = order[(counted & (levels > 0))[order]], order[(counted & (levels < tops))[order]]
        row_counts, column_counts = (np.bincount(queries[part], minlength=len(sizes)) for part in (rows, columns))
        column_starts = offsets_from_sizes(column_counts)
        # Queries follow one another, so that one search over all columns finds those of a row's query and lower levels.
        spread = int(levels.max(initial=0)) + 1
        places = np.searchsorted(queries[columns] * spread + levels[columns], queries[rows] * spread + levels[rows])
        return cls(
            rows,
            columns,
            places - column_starts[queries[rows]],
            offsets_from_sizes(row_counts),
            column_starts,
            offsets_from_sizes(row_counts * column_counts),
            np.sqrt(weights),
            query_weights,
            offsets_from_sizes(sizes),
        )

    @property
    def n_queries(self) -> int:
        return len(self.cell_starts) - 1

    @property
    def n_pairs(self) -> int:
        return int(self.ends.sum())

    @property
    def n_cells(self) -> int:
        return int(self.cell_starts[-1])

    @property
    def largest(self) -> int:
        """The cells of the largest query."""
        return int(np.diff(self.cell_starts).max(initial=0))

    @cached_property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """What every kernel is told of the rectangles."""
        return (
            self.rows, self.columns, self.ends, self.row_starts, self.column_starts, self.cell_starts, self.roots
        )  # fmt: skip

    @cached_property
    def shapes(self) -> list[tuple[int, int]]:
        return list(zip(np.diff(self.row_starts).tolist(), np.diff(self.column_starts).tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class OffsetHinge:
    """Sum over pairs of q max over 0 <= a <= C r of r a (1 - m) - coupling ((a - b) ** 2 - b ** 2), m = s_i - s_j.

    r is the root of the pair's weight and q its query's weight. It is the hinge of a margin moved by 2 coupling b / r,
    with its corner rounded over 2 coupling C; b, the pair's anchor, is what alpha is held to. Least at alpha = b.
    """

    dual: ClassVar[Dual] = ConvexDual()

    rectangles: Rectangles
    anchors: Vector
    C: float
    coupling: float

    def at(self, scores: Vector, block: QueryBlock) -> LossAtScores:
        slopes = np.zeros(len(scores))
        curvature = _FreePairs(self, scores, block)
        value: float = kernels.add_offset_hinge(*curvature.arguments(), slopes)
        return LossAtScores(value, slopes, curvature)


@dataclass(frozen=True, slots=True)
class _FreePairs:
    """The Laplacian of the pairs whose alpha lies between its bounds."""

    loss: OffsetHinge
    scores: Vector
    block: QueryBlock

    def arguments(self) -> tuple[Any, ...]:
        loss = self.loss
        # The block may be a run of queries of one of those that the rectangles were made of.
        first = int(np.searchsorted(loss.rectangles.query_starts, self.block.first_row))
        return (
            self.scores, self.block.first_row, first, first + self.block.n_queries, *loss.rectangles.arrays,
            loss.rectangles.query_weights, loss.anchors, loss.C, loss.coupling,
        )  # fmt: skip

    def product(self, values: Vector) -> Vector:
        products = np.zeros(len(values))
        kernels.add_laplacian(*self.arguments(), values, 1.0, products)
        return products

    def matrix_product(self, matrix: Matrix) -> Matrix:
        products = np.zeros_like(matrix)
        kernels.add_laplacian_of_columns(*self.arguments(), matrix, products)
        return products

    def diagonal(self) -> Vector:
        diagonal = np.zeros(len(self.scores))
        kernels.add_laplacian(*self.arguments(), np.ones(len(self.scores)), 0.0, diagonal)
        return diagonal
