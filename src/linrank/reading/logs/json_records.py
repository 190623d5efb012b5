"""A file of JSON as records: one a line, or documents of any number of lines one after the other."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Any, NamedTuple

from linrank.errors import DataFormatError
from linrank.reading.byte_source import ByteSource
from linrank.reading.logs.form import LogFault
from linrank.strict_json import object_of

_LONG_LINE = "Write one response or hit a line."


class Record(NamedTuple):
    """A JSON value, and the line of the file that it starts on."""

    line: int
    value: Any


class RepeatedKeys(dict[str, Any]):
    """An object of which a key is there twice, so that nobody can say what it holds.

    Refused where it is used, and only there: some engines name the terms of a facet twice.
    """

    key = ""


def read_records(
    path: str | os.PathLike[str], progress: Callable[[int, int | None], None] | None = None
) -> Iterator[Record]:
    """Yield the values of a file, plain, gzip or zstd; of JSON lines only one is held at a time."""
    name = os.fspath(path)
    with ByteSource(name, form="JSON") as source:
        lines = (
            (number, line)
            for number, line in enumerate(source.lines(_LONG_LINE, progress), start=1)
            if line and not line.isspace()
        )
        first = list(islice(lines, 1))
        if not first:
            raise DataFormatError(name, None, "holds no JSON, only blanks. Check how it was written.")
        if _is_whole(first[0][1]):
            for number, line in chain(first, lines):
                yield Record(number, _parsed(name, number, line, _object))
        else:
            yield from _documents(name, chain(first, lines))


def read_text(path: str | os.PathLike[str], form: str) -> str:
    """All of a file's text, which is UTF-8, plain, gzip or zstd."""
    name = os.fspath(path)
    with ByteSource(name, form=form) as source:
        return "\n".join(_decoded(name, number, line) for number, line in enumerate(source.lines(_LONG_LINE), start=1))


def parse_json(name: str, text: str) -> Any:
    """The one value of a text, in which no key is there twice; `name` is named where it is none."""
    return _parsed(name, 1, text.encode(), object_of)


def refuse_repeated_keys(value: object) -> None:
    """Refuse an object with a key that is there twice."""
    if isinstance(value, RepeatedKeys):
        raise LogFault(f"the key {value.key!r} is there twice in one object; each is there once. Drop one.")


def _documents(name: str, lines: Iterator[tuple[int, bytes]]) -> Iterator[Record]:
    """Documents of several lines each, as engines write them for people to read."""
    numbers, texts = [], []
    for number, line in lines:
        numbers.append(number)
        texts.append(_decoded(name, number, line))
    text, place, row = "\n".join(texts), 0, 0
    decoder = json.JSONDecoder(object_pairs_hook=_object)
    while place < len(text):
        if text[place].isspace():
            row += text[place] == "\n"
            place += 1
            continue
        try:
            value, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            at = text.count("\n", 0, error.pos) if isinstance(error, json.JSONDecodeError) else row
            # Where a line is whole by itself, it is the one before that was cut off.
            at -= at > row and _is_whole(texts[at].encode())
            raise _not_json(name, numbers[at], error) from None
        yield Record(numbers[row], value)
        row += text.count("\n", place, end)
        place = end


def _is_whole(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return line.lstrip()[:1] in (b"{", b"[")


def _parsed(name: str, number: int, line: bytes, of_pairs: Callable[[list[tuple[str, Any]]], Any]) -> Any:
    try:
        return json.loads(_decoded(name, number, line), object_pairs_hook=of_pairs)
    except (ValueError, RecursionError) as error:
        if isinstance(error, DataFormatError):
            raise
        within = error.lineno - 1 if isinstance(error, json.JSONDecodeError) else 0
        raise _not_json(name, number + within, error) from None


def _decoded(name: str, number: int, line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        shown = line[max(0, error.start - 10) : error.end + 10]
        raise DataFormatError(name, number, f"{shown!r} is not UTF-8 text. Convert the file to UTF-8.") from None


def _not_json(name: str, number: int, error: Exception) -> DataFormatError:
    if isinstance(error, RecursionError):
        return DataFormatError(name, number, "is nested too deep to be an engine's response. Check how it was written.")
    said = f"{error.msg}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)
    return DataFormatError(
        name, number, f"is not JSON ({said}). A log is JSON lines, or saved responses. Mend or drop the line."
    )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    seen: set[str] = set()
    repeated = RepeatedKeys(made)
    repeated.key = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
    return repeated
