"""CSV files as tables: a row of names, then numbers, truths and texts."""

from __future__ import annotations

import io
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.errors import DataFormatError, LinrankError
from linrank.reading.byte_source import check_unpacked
from linrank.reading.table_sources import (
    Batches,
    Column,
    ColumnType,
    ErrorMaker,
    TableSource,
    arrow_batches,
    require_pyarrow,
)

# Rows do not cross blocks: the widest row there may be.
_BLOCK_BYTES = 1 << 24
_COMPRESSED = {".gz": "gzip", ".zst": "zstd"}


def csv_source(path: Path, delimiter: str, texts: Collection[str | None]) -> TableSource:
    """A CSV file with a row of names: `texts` are columns of text, all others of numbers, or of true and false."""
    pa = require_pyarrow("Reading CSV")
    from pyarrow import csv

    parse = csv.ParseOptions(delimiter=delimiter)
    # One thread: only then do pyarrow's errors say the row.
    read = csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES)

    def error(message: str, row: int | None = None) -> DataFormatError:
        line = None if row is None else _line_of_row(path, delimiter, row)
        return DataFormatError(str(path), line, message)

    with _naming_rows(error, []), csv.open_csv(_opened(path), read, parse) as reader:
        schema = reader.schema
    if len(schema.names) == 1:
        problem = f"no {delimiter!r} in {schema.names[0]!r}. Say what separates the fields, such as delimiter=';'."
        raise error(problem, -1)
    text = ColumnType(None, "text")
    number, truth = ColumnType(np.dtype(np.float64), "number"), ColumnType(np.dtype(bool), "boolean")
    types = [text if field.name in texts else truth if field.type == pa.bool_() else number for field in schema]
    arrow_types = {text: pa.string(), number: pa.float64(), truth: pa.bool_()}

    def batches(columns: Sequence[int]) -> Batches:
        wanted = {schema.names[column]: arrow_types[types[column]] for column in columns}
        convert = csv.ConvertOptions(column_types=wanted, include_columns=list(wanted))
        row = 0
        with _naming_rows(error, schema.names), csv.open_csv(_opened(path), read, parse, convert) as reader:
            for batch in reader:
                for made in arrow_batches(batch, range(len(wanted)), empty_is_missing=True):
                    _refuse_infinite(made, list(wanted), error, row)
                    row += len(made[0].values)
                    yield made

    # The numbers of rows, as pandas and R write them beside the columns.
    index = frozenset({""})
    return TableSource(list(schema.names), types, batches, error, _as_written, index=index)


def _opened(path: Path) -> Any:
    """The bytes of a file as pyarrow reads them; of one compressed, no more than its size justifies."""
    pa = require_pyarrow("Reading CSV")
    form = _COMPRESSED.get(path.suffix.lower())
    if form is None:
        return pa.input_stream(str(path))
    return pa.PythonFile(io.BufferedReader(_Unpacking(path, form, pa)), mode="r")


class _Unpacking(io.RawIOBase):
    """A compressed file as pyarrow unpacks it, as far as that is what data becomes."""

    def __init__(self, path: Path, form: str, pa: Any) -> None:
        self._path, self._form, self._n_made = path, form, 0
        self._file = pa.OSFile(str(path))
        self._unpacked = pa.CompressedInputStream(self._file, form)

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any, /) -> int:
        made = self._unpacked.read(len(room))
        room[: len(made)] = made
        self._n_made += len(made)
        check_unpacked(str(self._path), self._form, self._file.tell(), self._n_made)
        return len(made)

    def close(self) -> None:
        self._file.close()
        super().close()


def _refuse_infinite(columns: list[Column], names: Sequence[str], error: ErrorMaker, first_row: int) -> None:
    """Refuse numbers too large for a float64, or written as infinite, as in every other text."""
    for column, name in zip(columns, names, strict=True):
        if column.values.dtype.kind == "f" and (infinite := np.isinf(column.values)).any():
            raise error(
                f"column {name!r} holds a number that is infinite, or too large for a float64. Mend it, or leave it "
                "empty where it is missing.",
                first_row + int(np.argmax(infinite)),
            )


def _as_written(ids: NDArray[Any]) -> NDArray[Any]:
    """The ids as whole numbers, if all are written as Python would write such a number of 64 bits."""
    if all(re.fullmatch(r"0|-?[1-9][0-9]{0,17}", str(text)) for text in ids.tolist()):
        return ids.astype(np.int64)
    return ids


@contextmanager
def _naming_rows(error: ErrorMaker, names: Sequence[str]) -> Iterator[None]:
    """Turn what pyarrow says about a row of a CSV file into an error that names line and column."""
    try:
        yield
    except ValueError as said:
        found = re.match(r"(?:In CSV column #(\d+): )?(?:CSV parse error: )?Row #(\d+): (.*)", str(said), re.DOTALL)
        if found is None or isinstance(said, LinrankError):
            raise
        column = f"column {names[int(found[1])]!r} " if found[1] else ""
        problem = re.sub(
            r"CSV conversion error to (\w+): invalid value ('.*')",
            lambda of: f"holds {of[2]}, which is {'neither true nor false' if of[1] == 'bool' else 'no number'}",
            found[3],
        )
        # pyarrow counts from 1, and the row of names too.
        raise error(
            f"{column}{problem}. Mend it, or choose the columns with features=[…] and docid=….", int(found[2]) - 2
        ) from None


def _line_of_row(path: Path, delimiter: str, row: int) -> int | None:
    """The line where a row of a CSV file starts: blank lines are no rows, and a quoted value may hold several."""
    import csv

    with io.TextIOWrapper(_opened(path), "utf-8", "replace", newline="") as text:
        rows = csv.reader(text, delimiter=delimiter)
        # The row of names comes before row 0.
        line, passed = 1, -1
        try:
            for fields in rows:
                if fields:
                    if passed == row:
                        return line
                    passed += 1
                line = rows.line_num + 1
        except csv.Error:
            # Python counts no further than a field of 128 KB, and its limit is that of the whole process.
            return None
    return None
