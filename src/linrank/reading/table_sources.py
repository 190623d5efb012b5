"""Tables of every kind, seen as one: named columns of known types, in batches of rows."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linrank.errors import DataFormatError, LinrankError, MissingDependencyError

# So that a batch of a hundred columns, turned into rows, stays in cache, and one of many thousands is not large.
_ROWS_AT_A_TIME = 1 << 14
_VALUES_AT_A_TIME = 1 << 21
# Pages and dictionaries of Parquet have a megabyte or little more, as they are usually written.
_PARQUET_COLUMN_BYTES = 3 << 20
_SMALL_FILE_BYTES = 1 << 26
# What pandas and Dask call the column of an index that has no name.
_NAMELESS_INDEX = re.compile(r"__index_level_[0-9]+__|__null_dask_index__")
_FORMS = {"parquet": "Parquet", "arrow": "Arrow", "csv": "CSV", "table": "a table"}


class ColumnType(NamedTuple):
    """The numpy type in which a column of numbers comes, None for any other column; and the type in its own words."""

    number: np.dtype[Any] | None
    shown: str


class Column(NamedTuple):
    """The values of a column for some rows, and where they are missing; NaN is missing too."""

    values: NDArray[Any]
    missing: NDArray[np.bool_] | None

    def is_missing(self) -> NDArray[np.bool_]:
        nan = np.isnan(self.values) if self.values.dtype.kind == "f" else np.zeros(len(self.values), dtype=bool)
        return nan if self.missing is None else nan | self.missing


Batches: TypeAlias = Iterator[list[Column]]


class ErrorMaker(Protocol):
    """Makes the error that names the table, and the row if the fault is in one."""

    def __call__(self, message: str, row: int | None = None) -> LinrankError: ...


def _error_in_memory(message: str, row: int | None = None) -> LinrankError:
    return LinrankError(message if row is None else f"row {row}: {message}")


@dataclass(frozen=True, slots=True)
class TableSource:
    """A table's columns, how to get batches of rows of some of them by position, and how to name what is wrong.

    `as_ids` makes query ids of the different values of a column, and `n_rows` is None where nobody knows.
    `n_bytes_held` is what reading all columns takes beside the batches. `index` names columns that were the index of
    the frame that was written.
    """

    names: list[Any]
    types: list[ColumnType]
    batches: Callable[[Sequence[int]], Batches]
    error: ErrorMaker = _error_in_memory
    as_ids: Callable[[NDArray[Any]], NDArray[Any]] = np.asarray
    n_rows: int | None = None
    n_bytes_held: int = 0
    index: frozenset[str] = frozenset()

    def is_index(self, name: Any) -> bool:
        """Whether a column was a frame's index, which numbers or names rows: no feature, unless it is asked for."""
        return name in self.index or _NAMELESS_INDEX.fullmatch(str(name)) is not None


def table_source(table: Any) -> TableSource:
    """The source for a table in memory, by what it is; no library is imported to find out."""
    kinds = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(table).__mro__}
    if ("pandas", "DataFrame") in kinds:
        return _pandas_source(table)
    if ("polars", "LazyFrame") in kinds:
        return _polars_source(table.collect())
    if ("polars", "DataFrame") in kinds:
        return _polars_source(table)
    if ("pyarrow", "Table") in kinds or ("pyarrow", "RecordBatch") in kinds:
        return _arrow_source(table)
    if hasattr(table, "__arrow_c_stream__"):
        return _arrow_source(require_pyarrow("Reading this table").table(table))
    raise LinrankError(
        f"a {type(table).__name__} is not a table; pass a pandas or polars DataFrame or an Arrow table, "
        "or use RankingDataset.from_arrays for arrays."
    )


