"""Solr: the document transformer `[features]`, dense or sparse."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from linrank.reading.logs.form import NO_NUMBER, Form, LogFault
from linrank.strict_json import finite_from_text

_LETTERS = frozenset("0123456789.eE+-")


class Solr(Form):
    """A document of `response.docs` with `"[features]": "a=0.0,b=1.5"`; the sparse form leaves out default values."""

    list_key = "docs"

    def log_of(self, document: dict[str, Any], log: str | None) -> tuple[str, Any] | None:
        name = log or "[features]"
        return (f"Solr {name}", document[name]) if isinstance(document.get(name), str | dict) else None

    def id_of(self, document: dict[str, Any], field: str | None) -> Any:
        return document.get(field or "id")

    def fields_of(self, document: dict[str, Any]) -> list[str]:
        return list(document)

    def entries(self, held: Any) -> tuple[list[str], list[Any]]:
        if isinstance(held, dict):
            return list(held), list(held.values())
        pieces = held.split(",") if held else []
        if not all("=" in piece for piece in pieces):
            pieces = list(_with_commas_in_names(held))
        parts = [piece.rpartition("=") for piece in pieces]
        names = [name for name, _, _ in parts]
        return names, _floats(names, [number for _, _, number in parts])


def _with_commas_in_names(held: str) -> Iterator[str]:
    before = ""
    for piece in held.split(","):
        before += piece
        if "=" in piece:
            yield before
            before = ""
        else:
            before += ","
    if before:
        raise LogFault(
            f"{held[:60]!r} is not of the form name=value,name=value. Log with Solr's own separators, which "
            "csvKeyValueDelimiter and csvFeatureSeparator in solrconfig.xml change."
        )


def _floats(names: list[str], numbers: list[str]) -> list[float]:
    """The numbers as they are written; one that is none, or not finite, is refused by its feature's name."""
    # All at once, where no letter is there that only Python takes for part of a number.
    if _LETTERS.issuperset("".join(numbers)):
        with suppress(ValueError):
            values = list(map(float, numbers))
            if math.isfinite(sum(values)):
                return values
    for name, number in zip(names, numbers, strict=True):
        if finite_from_text(number) is None:
            raise LogFault(f"feature {name!r} is {number!r}, which is no finite number. {NO_NUMBER}")
    return list(map(float, numbers))
