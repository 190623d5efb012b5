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
from linrank.reading.logs.responses import is_name
from linrank.reading.table_sources import Column, TableSource, naming_file, parquet_file, table_source
from linrank.strict_json import finite_from_text

_CSV = {".csv": ",", ".tsv": "\t"}
_PARQUET = (".parquet", ".pq")


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of equal length, by name, where they are from, and the line of each row where that is text.

    `index` are those that were the index of the frame that was written.
    """

    source: str
    columns: Mapping[str, NDArray[Any]]
    lines: Sequence[int] | None = None
    index: frozenset[str] = frozenset()

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
        name = self._required(names)
        values = self.columns[name]
        if values.dtype.kind in "iu":
            return values
        given = values.tolist()
        # Most ids are there again and again: each text is looked at once. (True and 1 would be one key.)
        texts = set(map(type, given)) == {str}
        bad = [value for value in (dict.fromkeys(given) if texts else given) if not is_name(value)]
        if bad:
            row = next(row for row, value in enumerate(given) if value is bad[0])
            said = f"{name} is {bad[0]!r}, which is neither a text nor a whole number. Save ids as text"
            raise self._fault(row, f"{said}, and drop rows without any.")
        made = np.empty(len(values), dtype=object)
        made[:] = given if texts else list(map(str, given))
        return made

    def numbers(self, names: Sequence[str]) -> NDArray[np.float64]:
        """A column of finite numbers, by one of these names in letters of any case."""
        return self.numbers_of(self._required(names))

    def numbers_of(self, name: str) -> NDArray[np.float64]:
        """The finite numbers of the column that has this very name."""
        values = self.columns[name]
        if values.dtype.kind in "iuf":
            made = values.astype(np.float64)
            if not np.isfinite(made).all():
                row = int(np.flatnonzero(~np.isfinite(made))[0])
                raise self._fault(row, f"{name} is {made[row]}, and no finite number. Mend or drop it.")
            return made
        made = np.empty(len(values))
        for row, value in enumerate(values.tolist()):
            number = finite_from_text(str(value).strip())
            if number is None:
                raise self._fault(row, f"{name} is {value!r}, and no finite number. Mend or drop it.")
            made[row] = number
        return made

    def told(self, what: str, row: int) -> str:
        """Something of a row with its place: the file and its line, or the number of the row from 1 on."""
        place = f"{self.source}:{self.lines[row]}" if self.lines is not None else f"{self.source}: row {row + 1}"
        return f"{place}: {what}"

    def _fault(self, row: int, message: str) -> LinrankError:
        if self.lines is not None:
            return DataFormatError(self.source, self.lines[row], message)
        return DataFormatError(self.source, None, f"row {row + 1}: {message}")

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
        made = {str(name): _array(column) for name, column in table.items()}
        shapes = {column.shape for column in made.values()}
        if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
            raise LinrankError("the table's columns are not of one length each. Give one value a row.")
        return Columns("the table", made)
    return _of_source("the table", table_source(table))


def _of_source(name: str, source: TableSource) -> Columns:
    """All rows of a table; a value that is missing is None."""
    names = [str(column) for column in source.names]
    if len(set(names)) < len(names):
        raise LinrankError(f"{name}: two columns are called {max(names, key=names.count)!r}. Name each once.")
    batches = list(source.batches(range(len(names))))
    made = {name: _joined([batch[place] for batch in batches]) for place, name in enumerate(names)}
    return Columns(name, made, index=frozenset(filter(source.is_index, names)))


def _joined(parts: Sequence[Column]) -> NDArray[Any]:
    if not parts:
        return np.empty(0, dtype=object)
    if all(part.missing is None for part in parts):
        return np.concatenate([part.values for part in parts])
    made = np.concatenate([part.values.astype(object) for part in parts])
    made[np.concatenate([part.is_missing() for part in parts])] = None
    return made


def _of_file(path: str) -> Columns:
    ending = Path(path).suffix
    if ending in _PARQUET:
        with naming_file(path, "parquet"):
            table = parquet_file(Path(path)).read()
            # Arrow follows offsets and codes without looking where they lead.
            table.validate(full=True)
            return _of_source(path, table_source(table))
    if ending not in _CSV:
        raise LinrankError(f"{path}: is no table that is known by its ending. Name it .csv, .tsv or .parquet.")
    text = io.StringIO(read_text(path, "a table"), newline="")
    reader = csv.reader(text, delimiter=_CSV[ending])
    try:
        (_, head), *rows = [(reader.line_num, row) for row in reader] or [(1, [])]
    except csv.Error as error:
        raise DataFormatError(path, None, f"is no CSV ({error}). Write it as CSV again.") from None
    if not head or len({name.strip() for name in head}) < len(head):
        raise DataFormatError(path, 1, "the first line has the names of the columns, each once. Add it.")
    columns: list[list[str]] = [[] for _ in head]
    rows = [(number, row) for number, row in rows if row]
    for number, row in rows:
        if len(row) != len(head):
            raise DataFormatError(path, number, f"{len(row)} fields instead of {len(head)}. Mend or drop the line.")
        for column, field in zip(columns, row, strict=True):
            column.append(field)
    made = {name.strip(): _texts(column) for name, column in zip(head, columns, strict=True)}
    # The numbers of rows, as pandas and R write them, have no name.
    return Columns(path, made, [number for number, _ in rows], frozenset({""}))


def _array(column: Any) -> NDArray[Any]:
    """A column of a mapping; where texts stand beside other things, each as it is given."""
    made = np.asarray(column)
    if made.ndim == 1 and made.dtype.kind == "U" and not isinstance(column, np.ndarray):
        return made if all(isinstance(value, str) for value in column) else _texts(list(column))
    return made


def _texts(values: list[Any]) -> NDArray[Any]:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made
