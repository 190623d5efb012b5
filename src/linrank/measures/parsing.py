"""Reading measures from text: "ndcg(letor)@5", "ndcg@1,3,5,10 map p(rel=2)@10"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NoReturn

from linrank.errors import LinrankError
from linrank.measures.measures import FAMILIES, PARAMETERS, Measure, nearest

# What scores are measured by unless told.
DEFAULT_MEASURES = "ndcg@1,3,5,10 map mrr"

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?"
_TOKEN = re.compile(rf"\s*(?:(?P<number>{_NUMBER})|(?P<word>[a-z][\w-]*)|(?P<mark>[(),=@]))", re.IGNORECASE)

# Other names in use, beside the measures' own; capitals, hyphens and underscores make no difference.
_ALIASES = {"ap": "map", "precision": "p", "rr": "mrr", "tau": "kendall_tau"}


def parse_measure(text: str) -> Measure:
    """Read one measure, as `str(measure)` prints it: `name(definition, parameter=value)@cutoff`.

    Parameters
    ----------
    text : str
        Such as "ndcg@10", "ndcg(letor)@5" or "p(rel=2)@10"; capitals and blanks make no difference.
    """
    tokens = _Tokens(text)
    measure = _read_measure(tokens)
    if not tokens.at_end:
        tokens.fail("expected nothing more; parse_measures reads a list.")
    return measure


def parse_measures(text: str | Measure | Iterable[str | Measure]) -> tuple[Measure, ...]:
    """Read a list of measures, each kept once, in the order given.

    Parameters
    ----------
    text : str, Measure, or several of them
        Separated by commas or blanks; further cut-offs may follow the first: "ndcg@1,3,5,10 map p@10".
    """
    if isinstance(text, Measure):
        return (text,)
    if not isinstance(text, str):
        return tuple(dict.fromkeys(measure for part in text for measure in parse_measures(part)))
    tokens = _Tokens(text)
    measures = [_read_measure(tokens)]
    while not tokens.at_end:
        tokens.take_mark(",")
        if tokens.kind == "number" and measures[-1].cutoff is not None:
            measures.append(tokens.make(tokens.place, measures[-1], cutoff=_number(tokens.take("number", "a cut-off"))))
        else:
            measures.append(_read_measure(tokens))
    return tuple(dict.fromkeys(measures))


class _Tokens:
    """The words, numbers and marks of a text, taken one by one, with their places for the error messages."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._advance(0)

    def _advance(self, position: int) -> None:
        found = _TOKEN.match(self.text, position)
        self.kind = found.lastgroup if found else None
        self.value = found[self.kind] if found and self.kind else ""
        self._end = found.end() if found else position
        self.place = self._end - len(self.value)
        self.at_end = found is None and not self.text[position:].strip()

    def take(self, kind: str, expected: str) -> str:
        if self.kind != kind:
            self.fail(f"expected {expected}.")
        value = self.value
        self._advance(self._end)
        return value

    def take_mark(self, mark: str) -> bool:
        found = self.kind == "mark" and self.value == mark
        if found:
            self._advance(self._end)
        return found

    def fail(self, message: str, place: int | None = None) -> NoReturn:
        place = self.place if place is None else place
        rest = self.text[place:].strip()
        where = f", at {rest!r} (character {place + 1})" if rest else ", at its end"
        raise LinrankError(f"measure {self.text!r}{where if place else ''}: {message}") from None

    def make(self, place: int, measure: Measure, cutoff: Any, parameters: dict[str, Any] | None = None) -> Measure:
        """The measure with what was read, or its complaint with the place."""
        try:
            varied = measure(**parameters) if parameters else measure
            return varied if cutoff is None else varied @ cutoff
        except LinrankError as error:
            self.fail(str(error), place)


def _read_measure(tokens: _Tokens) -> Measure:
    place = tokens.place
    name = _measure_name(tokens)
    parameters = _read_parameters(tokens) if tokens.take_mark("(") else None
    cutoff = _number(tokens.take("number", "a cut-off after @, such as @10")) if tokens.take_mark("@") else None
    return tokens.make(place, Measure(name), cutoff, parameters)


def _measure_name(tokens: _Tokens) -> str:
    place = tokens.place
    text = tokens.take("word", "a measure, such as ndcg@10")
    names = {_plain(name): name for name in FAMILIES} | _ALIASES
    if _plain(text) not in names:
        tokens.fail(f"there is no measure {text!r}{nearest(text, FAMILIES)}", place)
    return names[_plain(text)]


def _plain(text: str) -> str:
    return text.lower().replace("_", "").replace("-", "")


def _read_parameters(tokens: _Tokens) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    while not tokens.take_mark(")"):
        if parameters and not tokens.take_mark(","):
            tokens.fail("expected a comma or a closing bracket.")
        place = tokens.place
        word = tokens.take("word", "a definition, or a parameter such as rel=2").lower()
        if tokens.take_mark("="):
            parameter = word
            value = (
                tokens.take("word", "").lower() if tokens.kind == "word" else _number(tokens.take("number", "a value"))
            )
        else:
            parameter, value = "definition", word
        if parameter not in PARAMETERS:
            tokens.fail(f"there is no parameter {parameter!r}{nearest(parameter, PARAMETERS)}", place)
        if parameter in parameters:
            tokens.fail(f"{parameter} is given twice; keep one.", place)
        parameters[parameter] = value
    return parameters


def _number(text: str) -> float:
    value = float(text)
    return int(value) if value.is_integer() else value
