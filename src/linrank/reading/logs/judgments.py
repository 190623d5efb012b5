"""Judgements of documents from wherever they are kept: Quepid's CSV, RRE's JSON, TREC qrels, tables."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from linrank.errors import DataFormatError, LinrankError
from linrank.reading.column_roles import ColumnRoles
from linrank.reading.logs.json_records import parse_json, read_text
from linrank.reading.logs.rre import rre_judgments
from linrank.reading.read import format_of
from linrank.reading.table_sources import TableSource, naming_file, table_source
from linrank.reading.tables import file_source
from linrank.reading.trec import read_qrels
from linrank.strict_json import finite, finite_from_text

# What the three columns are called, in small letters without blanks, underscores and dashes.
_QUERY = ("query", "qid", "queryid", "querytext", "q", "keywords", "searchterm")
_DOCID = ("docid", "documentid", "doc", "document", "id", "productid")
_RATING = ("rating", "label", "grade", "relevance", "judgment", "judgement", "gain")


class Judged(NamedTuple):
    """One judgement as it is written, and the line or row it is on, if any."""

    line: int | None
    query: Any
    docid: Any
    rating: Any


@dataclass
class Judgments:
    """The labels of each query's documents; and what was there again, with another rating, or without one."""

    source: str
    labels: dict[str, dict[str, float]] = field(default_factory=dict)
    repeated: int = 0
    contradicting: list[tuple[str, str]] = field(default_factory=list)
    unrated: list[tuple[str, str]] = field(default_factory=list)

    def add_all(self, judged: Iterable[Judged]) -> Judgments:
        for one in judged:
            self._add(one)
        if not self.labels:
            raise DataFormatError(self.source, None, "judges no document. Check the path, and its columns.")
        return self

    def _add(self, one: Judged) -> None:
        query, docid = self._name(one, one.query, "query"), self._name(one, one.docid, "docid")
        if not query or not docid or _is_nothing(one.rating):
            self.unrated.append((query, docid))
            return
        label = finite_from_text(one.rating.strip()) if isinstance(one.rating, str) else finite(one.rating)
        if label is None:
            raise DataFormatError(
                self.source,
                one.line,
                f"the rating {one.rating!r} is not a finite number. Map ratings to numbers, the higher the better.",
            )
        documents = self.labels.setdefault(query, {})
        before = documents.get(docid)
        if before == label:
            self.repeated += 1
        elif before is not None:
            self.contradicting.append((query, docid))
        documents[docid] = label

    def _name(self, one: Judged, held: Any, what: str) -> str:
        if _is_nothing(held):
            return ""
        if isinstance(held, str | int) and not isinstance(held, bool):
            return str(held).strip() if what == "docid" else str(held)
        raise DataFormatError(
            self.source, one.line, f"the {what} {held!r} is neither a text nor a whole number. Save it as text."
        )


def read_judgments(judgments: Any, columns: Sequence[str] | None = None) -> Judgments:
    """Read judgements from a file, by what is in it, from a table, or from `{query: {docid: rating}}`.

    `columns` names the columns of the query, the document's id and the rating; by usual names unless told.
    """
    if columns is not None and (isinstance(columns, str) or len(columns) != 3):
        raise LinrankError(f"judgment_columns={columns!r}; name three: the query's, the document's and the rating's.")
    if isinstance(judgments, Mapping):
        return Judgments("the judgements").add_all(_of_mapping(judgments))
    if not isinstance(judgments, str | os.PathLike):
        return Judgments("the judgements").add_all(_of_table(table_source(judgments), columns))
    path = os.fspath(judgments)
    made = Judgments(path)
    form = format_of(path)
    if form in ("parquet", "arrow"):
        with naming_file(path, form):
            return made.add_all(_of_table(file_source(path, form, ColumnRoles()), columns))
    text = read_text(path, "text of judgements")
    if text.lstrip()[:1] in ("{", "["):
        return made.add_all(_of_json(path, parse_json(path, text), columns))
    if columns is None and _is_qrels(text):
        return made.add_all(_of_mapping(read_qrels(path)))
    if columns is None and _is_run(text):
        raise DataFormatError(path, None, "is a TREC run, and judges nothing. Give the judgements in its place.")
    return made.add_all(_of_csv(path, text, columns))


