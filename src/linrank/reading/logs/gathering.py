"""The documents of all logs, as they come: rows of entries, held in arrays."""

from __future__ import annotations

import math
import os
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from linrank.errors import DataFormatError, LinrankError
from linrank.reading.logs.form import NO_NUMBER, LogFault
from linrank.reading.logs.json_records import Record, read_records, refuse_repeated_keys
from linrank.reading.logs.responses import (
    NAMED_BY_FILE,
    Found,
    QueryNames,
    Responses,
    failure_in,
    file_name,
    is_name,
)
from linrank.strict_json import finite

_STANDARD_INPUT = "/dev/stdin"
_ENDINGS = (".json", ".jsonl", ".ndjson", ".log")


class Place(NamedTuple):
    """Where a response stands."""

    source: str
    line: int


class Response(NamedTuple):
    """The names that documents of one file share, and where the first of them is."""

    names: QueryNames
    place: Place


class GatheredLogs:
    """All documents of the logs: document i is of response `response_of[i]`, and its entries are those from
    `starts[i]` to `starts[i + 1]`, each the number of a feature in `features` and a value.
    """

    def __init__(self, how: Responses, docid: str | None) -> None:
        self._how = how
        self._docid = docid
        self.n_files = 0
        self.responses: list[Response] = []
        self.forms: Counter[str] = Counter()
        self.features: dict[str, int] = {}
        self.response_of = array("q")
        self.docids: list[str] = []
        self.starts = array("q", [0])
        self.columns = array("i")
        self.values = array("d")
        # Responses and documents of which there is nothing to learn: by response, and with the document's id.
        self.empty: list[int] = []
        self.without_log: list[tuple[int, str]] = []
        self.failed: list[str] = []
        # Of the file that is read, the response that documents of these names belong to.
        self._numbers: dict[frozenset[tuple[str, str]], int] = {}

    def add_file(self, path: str, progress: Callable[[int, int | None], None] | None) -> None:
        first, records, together = len(self.responses), 0, True
        self._numbers = {}
        for record in read_records(path, progress):
            records += 1
            # After it: what is wrong with a record is found, and said with its place, where it is added.
            self._add(record, path)
            together = together and self._how.stand_together(record.value)
        self.n_files += 1
        asked = self._how.query_from == NAMED_BY_FILE
        by_itself = self._how.query_from is None and records == 1 and together
        if (asked or by_itself) and path != _STANDARD_INPUT:
            for response in self.responses[first:]:
                response.names[NAMED_BY_FILE] = file_name(path)

    def _add(self, record: Record, source: str) -> None:
        failed = True
        for found in self._how.documents(record, source):
            failed = False
            key = frozenset(found.names.items())
            number = self._numbers.get(key)
            if number is None:
                number = self._numbers[key] = len(self.responses)
                self.responses.append(Response(dict(found.names), Place(source, record.line)))
            try:
                self._add_document(found, number)
            except LogFault as fault:
                raise DataFormatError(source, record.line, str(fault)) from None
        if failed:
            self.failed.append(f"{source}:{record.line}: {failure_in(record.value)}")

    def _add_document(self, found: Found, response: int) -> None:
        if found.document is None:
            self.empty.append(response)
            return
        docid = self._id_of(found)
        if found.log is None:
            self.without_log.append((response, docid))
            return
        kind, held = found.log
        refuse_repeated_keys(held)
        names, values = found.form.entries(held)
        if len(set(names)) < len(names):
            twice = Counter(names).most_common(1)[0][0]
            raise LogFault(
                f"feature {twice!r} is there twice for document {docid!r}; each is there once. "
                "Give the features of the store names of their own."
            )
        columns: list[Any] = list(map(self.features.get, names))
        if None in columns:
            columns = list(map(self._column_of, names))
        # Mostly all are there, and floats; what is not is looked at one by one.
        if set(map(type, values)) != {float} or not math.isfinite(sum(values)):
            there = [place for place, value in enumerate(values) if value is not None]
            columns = [columns[place] for place in there]
            values = [_number(values[place], names[place], docid) for place in there]
        self.columns.extend(columns)
        self.values.extend(values)
        self.forms[kind] += 1
        self.response_of.append(response)
        self.docids.append(docid)
        self.starts.append(len(self.columns))

    def _column_of(self, name: str) -> int:
        column = self.features.get(name)
        if column is None:
            if not is_name(name):
                raise LogFault(f"a feature is called {name!r}. Give it a name in the engine's feature store.")
            column = self.features[name] = len(self.features)
        return column

    def _id_of(self, found: Found) -> str:
        document = found.document or {}
        held = found.form.id_of(document, self._docid)
        if isinstance(held, list) and len(held) == 1:
            held = held[0]
        if not is_name(held):
            there = ", ".join(map(repr, found.form.fields_of(document)[:12]))
            raise LogFault(
                f"a document has no id: {self._docid or 'its id'} is {held!r}. Ask the engine for it too (fl=id,…), "
                f"or say which field it is with docid=…; there are {there}."
            )
        docid = str(held)
        # Comments and TREC files end a document id at a space.
        if not re.fullmatch(r"\S+", docid, re.ASCII) or not docid.isprintable():
            raise LogFault(f"the document id {docid!r} is not one word. Name a field with others: docid=….")
        return docid


def log_files(
    logs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], judgments: Any
) -> tuple[list[str], list[str]]:
    """The files that logs are read from, folders being all logs in them by name, and what else the folders hold."""
    given = [logs] if isinstance(logs, str | os.PathLike) else list(logs)
    if not given:
        raise LinrankError("there are no logs; name files of responses, or a folder of them.")
    files: list[str] = []
    others: list[str] = []
    judged = Path(judgments).resolve() if isinstance(judgments, str | os.PathLike) else None
    for path in map(Path, given):
        if not path.is_dir():
            files.append(str(path))
            continue
        inside = [file for file in _files_in(path) if file.resolve() != judged]
        logs_inside = [str(file) for file in inside if _is_log(file)]
        if not logs_inside:
            raise LinrankError(f"{path}: this folder holds no {', '.join(_ENDINGS)} file. Name the files themselves.")
        files += logs_inside
        others += [str(file) for file in inside if not _is_log(file)]
    return files, others


def _files_in(folder: Path) -> Iterator[Path]:
    yield from (file for file in sorted(folder.rglob("*")) if file.is_file() and not file.name.startswith("."))


def _is_log(file: Path) -> bool:
    name = file.name.lower()
    return name.removesuffix(".gz").removesuffix(".zst").endswith(_ENDINGS)


def _number(given: Any, name: str, docid: str) -> float:
    value = finite(given)
    if value is None:
        raise LogFault(f"feature {name!r} of document {docid!r} is {given!r}, no finite number. {NO_NUMBER}")
    return value
