"""Tables, in memory or in files: named columns for the label and the query, the rest features."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from linrank.arrays import Offsets, Vector
from linrank.dataset.frames import remedy_for
from linrank.dataset.missing_rule import MissingRule, check_missing_rule
from linrank.dataset.queries import Queries
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.text_column import TextColumn
from linrank.errors import LinrankError
from linrank.reading.missing import fill_missing
from linrank.reading.table_sources import (
    Column,
    TableSource,
    arrow_file_source,
    csv_source,
    naming_file,
    parquet_source,
    table_source,
)


def from_table(
    table: Any,
    *,
    label: Any = "label",
    qid: Any = "qid",
    features: Sequence[Any] | None = None,
    docid: Any = None,
    weight: Any = None,
    query_weight: Any = None,
    missing: MissingRule = "error",
    dtype: DTypeLike | None = None,
) -> RankingDataset:
    """Make a dataset of a table with one document a row.

    Parameters
    ----------
    table : pandas or polars DataFrame, polars LazyFrame, Arrow Table or RecordBatch
        Or anything else that offers itself as an Arrow stream.
    label : name of the column with the labels; None for documents that nobody has judged
    qid : name of the column with the query ids; None for documents that are all of one query
        Ids keep their type: whole numbers stay numbers, text stays text.
    features : names of the feature columns, in the order wanted
        All columns that have no other part, unless told; [] for judgements alone. They hold numbers or booleans; a
        whole number that a float64 cannot hold exactly is refused, as an identifier rather than a quantity.
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
    roles = _Roles(label, qid, features, docid, weight, query_weight, missing, dtype)
    return _gather(table_source(table), roles)


def read_parquet(
    path: str | os.PathLike[str],
    *,
    label: str | IfThere | None = "label",
    qid: str | IfThere | None = "qid",
    features: Sequence[str] | None = None,
    docid: str | None = None,
    weight: str | None = None,
    query_weight: str | None = None,
    missing: MissingRule = "error",
    dtype: DTypeLike | None = None,
) -> RankingDataset:
    """Read a Parquet file, and of it only the columns needed; the options are those of `from_table`."""
    roles = _Roles(label, qid, features, docid, weight, query_weight, missing, dtype)
    with naming_file(path, "Parquet"):
        return _gather(parquet_source(Path(path)), roles)


def read_arrow(
    path: str | os.PathLike[str],
    *,
    label: str | IfThere | None = "label",
    qid: str | IfThere | None = "qid",
    features: Sequence[str] | None = None,
    docid: str | None = None,
    weight: str | None = None,
    query_weight: str | None = None,
    missing: MissingRule = "error",
    dtype: DTypeLike | None = None,
) -> RankingDataset:
    """Read an Arrow IPC or Feather file; the options are those of `from_table`."""
    roles = _Roles(label, qid, features, docid, weight, query_weight, missing, dtype)
    with naming_file(path, "Arrow"):
        return _gather(arrow_file_source(Path(path)), roles)


def read_csv(
    path: str | os.PathLike[str],
    *,
    label: str | IfThere | None = "label",
    qid: str | IfThere | None = "qid",
    features: Sequence[str] | None = None,
    docid: str | None = None,
    weight: str | None = None,
    query_weight: str | None = None,
    missing: MissingRule = "error",
    dtype: DTypeLike | None = None,
    delimiter: str | None = None,
) -> RankingDataset:
    """Read a CSV file that starts with a row of column names; the other options are those of `from_table`.

    Query ids are whole numbers if all of them are written as such, without leading zeros; otherwise they are text.
    An empty field is missing, as are NaN, NULL, NA and the like in a column of numbers.

    Parameters
    ----------
    delimiter : one character; a tab for files named `.tsv`, a comma for any other, unless told
    """
    roles = _Roles(label, qid, features, docid, weight, query_weight, missing, dtype)
    separator = ("\t" if ".tsv" in Path(path).suffixes else ",") if delimiter is None else delimiter
    if len(separator) != 1 or not separator.isascii() or separator in '\r\n"':
        raise LinrankError(f"delimiter={separator!r} cannot separate fields; use one character, such as ';'.")
    with naming_file(path, "CSV"):
        texts = {name.name if isinstance(name, IfThere) else name for name in (qid, docid)}
        dataset = _gather(csv_source(Path(path), separator, texts), roles)
    ids = _as_written(dataset.queries.ids)
    return replace(dataset, queries=replace(dataset.queries, ids=ids))


@dataclass(frozen=True, slots=True)
class IfThere:
    """The name of a column that a table may lack: it then has no part, as if None had been given."""

    name: Any


