"""How the rows of a block are multiplied: in one task that has them in cache, or in many, each with a chunk of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Protocol

import numpy as np

from linrank.arrays import Vector
from linrank.dataset.features import Features
from linrank.dataset.query_blocks import QueryBlock
from linrank.executors.local import Threads
from linrank.objective.pair_losses import LossAtScores, PairLoss

# A query with more bytes of features than this is spread over chunks.
LARGE_QUERY_BYTES = 1 << 23


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


@dataclass(frozen=True, slots=True)
class Choice:
    """A part of one block of a shard: its first queries; or, of one large query, some of its documents.

    `scale` is how many times as much the whole is.
    """

    place: int
    n_queries: int
    scale: float = 1.0
    n_documents: int | None = None

    @property
    def is_thinned(self) -> bool:
        return self.n_documents is not None

    def of(self, block: QueryBlock) -> QueryBlock:
        """That part of the block, as a view where it can be one."""
        if self.n_documents is not None:
            return _thinned(block, self.n_documents)
        return block if self.n_queries >= block.n_queries else _first_queries(block, self.n_queries)

    def weighed(self, block: QueryBlock) -> QueryBlock:
        """That part of the block, each query weighing as much as what it stands for."""
        part = self.of(block)
        return part if self.scale == 1.0 else replace(part, query_weights=self.scale * part.query_weights)


@dataclass(frozen=True, slots=True)
class PlacedBlock:
    """A block that one task computes with from the scores to the gradient, while its features are in cache."""

    block: QueryBlock
    is_spread: ClassVar[bool] = False

    def part(self, choice: Choice) -> PlacedBlock:
        """A part of the block, standing for the whole."""
        return PlacedBlock(choice.weighed(self.block))

    def scores(self, weights: Vector) -> Vector:
        return self.block.features.product(weights, np.empty(self.block.n_documents))

    def loss_at(self, scores: Vector, loss: PairLoss) -> LossAtScores:
        return loss.at(scores, self.block)

    def add_transposed(self, slopes: Vector, total: Vector) -> None:
        """Add sum_i slopes_i x_i to `total`."""
        self.block.features.transposed_product(slopes, total)

    def add_squares(self, slopes: Vector, total: Vector) -> None:
        """Add sum_i slopes_i x_i ** 2, feature by feature, to `total`."""
        self.block.features.transposed_square_product(slopes, total)


@dataclass(frozen=True, slots=True)
class SpreadQuery(PlacedBlock):
    """One query whose rows are spread over chunks: these give scores and take slopes, and the loss is computed here."""

    chunks: Sequence[Features]
    bounds: tuple[int, ...]
    executor: Threads
    is_spread: ClassVar[bool] = True

    @classmethod
    def of(cls, block: QueryBlock, n_chunks: int, executor: Threads) -> SpreadQuery:
        bounds = tuple(int(bound) for bound in np.linspace(0, block.n_documents, n_chunks + 1))
        return cls(block, [block.features.rows(a, b) for a, b in pairwise(bounds)], bounds, executor)

    def part(self, choice: Choice) -> SpreadQuery:
        return SpreadQuery.of(choice.weighed(self.block), len(self.chunks), self.executor)

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

    It says what it has (`sizes`) without reading, and may be read anew each time it is gone through: nothing but `kept`
    outlives a task.
    """

    @property
    def n_features(self) -> int: ...

    @property
    def is_spread(self) -> bool: ...

    @property
    def sizes(self) -> Sequence[BlockSize]: ...

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

    def part(self, chosen: Sequence[Choice]) -> Shard:
        """Parts of its blocks, each query weighing as much as what it stands for."""
        ...


@dataclass(frozen=True, slots=True)
class ShardInMemory:
    """Blocks that are in memory."""

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

    def __iter__(self) -> Iterator[PlacedBlock]:
        return iter(self.blocks)

    def judged(self) -> Iterator[PlacedBlock]:
        return iter(self.blocks)

    def kept(self, columns: Iterable[Vector]) -> list[Vector]:
        return list(columns)

    def part(self, chosen: Sequence[Choice]) -> ShardInMemory:
        return ShardInMemory(tuple(self.blocks[one.place].part(one) for one in chosen))


def _first_queries(block: QueryBlock, n_queries: int) -> QueryBlock:
    stop = int(block.query_starts[n_queries])
    return QueryBlock(
        block.features.rows(0, stop),
        block.labels[:stop],
        block.levels[:stop],
        block.level_counts[:n_queries],
        block.query_starts[: n_queries + 1],
        block.document_weights[:stop],
        block.query_weights[:n_queries],
        block.first_row,
    )


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
    )


# Tasks: module-level functions whose inputs are arguments, so that they can travel to another process.


def _scores_of_chunk(chunk: Features, *, weights: Vector) -> Vector:
    return chunk.product(weights, np.empty(chunk.n_rows))


def _transposed_chunk(chunk: Features, slopes: Vector) -> Vector:
    return chunk.transposed_product(slopes, np.zeros(chunk.n_features))


def _square_transposed_chunk(chunk: Features, slopes: Vector) -> Vector:
    return chunk.transposed_square_product(slopes, np.zeros(chunk.n_features))
