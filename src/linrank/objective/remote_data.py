"""Data whose shards are on other processes: the face of `PlacedData`, with one task a group of shards and round."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Any, Protocol

from linrank.arrays import Offsets, Vector
from linrank.dataset.applied_scaling import Scaling
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.stored_dataset import StoredDataset
from linrank.errors import DataFormatError, LinrankError
from linrank.executors.local import Threads
from linrank.executors.pieces import FROM_FILES, begin_log, name_of, shares
from linrank.objective.placed_blocks import BlockSize
from linrank.objective.placement import AnyDataset, PlacedData
from linrank.objective.remote_partitions import groups_of_partitions
from linrank.objective.samples import below_of
from linrank.objective.stored_shards import shards_on_disk, within
from linrank.objective.weighting import Weighting
from linrank.reading.partitions import PartitionedDataset


class Cluster(Protocol):
    """Runs functions elsewhere. What they return stays there, as a handle that other calls may be given."""

    here: Threads

    def begin(self, about: dict[str, Any]) -> None:
        """A run about this begins, or goes on."""
        ...

    def workers(self) -> list[str]: ...

    def start(self, function: Callable[..., Any], rows: Sequence[tuple[Any, ...]]) -> list[Any]:
        """One handle a row of arguments, spread evenly over the workers."""
        ...

    def computed(self, lazy: Sequence[Any]) -> list[Any]:
        """One handle for each thing that the cluster computes by a graph of its own; None stays None."""
        ...

    def call(self, function: Callable[..., Any], rows: Sequence[tuple[Any, ...]], **common: Any) -> list[Any]:
        """One handle a row of arguments; a function that is given a handle runs where that is."""
        ...

    def fetch(self, handles: Sequence[Any], task: str) -> list[Any]:
        """What the lists hold that the handles stand for, one after the other, in a round of this name."""
        ...


# Bytes of a part that is computed with by the driver.
_BROUGHT = 1 << 26


@dataclass(frozen=True)
class RemoteColumn:
    """A column of one thing a shard: one handle a group, which stands for a `Kept`."""

    handles: Sequence[Any]


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of the shards of a group, and what is told of them."""

    column: list[Any]
    told: list[Any]


@dataclass(frozen=True)
class RemoteData(PlacedData):
    """Groups of consecutive shards, each a `PlacedData` in another process.

    Whatever the groups, each shard tells its own sums, and they are added here in the shards' order: the same bits for
    any number of processes, and the same as in this one.
    """

    cluster: Cluster = field(kw_only=True)
    groups: Sequence[Any] = field(kw_only=True)
    counts: Sequence[int] = field(kw_only=True)

    @classmethod
    def of_groups(
        cls, groups: Sequence[Any], counts: Sequence[int], n_features: int, cluster: Cluster, **about: Any
    ) -> RemoteData:
        """Groups that are loaded, or on their way, and how many shards each has."""
        data = cls(cluster.here, (), n_features, cluster=cluster, groups=groups, counts=counts, **about)
        told = cluster.fetch(cluster.call(_sizes_of_group, [(group,) for group in groups]), "sizes")
        data.__dict__["sizes"] = [[BlockSize(*size) for size in of_shard] for of_shard in told]
        return data

    def tell(self, task: Callable[..., Any], *columns: Any, **common: Any) -> list[Any]:
        """As in one process; the results come here."""
        return self.cluster.fetch(
            self.cluster.call(_tell, self._rows(columns), task=task, common=common), name_of(task)
        )

    def keep(self, task: Callable[..., Any], *columns: Any, **common: Any) -> tuple[RemoteColumn, list[Any]]:
        """As in one process; only what is told comes here."""
        both = self.cluster.call(_keep, self._rows(columns), task=task, common=common)
        return RemoteColumn(both), self.cluster.fetch(
            self.cluster.call(_told, [(handle,) for handle in both]), name_of(task)
        )

    def some(self, places: Iterable[int]) -> RemoteData:
        """Some of the shards alone."""
        wanted = list(places)
        rows = [(group, local) for group, local in zip(self.groups, self._by_group(wanted), strict=True) if local]
        part = replace(self, groups=self.cluster.call(_some, rows), counts=[len(local) for _, local in rows])
        part.__dict__["sizes"] = [self.sizes[place] for place in wanted]
        return part

    def without_offsets(self, columns: Offsets) -> RemoteData:
        """The same, some columns less what one document of the query has."""
        groups = self.cluster.call(_without_offsets, [(group,) for group in self.groups], columns=columns)
        return replace(self, groups=groups)

    def _weighed(self, weighting: Weighting, weights: Vector) -> RemoteData:
        rows = [(group,) for group in self.groups]
        return replace(self, groups=self.cluster.call(_weighed, rows, weighting=weighting, weights=weights))

    def mixed(self, column: RemoteColumn, places: Iterable[int], newer: RemoteColumn) -> RemoteColumn:
        """A column in which some shards have what a column of `some` of them has."""
        handles, left = list(column.handles), iter(newer.handles)
        for number, local in enumerate(self._by_group(list(places))):
            if local:
                (handles[number],) = self.cluster.call(_mixed, [(handles[number], local, next(left))])
        return RemoteColumn(handles)

    def part(self, n_documents: int) -> PlacedData:
        """About so many documents as data of its own, each query weighing as much as what it stands for.

        A small part is brought here: a round costs more than computing with it.
        """
        chosen = self._chosen(n_documents)
        if self.n_bytes * n_documents <= _BROUGHT * self.n_documents:
            return self.chosen_part(chosen)
        rows = [row for row in self._rows([chosen]) if any(row[1])]
        counts = [sum(1 for choice in of_group if choice) for _, of_group in rows]
        groups = self.cluster.call(_part, rows)
        about = {"below": below_of(chosen), "is_compared": True}
        return RemoteData.of_groups(groups, counts, self.n_features, self.cluster, **about)

    @property
    def blocks(self) -> Any:
        raise AttributeError("the blocks of remote data are elsewhere")

    def _rows(self, columns: Sequence[Any]) -> list[tuple[Any, ...]]:
        """The arguments of each group: itself, and its part of each column."""
        split = [
            column.handles if isinstance(column, RemoteColumn) else [column[a:b] for a, b in self._bounds]
            for column in columns
        ]
        return list(zip(self.groups, *split, strict=True))

    @property
    def _bounds(self) -> list[tuple[int, int]]:
        return list(pairwise([0, *accumulate(self.counts)]))

    def _by_group(self, places: Sequence[int]) -> list[list[int]]:
        return [[place - a for place in places if a <= place < b] for a, b in self._bounds]


