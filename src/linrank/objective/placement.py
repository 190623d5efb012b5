"""A dataset cut up and placed where an executor runs: shards of whole queries, or of one that is spread over chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from operator import iadd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector
from linrank.cached import cached_property
from linrank.dataset.query_blocks import QueryBlock, cut_into_blocks
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.stored_dataset import StoredDataset
from linrank.dataset.varying import Variation, variation_of
from linrank.executors.local import Threads
from linrank.maps import Maps
from linrank.objective.placed_blocks import BlockSize, Choice, PlacedBlock, Shard, ShardInMemory, SpreadQuery
from linrank.objective.samples import Choices, Sample, below_of, choose, runs_below
from linrank.objective.shard_plan import CHUNKS_OF_A_QUERY, ShardPlan
from linrank.objective.stored_shards import shards_on_disk, within
from linrank.objective.weighting import Weighting
from linrank.reading.partitions import PartitionedDataset

AnyDataset = RankingDataset | StoredDataset | PartitionedDataset
"""What can be placed."""

# No sample is larger: it is held in memory, and more documents would hardly say more.
_MOST_SAMPLED_BYTES = 1 << 27


@dataclass(frozen=True)
class PlacedData:
    """What an objective is evaluated on, and who evaluates it.

    What a task computes on a shard is either told to the caller, who has one small thing a shard then, or kept where
    the shard is, as a column that later tasks are given their part of.
    """

    executor: Threads
    shards: Sequence[Shard]
    n_features: int
    # Of what all queries here have drawn.
    below: float = 1.0
    is_compared: bool = False
    """Whether columns far from zero are less what one document of the query has; a part has those of the whole."""
    # Also that of some of the shards: they leave out what the whole leaves out, and no more.
    _variation: dict[bool, Variation] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, dataset: AnyDataset, executor: Threads) -> PlacedData:
        if isinstance(dataset, PartitionedDataset):
            return cls.of_partitions(dataset.chunks(), dataset.n_features, executor)
        if isinstance(dataset, StoredDataset):
            return cls(executor, within(shards_on_disk(dataset), dataset.memory, executor), dataset.n_features)
        return cls.of_blocks(cut_into_blocks(dataset), dataset.n_features, executor)

    @classmethod
    def of_partitions(cls, parts: Iterable[RankingDataset], n_features: int, executor: Threads) -> PlacedData:
        """Datasets of whole queries: a shard each, and one for every query that is spread."""
        shards: list[Shard] = []
        for part in parts:
            blocks = cut_into_blocks(part)
            small = [PlacedBlock(block) for block in blocks if not BlockSize.of(block).is_large]
            shards += [ShardInMemory(tuple(small))] if small else []
            large = [block for block in blocks if BlockSize.of(block).is_large]
            shards += [ShardInMemory((SpreadQuery.of(block, CHUNKS_OF_A_QUERY, executor),)) for block in large]
        return cls(executor, shards, n_features)

    @classmethod
    def of_blocks(cls, blocks: Sequence[QueryBlock], n_features: int, executor: Threads) -> PlacedData:
        plan = ShardPlan.of([BlockSize.of(block) for block in blocks], n_features)
        whole = [ShardInMemory(tuple(PlacedBlock(blocks[place]) for place in run)) for run in plan.whole]
        spread = [ShardInMemory((SpreadQuery.of(blocks[place], plan.n_chunks, executor),)) for place in plan.spread]
        return cls(executor, [*whole, *spread], n_features)

    def tell(self, task: Callable[..., Any], *columns: Sequence[Any], **common: Any) -> list[Any]:
        """Run `task(shard, *one of each column, **common)` for every shard; the results come to the caller.

        A shard of whole queries is a task of the executor. A task does not wait for others: what is done with a spread
        query begins here, and each of its chunks is a task.
        """
        self._maps.check()
        rows = list(zip(self.shards, *columns, strict=True))
        whole = [row for row in rows if not row[0].is_spread]
        told = iter(self.executor.map(task, *zip(*whole, strict=True), **common) if whole else ())
        return [task(*row, **common) if row[0].is_spread else next(told) for row in rows]

    def keep(self, task: Callable[..., Any], *columns: Sequence[Any], **common: Any) -> tuple[Any, list[Any]]:
        """Run a task that returns what is to be kept and what is to be told: a column, and one told thing a shard."""
        results = self.tell(task, *columns, **common)
        return [kept for kept, _ in results], [told for _, told in results]

    def total(self, task: Callable[..., Any], *columns: Sequence[Any], **common: Any) -> Any:
        """Run `task` for every shard and add the results (numbers or arrays) in the shards' order."""
        return reduce(iadd, self.tell(task, *columns, **common))

    def some(self, places: Iterable[int]) -> PlacedData:
        """Some of the shards alone."""
        return replace(self, shards=[self.shards[place] for place in places])

    def mixed(self, column: Any, places: Iterable[int], newer: Any) -> Any:
        """A column in which some shards have what a column of `some` of them has."""
        mixed = list(column)
        for place, value in zip(places, newer, strict=True):
            mixed[place] = value
        return mixed

    def __sizeof__(self) -> int:
        # Who moves things about or makes room by their size should know it.
        return self.n_bytes

    @cached_property
    def sizes(self) -> list[Sequence[BlockSize]]:
        """How much is in each block of each shard."""
        return [shard.sizes for shard in self.shards]

    @property
    def n_shards(self) -> int:
        return len(self.sizes)

    @cached_property
    def n_documents(self) -> int:
        return sum(size.n_documents for sizes in self.sizes for size in sizes)

    @cached_property
    def n_queries(self) -> int:
        return sum(size.n_queries for sizes in self.sizes for size in sizes)

    @cached_property
    def n_bytes(self) -> int:
        """Of the features."""
        return sum(size.n_bytes for sizes in self.sizes for size in sizes)

    @property
    def most_sampled(self) -> int:
        """How many documents a sample may have."""
        return (
            self.n_documents
            if self.n_bytes <= _MOST_SAMPLED_BYTES
            else max(1, self.n_documents * _MOST_SAMPLED_BYTES // self.n_bytes)
        )

    @cached_property
    def blocks(self) -> list[QueryBlock]:
        """All blocks in the order of the dataset, for who cannot do with a shard at a time."""
        return sorted(
            (block for shard in self.shards for block in _blocks_of(shard)), key=lambda block: block.first_row
        )

    def idle_features(self, *, ties: bool) -> Offsets:
        """The features that are the same in all documents of each query; with `ties`, of queries without pairs too."""
        return self._how_features_vary(ties=ties).idle

    def compared(self, *, ties: bool) -> PlacedData:
        """The same for who compares documents of a query: columns far from zero are less what one of them has.

        Nothing that is compared changes, and nothing is copied where there is no such column.
        """
        far = np.empty(0, dtype=np.int64) if self.is_compared else self._how_features_vary(ties=ties).far
        if len(far) == 0:
            return self
        if ties not in self._compared:
            self._compared[ties] = replace(self.without_offsets(far), is_compared=True)
            self._compared[ties].__dict__["sizes"] = self.sizes
        return self._compared[ties]

    def without_offsets(self, columns: Offsets) -> PlacedData:
        """The same, some columns less what one document of the query has."""
        return replace(self, shards=self.tell(_without_offsets, columns=columns))

    def weighed(self, weighting: Weighting, weights: Vector) -> PlacedData:
        """The same, documents and queries weighing what they do by the order of the scores X weights.

        What they weigh is found where the shards are, and stays there.
        """
        weighed = self._weighed(weighting, weights)
        weighed.__dict__["sizes"] = self.sizes
        return weighed

    def _weighed(self, weighting: Weighting, weights: Vector) -> PlacedData:
        return replace(self, shards=self.tell(_weighed, weighting=weighting, weights=weights))

    def _how_features_vary(self, *, ties: bool) -> Variation:
        if ties not in self._variation:
            told = self.tell(_variation_of_shard, n_features=self.n_features, ties=ties)
            varies, widely = np.logical_or.reduce(told, axis=0)
            self._variation[ties] = Variation(varies, widely)
        return self._variation[ties]

    def sample(self, n_documents: int, *, thin: bool = True, apart: bool = False) -> Sample:
        """The sample of about so many documents: always the same one, made once, and in memory.

        Without `thin` it is views of whole queries, which are where they were. One that is `apart` has other queries,
        where there are enough.
        """
        n_documents = min(n_documents, self.most_sampled)
        if (n_documents, thin, apart) not in self._samples:
            chosen = self._chosen(n_documents, thin=thin, apart=apart)
            if thin:
                parts = self.tell(_blocks_of_part, chosen)
            else:
                scale = max(one.scale for one in chosen if one)
                parts = [[(run, scale) for run in runs_below(block, below_of(chosen))] for block in self.blocks]
            is_part = all(choice is None or choice.n_documents is None for choice in chosen)
            self._samples[n_documents, thin, apart] = Sample([block for part in parts for block in part], is_part)
        return self._samples[n_documents, thin, apart]

    def of_sample(self, sample: Sample) -> PlacedData:
        """What is in a sample as data of its own, each query weighing as much as in the whole."""
        shards = [ShardInMemory((PlacedBlock(block),)) for block, _ in sample.blocks]
        return PlacedData(self.executor, shards, self.n_features)

    def part(self, n_documents: int) -> PlacedData:
        """About so many documents as data of its own, each query weighing as much as what it stands for."""
        return self.chosen_part(self._chosen(n_documents))

    def chosen_part(self, chosen: Choices) -> PlacedData:
        """What is chosen of each shard; shards of which nothing is chosen are left out."""
        # Side by side: a part is a copy.
        parts = [part for part in self.tell(_part_of_shard, chosen) if part is not None]
        return PlacedData(self.executor, parts, self.n_features, below_of(chosen), is_compared=True)

    def _chosen(self, n_documents: int, *, thin: bool = True, apart: bool = False) -> Choices:
        share = min(1.0, n_documents / max(1, self.n_documents))
        from_ = 0.5 if apart and share < 0.5 else 0.0
        return choose(self.sizes, share, self.below, partial(self.tell, _taken), thin=thin, from_=from_)

    @cached_property
    def _maps(self) -> Maps:
        in_memory = (shard for shard in self.shards if isinstance(shard, ShardInMemory))
        # Features that have no values of their own, as those that are codes, are copies in memory.
        return Maps(getattr(placed.block.features, "values", None) for shard in in_memory for placed in shard.blocks)

    @cached_property
    def _compared(self) -> dict[bool, PlacedData]:
        return {}

    @cached_property
    def _samples(self) -> dict[tuple[int, bool, bool], Sample]:
        return {}


# Tasks: module-level functions whose inputs are arguments, so that they can travel to another process.


def _part_of_shard(shard: Shard, choice: Choice | None) -> Shard | None:
    return None if choice is None else shard.part(choice)


def _variation_of_shard(shard: Shard, *, n_features: int, ties: bool) -> NDArray[np.bool_]:
    found = variation_of((placed.block for placed in shard), n_features, ties=ties)
    return np.stack([found.varies, found.widely])


def _without_offsets(shard: Shard, *, columns: Offsets) -> Shard:
    return shard.without_offsets(columns)


def _weighed(shard: Shard, *, weighting: Weighting, weights: Vector) -> Shard:
    return shard.weighed(weighting, weights)


def _taken(shard: Shard, choice: Choice) -> tuple[int, int]:
    return choice.taken(shard.queries)


def _blocks_of_part(shard: Shard, choice: Choice | None) -> list[tuple[QueryBlock, float]]:
    """The blocks of a part, and how many times as much each stands for."""
    if choice is None:
        return []
    return [(block, choice.scale) for block in _blocks_of(shard.part(replace(choice, scale=1.0)))]


def _blocks_of(shard: Shard) -> Iterator[QueryBlock]:
    """The blocks as they are in memory, or as they are read, with what their queries have drawn."""
    if isinstance(shard, ShardInMemory):
        return (placed.block for placed in shard.blocks)
    return (replace(placed.block, draws=draws) for placed, (draws, _) in zip(shard, shard.queries, strict=True))
