"""What is computed with one shard, wherever it is: what a point knows of its documents, and what it adds to sums."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector
from linrank.dataset.query_blocks import QueryBlock, subtract_first_rows
from linrank.dataset.trainable import first_beyond
from linrank.errors import left_float64
from linrank.objective.pair_losses import Curvature, LossAtScores, PairLoss
from linrank.objective.placed_blocks import PlacedBlock, Shard, ShardInMemory

_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, slots=True)
class ShardSums:
    """What a shard adds to a point. The gradient may be left for later."""

    value: float
    sums: Mapping[str, float]
    gradient: Vector | None


@dataclass(frozen=True, slots=True)
class ShardState:
    """What a point knows of one shard's documents; it stays where the shard is.

    Where there is no room for more than scores, the rest is found from them again when it is asked for.
    """

    loss: PairLoss
    scores: Sequence[Vector]
    ats: Sequence[LossAtScores] | None
    # What was copied out by `curved`, by the number of its block.
    copied: dict[int, tuple[PlacedBlock, Curvature]] = field(default_factory=dict, repr=False)

    def over(self, shard: Iterable[PlacedBlock]) -> Iterator[tuple[PlacedBlock, LossAtScores]]:
        """The shard's blocks, each with the loss at its scores."""
        for number, placed in enumerate(shard):
            known = self.ats is not None
            yield placed, self.ats[number] if known else placed.loss_at(self.scores[number], self.loss)  # type: ignore[index]

    def curved(self, shard: Shard) -> Iterator[tuple[PlacedBlock, Curvature]]:
        """The shard's blocks for products with the curvature.

        Where few documents have part in it, their rows are copied out of a block in memory, once a point: all products
        of a Newton step go over these alone.
        """
        for number, (placed, at) in enumerate(self.over(shard)):
            if number not in self.copied:
                curvature: Any = at.curvature
                is_held = isinstance(shard, ShardInMemory) and shard.is_held
                rows = getattr(curvature, "counting", None) if is_held else None
                if rows is None:
                    yield placed, curvature
                    continue
                self.copied[number] = placed.of_rows(rows), curvature.alone(rows)
            yield self.copied[number]


# Tasks: module-level functions whose inputs are arguments, so that they can travel to another process.


def evaluate_shard(shard: Shard, *, weights: Vector, loss: PairLoss) -> tuple[ShardState, tuple[Any, ...]]:
    """What is kept, and what `ShardSums` is made of: plain values, which any log of them can hold."""
    # Out of cache a gradient is a pass of its own, and waits until it is asked for.
    gradient = None if shard.is_spread else np.zeros(len(weights))
    ats, told = [], []

    def scores() -> Iterator[Vector]:
        for placed in shard:
            of_block = _finite(placed.scores(weights))
            at = placed.loss_at(of_block, loss)
            told.append((at.value, at.sums))
            if shard.remembers:
                ats.append(at)
            if gradient is not None:
                placed.add_transposed(at.slopes, gradient)
            yield of_block

    state = ShardState(loss, shard.kept(scores()), ats if shard.remembers else None)
    return state, (sum(value for value, _ in told), added([sums for _, sums in told]), gradient)


def evaluate_along(
    shard: Shard, state: ShardState, along: Sequence[Vector], *, step: float, loss: PairLoss
) -> tuple[float, float]:
    """The loss at a step along a line, and its slope there."""
    value = slope = 0.0
    for number, placed in enumerate(shard.judged()):
        change = along[number]
        at = placed.loss_at(_finite(state.scores[number] + step * change), loss)
        value += at.value
        slope += float(at.slopes @ change)
    return value, slope


def added(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Sums of each name, added in the order of the parts."""
    return {name: sum(part[name] for part in parts) for name in (parts[0] if parts else ())}


def gradient_of_shard(shard: Shard, state: ShardState, gradient: Vector | None) -> Vector:
    if gradient is not None:
        return gradient
    total = np.zeros(shard.n_features)
    for placed, at in state.over(shard):
        placed.add_transposed(at.slopes, total)
    return total


def slopes_of_shard(shard: Shard, state: ShardState) -> list[tuple[int, Vector]]:
    """The loss's slopes in the scores of each block's documents, and where those stand in the grouped order."""
    return [(placed.block.first_row, at.slopes) for placed, at in state.over(shard.judged())]


def hessian_product_of_shard(shard: Shard, state: ShardState, *, direction: Vector) -> Vector:
    total = np.zeros(len(direction))
    for placed, curvature in state.curved(shard):
        placed.add_transposed(curvature.product(placed.scores(direction)), total)
    return total


def diagonal_of_shard(shard: Shard, state: ShardState) -> Vector:
    total = np.zeros(shard.n_features)
    for placed, at in state.over(shard):
        placed.add_squares(at.curvature.diagonal(), total)  # type: ignore[union-attr]
    return total


def _finite(scores: Vector) -> Vector:
    """The same scores, if they are numbers: an order of others means nothing."""
    if first_beyond(scores[None, :], _LARGEST) >= 0:
        raise left_float64("the score of a document is not finite")
    return scores


def scores_of_shard(shard: Shard, *, weights: Vector) -> tuple[Sequence[Vector], None]:
    return shard.kept(placed.scores(weights) for placed in shard), None


def sizes_of_shard(shard: Shard, state: ShardState, *, sizes: Vector) -> Vector:
    total = np.zeros(len(sizes))
    for placed, at in state.over(shard):
        magnitudes, terms = placed.block.features.magnitudes(), np.abs(at.slopes)
        if at.curvature is not None:
            terms += at.curvature.diagonal() * (1.0 + magnitudes.product(sizes, np.empty(len(terms))))
        total += magnitudes.transposed_product(terms, np.zeros(len(sizes)))
    return total


def hessian_of_block(
    scaled: tuple[QueryBlock, float], *, weights: Vector, loss: PairLoss, centred: bool
) -> NDArray[np.float64]:
    placed, scale = PlacedBlock(scaled[0]).loaded(), scaled[1]
    block = placed.block
    scores = block.features.product(weights, np.empty(block.n_documents))
    rows = _rows_of_block(block, centred)
    curvature: Any = loss.at(scores, block).curvature
    if not hasattr(curvature, "half_product"):
        return scale * (rows.T @ curvature.matrix_product(rows))  # type: ignore[no-any-return]
    half = rows.T @ curvature.half_product(rows)
    return 0.5 * scale * (half + half.T)  # type: ignore[no-any-return]


def diagonal_of_columns(shard: Shard, state: ShardState, *, columns: Offsets, centred: bool) -> Vector:
    total = np.zeros(len(columns))
    for placed, at in state.over(shard):
        block = placed.block
        rows = _rows_of_block(block, centred, columns)
        if centred:
            sizes = np.diff(block.query_starts)
            rows -= np.repeat(np.add.reduceat(rows, block.query_starts[:-1]) / sizes[:, None], sizes, axis=0)
        total += at.curvature.diagonal() @ np.square(rows)  # type: ignore[union-attr]
    return total


def _rows_of_block(block: QueryBlock, centred: bool, columns: Offsets | None = None) -> NDArray[np.float64]:
    """The rows in float64, minus the first of their query where documents are compared.

    The curvature is the same for both, and that of a feature which does not vary is then exactly zero.
    """
    values = np.ascontiguousarray(block.features.to_dense(columns))
    if not centred:
        return np.array(values, dtype=np.float64)
    rows = np.empty(values.shape)
    subtract_first_rows(values, block.query_starts, rows)
    return rows
