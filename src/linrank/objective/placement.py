"""A dataset cut up and placed where an executor runs: shards of small queries, and large queries in row chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector
from linrank.dataset.features import Features
from linrank.dataset.query_blocks import QueryBlock, cut_into_blocks
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.varying import varying_features
from linrank.executors.local import Threads

# Enough shards to keep many threads busy. The number depends on the data alone, so that sums have the same bits
# whatever the number of threads.
_MOST_SHARDS = 32
# A query with more bytes of features than this is worth computing in parallel within itself.
_LARGE_QUERY_BYTES = 1 << 23
# A sample comes from at least so many places.
_FEWEST_BLOCKS = 8


@dataclass(frozen=True, slots=True)
class LargeQuery:
    """One query whose rows are spread over chunks; its scores and slopes are gathered in one place."""

    block: QueryBlock
    chunks: Sequence[Features]
    bounds: tuple[int, ...]

    def split(self, column: Vector) -> list[Vector]:
        """A column of the query as one part a chunk."""
        return [column[a:b] for a, b in pairwise(self.bounds)]


@dataclass(frozen=True)
class PlacedData:
    """What an objective is evaluated on, and who evaluates it."""

    executor: Threads
    shards: Sequence[tuple[QueryBlock, ...]]
    large_queries: Sequence[LargeQuery]
    blocks: Sequence[QueryBlock]
    n_features: int
    # Also that of a part of the data: a part leaves out what the whole leaves out, and no more.
    _idle: dict[bool, Offsets] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, dataset: RankingDataset, executor: Threads) -> PlacedData:
        return cls.of_blocks(cut_into_blocks(dataset), dataset.n_features, executor)

    @classmethod
    def of_blocks(cls, blocks: Sequence[QueryBlock], n_features: int, executor: Threads) -> PlacedData:
        large = [block for block in blocks if block.n_queries == 1 and block.features.n_bytes > _LARGE_QUERY_BYTES]
        large_ids = {id(block) for block in large}
        small = [block for block in blocks if id(block) not in large_ids]
        n_shards = _number_of_shards(blocks, n_features)
        return cls(
            executor,
            executor.place(_shards(small, n_shards)),
            [_spread(block, n_shards, executor) for block in large],
            blocks,
            n_features,
        )

    @cached_property
    def n_documents(self) -> int:
        return sum(block.n_documents for block in self.blocks)

    def idle_features(self, *, ties: bool) -> Offsets:
        """The features that are the same in all documents of each query; with `ties`, of queries without pairs too."""
        if ties not in self._idle:
            parts = [*self.shards, *((query.block,) for query in self.large_queries)]
            varies = np.zeros(self.n_features, dtype=np.bool_)
            for of_part in self.executor.map(_varying_of_shard, parts, n_features=self.n_features, ties=ties):
                varies |= of_part
            self._idle[ties] = np.flatnonzero(~varies)
        return self._idle[ties]

    def sample(self, n_documents: int) -> Sample:
        """The sample of about so many documents: always the same one, made once."""
        if n_documents not in self._samples:
            self._samples[n_documents] = Sample.of(self, n_documents)
        return self._samples[n_documents]

    @cached_property
    def _samples(self) -> dict[int, Sample]:
        return {}


def _varying_of_shard(shard: Sequence[QueryBlock], *, n_features: int, ties: bool) -> NDArray[np.bool_]:
    return varying_features(shard, n_features, ties=ties)


def _number_of_shards(blocks: Sequence[QueryBlock], n_features: int) -> int:
    """Each shard adds into a vector of its own: wide sparse data gets few, so that these stay smaller than the data."""
    data_bytes = sum(block.features.n_bytes for block in blocks)
    affordable = data_bytes // max(1, 16 * n_features)
    return max(2, min(_MOST_SHARDS, 1 << max(0, int(affordable).bit_length() - 1)))


def _shards(blocks: Sequence[QueryBlock], n_shards: int) -> list[tuple[QueryBlock, ...]]:
    """Consecutive blocks in runs of about equal numbers of documents."""
    if not blocks:
        return []
    documents = np.cumsum([block.n_documents for block in blocks])
    shard_of = (documents - 1) * n_shards // documents[-1]
    runs = np.split(np.arange(len(blocks)), np.flatnonzero(np.diff(shard_of)) + 1)
    return [tuple(blocks[place] for place in run) for run in runs]


def _spread(block: QueryBlock, n_shards: int, executor: Threads) -> LargeQuery:
    bounds = tuple(int(bound) for bound in np.linspace(0, block.n_documents, n_shards + 1))
    chunks = [block.features.rows(a, b) for a, b in pairwise(bounds)]
    return LargeQuery(block, executor.place(chunks), bounds)


@dataclass(frozen=True, eq=False)
class Sample:
    """A share of the data, as blocks whose loss is multiplied by `scale` to stand for the whole."""

    blocks: Sequence[tuple[QueryBlock, float]]

    @classmethod
    def of(cls, data: PlacedData, n_documents: int) -> Sample:
        """About `n_documents` documents: queries from all over the data, rows at even distances of large ones."""
        share = min(1.0, n_documents / max(1, data.n_documents))
        large = {id(query.block) for query in data.large_queries}
        small = [block for block in data.blocks if id(block) not in large]
        chosen: list[tuple[QueryBlock, float]] = []
        if small:
            count = min(len(small), max(_FEWEST_BLOCKS, round(share * len(small))))
            places = np.linspace(0, len(small) - 1, count).round().astype(int)
            parts = [_first_queries(small[place], share * len(small) / count) for place in places]
            scale = sum(block.n_documents for block in small) / sum(part.n_documents for part in parts)
            chosen += [(part, scale) for part in parts]
        chosen += [_thinned(query.block, share) for query in data.large_queries]
        return cls(chosen)

    @property
    def n_documents(self) -> int:
        return sum(block.n_documents for block, _ in self.blocks)

    def placed(self, data: PlacedData) -> PlacedData:
        """The sample as data of its own, each query weighing as much as what it stands for."""
        blocks = [replace(block, query_weights=scale * block.query_weights) for block, scale in self.blocks]
        return PlacedData.of_blocks(blocks, data.n_features, data.executor)


def _first_queries(block: QueryBlock, share: float) -> QueryBlock:
    """The first queries of a block, as a view."""
    n_queries = min(block.n_queries, max(1, round(share * block.n_queries)))
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


def _thinned(block: QueryBlock, share: float) -> tuple[QueryBlock, float]:
    """Every so-many-th document of one query, each weighing as much as those it stands for.

    Whether a loss is a sum over pairs or over documents, it is then about as large as on the whole query.
    """
    n_kept = max(2, round(share * block.n_documents))
    rows = np.unique(np.linspace(0, block.n_documents - 1, n_kept).astype(np.int64))
    thin = QueryBlock.of(
        block.features.take(rows),
        block.labels[rows],
        np.array([0, len(rows)]),
        block.document_weights[rows] * (block.n_documents / len(rows)),
        block.query_weights,
    )
    return thin, 1.0
