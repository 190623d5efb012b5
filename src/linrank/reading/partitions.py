"""PartitionedDataset: Parquet files or a Dask DataFrame, loaded partition by partition by who computes with them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.cached import cached_property
from linrank.dataset.applied_scaling import Scaling
from linrank.dataset.fingerprint import fingerprint_of
from linrank.dataset.missing_rule import MissingRule
from linrank.dataset.ranking_dataset import UNJUDGED, RankingDataset
from linrank.errors import DataFormatError, LinrankError
from linrank.files import stamp_of
from linrank.memory import bytes_named
from linrank.reading.column_roles import ColumnRoles
from linrank.reading.gathered_columns import feature_columns
from linrank.reading.partition import FramePartition, ParquetPartition, Partition, PartitionReader
from linrank.reading.query_homes import Moves, gone_from, moves_between
from linrank.reading.table_sources import naming_file, parquet_file, parquet_source, table_source

# Of features, as they are held in memory: enough for a task, and few enough that several make a file.
PARTITION_BYTES = 1 << 26


def parquet_files(folder: str | os.PathLike[str]) -> list[str]:
    """The Parquet files of a folder, in order of their names."""
    paths = sorted(str(path.absolute()) for path in Path(folder).glob("*.parquet"))
    if not paths:
        raise DataFormatError(os.fspath(folder), None, "holds no file named *.parquet. Check the path.")
    return paths


@dataclass(frozen=True, eq=False)
class PartitionedDataset:
    """Rows in partitions, which are loaded one by one where they are computed with; a query is whole in one of them.

    Attributes
    ----------
    source : the folder or file, or what the frame is called
    partitions : row groups of Parquet files, in order of the files' names; or the partitions of a Dask DataFrame
    n_documents : int; None where nobody has counted
    n_features : int
    feature_names : tuple of str
    missing : the rule by which missing values are filled
    regroup : bool
        Whether the rows of a query may be in several files, or partitions of a frame.
    """

    source: str
    partitions: tuple[Partition, ...]
    reader: PartitionReader
    n_documents: int | None
    dtype: np.dtype[Any]
    regroup: bool = False
    frame: Any = None
    memory: int | None = None

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        regroup: bool = False,
        partition: str | float = PARTITION_BYTES,
        **roles: Any,
    ) -> PartitionedDataset:
        """A Parquet file, or a folder of them; only what the files say of themselves is read.

        Parameters
        ----------
        regroup : bring together queries whose rows are in several files; without it they are refused
        partition : about how much of a file, as features in memory, is one partition, such as "64MB"; row groups are
            not cut
        **roles : which column plays which part, as `linrank.read` takes it
        """
        source = os.fspath(path)
        files = parquet_files(source) if Path(source).is_dir() else [source]
        with naming_file(files[0], "parquet"):
            features, dtype = feature_columns(parquet_source(Path(files[0])), ColumnRoles(**roles))
        most_rows = bytes_named(partition) // max(1, len(features) * dtype.itemsize)
        partitions: list[ParquetPartition] = []
        n_documents = 0
        for file in files:
            of_file, n_rows = _partitions_of_file(str(Path(file).absolute()), most_rows, len(partitions))
            partitions += of_file
            n_documents += n_rows
        reader = PartitionReader(_without_docids(roles, features))
        return cls(source, tuple(partitions), reader, n_documents, dtype, regroup)

    @classmethod
    def of_frame(cls, frame: Any, *, regroup: bool = False, **roles: Any) -> PartitionedDataset:
        """A Dask DataFrame, by its partitions."""
        # An empty frame with the columns and types of all partitions; Dask has no other name for it.
        empty = frame._meta  # noqa: SLF001
        features, dtype = feature_columns(table_source(empty), ColumnRoles(**roles))
        reader = PartitionReader(_without_docids(roles, features))
        partitions = tuple(map(FramePartition, range(frame.npartitions)))
        return cls("the Dask DataFrame", partitions, reader, None, dtype, regroup, frame)

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(map(str, self.reader.roles.features or ()))

    @property
    def names(self) -> tuple[str, ...]:
        return self.feature_names

    @property
    def n_features(self) -> int:
        return len(self.feature_names)

    @property
    def missing(self) -> MissingRule:
        return self.reader.roles.missing

    @property
    def scaling(self) -> Scaling | None:
        return self.reader.scaling

    @property
    def n_bytes(self) -> int:
        """Of the features, once they are loaded."""
        return (self.n_documents or 0) * self.n_features * self.dtype.itemsize

    @property
    def stamp(self) -> list[Any]:
        """What tells this data from other."""
        if self.frame is None:
            files: list[Any] = [[part.path, *part.stamp, *part.row_groups] for part in self.partitions]  # type: ignore[attr-defined]
        else:
            from dask.base import tokenize

            files = [tokenize(self.frame)]
        return [files, repr(self.reader.roles), self.regroup]

    @property
    def weighs_documents(self) -> bool:
        return self.reader.roles.weight is not None

    @property
    def is_sparse(self) -> bool:
        return False

    @property
    def is_judged(self) -> bool:
        return self.reader.roles.label is not None

    def require_labels(self) -> None:
        """Refuse data that nobody has judged."""
        if not self.is_judged:
            raise LinrankError(f"{self.source}: {UNJUDGED}")

    def scaled(self, scaling: Scaling | None) -> PartitionedDataset:
        """The same data, its features scaled as they are read."""
        return replace(self, reader=self.reader.scaled(scaling))

    @cached_property
    def features(self) -> Any:
        """Those of the first partition that has rows, by which units can be compared."""
        return next((part.features for part in self.as_they_stand() if part.n_documents), np.empty((0, 0)))

    @cached_property
    def frames(self) -> Sequence[Any]:
        """Of each partition, what computes its frame; None where it is read from a file."""
        return self._frames_of(self.reader.columns)

    @cached_property
    def frames_of_ids(self) -> Sequence[Any]:
        """The same with the query ids alone."""
        return self._frames_of([self.reader.roles.qid] if self.reader.roles.qid is not None else self.reader.columns)

    def _frames_of(self, columns: list[Any]) -> Sequence[Any]:
        if self.frame is None:
            return [None] * len(self.partitions)
        # Only these columns are read; Dask's other optimisations might join partitions.
        made: Sequence[Any] = self.frame[columns].simplify().to_delayed(optimize_graph=False)
        return made

    @cached_property
    def query_ids(self) -> list[NDArray[Any]]:
        """The different query ids of each partition."""
        return list(map(self.ids_of, self.chunk_bounds()))

    def ids_of(self, number: int) -> NDArray[Any]:
        """The different query ids of one partition; no other column is read."""
        return self.reader.query_ids(self.partitions[number], _computed(self.frames_of_ids[number]))

    @property
    def n_queries(self) -> int:
        return len({query for ids in self.query_ids for query in ids.tolist()})

    def moves(self, ids: Sequence[NDArray[Any]] | None = None) -> Moves:
        """Which queries move from partition to partition to be whole, given the ids of each partition."""
        return moves_between(self.partitions, self.query_ids if ids is None else ids, regroup=self.regroup)

    def chunk_bounds(self) -> Sequence[int]:
        """The number of each partition: it is a chunk."""
        return range(len(self.partitions))

    def chunks(
        self,
        numbers: Iterable[int] | None = None,
        *,
        to_train: bool = True,
        features: bool = True,
        moves: Moves | None = None,
    ) -> Iterator[RankingDataset]:
        """One partition after the other, all of them or some, each of whole queries; `moves` where they are known."""
        reader = self.reader if features else self.reader.without_features()
        moves = self.moves() if moves is None else moves
        wanted = list(self.chunk_bounds() if numbers is None else numbers)
        leaving = {}
        for source, homes in moves.items():
            there = {home: queries for home, queries in homes.items() if home in wanted}
            if there:
                leaving[source] = reader.leaving(self.partitions[source], _computed(self.frames[source]), there)
        for number in wanted:
            arriving = [pieces[number] for pieces in leaving.values() if number in pieces]
            gone, frame = gone_from(moves, number), _computed(self.frames[number])
            yield reader.dataset(self.partitions[number], frame, gone, arriving, to_train=to_train)

    def as_they_stand(self, numbers: Iterable[int] | None = None) -> Iterator[RankingDataset]:
        """One partition after the other with the rows that it has; a query may be in several.

        Who names some of them has checked that they can be read so.
        """
        if numbers is None:
            self.check_as_they_stand()
        for number in self.chunk_bounds() if numbers is None else numbers:
            yield self.reader.dataset(self.partitions[number], _computed(self.frames[number]), to_train=False)

    def check_as_they_stand(self, moves: Moves | None = None) -> None:
        """Refuse what needs whole queries where some are spread."""
        if self.missing == "query_min" and (self.moves() if moves is None else moves):
            raise LinrankError(
                f"{self.source}: missing='query_min' needs whole queries, and some are spread over partitions. Write "
                "the files query by query, or fill what is missing by a number."
            )

    def check_complete(self) -> None:
        """Refuse features that are missing or infinite, the first of them; all are read."""
        for _ in self.chunks():
            pass

    def fingerprint(self) -> str:
        """A hash of everything in it, partition by partition."""
        return fingerprint_of("partitions", (), (part.fingerprint() for part in self.chunks(to_train=False)))

    def __repr__(self) -> str:
        documents = "" if self.n_documents is None else f"{self.n_documents} documents in "
        return (
            f"PartitionedDataset({self.source}: {documents}{len(self.partitions)} partitions, "
            f"{self.n_features} features)"
        )


def _without_docids(roles: dict[str, Any], features: list[Any]) -> ColumnRoles:
    """What is read of a partition: nobody asks for the documents' own ids, whose column is no feature either."""
    return ColumnRoles(**{**roles, "features": features, "docid": None})


def _computed(frame: Any) -> Any:
    return None if frame is None else frame.compute()


def _partitions_of_file(path: str, most_rows: int, number: int) -> tuple[list[ParquetPartition], int]:
    """Runs of row groups with no more rows than that, unless one group has more; and the rows in all."""
    with naming_file(path, "parquet"):
        stamp = stamp_of(path)
        metadata = parquet_file(Path(path)).metadata
    sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    runs: list[tuple[int, int, int]] = []
    first = first_row = rows = 0
    for group, n_rows in enumerate(sizes):
        if rows and rows + n_rows > most_rows:
            runs.append((first, group, first_row))
            first, first_row, rows = group, first_row + rows, 0
        rows += n_rows
    runs.append((first, len(sizes), first_row))
    made = [
        ParquetPartition(number + place, path, stamp, (start, stop), row, len(runs) == 1)
        for place, (start, stop, row) in enumerate(runs)
    ]
    return made, int(metadata.num_rows)
