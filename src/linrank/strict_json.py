"""JSON as its standard has it, no key twice in an object, and numbers that are finite and written as it writes them."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

# Of letters beyond the first 65536 JSON writes two such halves; one alone cannot be written to any file or terminal.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
# Of a list that may have a million: their text is little memory.
_ITEMS_AT_A_TIME = 1 << 14
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


Listed: TypeAlias = Callable[[Any, str], str]


def written_json(value: Any, *, indented: bool, listed: Listed | None = None, depth: int = 0) -> Iterator[str]:
    """`json.dumps` of a value, piece by piece: indented by 1; or without blanks, in ASCII, the keys in order.

    Python indents in Python, a number at a time. Here long lists, which may be arrays, are written in parts by its
    encoder in C, which is told what stands between two numbers. Who has something quicker for the numbers of an array,
    all finite, passes it as `listed`: it is called with them and with what stands between.
    """
    margin = f"\n{' ' * depth}" if indented else ""
    first, colon = f"{margin} " if indented else "", ": " if indented else ":"

    def whole(some: Any) -> str:
        return json.dumps(some, ensure_ascii=not indented, allow_nan=False, separators=("," + first, colon))

    if isinstance(value, Mapping) and value:
        before = "{" + first
        for name in value if indented else sorted(value):
            yield before + whole(name) + colon
            yield from written_json(value[name], indented=indented, listed=listed, depth=depth + 1)
            before = "," + first
        yield margin + "}"
    elif not isinstance(value, str) and hasattr(value, "__len__") and len(value):
        before = "[" + first
        for start in range(0, len(value), _ITEMS_AT_A_TIME):
            some = value[start : start + _ITEMS_AT_A_TIME]
            if listed is not None and hasattr(some, "tolist"):
                yield before + listed(some, "," + first)
                before = "," + first
                continue
            some = some.tolist() if hasattr(some, "tolist") else list(some)
            if {dict, list, tuple}.isdisjoint(map(type, some)):
                yield before + whole(some)[1:-1]
                before = "," + first
                continue
            for item in some:
                yield before
                yield from written_json(item, indented=indented, listed=listed, depth=depth + 1)
                before = "," + first
        yield margin + "]"
    else:
        yield whole(value.tolist() if hasattr(value, "tolist") else value)
