"""Form: how a file of another program is known, and read."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from linrank.cached import cached_property
from linrank.errors import DataFormatError
from linrank.strict_json import finite, finite_from_text, strict_json

# A hundred million weights take less: what is larger is no linear model, or has no end.
_MOST_BYTES = 1 << 32
_BYTES_AT_A_TIME = 1 << 20


@dataclass(frozen=True)
class ForeignWeights:
    """What a file of another program says, on features as they are given.

    Attributes
    ----------
    weight_of : each feature's weight by its name in the file, or by its number from 1, in the file's order
    facts : what else the file says: a name, a store, a solver
    """

    weight_of: dict[str, float]
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Form:
    """A kind of model file.

    Attributes
    ----------
    name : what it is asked for by
    says : what it is, for the help
    is_one : whether a file is of this kind, by its content
    read : the weights, or an error that says what the form cannot be
    """

    name: str
    says: str
    is_one: Callable[[Given], bool]
    read: Callable[[Given], ForeignWeights]


@dataclass(frozen=True)
class Given:
    """A file's text, what to call the file where something is wrong with it, and the hash of its bytes."""

    source: str
    text: str
    sha256: str = ""

    @classmethod
    def read_from(cls, path: str) -> Given:
        content = bytearray()
        try:
            with Path(path).open("rb") as file:
                while part := file.read(_BYTES_AT_A_TIME):
                    content += part
                    if len(content) > _MOST_BYTES:
                        raise DataFormatError(
                            path, None, f"is larger than {_MOST_BYTES:,} bytes. Name the file of a linear model."
                        )
        except OSError as error:
            raise DataFormatError(path, None, f"cannot be read: {error.strerror}. Check the path.") from None
        try:
            return cls(path, content.decode("utf-8-sig"), hashlib.sha256(content).hexdigest())
        except UnicodeDecodeError as error:
            raise DataFormatError(
                path, None, f"is not text: byte {error.start} is not UTF-8. Name the file of a linear model."
            ) from None

    def wrong(self, message: str, line: int | None = None) -> DataFormatError:
        return DataFormatError(self.source, line, message)

    @property
    def is_json(self) -> bool:
        return self.text.lstrip()[:1] in ("{", "[")

    @cached_property
    def document(self) -> Any:
        """What is in a file of JSON, in which nothing is said twice."""
        try:
            return strict_json(self.text)
        except json.JSONDecodeError as error:
            raise self.wrong(f"is not JSON: {error.msg}. Restore the file.", error.lineno) from None
        except RecursionError:
            raise self.wrong("is not a model: it is JSON within JSON without end. Restore the file.") from None
        except ValueError as error:
            raise self.wrong(f"is not JSON that can be trusted: {error}. Keep the one that is meant.") from None

    def object(self, value: Any, what: str) -> dict[str, Any]:
        """A part of the document that must be an object."""
        if not isinstance(value, dict):
            raise self.wrong(f"{what} is {_kind(value)}; it must be an object, {{…}}. Restore the file.")
        return value

    def list(self, value: Any, what: str) -> list[Any]:
        """A part of the document that must be a list."""
        if not isinstance(value, list):
            raise self.wrong(f"{what} is {_kind(value)}; it must be a list, […]. Restore the file.")
        return value

    def name(self, value: Any, what: str) -> str:
        """A part of the document that must be a text with something in it."""
        if not isinstance(value, str) or not value:
            raise self.wrong(f"{what} is {_kind(value)}; it must be a text. Restore the file.")
        return value

    def number(self, value: Any, what: str) -> float:
        """A part of the document that must be a finite number."""
        number = finite(value)
        if number is None:
            raise self.wrong(f"{what} is {_kind(value)}; it must be a finite number. Restore the file.")
        return number

    def number_in(self, text: str, what: str, line: int | None = None) -> float:
        """A number that is written as text, in ordinary digits."""
        number = finite_from_text(text)
        if number is None:
            raise self.wrong(f"{what} is {text[:40]!r}; it must be a finite number. Restore the file.", line)
        return number


def whole_number(text: str) -> int | None:
    """A number in ordinary digits alone; None for anything else, and for more digits than a count has."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None


def folded(given: Given, name: str, weight: float, scale: float) -> float:
    """The weight on the feature as it is, of one that is (x - a constant) / scale: constants change no order."""
    raw = weight / scale
    if not math.isfinite(raw) or (raw == 0) != (weight == 0):
        raise given.wrong(
            f"the weight of feature {name!r} is {weight:g} on values divided by {scale:g}: {raw} is out of the range "
            "of numbers. Give the feature in other units."
        )
    return raw


def only(given: Given, several: list[Any], what: str) -> Any:
    """The one thing of its kind that a file must hold."""
    if len(several) == 1:
        return several[0]
    called = [str(one.get("name", "")) for one in several if isinstance(one, dict)]
    named = f" ({', '.join(called[:8])}{', …' if len(called) > 8 else ''})" if any(called) else ""
    raise given.wrong(f"holds {len(several)} {what}{named}. Keep the one that is meant, in a file of its own.")


def _kind(value: Any) -> str:
    """A value in few words."""
    if value is None:
        return "not there"
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 1 << 1024:
        return "beyond all floats"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
