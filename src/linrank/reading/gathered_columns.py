"""Rows gathered from batches of a table's columns: little more memory than the dataset they become takes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector
from linrank.dataset.queries import Queries
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.text_column import TextColumn
from linrank.reading.column_roles import ColumnPositions, ColumnRoles, IfThere, require_numbers
from linrank.reading.missing import fill_missing
from linrank.reading.table_sources import Column, TableSource


def gather(source: TableSource, roles: ColumnRoles) -> RankingDataset:
    """The dataset of all rows of a table."""
    gathering = _Gathering(source, roles)
    for columns in source.batches([*gathering.features, *gathering.parts.values()]):
        gathering.add(columns)
    return gathering.dataset()


class _Gathering:
    def __init__(self, source: TableSource, roles: ColumnRoles) -> None:
        self.source = source
        self.roles = roles
        positions = ColumnPositions(source)
        self.parts = {
            part: positions.of(name.name if isinstance(name, IfThere) else name, f"{part}=")
            for part, name in roles.named().items()
            if not isinstance(name, IfThere) or name.name in source.names
        }
        self.features = positions.of_features(roles.features, self.parts)
        for part in self.parts.keys() - {"qid", "docid"}:
            require_numbers(source, self.parts[part], f"the {part} column", "Map its values to numbers.")
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


def _first_inexact(values: NDArray[Any]) -> int | None:
    """The place of the first whole number that no float64 equals."""
    large = np.flatnonzero((values > 2**53) | (values < -(2**53)) if values.dtype.kind == "i" else values > 2**53)
    return next((int(place) for place in large if int(values[place]) != float(values[place])), None)
