"""Rows gathered from batches of a table's columns: little more memory than the dataset they become takes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector
from linrank.dataset.checked_arrays import checked_labels, checked_names, checked_weights
from linrank.dataset.queries import Queries
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.row_files import Rows
from linrank.dataset.text_column import TextColumn
from linrank.memory import memory_bytes, size_in_words
from linrank.reading.column_roles import ColumnPositions, ColumnRoles, IfThere, require_numbers
from linrank.reading.missing import fill_missing, fill_rows
from linrank.reading.table_sources import Column, TableSource

# What the parts that are numbers, one a row, are called in a file.
_ARRAYS = {"label": "labels", "weight": "document_weights"}


def gather(source: TableSource, roles: ColumnRoles) -> RankingDataset:
    """The dataset of all rows of a table."""
    reader, ids = ColumnReader(source, roles), QueryIds()
    n_bytes = (source.n_rows or 0) * len(reader.names) * reader.dtype.itemsize
    if n_bytes > memory_bytes():
        raise source.error(
            f"{source.n_rows:,} rows of {len(reader.names)} features need about {size_in_words(n_bytes)}; there are "
            f"{size_in_words(int(memory_bytes()))} of memory. Train on it without loading it: linrank.scan."
        )
    batches = [reader.no_rows(), *(reader.rows(columns, ids) for columns in source.batches(reader.columns))]
    blocks = [batch.pop("features") for batch in batches]

    def joined(name: str) -> Any:
        return np.concatenate([batch[name] for batch in batches]) if name in batches[0] else None

    comments = [TextColumn(batch["comment_letters"], batch["comment_starts"]) for batch in batches if reader.has_docids]
    dataset = RankingDataset.from_arrays(
        _joined_blocks(blocks),
        joined("labels"),
        qid=joined("query"),
        feature_names=reader.names,
        comments=TextColumn.joined(comments) if comments else None,
        document_weights=joined("document_weights"),
        query_weights=reader.query_weights,
    )
    if roles.missing == "query_min":
        fill_missing(dataset.features, dataset.queries, roles.missing, reader.names)
    distinct = source.as_ids(ids.distinct())
    return replace(dataset, queries=replace(dataset.queries, ids=distinct), missing=roles.missing)


def feature_columns(source: TableSource, roles: ColumnRoles) -> tuple[list[Any], np.dtype[Any]]:
    """The columns that are features, and the type they are held in; no rows are read, and what cannot be is refused."""
    reader = ColumnReader(source, roles)
    return [source.names[position] for position in reader.columns[: len(reader.names)]], reader.dtype


class ColumnReader:
    """Makes rows, as arrays by the names they have in a `.linrank` file, of batches of a table's columns.

    `weights` are those of queries that came before, in other tables.
    """

    def __init__(self, source: TableSource, roles: ColumnRoles, weights: QueryWeights | None = None) -> None:
        self.source = source
        self.roles = roles
        positions = ColumnPositions(source)
        self._parts = {
            part: positions.of(name.name if isinstance(name, IfThere) else name, f"{part}=")
            for part, name in roles.named().items()
            if not isinstance(name, IfThere) or name.name in source.names
        }
        self._features = positions.of_features(roles.features, self._parts)
        for part in self._parts.keys() - {"qid", "docid"}:
            require_numbers(source, self._parts[part], f"the {part} column", "Map its values to numbers.")
        all_float32 = all(source.types[position].number == np.float32 for position in self._features)
        self.dtype = np.dtype(roles.dtype or (np.float32 if all_float32 else np.float64))
        self.names = (
            checked_names([str(source.names[position]) for position in self._features], len(self._features)) or ()
        )
        self.n_missing = 0
        self._row = 0
        self._query_weights = QueryWeights() if weights is None else weights

    @property
    def columns(self) -> list[int]:
        """The columns to read, by their positions."""
        return [*self._features, *self._parts.values()]

    @property
    def has_docids(self) -> bool:
        return "docid" in self._parts

    @property
    def query_weights(self) -> Vector | None:
        """Those of all queries so far."""
        return self._query_weights.of_queries if "query_weight" in self._parts else None

    def no_rows(self) -> Rows:
        """All arrays that rows have."""
        rows: Rows = {"features": np.empty((0, len(self._features)), dtype=self.dtype)}
        rows["query"] = np.empty(0, dtype=np.int64)
        rows |= {_ARRAYS[part]: np.empty(0) for part in self._parts if part in _ARRAYS}
        if self.has_docids:
            rows |= {"comment_starts": np.zeros(1, np.int64), "comment_letters": np.empty(0, np.uint8)}
        return rows

    def rows(self, columns: list[Column], ids: QueryIds) -> Rows:
        """The next rows, with the numbers of their queries; missing values are filled, but for "query_min"."""
        n_rows = len(columns[0].values)
        block = np.empty((n_rows, len(self._features)), dtype=self.dtype)
        for place, position in enumerate(self._features):
            self._put_numbers(columns[place], position, block[:, place])
        rows: Rows = {"features": block}
        for (part, position), column in zip(self._parts.items(), columns[len(self._features) :], strict=True):
            self._refuse_missing(column, part, position)
            if part == "qid":
                rows["query"] = ids.add(column.values)
            elif part == "docid":
                comments = self._comments(column.values, position)
                rows |= {"comment_starts": comments.starts, "comment_letters": comments.letters}
            else:
                self._put_numbers(column, position, numbers := np.empty(n_rows))
                rows[_ARRAYS.get(part, part)] = numbers
        if "query" not in rows:
            rows["query"] = ids.add(np.zeros(n_rows, dtype=np.int64))
        checked_labels(rows.get("labels"), n_rows, self._row)
        checked_weights(rows.get("document_weights"), n_rows, "document_weights", "row", self._row)
        fill_rows(block, self.roles.missing, self.names, self._row)
        if self.roles.missing == "query_min":
            self.n_missing += int(np.count_nonzero(np.isnan(block)))
        if "query_weight" in rows:
            self._query_weights.add(rows.pop("query_weight"), rows["query"], self, ids)
        self._row += n_rows
        return rows

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


def _joined_blocks(blocks: list[NDArray[Any]]) -> NDArray[Any]:
    joined = np.empty((sum(map(len, blocks)), blocks[0].shape[1]), dtype=blocks[0].dtype)
    start = 0
    # Each block's memory is given back before the next is copied, so that there is one copy, not two.
    blocks.reverse()
    while blocks:
        block = blocks.pop()
        joined[start : start + len(block)] = block
        start += len(block)
    return joined


class QueryIds:
    """The query ids of batches of rows, each kept once; rows have their numbers, by first appearance."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._distinct: list[NDArray[Any]] = []

    def add(self, ids: NDArray[Any]) -> Offsets:
        """The numbers of the queries of some more rows."""
        batch = Queries.from_ids(ids)
        known = len(self._numbers)
        found = [self._numbers.setdefault(value, len(self._numbers)) for value in batch.ids.tolist()]
        numbers = np.array(found, dtype=np.int64)
        self._distinct.append(batch.ids[numbers >= known])
        return numbers[batch.of_rows()]

    def __len__(self) -> int:
        return len(self._numbers)

    def distinct(self) -> NDArray[Any]:
        return np.concatenate(self._distinct) if self._distinct else np.empty(0, dtype=np.int64)


