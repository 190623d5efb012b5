"""A dataset cut up and placed where an executor runs: shards of whole queries, or of one that is spread over chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from operator import iadd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets
from linrank.dataset.query_blocks import QueryBlock, cut_into_blocks
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.varying import varying_features
from linrank.executors.local import Threads
from linrank.objective.placed_blocks import PlacedBlock, Shard, SpreadQuery

# Enough shards to keep many threads busy. The number depends on the data alone, so that sums have the same bits
# whatever the number of threads.
_MOST_SHARDS = 32
# A query with more bytes of features than this is worth computing in parallel within itself.
_LARGE_QUERY_BYTES = 1 << 23
# A sample comes from at least so many places.
_FEWEST_BLOCKS = 8


@dataclass(frozen=True)
class PlacedData:
    """What an objective is evaluated on, and who evaluates it. Shards of whole queries come before spread ones."""

    executor: Threads
    shards: Sequence[Shard]
    blocks: Sequence[QueryBlock]
    n_features: int
    # Also that of a part of the data: a part leaves out what the whole leaves out, and no more.
    _idle: dict[bool, Offsets] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, dataset: RankingDataset, executor: Threads) -> PlacedData:
        return cls.of_blocks(cut_into_blocks(dataset), dataset.n_features, executor)

    @classmethod
    def of_blocks(cls, blocks: Sequence[QueryBlock], n_features: int, executor: Threads) -> PlacedData:
        n_shards = _number_of_shards(blocks, n_features)
        whole = executor.place(_shards([block for block in blocks if not _is_large(block)], n_shards))
        spread = [(SpreadQuery.of(block, n_shards, executor),) for block in blocks if _is_large(block)]
        return cls(executor, [*whole, *spread], blocks, n_features)

    def map(self, task: Callable[..., Any], *columns: Sequence[Any], **common: Any) -> list[Any]:
        """Run `task(shard, *one of each column, **common)` for every shard, and keep the results where they are.

        A shard of whole queries is a task of the executor. A task does not wait for others: what is done with a spread
        query begins here, and each of its chunks is a task.
        """
        whole, spread = self._by_kind(columns)
        return [*self.executor.map(task, *whole, **common), *(task(*each, **common) for each in spread)]

    def total(self, task: Callable[..., Any], *columns: Sequence[Any], **common: Any) -> Any:
        """Run `task` for every shard and add the results (numbers or arrays) in the shards' order."""
        whole, spread = self._by_kind(columns)
        totals = [self.executor.total(task, *whole, **common)] if whole[0] else []
        return reduce(iadd, [*totals, *(task(*each, **common) for each in spread)])

    def _by_kind(self, columns: Sequence[Sequence[Any]]) -> tuple[list[Sequence[Any]], Iterator[tuple[Any, ...]]]:
        """The columns of the shards of whole queries, and one tuple a spread query."""
        n_whole = sum(not shard[0].is_spread for shard in self.shards)
        columns = [self.shards, *columns]
        return [column[:n_whole] for column in columns], zip(*(column[n_whole:] for column in columns), strict=True)

    @cached_property
    def n_documents(self) -> int:
        return sum(block.n_documents for block in self.blocks)

    def idle_features(self, *, ties: bool) -> Offsets:
        """The features that are the same in all documents of each query; with `ties`, of queries without pairs too."""
        if ties not in self._idle:
            varies = np.zeros(self.n_features, dtype=np.bool_)
            for of_shard in self.map(_varying_of_shard, n_features=self.n_features, ties=ties):
                varies |= of_shard
            self._idle[ties] = np.flatnonzero(~varies)
        return self._idle[ties]

    def sample(self, n_documents: int, *, thin: bool = True) -> Sample:
        """The sample of about so many documents: always the same one, made once."""
        if (n_documents, thin) not in self._samples:
            self._samples[n_documents, thin] = Sample.of(self, n_documents, thin=thin)
        return self._samples[n_documents, thin]

    @cached_property
    def _samples(self) -> dict[tuple[int, bool], Sample]:
        return {}


def _varying_of_shard(shard: Shard, *, n_features: int, ties: bool) -> NDArray[np.bool_]:
    return varying_features((placed.block for placed in shard), n_features, ties=ties)


def _is_large(block: QueryBlock) -> bool:
    return block.n_queries == 1 and block.features.n_bytes > _LARGE_QUERY_BYTES


def _number_of_shards(blocks: Sequence[QueryBlock], n_features: int) -> int:
    """Each shard adds into a vector of its own: wide sparse data gets few, so that these stay smaller than the data."""
    data_bytes = sum(block.features.n_bytes for block in blocks)
    affordable = data_bytes // max(1, 16 * n_features)
    return max(2, min(_MOST_SHARDS, 1 << max(0, int(affordable).bit_length() - 1)))


def _shards(blocks: Sequence[QueryBlock], n_shards: int) -> list[Shard]:
    """Consecutive blocks in runs of about equal numbers of documents."""
    if not blocks:
        return []
    documents = np.cumsum([block.n_documents for block in blocks])
    shard_of = (documents - 1) * n_shards // documents[-1]
    runs = np.split(np.arange(len(blocks)), np.flatnonzero(np.diff(shard_of)) + 1)
    return [tuple(PlacedBlock(blocks[place]) for place in run) for run in runs]


@dataclass(frozen=True, eq=False)
class Sample:
    """A share of the data, as blocks whose loss is multiplied by `scale` to stand for the whole."""

    blocks: Sequence[tuple[QueryBlock, float]]

    @classmethod
    def of(cls, data: PlacedData, n_documents: int, *, thin: bool = True) -> Sample:
        """About `n_documents` documents: queries from all over the data, and with `thin` some rows of large ones."""
        share = min(1.0, n_documents / max(1, data.n_documents))
        large = [block for block in data.blocks if thin and _is_large(block)]
        small = [block for block in data.blocks if not (thin and _is_large(block))]
        chosen: list[tuple[QueryBlock, float]] = []
        if small:
            count = min(len(small), max(_FEWEST_BLOCKS, round(share * len(small))))
            places = np.linspace(0, len(small) - 1, count).round().astype(int)
            parts = [_first_queries(small[place], share * len(small) / count) for place in places]
            scale = sum(block.n_documents for block in small) / sum(part.n_documents for part in parts)
            chosen += [(part, scale) for part in parts]
        chosen += [_thinned(block, share) for block in large]
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
