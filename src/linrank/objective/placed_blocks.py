"""How the rows of a block are multiplied: in one task that has them in cache, or in many, each with a chunk of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector
from linrank.dataset.column_blocks import ColumnBlocks, in_column_blocks
from linrank.dataset.features import Features
from linrank.dataset.query_blocks import QueryBlock
from linrank.dataset.query_offsets import without_offsets
from linrank.dataset.shaped_rows import ShapedRows
from linrank.executors.local import Threads
from linrank.objective.pair_losses import LossAtScores, PairLoss
from linrank.objective.weighting import Weighting, WeightsOfBlock

# A query with more bytes of features than this is spread over chunks.
LARGE_QUERY_BYTES = 1 << 23
_NO_ROWS = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class BlockSize:
    """How much is in a block, which is known without reading it."""

    n_documents: int
    n_queries: int
    n_bytes: int
    is_spread: bool = False

    @classmethod
    def of(cls, block: QueryBlock, *, is_spread: bool = False) -> BlockSize:
        return cls(block.n_documents, block.n_queries, block.features.n_bytes, is_spread)

    @property
    def is_large(self) -> bool:
        """Whether it is one query that is worth computing in parallel within itself."""
        return self.n_queries == 1 and self.n_bytes > LARGE_QUERY_BYTES


QueriesOfBlocks: TypeAlias = Sequence[tuple[Vector, Offsets]]
"""What decides which queries of a block are sampled, and how many documents they have."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A part of a shard: its queries whose draw is in a range; or, of one that is spread, some of its documents.

    `scale` is how many times as much the whole is.
    """

    below: float
    scale: float = 1.0
    n_documents: int | None = None
    from_: float = 0.0

    def takes(self, draws: Vector) -> NDArray[np.bool_]:
        """Which queries it takes, by what they have drawn."""
        return (draws >= self.from_) & (draws < self.below)

    def taken(self, queries: QueriesOfBlocks) -> tuple[int, int]:
        """How many queries and documents that is."""
        if self.n_documents is not None:
            return 1, self.n_documents
        taken = [sizes[self.takes(draws)] for draws, sizes in queries]
        return sum(map(len, taken)), sum(int(sizes.sum()) for sizes in taken)

    def together(self, queries: QueriesOfBlocks) -> list[list[tuple[int, Offsets]]]:
        """The queries chosen of each block, by its place; those that make one block of the part together.

        It has no more documents than the largest of the blocks: few of each would cost more in calls than they save.
        """
        most = max(int(sizes.sum()) for _, sizes in queries)
        parts: list[list[tuple[int, Offsets]]] = []
        room = 0
        for place, (draws, sizes) in enumerate(queries):
            chosen = np.flatnonzero(self.takes(draws))
            n_documents = int(sizes[chosen].sum())
            if n_documents > room:
                parts.append([])
                room = most
            if n_documents:
                parts[-1].append((place, chosen))
                room -= n_documents
        return parts

    def weighed(self, block: QueryBlock) -> QueryBlock:
        """A block of the part, each query weighing as much as what it stands for."""
        if self.n_documents is not None:
            block = _thinned(block, self.n_documents)
        return block if self.scale == 1.0 else replace(block, query_weights=self.scale * block.query_weights)


@dataclass(frozen=True, slots=True)
class PlacedBlock:
    """A block that one task computes with from the scores to the gradient, while its features are in cache."""

    block: QueryBlock
    is_spread: ClassVar[bool] = False

    def placed(self, block: QueryBlock) -> PlacedBlock:
        """Another block in its place."""
        return PlacedBlock(block)

    def loaded(self) -> PlacedBlock:
        """The block with its features in memory, where they are computed each time it is gone through."""
        features = self.block.features.in_memory()
        return self if features is self.block.features else PassingBlock(replace(self.block, features=features))

    def weights_by(self, weighting: Weighting, weights: Vector) -> WeightsOfBlock:
        """What its documents and queries weigh, by the order of the scores that `weights` give where that matters."""
        return weighting.of(self.block, self.scores(weights) if weighting.by_scores else None)

    def of_rows(self, rows: Offsets) -> PlacedBlock:
        """A copy of some rows, which ascend, for products alone: labels stay those of the whole block."""
        return PlacedBlock(replace(self.block, features=self.block.features.take(rows)))

    def scores(self, weights: Vector) -> Vector:
        return _scores_of_chunk(self.block.features, weights=weights)

    def loss_at(self, scores: Vector, loss: PairLoss) -> LossAtScores:
        return loss.at(scores, self.block)

    def add_transposed(self, slopes: Vector, total: Vector) -> None:
        """Add sum_i slopes_i x_i to `total`."""
        self.block.features.transposed_product(slopes, total)

    def add_squares(self, slopes: Vector, total: Vector) -> None:
        """Add sum_i slopes_i x_i ** 2, feature by feature, to `total`."""
        self.block.features.transposed_square_product(slopes, total)


@dataclass(frozen=True, slots=True)
class PassingBlock(PlacedBlock):
    """A block whose features are there only while it is gone through: what is kept of it does not hold them."""

    def loss_at(self, scores: Vector, loss: PairLoss) -> LossAtScores:
        return loss.at(scores, replace(self.block, features=self.block.features.take(_NO_ROWS)))


@dataclass(frozen=True, slots=True)
class SpreadQuery(PlacedBlock):
    """One query whose rows are spread over chunks: these give scores and take slopes, and the loss is computed here."""

    chunks: Sequence[Features | ColumnBlocks]
    bounds: tuple[int, ...]
    executor: Threads
    is_spread: ClassVar[bool] = True

    @classmethod
    def of(cls, block: QueryBlock, n_chunks: int, executor: Threads) -> SpreadQuery:
        bounds = tuple(int(bound) for bound in np.linspace(0, block.n_documents, n_chunks + 1))
        chunks = [block.features.rows(a, b) for a, b in pairwise(bounds)]
        return cls(block, executor.map(in_column_blocks, chunks), bounds, executor)

    def placed(self, block: QueryBlock) -> SpreadQuery:
        return SpreadQuery.of(block, len(self.chunks), self.executor)

    def loaded(self) -> SpreadQuery:
        # Each chunk computes its own, where it is multiplied.
        return self

    def of_rows(self, rows: Offsets) -> SpreadQuery:
        places = [int(place) for place in np.searchsorted(rows, self.bounds)]
        of_chunks = [rows[a:b] - bound for (a, b), bound in zip(pairwise(places), self.bounds, strict=False)]
        chunks = self.executor.map(_rows_of_chunk, self.chunks, of_chunks)
        return replace(self, chunks=chunks, bounds=tuple(places))

    def split(self, column: Vector) -> list[Vector]:
        """A column of the query as one part a chunk."""
        return [column[a:b] for a, b in pairwise(self.bounds)]

    def scores(self, weights: Vector) -> Vector:
        return np.concatenate(self.executor.map(_scores_of_chunk, self.chunks, weights=weights))

    def loss_at(self, scores: Vector, loss: PairLoss) -> LossAtScores:
        """The loss at the scores, its two sweeps side by side."""
        over: Any = getattr(loss, "over", None)
        if over is not None:
            loss = replace(loss, over=replace(over, both=self.executor.both))  # type: ignore[type-var]
        return loss.at(scores, self.block)

    def add_transposed(self, slopes: Vector, total: Vector) -> None:
        total += self.executor.total(_transposed_chunk, self.chunks, self.split(slopes))

    def add_squares(self, slopes: Vector, total: Vector) -> None:
        total += self.executor.total(_square_transposed_chunk, self.chunks, self.split(slopes))


class Shard(Protocol):
    """Blocks that one task goes through one after the other, or one query that is spread over chunks.

    It says what it has (`sizes`, `queries`) without reading features, and may be read anew each time it is gone
    through: nothing but `kept` outlives a task.
    """

    @property
    def n_features(self) -> int: ...

    @property
    def is_spread(self) -> bool: ...

    @property
    def sizes(self) -> Sequence[BlockSize]: ...

    @property
    def queries(self) -> QueriesOfBlocks: ...

    @property
    def remembers(self) -> bool:
        """Whether there is room for what a point knows of each document beside its score."""
        ...

    def __iter__(self) -> Iterator[PlacedBlock]: ...

    def judged(self) -> Iterator[PlacedBlock]:
        """The blocks for who needs no features: where these would have to be read they are left out."""
        ...

    def kept(self, columns: Iterable[Vector]) -> Sequence[Vector]:
        """A number for each document, block by block, kept for as long as somebody has it."""
        ...

    def part(self, choice: Choice) -> Shard:
        """A part that is not empty, each query weighing as much as what it stands for."""
        ...

    def without_offsets(self, columns: Offsets) -> Shard:
        """The same, some columns less what one document of the query has."""
        ...

    def weighed(self, weighting: Weighting, weights: Vector) -> Shard:
        """The same, its documents and queries weighing what they do by the order of the scores X weights."""
        ...


@dataclass(frozen=True, slots=True)
class ShardInMemory:
    """Blocks that are in memory; where features go through a transform as they are computed with, the raw ones are."""

    blocks: tuple[PlacedBlock, ...]
    remembers: ClassVar[bool] = True

    @property
    def n_features(self) -> int:
        return self.blocks[0].block.features.n_features

    @property
    def is_spread(self) -> bool:
        return self.blocks[0].is_spread

    @property
    def sizes(self) -> list[BlockSize]:
        return [BlockSize.of(placed.block, is_spread=placed.is_spread) for placed in self.blocks]

    @property
    def is_held(self) -> bool:
        """Whether the features are there as they are computed with."""
        return not isinstance(self.blocks[0].block.features, ShapedRows)

    def __iter__(self) -> Iterator[PlacedBlock]:
        return (placed.loaded() for placed in self.blocks)

    def judged(self) -> Iterator[PlacedBlock]:
        return iter(self.blocks)

    def kept(self, columns: Iterable[Vector]) -> list[Vector]:
        return list(columns)

    @property
    def queries(self) -> QueriesOfBlocks:
        return [(draws_of_block(placed.block), np.diff(placed.block.query_starts)) for placed in self.blocks]

    def part(self, choice: Choice) -> ShardInMemory:
        first = self.blocks[0]
        if isinstance(first, SpreadQuery):
            return ShardInMemory((first.placed(choice.weighed(first.block)),))
        parts = []
        for together in choice.together(self.queries):
            blocks = [self.blocks[place].block.some(chosen) for place, chosen in together]
            parts.append(PlacedBlock(choice.weighed(blocks[0].joined(blocks[1:]))))
        return ShardInMemory(tuple(parts))

    def without_offsets(self, columns: Offsets) -> ShardInMemory:
        return ShardInMemory(tuple(placed.placed(without_offsets(placed.block, columns)) for placed in self.blocks))

    def weighed(self, weighting: Weighting, weights: Vector) -> ShardInMemory:
        # The features stay where they are, chunks of a spread query too.
        return ShardInMemory(
            tuple(
                replace(placed, block=placed.weights_by(weighting, weights).on(placed.block)) for placed in self.blocks
            )
        )


def draws_of_block(block: QueryBlock) -> Vector:
    assert block.draws is not None, "blocks of data that is placed know their draws"
    return block.draws


def _thinned(block: QueryBlock, n_documents: int) -> QueryBlock:
    """Every so-many-th document of one query, each weighing as much as those it stands for.

    Whether a loss is a sum over pairs or over documents, it is then about as large as on the whole query.
    """
    rows = np.unique(np.linspace(0, block.n_documents - 1, n_documents).astype(np.int64))
    return QueryBlock.of(
        block.features.take(rows),
        block.labels[rows],
        np.array([0, len(rows)]),
        block.document_weights[rows] * (block.n_documents / len(rows)),
        block.query_weights,
        draws=block.draws,
    )


# Tasks: module-level functions whose inputs are arguments, so that they can travel to another process.


def _scores_of_chunk(chunk: Features | ColumnBlocks, *, weights: Vector) -> Vector:
    return chunk.product(weights, np.empty(chunk.n_rows))


def _rows_of_chunk(chunk: Features | ColumnBlocks, rows: Offsets) -> Features | ColumnBlocks:
    return in_column_blocks(chunk.by_rows.take(rows)) if isinstance(chunk, ColumnBlocks) else chunk.take(rows)


def _transposed_chunk(chunk: Features | ColumnBlocks, slopes: Vector) -> Vector:
    return chunk.transposed_product(slopes, np.zeros(chunk.n_features))


def _square_transposed_chunk(chunk: Features | ColumnBlocks, slopes: Vector) -> Vector:
    return chunk.transposed_square_product(slopes, np.zeros(chunk.n_features))
