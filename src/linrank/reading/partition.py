"""A partition of data, which is row groups of a Parquet file or part of a Dask DataFrame, and how it is read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from linrank.dataset.applied_scaling import Scaling
from linrank.dataset.queries import Queries
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import scaled
from linrank.errors import DataFormatError, LinrankError
from linrank.files import stamp_of
from linrank.reading.column_roles import ColumnRoles
from linrank.reading.gathered_columns import gather
from linrank.reading.table_sources import TableSource, naming_file, parquet_source, parquet_table, table_source


class Partition(Protocol):
    """Rows that are read together; a `frame` is given where they are those of a Dask DataFrame."""

    @property
    def number(self) -> int:
        """Its place among all."""
        ...

    @property
    def first_row(self) -> int:
        """Of the rows of its file."""
        ...

    @property
    def file(self) -> str:
        """Partitions of the same file may share queries: where it was cut was not the user's choice."""
        ...

    def naming(self) -> AbstractContextManager[None]:
        """Let every error say which partition it is about."""
        ...

    def source(self, frame: Any) -> TableSource: ...

    def table(self, frame: Any, columns: Sequence[Any]) -> Any:
        """The rows as an Arrow table or a pandas DataFrame."""
        ...


@dataclass(frozen=True, slots=True)
class ParquetPartition:
    """Row groups of a Parquet file, from the first up to, not including, the last; `stamp` tells it from another."""

    number: int
    path: str
    stamp: tuple[int, int]
    row_groups: tuple[int, int]
    first_row: int
    is_whole: bool

    @property
    def file(self) -> str:
        return self.path

    def __str__(self) -> str:
        first, stop = self.row_groups
        return self.path if self.is_whole else f"{self.path} (row groups {first} to {stop - 1})"

    def naming(self) -> AbstractContextManager[None]:
        return naming_file(self.path, "parquet")

    def source(self, frame: Any) -> TableSource:  # noqa: ARG002
        self._check()
        return parquet_source(Path(self.path), range(*self.row_groups), self.first_row)

    def table(self, frame: Any, columns: Sequence[Any]) -> Any:  # noqa: ARG002
        self._check()
        return parquet_table(Path(self.path), range(*self.row_groups), columns)

    def _check(self) -> None:
        if stamp_of(self.path) != self.stamp:
            raise DataFormatError(self.path, None, "has changed since the training began. Begin again.")


@dataclass(frozen=True, slots=True)
class FramePartition:
    """A partition of a Dask DataFrame, by its number; whoever reads it is given it, computed."""

    number: int
    first_row: ClassVar[int] = 0

    @property
    def file(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return f"partition {self.number} of the Dask DataFrame"

    def naming(self) -> AbstractContextManager[None]:
        return naming_file(str(self), "table")

    def source(self, frame: Any) -> TableSource:
        return table_source(frame)

    def table(self, frame: Any, columns: Sequence[Any]) -> Any:
        return frame[list(columns)]


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows of a partition, as an Arrow table or a pandas DataFrame, and which they are of the file or partition."""

    number: int
    file: str
    table: Any
    rows: NDArray[np.int64]


@dataclass(frozen=True)
class PartitionReader:
    """How every partition becomes a dataset: which column plays which part, and how features are scaled.

    A query is whole in one partition: rows that are elsewhere are moved there. All rows of a partition, its own and
    those that arrive, are in the order of the whole data.
    """

    roles: ColumnRoles
    scaling: Scaling | None = None

    @property
    def columns(self) -> list[Any]:
        """The columns that are read."""
        return [*self.roles.named().values(), *(self.roles.features or ())]

    def query_ids(self, partition: Partition, frame: Any = None) -> NDArray[Any]:
        """The different query ids of a partition; no other column is read."""
        with partition.naming():
            return self._queries(partition.source(frame)).ids

    def leaving(self, partition: Partition, frame: Any, homes: Mapping[int, Collection[Any]]) -> dict[int, Piece]:
        """The rows of the queries that have their home elsewhere, for each such partition."""
        with partition.naming():
            table = partition.table(frame, self.columns)
            return {home: _piece(partition, table, self._are_of(table, queries)) for home, queries in homes.items()}

    def dataset(
        self,
        partition: Partition,
        frame: Any = None,
        gone: Collection[Any] = (),
        arriving: Sequence[Piece] = (),
        *,
        to_train: bool = True,
    ) -> RankingDataset:
        """The rows of a partition but those of queries that are `gone`, and those that arrive from others."""
        with partition.naming():
            if gone or arriving:
                table = partition.table(frame, self.columns)
                own = _piece(partition, table, ~self._are_of(table, gone))
                source = _joined(sorted([*arriving, own], key=lambda piece: piece.number))
            else:
                source = partition.source(frame)
            dataset = scaled(gather(source, self.roles), self.scaling)
            if to_train:
                try:
                    dataset.check_trainable()
                except LinrankError as error:
                    raise DataFormatError(str(partition), None, str(error)) from None
            return dataset

    def without_features(self) -> PartitionReader:
        """For who looks at the judgements alone."""
        return PartitionReader(replace(self.roles, features=[]))

    def scaled(self, scaling: Scaling | None) -> PartitionReader:
        return replace(self, scaling=scaling)

    def _are_of(self, table: Any, queries: Collection[Any]) -> NDArray[np.bool_]:
        there, wanted = self._queries(table_source(table)), set(queries)
        return np.array([query in wanted for query in there.ids.tolist()], dtype=bool)[there.of_rows()]

    def _queries(self, source: TableSource) -> Queries:
        return gather(source, ColumnRoles(label=None, qid=self.roles.qid, features=[])).queries


def _piece(partition: Partition, table: Any, chosen: NDArray[np.bool_]) -> Piece:
    """Some rows of a partition's table."""
    rows = table.filter(chosen) if hasattr(table, "schema") else table[chosen]
    return Piece(partition.number, partition.file, rows, partition.first_row + np.flatnonzero(chosen))


def _joined(pieces: Sequence[Piece]) -> TableSource:
    """The rows of all pieces, one after the other; an error names the row where it came from."""
    starts = np.cumsum([0, *(len(piece.rows) for piece in pieces)])

    def error(message: str, row: int | None = None) -> DataFormatError:
        if row is None:
            return DataFormatError(pieces[0].file, None, message)
        place = int(np.searchsorted(starts, row, side="right")) - 1
        piece = pieces[place]
        return DataFormatError(piece.file, None, f"row {piece.rows[row - starts[place]]}: {message}")

    tables = [piece.table for piece in pieces]
    if hasattr(tables[0], "schema"):
        import pyarrow as pa

        joined = pa.concat_tables(tables, promote_options="permissive")
    else:
        import pandas as pd

        joined = pd.concat(tables, ignore_index=True)
    return replace(table_source(joined), error=error)
