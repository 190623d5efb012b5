"""RankLib: a linear model as text, `1:0.3 2:0.5` below lines that begin with ##."""

from __future__ import annotations

import re
from dataclasses import replace

from linrank.importing.form import ForeignWeights, Form, Given

_LINEAR = ("Coordinate Ascent", "Linear Regression")
_NAME = re.compile(r"## (?P<number>[1-9][0-9]*) = (?P<name>.+)")


def _is_one(given: Given) -> bool:
    return given.text.startswith("##")


def _read(given: Given) -> ForeignWeights:
    read = read_text(given, given.text)
    names = _names(given)
    if not names:
        return read
    for number, weight in read.weight_of.items():
        if weight and number not in names:
            raise given.wrong(f"feature {number} has a weight and no line '## {number} = name'. Name all, or none.")
    # Without a name it has no weight, and is no feature of the model that was exported.
    named = {names[number]: weight for number, weight in read.weight_of.items() if number in names}
    return replace(read, weight_of=named)


def _names(given: Given) -> dict[str, str]:
    """The names that linrank's export tells in lines which RankLib skips."""
    names: dict[str, str] = {}
    seen: set[str] = set()
    for line, text in enumerate(given.text.splitlines(), start=1):
        found = _NAME.fullmatch(text)
        if found is None:
            continue
        if found["number"] in names or found["name"] in seen:
            raise given.wrong(f"a feature is named twice: {text[:60]!r}. Keep one.", line)
        names[found["number"]] = found["name"]
        seen.add(found["name"])
    return names


def read_text(given: Given, text: str, *, takes_names: bool = False) -> ForeignWeights:
    """The weights of such a text, by numbers from 1; by names too where they may be, as in the LTR plugin."""
    lines = text.splitlines()
    method = lines[0].removeprefix("##").strip() if lines else ""
    if not lines or not lines[0].startswith("##"):
        raise given.wrong("has no first line '## Coordinate Ascent' or '## Linear Regression'. Restore the file.", 1)
    if method not in _LINEAR:
        raise given.wrong(
            f"is a {method!r} model of RankLib's, which is not read as a weighted sum. RankLib's linear rankers are "
            f"{' and '.join(_LINEAR)} (-ranker 4 and 9).",
            1,
        )
    found: dict[str, float] | None = None
    for number, line in enumerate(lines[1:], start=2):
        # As RankLib reads it: the rest of a line after # is a remark.
        words = line.partition("#")[0].split()
        if not words:
            continue
        if found is not None:
            raise given.wrong("is a second line of weights, which RankLib ignores. Keep one.", number)
        found = _weights(given, words, number, takes_names)
    if not found:
        raise given.wrong("has no line of weights, such as 1:0.3 2:0.5. Restore the file.")
    # Linear Regression's constant, which changes no order.
    constant = {"shift": found.pop("0")} if "0" in found else {}
    return ForeignWeights(found, {"ranklib": method, **constant})


def _weights(given: Given, words: list[str], line: int, takes_names: bool) -> dict[str, float]:
    found: dict[str, float] = {}
    for word in words:
        name, colon, weight = word.rpartition(":")
        is_number = name.isascii() and name.isdecimal()
        if not colon or not name or not (is_number or takes_names):
            raise given.wrong(f"{word[:40]!r} is not feature:weight, such as 3:0.25. Restore the file.", line)
        # 07 is feature 7.
        name = (name.lstrip("0") or "0") if is_number else name
        if name in found:
            raise given.wrong(f"feature {name} is there twice. Keep one.", line)
        found[name] = given.number_in(weight, f"the weight of feature {name}", line)
    return found


RANKLIB = Form("ranklib", "RankLib's text: Coordinate Ascent or Linear Regression", _is_one, _read)