@dataclass(frozen=True, slots=True)
class _Roles:
    """Which column plays which part, as the caller said it."""

    label: Any
    qid: Any
    features: Sequence[Any] | None
    docid: Any
    weight: Any
    query_weight: Any
    missing: MissingRule
    dtype: DTypeLike | None

    def __post_init__(self) -> None:
        check_missing_rule(self.missing)
        if self.dtype is not None and np.dtype(self.dtype) not in (np.float32, np.float64):
            raise LinrankError(f"dtype={self.dtype!r} is not for features; use float32 or float64.")
        if isinstance(self.features, str):
            raise LinrankError(f"features={self.features!r} is one text; pass a list of names: [{self.features!r}].")

    def named(self) -> dict[str, Any]:
        """The columns with a part of their own, by the name of the part."""
        parts = {"label": self.label, "qid": self.qid, "docid": self.docid}
        parts |= {"weight": self.weight, "query_weight": self.query_weight}
        return {part: name for part, name in parts.items() if name is not None}


def _gather(source: TableSource, roles: _Roles) -> RankingDataset:
    gathering = _Gathering(source, roles)
    for columns in source.batches([*gathering.features, *gathering.parts.values()]):
        gathering.add(columns)
    return gathering.dataset()


class _Gathering:
    """Rows gathered from batches of columns: little more memory than the result takes."""

    def __init__(self, source: TableSource, roles: _Roles) -> None:
        self.source = source
        self.roles = roles
        positions = _Positions(source)
        self.parts = {
            part: positions.of(name.name if isinstance(name, IfThere) else name, f"{part}=")
            for part, name in roles.named().items()
            if not isinstance(name, IfThere) or name.name in source.names
        }
        self.features = positions.of_features(roles.features, self.parts)
        for part in self.parts.keys() - {"qid", "docid"}:
            _require_numbers(source, self.parts[part], f"the {part} column", "Map its values to numbers.")
        all_float32 = all(source.types[position].number == np.float32 for position in self.features)
        self._dtype = np.dtype(roles.dtype or (np.float32 if all_float32 else np.float64))
        self._row = 0
        self._blocks: list[NDArray[Any]] = []
        self._numbers: dict[str, list[Vector]] = {part: [] for part in self.parts if part not in ("qid", "docid")}
        self._ids = _QueryIds()
        self._docids: list[TextColumn] = []

    def add(self, columns: list[Column]) -> None:
        block = np.empty((len(columns[0].values), len(self.features)), dtype=self._dtype)
        for place, position in enumerate(self.features):
            self._put_numbers(columns[place], position, block[:, place])
        for (part, position), column in zip(self.parts.items(), columns[len(self.features) :], strict=True):
            self._refuse_missing(column, part, position)
            if part == "qid":
                self._ids.add(column.values)
            elif part == "docid":
                self._docids.append(self._comments(column.values, position))
            else:
                self._numbers[part].append(np.empty(len(block)))
                self._put_numbers(column, position, self._numbers[part][-1])
        self._blocks.append(block)
        self._row += len(block)

    def dataset(self) -> RankingDataset:
        numbers = {part: np.concatenate([np.empty(0), *pieces]) for part, pieces in self._numbers.items()}
        names = [str(self.source.names[position]) for position in self.features]
        if "qid" not in self.parts:
            self._ids.add(np.zeros(self._row, dtype=np.int64))
        queries = Queries.from_ids(self._ids.of_rows())
        dataset = RankingDataset.from_arrays(
            self._joined_blocks(),
            numbers.get("label"),
            qid=self._ids.of_rows(),
            feature_names=names,
            comments=TextColumn.joined(self._docids) if "docid" in self.parts else None,
            document_weights=numbers.get("weight"),
            query_weights=self._one_a_query(numbers["query_weight"], queries) if "query_weight" in numbers else None,
        )
        fill_missing(dataset.features, queries, self.roles.missing, names)
        return replace(dataset, queries=replace(queries, ids=self._ids.distinct()), missing=self.roles.missing)

    def _put_numbers(self, column: Column, position: int, out: NDArray[Any]) -> None:
        name = self.source.names[position]
        if column.values.dtype.kind in "iu" and column.values.dtype.itemsize == 8:
            inexact = _first_inexact(column.values)
            if inexact is not None:
                raise self.source.error(
                    f"column {name!r} holds {column.values[inexact]}, which a float64 cannot hold exactly: whole "
                    "numbers are exact up to 2**53. Leave the column out if it is an identifier; "
                    "otherwise turn it into float64 yourself.",
                    self._row + inexact,
                )
        try:
            with np.errstate(over="raise"):
                out[:] = column.values
        except FloatingPointError:
            raise self.source.error(
                f"column {name!r} holds a number too large for {out.dtype}. Use dtype=float64."
            ) from None
        if column.missing is not None:
            out[column.missing] = np.nan

    def _refuse_missing(self, column: Column, part: str, position: int) -> None:
        missing = column.is_missing()
        if missing.any():
            raise self.source.error(
                f"the {part} column {self.source.names[position]!r} has no value. Fill it or drop the row.",
                self._row + int(np.argmax(missing)),
            )

    def _comments(self, docids: NDArray[Any], position: int) -> TextColumn:
        texts = [
            value.decode(errors="replace") if isinstance(value, bytes) else str(value) for value in docids.tolist()
        ]
        for place, text in enumerate(texts):
            # Comments and TREC files end a document id at a space; a float is what a table makes of numbers and nulls.
            if not re.fullmatch(r"\S+", text, re.ASCII) or docids.dtype.kind == "f":
                raise self.source.error(
                    f"the docid column {self.source.names[position]!r} holds {docids[place]!r}; a document id is "
                    "one word or a whole number. Replace spaces by underscores, floats by whole numbers.",
                    self._row + place,
                )
        return TextColumn.from_texts(f"docid = {text}" for text in texts)

    def _joined_blocks(self) -> NDArray[Any]:
        joined = np.empty((self._row, len(self.features)), dtype=self._dtype)
        start = 0
        # Each block's memory is given back before the next is copied, so that there is one copy, not two.
        self._blocks.reverse()
        while self._blocks:
            block = self._blocks.pop()
            joined[start : start + len(block)] = block
            start += len(block)
        return joined

    def _one_a_query(self, weights: Vector, queries: Queries) -> Vector:
        grouped = queries.grouped(weights)
        firsts = grouped[queries.starts[:-1]]
        differing = np.flatnonzero(grouped != np.repeat(firsts, queries.sizes))
        if len(differing):
            query = int(np.searchsorted(queries.starts, differing[0], side="right")) - 1
            raise self.source.error(
                f"query {self._ids.distinct().tolist()[query]!r} has the weights {firsts[query]} and "
                f"{grouped[differing[0]]} in column {self.roles.query_weight!r}; a query has one weight. "
                "Use weight= for weights of documents."
            )
        return firsts


