"""Columns: a small table by the names of its columns, from a CSV or Parquet file, a frame or a mapping of lists."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.errors import DataFormatError, LinrankError
from linrank.reading.logs.json_records import read_text
from linrank.reading.table_sources import require_pyarrow
from linrank.strict_json import finite_from_text

_CSV = {".csv": ",", ".tsv": "\t"}
_PARQUET = (".parquet", ".pq")


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of equal length, by name, and where they are from."""

    source: str
    columns: Mapping[str, NDArray[Any]]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def find(self, names: Sequence[str]) -> str | None:
        """The column that has one of these names, whatever its letters' case."""
        known = {name.strip().lower(): name for name in self.columns}
        return next((known[name] for name in names if name in known), None)

    def ids(self, names: Sequence[str]) -> NDArray[Any]:
        """A column of whole numbers, or of texts."""
        values = self.columns[self._required(names)]
        if values.dtype.kind in "iu":
            return values
        made = np.empty(len(values), dtype=object)
        made[:] = [str(value) for value in values.tolist()]
        return made

    def numbers(self, names: Sequence[str]) -> NDArray[np.float64]:
        """A column of finite numbers."""
        name = self._required(names)
        values = self.columns[name]
        if values.dtype.kind in "iuf":
            return values.astype(np.float64)
        made = np.empty(len(values))
        for row, value in enumerate(values.tolist()):
            number = finite_from_text(str(value).strip())
            if number is None:
                raise LinrankError(f"{self.source}: {name} is {value!r} in row {row + 1}, and no finite number.")
            made[row] = number
        return made

    def _required(self, names: Sequence[str]) -> str:
        found = self.find(names)
        if found is None:
            raise LinrankError(f"{self.source}: there is no column {names[0]}; there are {', '.join(self.names)}.")
        return found


def is_table_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a table, by its ending."""
    return Path(path).suffix in (*_CSV, *_PARQUET)


def is_table_in_memory(value: Any) -> bool:
    """Whether a value is a frame of pandas or polars, an Arrow table, or a mapping of columns."""
    if isinstance(value, Columns):
        return True
    if isinstance(value, Mapping):
        return bool(value) and all(isinstance(column, list | tuple | np.ndarray) for column in value.values())
    return hasattr(value, "columns") or hasattr(value, "column_names")


def columns_of(table: Any) -> Columns:
    """The columns of a file or of a table in memory."""
    if isinstance(table, Columns):
        return table
    if isinstance(table, str | os.PathLike):
        return _of_file(os.fspath(table))
    if isinstance(table, Mapping):
        return Columns("the table", {str(name): np.asarray(column) for name, column in table.items()})
    names = table.column_names if hasattr(table, "column_names") else list(table.columns)
    return Columns("the table", {str(name): np.asarray(table[name]) for name in names})


def _of_file(path: str) -> Columns:
    ending = Path(path).suffix
    if ending in _PARQUET:
        require_pyarrow("reading Parquet")
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(path)
        return Columns(path, {name: table[name].to_numpy() for name in table.column_names})
    if ending not in _CSV:
        raise LinrankError(f"{path}: is no table that is known by its ending. Name it .csv, .tsv or .parquet.")
    text = io.StringIO(read_text(path, "a table"), newline="")
    try:
        head, *rows = list(csv.reader(text, delimiter=_CSV[ending])) or [[]]
    except csv.Error as error:
        raise DataFormatError(path, None, f"is no CSV ({error}). Write it as CSV again.") from None
    if not head or len({name.strip() for name in head}) < len(head):
        raise DataFormatError(path, 1, "the first line has the names of the columns, each once. Add it.")
    columns: list[list[str]] = [[] for _ in head]
    for number, row in enumerate(rows, start=2):
        if not row:
            continue
        if len(row) != len(head):
            raise DataFormatError(path, number, f"{len(row)} fields instead of {len(head)}. Mend or drop the line.")
        for column, field in zip(columns, row, strict=True):
            column.append(field)
    return Columns(path, {name.strip(): _texts(column) for name, column in zip(head, columns, strict=True)})


def _texts(values: list[str]) -> NDArray[Any]:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made
