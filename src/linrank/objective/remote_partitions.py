"""Partitions on other processes: each is read by a task that can be run again, and queries are made whole by others."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError
from linrank.executors.local import Threads
from linrank.objective.placement import PlacedData
from linrank.reading.partition import Partition, PartitionReader, Piece
from linrank.reading.partitions import PartitionedDataset
from linrank.reading.query_homes import Moves, gone_from

if TYPE_CHECKING:
    from linrank.objective.remote_data import Cluster


def groups_of_partitions(dataset: PartitionedDataset, cluster: Cluster) -> tuple[list[Any], list[int]]:
    """Groups of consecutive partitions, loaded or on their way, and how many shards each has."""
    rows = zip(dataset.partitions, cluster.computed(dataset.frames_of_ids), strict=True)
    asked = cluster.start(_query_ids, [(dataset.reader, *row) for row in rows])
    loaded = _loaded(dataset, dataset.moves(cluster.fetch(asked, "query ids")), cluster)
    together = [tuple(run) for _, run in groupby(loaded, lambda handle: handle.home)]
    del loaded
    groups = cluster.call(_placed, together, n_features=dataset.n_features)
    # What they were made of is let go as soon as they are made.
    del together
    counts = cluster.fetch(cluster.call(_number_of_shards, [(group,) for group in groups]), "number of shards")
    if not sum(counts):
        raise LinrankError(f"{dataset!r}: there is nothing to learn from. Check how it was read.")
    return groups, counts


def _loaded(dataset: PartitionedDataset, moves: Moves, cluster: Cluster) -> list[Any]:
    """One handle a partition, of whole queries."""
    partitions, reader = dataset.partitions, dataset.reader
    frames = cluster.computed(dataset.frames)
    leaving = cluster.start(_leaving, [(reader, partitions[source], frames[source], moves[source]) for source in moves])
    # What leaves a partition is told apart by where it goes, one task for all that goes to the same worker.
    n_workers = len(cluster.workers())
    workers = [number * n_workers // len(partitions) for number in range(len(partitions))]
    arriving: dict[int, list[Any]] = {}
    for source, handle in zip(moves, leaving, strict=True):
        for worker in sorted({workers[home] for home in moves[source]}):
            there = [home for home in moves[source] if workers[home] == worker]
            arriving.setdefault(worker, []).extend(cluster.call(_for_some, [(handle, there)]))
    return cluster.start(
        _load,
        [
            (reader, partition, frames[number], gone_from(moves, number), *arriving.get(workers[number], ()))
            for number, partition in enumerate(partitions)
        ],
    )


# What runs in the other process. A frame is that of a partition of a Dask DataFrame, computed there.


def _query_ids(reader: PartitionReader, partition: Partition, frame: Any) -> list[Any]:
    return [reader.query_ids(partition, frame)]


def _leaving(reader: PartitionReader, partition: Partition, frame: Any, homes: Mapping[int, Any]) -> dict[int, Piece]:
    return reader.leaving(partition, frame, homes)


def _for_some(leaving: Mapping[int, Piece], homes: Sequence[int]) -> dict[int, Piece]:
    return {home: leaving[home] for home in homes}


def _load(
    reader: PartitionReader, partition: Partition, frame: Any, gone: Collection[Any], *arriving: Mapping[int, Piece]
) -> RankingDataset:
    here = [pieces[partition.number] for pieces in arriving if partition.number in pieces]
    return reader.dataset(partition, frame, gone, here)


def _placed(*parts: RankingDataset, n_features: int) -> PlacedData:
    from distributed import get_worker

    executor = Threads(get_worker().state.nthreads)
    with executor:
        return PlacedData.of_partitions(parts, n_features, executor)


def _number_of_shards(group: PlacedData) -> list[int]:
    return [group.n_shards]
