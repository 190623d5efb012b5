"""JSON as its standard has it, no key twice in an object, and numbers that are finite and written as it writes them."""

from __future__ import annotations

import json
import math
import re
from typing import Any

# Of letters beyond the first 65536 JSON writes two such halves; one alone cannot be written to any file or terminal.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_WRITTEN = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


def strict_json(text: str) -> Any:
    """What a text holds; a ValueError or a RecursionError says why it holds nothing."""
    value = json.loads(text, object_pairs_hook=object_of, parse_constant=_refuse_constant)
    if _SURROGATE.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("it holds half of a pair of surrogates, which is no letter") from None
    return value


def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of some pairs, of which none is there twice."""
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise ValueError(f"the key {name[:80]!r} is there twice")
        made[name] = value
    return made


def finite(value: Any) -> float | None:
    """A number of JSON as a float; None for what is no finite number, `true` among it."""
    if type(value) is float:
        return value if math.isfinite(value) else None
    if type(value) is not int:
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def finite_from_text(text: str) -> float | None:
    """A number as it is written, without what only Python takes for one; None for anything else."""
    if not _WRITTEN.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None


def _refuse_constant(word: str) -> float:
    raise ValueError(f"{word} is no number of JSON's")