class _QueryIds:
    """The query ids of batches of rows, each kept once; rows hold their numbers, by first appearance."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._distinct: list[NDArray[Any]] = []
        self._of_rows: list[Offsets] = []

    def add(self, ids: NDArray[Any]) -> None:
        batch = Queries.from_ids(ids)
        known = len(self._numbers)
        found = [self._numbers.setdefault(value, len(self._numbers)) for value in batch.ids.tolist()]
        numbers = np.array(found, dtype=np.int64)
        self._distinct.append(batch.ids[numbers >= known])
        self._of_rows.append(numbers[batch.of_rows()])

    def of_rows(self) -> Offsets:
        return np.concatenate([np.empty(0, dtype=np.int64), *self._of_rows])

    def distinct(self) -> NDArray[Any]:
        return np.concatenate(self._distinct) if self._distinct else np.empty(0, dtype=np.int64)


class _Positions:
    """Where the columns are, by name."""

    def __init__(self, source: TableSource) -> None:
        self._source = source
        self._by_name: dict[Any, list[int]] = {}
        for position, name in enumerate(source.names):
            self._by_name.setdefault(name, []).append(position)

    def of(self, name: Any, option: str) -> int:
        found = self._by_name.get(name, [])
        if len(found) > 1:
            raise self._source.error(
                f"column {name!r} is there {len(found)} times; names must differ. Rename or drop one."
            )
        if not found:
            names = self._source.names
            shown = ", ".join(repr(other) for other in names[:20])
            more = f" and {len(names) - 20} more" if len(names) > 20 else ""
            near = difflib.get_close_matches(str(name), [str(other) for other in names], n=1)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            raise self._source.error(
                f"there is no column {name!r}; the columns are {shown}{more}. {hint}Name the right one with {option}…."
            )
        return found[0]

    def of_features(self, names: Sequence[Any] | None, parts: dict[str, int]) -> list[int]:
        """The features' columns: those named, or all that have no other part."""
        if names is None:
            features = [position for position in range(len(self._source.names)) if position not in parts.values()]
        else:
            features = [self.of(name, "features=") for name in names]
        if not features and names is None:
            raise self._source.error("there are no feature columns; a model needs at least one.")
        part_of: dict[int, str] = {}
        for part, position in [*parts.items(), *(("features", position) for position in features)]:
            if position in part_of:
                raise self._source.error(
                    f"column {self._source.names[position]!r} is given as {part_of[position]} and as {part}; "
                    "a column has one part. Name different columns."
                )
            part_of[position] = part
        for position in features:
            remedy = (
                f"{remedy_for(self._source.types[position].shown)}, or leave it out: choose the features with "
                "features=[…], or name document ids with docid=…."
            )
            _require_numbers(self._source, position, "column", remedy)
        return features


def _require_numbers(source: TableSource, position: int, what: str, remedy: str) -> None:
    if source.types[position].number is None:
        raise source.error(
            f"{what} {source.names[position]!r} is of type {source.types[position].shown}, not numbers. {remedy}"
        )


def _first_inexact(values: NDArray[Any]) -> int | None:
    """The place of the first whole number that no float64 equals."""
    large = np.flatnonzero((values > 2**53) | (values < -(2**53)) if values.dtype.kind == "i" else values > 2**53)
    return next((int(place) for place in large if int(values[place]) != float(values[place])), None)


def _as_written(ids: NDArray[Any]) -> NDArray[Any]:
    """The ids as whole numbers, if all are written as Python would write such a number of 64 bits."""
    if all(re.fullmatch(r"0|-?[1-9][0-9]{0,17}", str(text)) for text in ids.tolist()):
        return ids.astype(np.int64)
    return ids
