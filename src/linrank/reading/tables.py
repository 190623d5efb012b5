"""Tables, in memory or in files: named columns for the label and the query, the rest features."""

from __future__ import annotations

import os
from collections.abc import Callable
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Any, TypeVar

from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError
from linrank.reading.column_roles import ColumnRoles, IfThere
from linrank.reading.csv_tables import csv_source
from linrank.reading.gathered_columns import gather
from linrank.reading.table_sources import (
    TableSource,
    arrow_file_source,
    naming_file,
    parquet_source,
    table_source,
)

_Reader = TypeVar("_Reader", bound=Callable[..., RankingDataset])


def _takes_column_roles(reader: _Reader) -> _Reader:
    """Has the signature of a reader list what its **roles are, between the source and options of its own."""
    source, *own = (p for p in signature(reader).parameters.values() if p.kind is not Parameter.VAR_KEYWORD)
    roles = signature(ColumnRoles).parameters.values()
    reader.__signature__ = Signature([source, *roles, *own], return_annotation=RankingDataset)  # type: ignore[attr-defined]
    return reader


@_takes_column_roles
def from_table(table: Any, **roles: Any) -> RankingDataset:
    """Make a dataset of a table with one document a row.

    Parameters
    ----------
    table : pandas or polars DataFrame, polars LazyFrame, Arrow Table or RecordBatch
        Or anything else that offers itself as an Arrow stream.
    label : name of the column with the labels; None for documents that nobody has judged
    qid : name of the column with the query ids; None for documents that are all of one query
        Ids keep their type: whole numbers stay numbers, text stays text.
    features : names of the feature columns, in the order wanted
        All columns that have no other part, unless told; [] for judgements alone. The index of a frame is no feature,
        in a file as in memory, unless it is named here. They hold numbers or booleans; a whole number that a float64
        cannot hold exactly is refused, as an identifier rather than a quantity.
    docid : name of a column with document ids, kept as comments `docid = …`
    weight, query_weight : names of columns with weights; that of a query is the same in all of its rows
    missing : "error", "keep" (NaN), "query_min" or a number
        What stands for a value that is null or NaN. "query_min" is the least value of the feature within the query,
        0 where the whole query lacks it; LETOR's own "min" files hold 0 for some features instead.
    dtype : float32 or float64; float32 if every feature column is float32, otherwise float64, unless told

    Returns
    -------
    RankingDataset
        Features are dense, named as the columns.
    """
    columns = ColumnRoles(**roles)
    return gather(table_source(table), columns)


@_takes_column_roles
def read_parquet(path: str | os.PathLike[str], **roles: Any) -> RankingDataset:
    """Read a Parquet file, and of it only the columns needed; the options are those of `from_table`."""
    return _read_file(path, "parquet", roles)


@_takes_column_roles
def read_arrow(path: str | os.PathLike[str], **roles: Any) -> RankingDataset:
    """Read an Arrow IPC or Feather file; the options are those of `from_table`."""
    return _read_file(path, "arrow", roles)


@_takes_column_roles
def read_csv(path: str | os.PathLike[str], *, delimiter: str | None = None, **roles: Any) -> RankingDataset:
    """Read a CSV file that starts with a row of column names; the other options are those of `from_table`.

    Query ids are whole numbers if all of them are written as such, without leading zeros; otherwise they are text.
    An empty field is missing, as are NaN, NULL, NA and the like in a column of numbers.

    Parameters
    ----------
    delimiter : one character; a tab for files named `.tsv`, a comma for any other, unless told
    """
    return _read_file(path, "csv", roles, delimiter)


def _read_file(
    path: str | os.PathLike[str], form: str, roles: dict[str, Any], delimiter: str | None = None
) -> RankingDataset:
    columns = ColumnRoles(**roles)
    with naming_file(path, form):
        return gather(file_source(path, form, columns, delimiter), columns)


def file_source(
    path: str | os.PathLike[str], form: str, roles: ColumnRoles, delimiter: str | None = None
) -> TableSource:
    """A file with a table of the given form."""
    place = Path(path)
    if form == "parquet":
        return parquet_source(place)
    if form == "arrow":
        return arrow_file_source(place)
    separator = ("\t" if ".tsv" in place.suffixes else ",") if delimiter is None else delimiter
    if len(separator) != 1 or not separator.isascii() or separator in '\r\n"':
        raise LinrankError(f"delimiter={separator!r} cannot separate fields; use one character, such as ';'.")
    texts = {name.name if isinstance(name, IfThere) else name for name in (roles.qid, roles.docid)}
    return csv_source(place, separator, texts)