class QueryWeights:
    """One weight a query, which all of its rows say."""

    def __init__(self) -> None:
        self._room = np.empty(0)
        self._size = 0

    def add(self, weights: Vector, rows_queries: Offsets, reader: ColumnReader, ids: QueryIds) -> None:
        """What some more rows say; refuse a query that has two weights."""
        if len(self._room) < len(ids):
            self._room = np.concatenate((self.of_queries, np.empty(2 * len(ids) - self._size)))
        new = rows_queries >= self._size
        # Backwards: the first row of a query is the last to say its weight.
        self._room[rows_queries[new][::-1]] = weights[new][::-1]
        self._size = len(ids)
        differing = np.flatnonzero(self._room[rows_queries] != weights)
        if len(differing):
            row = differing[0]
            query = int(rows_queries[row])
            raise reader.source.error(
                f"query {ids.distinct().tolist()[query]!r} has the weights {self._room[query]} and {weights[row]} in "
                f"column {reader.roles.query_weight!r}; a query has one weight. Use weight= for weights of documents."
            )

    @property
    def of_queries(self) -> Vector:
        return self._room[: self._size]


def _first_inexact(values: NDArray[Any]) -> int | None:
    """The place of the first whole number that no float64 equals."""
    large = np.flatnonzero((values > 2**53) | (values < -(2**53)) if values.dtype.kind == "i" else values > 2**53)
    return next((int(place) for place in large if int(values[place]) != float(values[place])), None)
