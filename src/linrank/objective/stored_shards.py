"""Shards of data on disk: their blocks are read each time they are gone through, ahead of who computes with them."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from linrank.arrays import Offsets, Vector
from linrank.cached import cached_property
from linrank.dataset.features import Features
from linrank.dataset.query_blocks import block_bounds
from linrank.dataset.query_offsets import QueryOffsets, without_offsets
from linrank.dataset.rows_on_demand import RowsOnDemand
from linrank.dataset.stored_arrays import Runs, fill
from linrank.dataset.stored_dataset import StoredDataset
from linrank.errors import LinrankError
from linrank.executors.local import Threads
from linrank.executors.prefetching import ahead
from linrank.memory import memory_bytes, resident_bytes
from linrank.objective.placed_blocks import (
    BlockSize,
    Choice,
    PassingBlock,
    PlacedBlock,
    QueriesOfBlocks,
    Shard,
    ShardInMemory,
    SpreadQuery,
)
from linrank.objective.shard_plan import ShardPlan
from linrank.objective.weighting import Weighting, WeightsOfBlock

# What points know of a document: the scores of a few, and what it weighs; with slopes and curvature those of two.
_SCORES_BYTES = 5 * 8
_STATES_BYTES = 2 * 100
# Beside the data: blocks on their way, a sample, vectors and matrices of features, and what compiling takes.
_WORKING_BYTES = 3 << 26


def shards_on_disk(dataset: StoredDataset) -> list[StoredShard]:
    """The shards that the same data would have in memory."""
    dataset.require_labels()
    bounds = block_bounds(dataset.starts, dataset.n_bytes)
    n_bytes = dataset.bytes_of_blocks(bounds)
    starts = dataset.starts
    sizes = [
        BlockSize(int(starts[stop] - starts[first]), stop - first, of_block)
        for (first, stop), of_block in zip(bounds, n_bytes, strict=True)
    ]
    plan = ShardPlan.of(sizes, dataset.n_features)
    if plan.spread and dataset.scaling is not None and dataset.scaling.kind == "query":
        largest = sizes[plan.spread[0]]
        raise LinrankError(
            f"{dataset.source}: a query of {largest.n_documents:,} documents is read in pieces, and scaling by query "
            "needs it as a whole. Use another scaling, or load the data."
        )

    def shard(places: Sequence[int], n_chunks: int = 0) -> StoredShard:
        runs = [[bounds[place]] for place in places]
        return StoredShard(dataset, runs, [n_bytes[place] for place in places], n_chunks)

    return [*map(shard, plan.whole), *(shard([place], plan.n_chunks) for place in plan.spread)]


def within(shards: Sequence[StoredShard], memory: int | None, executor: Threads) -> list[Shard]:
    """The shards, computed with by an executor; as many of them are loaded as there is room for."""
    room = Room.of(sum(size.n_documents for shard in shards for size in shard.sizes), memory)
    left = room.for_data
    placed: list[Shard] = []
    for shard in shards:
        here = replace(shard, executor=executor, remembers=room.remembers, spills=room.spills)
        fits = sum(shard.sizes_of_blocks) <= left
        placed.append(here.loaded() if fits else here)
        left -= sum(shard.sizes_of_blocks) if fits else 0
    return placed


@dataclass(frozen=True)
class Room:
    """What there is memory for: what points know of documents, their scores at least, and some of the data."""

    remembers: bool
    spills: bool
    for_data: int

    @classmethod
    def of(cls, n_documents: int, memory: int | None) -> Room:
        """By the most bytes that the process may have: half of what the machine has unless told."""
        most = memory or int(memory_bytes() / 2)
        free = most - resident_bytes() - _WORKING_BYTES
        if free < 0:
            raise LinrankError(
                f"memory={most / 1e6:.0f} MB: this process has {resident_bytes() / 1e6:.0f} MB already, and works in "
                f"about {_WORKING_BYTES / 1e6:.0f} MB more. Give it {(most - free) / 1e6:.0f} MB at least."
            )
        scores, states = _SCORES_BYTES * n_documents, _STATES_BYTES * n_documents
        remembers = states <= free / 2
        spills = not remembers and scores > free / 2
        taken = states if remembers else 0 if spills else scores
        return cls(remembers, spills, int(free - taken))


@dataclass(frozen=True, slots=True)
class KeptWeights:
    """What documents and queries weigh, block by block, in place of what a file says."""

    documents: Sequence[Vector]
    queries: Sequence[Vector]

    @classmethod
    def listed(cls, weights: Sequence[WeightsOfBlock]) -> KeptWeights:
        return cls([one.documents for one in weights], [one.queries for one in weights])

    def of(self, number: int) -> WeightsOfBlock:
        return WeightsOfBlock(self.documents[number], self.queries[number])


@dataclass(frozen=True)
class StoredShard:
    """Blocks of a stored dataset, each as runs of queries; or one query that is spread over chunks.

    `choices` are those by which it became a part of a shard, one after the other; `off` are the columns that are taken
    less what one document of the query has; `own_weights` are those that stand in place of the file's. Where there is
    no room to remember it, nothing is kept of a document but its scores and weight, and with `spills` these are in a
    file of their own.
    """

    dataset: StoredDataset
    runs: Sequence[Runs]
    sizes_of_blocks: Sequence[int]
    n_chunks: int = 0
    executor: Threads | None = None
    choices: tuple[Choice, ...] = ()
    off: Offsets | None = None
    own_weights: KeptWeights | None = None
    remembers: bool = True
    spills: bool = False

    @property
    def n_features(self) -> int:
        return self.dataset.n_features

    @property
    def is_spread(self) -> bool:
        return self.n_chunks > 0

    @cached_property
    def sizes(self) -> list[BlockSize]:
        starts = self.dataset.starts
        sizes = []
        for runs, n_bytes in zip(self.runs, self.sizes_of_blocks, strict=True):
            there = n_documents = sum(int(starts[stop] - starts[first]) for first, stop in runs)
            for choice in self.choices:
                n_documents = choice.n_documents or n_documents
            n_queries = sum(stop - first for first, stop in runs)
            sizes.append(BlockSize(n_documents, n_queries, n_bytes * n_documents // there, self.is_spread))
        return sizes

    @cached_property
    def queries(self) -> QueriesOfBlocks:
        with self.dataset.arrays.opened() as opened:
            return [
                (
                    np.concatenate([self.dataset.draws(opened, first, stop) for first, stop in runs]),
                    np.concatenate([np.diff(self.dataset.starts[first : stop + 1]) for first, stop in runs]),
                )
                for runs in self.runs
            ]

    def __iter__(self) -> Iterator[PlacedBlock]:
        return ahead(self._blocks(features=True))

    def judged(self) -> Iterator[PlacedBlock]:
        return self._blocks(features=False)

    def _blocks(self, *, features: bool) -> Iterator[PlacedBlock]:
        with self.dataset.arrays.opened() as opened:
            starts = self.dataset.starts
            for number, runs in enumerate(self.runs):
                rows: Any = None
                if self.is_spread or not features:
                    # Of a part with several runs nobody asks for these.
                    bounds = int(starts[runs[0][0]]), int(starts[runs[-1][1]])
                    rows = StoredRows(self.dataset, *bounds, self._offsets if features else None)
                block = self.dataset.block(opened, runs, rows)
                if self.off is not None and rows is None:
                    block = without_offsets(block, self.off)
                if self.own_weights is not None:
                    block = self.own_weights.of(number).on(block)
                for choice in self.choices:
                    block = choice.weighed(block)
                if self.is_spread:
                    assert self.executor is not None, "a spread query is computed with where its chunks are"
                    yield SpreadQuery.of(block, self.n_chunks, self.executor)
                else:
                    yield PassingBlock(block) if rows is None else PlacedBlock(block)

    @cached_property
    def _offsets(self) -> QueryOffsets | None:
        """What is taken off a query that is read in pieces: known from the whole of it, and once."""
        if self.off is None:
            return None
        (whole,) = replace(self, choices=(), off=None, own_weights=None).judged()
        return QueryOffsets.of(whole.block, self.off)

    def without_offsets(self, columns: Offsets) -> StoredShard:
        return replace(self, off=columns)

    def weighed(self, weighting: Weighting, weights: Vector) -> StoredShard:
        of_queries = []

        def of_documents() -> Iterator[Vector]:
            for placed in self if weighting.by_scores else self.judged():
                made = placed.weights_by(weighting, weights)
                of_queries.append(made.queries)
                yield made.documents

        return replace(self, own_weights=KeptWeights(self.kept(of_documents()), of_queries))

    def kept(self, columns: Iterable[Vector]) -> Sequence[Vector]:
        return SpilledColumn(columns) if self.spills else list(columns)

    def part(self, choice: Choice) -> StoredShard:
        choices = (*self.choices, choice)
        if self.is_spread:
            return replace(self, choices=choices)
        runs, n_bytes, weights = [], [], []
        for together in choice.together(self.queries):
            if self.own_weights is not None:
                some = [self.own_weights.of(place).some(chosen, self.queries[place][1]) for place, chosen in together]
                weights.append(WeightsOfBlock.joined(some))
            runs.append(list(chain.from_iterable(_runs(self.runs[place], chosen) for place, chosen in together)))
            n_bytes.append(sum(self._bytes_of(place, chosen) for place, chosen in together))
        kept = None if self.own_weights is None else KeptWeights.listed(weights)
        return replace(self, runs=runs, sizes_of_blocks=n_bytes, choices=choices, own_weights=kept)

    def _bytes_of(self, place: int, chosen: Offsets) -> int:
        _, sizes = self.queries[place]
        return self.sizes_of_blocks[place] * int(sizes[chosen].sum()) // int(sizes.sum())

    def loaded(self) -> ShardInMemory:
        """The same in memory."""
        shard = replace(self, n_chunks=0) if self.is_spread else self
        blocks = [replace(placed.block, draws=draws) for placed, (draws, _) in zip(shard, self.queries, strict=True)]
        if not self.is_spread:
            return ShardInMemory(tuple(PlacedBlock(block) for block in blocks))
        assert self.executor is not None, "a spread query is computed with where its chunks are"
        return ShardInMemory((SpreadQuery.of(blocks[0], self.n_chunks, self.executor),))


def _runs(runs: Runs, chosen: Offsets) -> Iterator[tuple[int, int]]:
    """Some of the queries of runs, as runs."""
    numbers = np.concatenate([np.arange(first, stop) for first, stop in runs])[chosen]
    for run in np.split(numbers, np.flatnonzero(np.diff(numbers) > 1) + 1):
        if len(run):
            yield int(run[0]), int(run[-1]) + 1


@dataclass(frozen=True, slots=True)
class StoredRows(RowsOnDemand):
    """Some rows of a stored dataset, with the face of features: each product reads them anew.

    `offsets` is what is taken off them, where they are of one query.
    """

    dataset: StoredDataset
    start: int
    stop: int
    offsets: QueryOffsets | None = None

    @property
    def n_rows(self) -> int:
        return self.stop - self.start

    @property
    def n_features(self) -> int:
        return self.dataset.n_features

    @property
    def n_bytes(self) -> int:
        return self.dataset.n_bytes * self.n_rows // max(1, self.dataset.n_documents)

    def in_memory(self) -> Features:
        with self.dataset.arrays.opened() as opened:
            rows = self.dataset.rows(opened, [(self.start, self.stop)])
        return rows if self.offsets is None else self.offsets.off(rows, np.array([0, self.n_rows]))

    def rows(self, start: int, stop: int) -> StoredRows:
        return replace(self, start=self.start + start, stop=self.start + stop)

    def take(self, rows: Offsets) -> Features:
        return self.in_memory().take(rows)


class SpilledColumn(Sequence[Vector]):
    """Vectors in a temporary file that nobody else sees, and that is gone with the last who has it."""

    def __init__(self, columns: Iterable[Vector]) -> None:
        self._descriptor, name = tempfile.mkstemp(prefix="linrank-")
        Path(name).unlink()
        weakref.finalize(self, os.close, self._descriptor)
        self._offsets = [0]
        with os.fdopen(self._descriptor, "wb", closefd=False) as file:
            for column in columns:
                file.write(np.ascontiguousarray(column).data)
                self._offsets.append(self._offsets[-1] + column.nbytes)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, number: Any) -> Any:
        first, last = self._offsets[number], self._offsets[number + 1]
        column = np.empty((last - first) // 8)
        if fill(column.view(np.uint8).data, self._descriptor, first) < last - first:
            raise OSError("a temporary file of scores was cut short")
        return column