def _rows_at_a_time(columns: Sequence[int]) -> int:
    return max(1, min(_ROWS_AT_A_TIME, _VALUES_AT_A_TIME // max(1, len(columns))))


def _pandas_source(frame: Any) -> TableSource:
    def batches(columns: Sequence[int]) -> Batches:
        step = _rows_at_a_time(columns)
        for start in range(0, len(frame), step):
            rows = frame.iloc[start : start + step]
            yield [_pandas_column(rows.iloc[:, column]) for column in columns]

    types = [ColumnType(_pandas_number(dtype), str(dtype)) for dtype in frame.dtypes]
    return TableSource(list(frame.columns), types, batches)


def _pandas_number(dtype: Any) -> np.dtype[Any] | None:
    if type(dtype).__name__ == "SparseDtype":
        dtype = dtype.subtype
    held = dtype if isinstance(dtype, np.dtype) else getattr(dtype, "numpy_dtype", None)
    return held if isinstance(held, np.dtype) and held.kind in "biuf" else None


def _pandas_column(series: Any) -> Column:
    number = _pandas_number(series.dtype)
    if isinstance(series.dtype, np.dtype) and number is not None:
        return Column(series.to_numpy(), None)
    missing = series.isna().to_numpy()
    if number is not None:
        # (Old pandas has nothing else for half floats of Arrow than NaN.)
        return Column(series.to_numpy(dtype=number, na_value=number.type(np.nan if number.kind == "f" else 0)), missing)
    return Column(np.asarray(series), missing)


def _polars_source(frame: Any) -> TableSource:
    def batches(columns: Sequence[int]) -> Batches:
        for rows in frame.iter_slices(_rows_at_a_time(columns)):
            yield [_polars_column(rows.to_series(column)) for column in columns]

    types = [ColumnType(_polars_number(dtype), str(dtype)) for dtype in frame.dtypes]
    return TableSource(list(frame.columns), types, batches)


def _polars_number(dtype: Any) -> np.dtype[Any] | None:
    if dtype.is_decimal() or str(dtype) == "Null":
        return np.dtype(np.float64)
    if str(dtype) == "Boolean":
        return np.dtype(bool)
    try:
        return np.dtype(str(dtype).lower()) if dtype.is_numeric() else None
    except TypeError:
        # 128-bit integers, which numpy does not have.
        return None


def _polars_column(series: Any) -> Column:
    import polars as pl

    missing = series.is_null().to_numpy() if series.null_count() else None
    number = _polars_number(series.dtype)
    if number is None:
        if isinstance(series.dtype, pl.Categorical | pl.Enum):
            series = series.cast(pl.String)
        return Column(series.to_numpy(), missing)
    if series.dtype.is_decimal() or series.dtype == pl.Null:
        series = series.cast(pl.Float64)
    return Column(series.fill_null(number.type(0).item()).to_numpy(), missing)


def _arrow_source(table: Any) -> TableSource:
    def batches(columns: Sequence[int]) -> Batches:
        return arrow_batches(table, columns)

    return TableSource(list(table.schema.names), _arrow_types(table.schema), batches, index=_index_of(table.schema))


def _index_of(schema: Any) -> frozenset[str]:
    """The columns of the index, by what pandas and Dask note beside a frame that they write."""
    try:
        noted = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
    except (ValueError, RecursionError):
        # Nothing is read by this note but which columns to leave out.
        return frozenset()
    index = noted.get("index_columns") if isinstance(noted, dict) else None
    # One that only counts has no column, and is described instead of named.
    return frozenset(name for name in index if isinstance(name, str)) if isinstance(index, list) else frozenset()


def arrow_batches(table: Any, columns: Sequence[int], *, empty_is_missing: bool = False) -> Batches:
    step = _rows_at_a_time(columns)
    for start in range(0, table.num_rows, step):
        rows = table.slice(start, step)
        yield [_arrow_column(rows.column(column), empty_is_missing) for column in columns]


def _arrow_types(schema: Any) -> list[ColumnType]:
    return [ColumnType(_arrow_number(field.type), str(field.type)) for field in schema]


def _arrow_number(kind: Any) -> np.dtype[Any] | None:
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_decimal(kind) or types.is_null(kind):
        return np.dtype(np.float64)
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        number: np.dtype[Any] = np.dtype(kind.to_pandas_dtype())
        return number
    return None


def _arrow_column(values: Any, empty_is_missing: bool = False) -> Column:
    import pyarrow as pa

    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    number = _arrow_number(values.type)
    missing = values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None
    if number is None:
        texts = values.to_numpy(zero_copy_only=False)
        return Column(texts, texts == "" if empty_is_missing else missing)
    if number == np.float64:
        # Decimals, and columns without any value.
        values = values.cast(pa.float64())
    if number.kind != "f":
        # Among floats null becomes NaN, and old pyarrow has nothing else for half floats.
        values = values.fill_null(number.type(0).item())
    return Column(values.to_numpy(zero_copy_only=False), missing)


def parquet_source(path: Path, row_groups: Sequence[int] | None = None, first_row: int = 0) -> TableSource:
    """A Parquet file, of which only the columns asked for are read, some rows at a time.

    Or some of its row groups, the first of which begins with `first_row`.
    """
    file = parquet_file(path)
    names = list(file.schema_arrow.names)

    def batches(columns: Sequence[int]) -> Batches:
        wanted = [names[column] for column in columns]
        for batch in file.iter_batches(_rows_at_a_time(columns), groups, columns=wanted):
            batch.validate(full=True)
            # By name: they come in the file's order, and a name may bring along those that go on after a dot.
            yield [_arrow_column(batch.column(name)) for name in wanted]

    metadata = file.metadata
    groups = list(range(metadata.num_row_groups) if row_groups is None else row_groups)
    types, error = _arrow_types(file.schema_arrow), _error_in_file(path, first_row)
    n_rows, n_bytes_held = sum(metadata.row_group(group).num_rows for group in groups), _held_bytes(metadata)
    index = _index_of(file.schema_arrow)
    return TableSource(names, types, batches, error, n_rows=n_rows, n_bytes_held=n_bytes_held, index=index)


def _held_bytes(metadata: Any) -> int:
    """What pyarrow holds of a Parquet file while it reads, at most: of every column a page, twice, and the dictionary.

    By the row groups alone: asked for a column's part of a damaged file, pyarrow ends the process.
    """
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    return max(
        (min(2 * group.total_byte_size, group.num_columns * _PARQUET_COLUMN_BYTES) for group in groups), default=0
    )


def parquet_table(path: Path, row_groups: Sequence[int], columns: Sequence[str]) -> Any:
    """Some row groups of a Parquet file as an Arrow table of some columns."""
    return parquet_file(path).read_row_groups(list(row_groups), columns=list(columns))


def parquet_file(path: Path) -> Any:
    """A Parquet file, opened."""
    require_pyarrow("Reading Parquet")
    from pyarrow import parquet

    # Else a whole row group is held in memory, compressed, beside the rows made of it. But a buffer grows to what a
    # page claims to be, which a small file cannot bear out.
    buffer_size = 1 << 16 if path.stat().st_size > _SMALL_FILE_BYTES else 0
    return parquet.ParquetFile(path, pre_buffer=False, buffer_size=buffer_size)


def arrow_file_source(path: Path) -> TableSource:
    """An Arrow IPC file, which is also Feather version 2, of which one batch at a time is read, and checked in full.

    It is not mapped into memory: what was checked could change, or go, under whoever computes with it.
    """
    pa = require_pyarrow("Reading Arrow files")
    with pa.OSFile(str(path)) as file:
        schema = pa.ipc.open_file(file).schema

    def batches(columns: Sequence[int]) -> Batches:
        # Other columns are not even decompressed; these come in the file's order.
        wanted = pa.ipc.IpcReadOptions(included_fields=sorted(columns))
        places = [sorted(columns).index(column) for column in columns]
        with pa.OSFile(str(path)) as held:
            file = pa.ipc.open_file(held, options=wanted)
            for number in range(file.num_record_batches):
                rows = file.get_batch(number)
                # Arrow follows the offsets and codes of a batch without looking where they lead.
                rows.validate(full=True)
                yield from arrow_batches(rows, places)

    error, index = _error_in_file(path), _index_of(schema)
    return TableSource(list(schema.names), _arrow_types(schema), batches, error, index=index)


def _error_in_file(path: Path, first_row: int = 0) -> ErrorMaker:
    def error(message: str, row: int | None = None) -> DataFormatError:
        return DataFormatError(str(path), None, message if row is None else f"row {first_row + row}: {message}")

    return error


@contextmanager
def naming_file(path: str | os.PathLike[str], form: str) -> Iterator[None]:
    """Let every error say which file it is about; `form` is what it is read as."""
    source = os.fspath(path)
    try:
        yield
    except (DataFormatError, MissingDependencyError):
        raise
    except OSError as error:
        reason = error.strerror or str(error).splitlines()[0]
        raise DataFormatError(source, None, f"cannot be read: {reason}. Check the path and the file.") from None
    except LinrankError as error:
        raise DataFormatError(source, None, str(error)) from None
    except Exception as error:
        if type(error).__module__.partition(".")[0] != "pyarrow" and not isinstance(error, UnicodeDecodeError):
            raise
        raise DataFormatError(
            source, None, f"is not {_FORMS[form]} that can be read ({str(error).splitlines()[0]})."
        ) from None


def release_memory() -> None:
    """Give back what pyarrow holds for batches to come."""
    require_pyarrow("Reading tables").default_memory_pool().release_unused()


def require_pyarrow(purpose: str) -> Any:
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingDependencyError("pyarrow", "arrow", purpose) from None
    return pa