def place(dataset: AnyDataset, executor: Threads | Cluster) -> PlacedData:
    """Data where an executor computes with it: here, or in the processes of a cluster, which read it themselves."""
    if isinstance(executor, Threads):
        return PlacedData.of(dataset, executor)
    if isinstance(dataset, RankingDataset):
        raise LinrankError(FROM_FILES)
    placed = _placed_elsewhere(dataset, executor)
    begin_log(executor, dataset)
    return placed


def _placed_elsewhere(dataset: StoredDataset | PartitionedDataset, cluster: Cluster) -> RemoteData:
    if isinstance(dataset, PartitionedDataset):
        return RemoteData.of_groups(*groups_of_partitions(dataset, cluster), dataset.n_features, cluster)
    # A group a worker, as long as there are shards.
    bounds = shares(len(shards_on_disk(dataset)), len(cluster.workers()))
    file = FileToOpen(dataset.source, dataset.stamp, dataset.n_features, dataset.memory, dataset.scaling)
    groups = cluster.start(_load, [(file, a, b) for a, b in bounds])
    return RemoteData.of_groups(groups, [b - a for a, b in bounds], dataset.n_features, cluster)


# What runs in the other process, on a group that is a `PlacedData` there.


@dataclass(frozen=True, slots=True)
class FileToOpen:
    """A stored dataset by its path: what the file says of its queries does not travel, but is read there."""

    source: str
    stamp: list[Any]
    n_features: int
    memory: int | None
    scaling: Scaling | None

    def open(self) -> StoredDataset:
        dataset = StoredDataset.open(self.source, n_features=self.n_features)
        if dataset.stamp != self.stamp:
            raise DataFormatError(self.source, None, "has changed since the training began. Begin again.")
        return replace(dataset, memory=self.memory, scaling=self.scaling)


def _load(file: FileToOpen, first: int, stop: int) -> PlacedData:
    """The shards from the first on."""
    from distributed import get_worker

    worker = get_worker()
    executor = Threads(worker.state.nthreads)
    limit = worker.memory_manager.memory_limit
    memory = file.memory or (None if limit is None else int(0.7 * limit))
    dataset = file.open()
    with executor:
        return PlacedData(executor, within(shards_on_disk(dataset)[first:stop], memory, executor), dataset.n_features)


def _sizes_of_group(group: PlacedData) -> list[list[tuple[Any, ...]]]:
    return [[astuple(size) for size in of_shard] for of_shard in group.sizes]


def _tell(group: PlacedData, *columns: Any, task: Callable[..., Any], common: dict[str, Any]) -> list[Any]:
    with group.executor:
        return group.tell(task, *_unwrapped(columns), **common)


def _keep(group: PlacedData, *columns: Any, task: Callable[..., Any], common: dict[str, Any]) -> Kept:
    with group.executor:
        return Kept(*group.keep(task, *_unwrapped(columns), **common))


def _told(kept: Kept) -> list[Any]:
    return kept.told


def _some(group: PlacedData, places: list[int]) -> PlacedData:
    return group.some(places)


def _without_offsets(group: PlacedData, *, columns: Offsets) -> PlacedData:
    with group.executor:
        return group.without_offsets(columns)


def _weighed(group: PlacedData, *, weighting: Weighting, weights: Vector) -> PlacedData:
    with group.executor:
        return group.weighed(weighting, weights)


def _part(group: PlacedData, chosen: Any) -> PlacedData:
    return group.chosen_part(chosen)


def _mixed(column: Kept, places: list[int], newer: Kept) -> Kept:
    mixed = list(column.column)
    for place, value in zip(places, newer.column, strict=True):
        mixed[place] = value
    return Kept(mixed, [])


def _unwrapped(columns: Sequence[Any]) -> list[Any]:
    return [column.column if isinstance(column, Kept) else column for column in columns]