def _of_mapping(judged: Mapping[Any, Mapping[Any, Any]]) -> Iterator[Judged]:
    for query, documents in judged.items():
        for docid, rating in documents.items():
            yield Judged(None, query, docid, rating)


def _of_table(source: TableSource, columns: Sequence[str] | None) -> Iterator[Judged]:
    places = _places(source.names, columns, source.error)
    row = 0
    for batch in source.batches(places):
        held = [
            [None if gone else value for value, gone in zip(column.values.tolist(), column.is_missing(), strict=True)]
            for column in batch
        ]
        for query, docid, rating in zip(*held, strict=True):
            yield Judged(row, query, docid, rating)
            row += 1


def _of_json(path: str, value: Any, columns: Sequence[str] | None) -> Iterator[Judged]:
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        places = _places(list(value[0]), columns, lambda message: DataFormatError(path, None, message))
        names = [list(value[0])[place] for place in places]
        for row in value:
            yield Judged(None, *(row.get(name) for name in names))
    elif isinstance(value, dict) and ("topics" in value or "query_groups" in value):
        for query, docid, rating in rre_judgments(path, value):
            yield Judged(None, query, docid, rating)
    elif isinstance(value, dict) and value and all(isinstance(documents, dict) for documents in value.values()):
        yield from _of_mapping(value)
    else:
        raise DataFormatError(
            path,
            None,
            "is JSON, but neither ratings of RRE, nor a list of objects with query, docid and rating, nor "
            '{"query": {"docid": rating}}. Save the judgements as one of these, as CSV, or as qrels.',
        )


def _of_csv(path: str, text: str, columns: Sequence[str] | None) -> Iterator[Judged]:
    head = text.lstrip().partition("\n")[0]
    delimiter = max(",;\t", key=head.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        names = next((row for row in rows if row), [])
        places = _places(names, columns, lambda message: DataFormatError(path, rows.line_num, message))
        for row in rows:
            if row and len(row) != len(names):
                raise DataFormatError(
                    path,
                    rows.line_num,
                    f"{len(row)} fields instead of {len(names)}. Quote a field that holds {delimiter!r}.",
                )
            if row:
                yield Judged(rows.line_num, *(row[place] for place in places))
    except csv.Error as error:
        raise DataFormatError(path, rows.line_num, f"is not CSV ({error}). Mend the line.") from None


def _places(names: Sequence[Any], columns: Sequence[str] | None, refuse: Any) -> list[int]:
    """Where the columns of the query, the document and the rating are."""
    if columns is not None:
        for column in columns:
            if names.count(column) != 1:
                raise refuse(f"there is no one column {column!r}; the columns are {', '.join(map(repr, names))}.")
        return [names.index(column) for column in columns]
    plain = [re.sub(r"[\s_\-]", "", str(name)).lower() for name in names]
    places = []
    for what, known in (("query", _QUERY), ("document's id", _DOCID), ("rating", _RATING)):
        found = [place for place, name in enumerate(plain) if name in known]
        if len(found) != 1:
            fault = "several columns could be" if found else "no column is called like"
            raise refuse(
                f"{fault} the {what}; the columns are {', '.join(map(repr, names))}. "
                "Name all three with judgment_columns=…."
            )
        places += found
    return places


def _is_qrels(text: str) -> bool:
    fields = next((line.split() for line in text.splitlines() if line.strip()), [])
    return len(fields) == 4 and finite_from_text(fields[3]) is not None


def _is_run(text: str) -> bool:
    fields = next((line.split() for line in text.splitlines() if line.strip()), [])
    return len(fields) == 6 and None not in map(finite_from_text, fields[3:5])


def _is_nothing(held: Any) -> bool:
    return held is None or (isinstance(held, str) and not held.strip()) or held != held  # noqa: PLR0124 - NaN
