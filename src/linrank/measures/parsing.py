"""Reading measures from text: "ndcg(letor)@5", "ndcg@1,3,5,10 map p(rel=2)@10"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NoReturn

from linrank.errors import LinrankError
from linrank.measures.measures import FAMILIES, PARAMETERS, Measure, nearest

_TOKEN = re.compile(r"\s*(?:(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)|(?P<word>[a-z][\w-]*)|(?P<mark>[(),=@]))", re.I)

# Other names in use, beside the measures' own; capitals, hyphens and underscores make no difference.
_ALIASES = {"ap": "map", "precision": "p", "rr": "mrr", "tau": "kendall_tau", "winner_takes_all": "wta"}


def parse_measure(text: str) -> Measure:
    """Read one measure: `name`, `name@cutoff`, `name(definition, parameter=value)@cutoff`, as `str(measure)` prints it.

    Parameters
    ----------
    text : str
        Such as "ndcg@10", "ndcg(letor)@5" or "p(rel=2)@10"; capitals and blanks make no difference.
    """
    tokens = _Tokens(text)
    measure = _read_measure(tokens)
    if not tokens.at_end:
        tokens.fail("expected nothing more here; use parse_measures for a list")
    return measure


def parse_measures(text: str | Measure | Iterable[str | Measure]) -> tuple[Measure, ...]:
    """Read a list of measures, each once, in the order given.

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
    measures: list[Measure] = []
    while not tokens.at_end:
        if tokens.kind == "number":
            if not measures or measures[-1].cutoff is None:
                tokens.fail("a cut-off must follow a measure with one, as in ndcg@1,3,5")
            measures.append(measures[-1] @ _read_cutoff(tokens))
        else:
            measures.append(_read_measure(tokens))
        if tokens.take_mark(",") and tokens.at_end:
            tokens.fail("expected a measure after the comma")
    if not measures:
        tokens.fail("expected at least one measure, such as ndcg@10")
    return tuple(dict.fromkeys(measures))


class _Tokens:
    """The words, numbers and marks of a text, read one by one, with the place for an error message."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._position = 0
        self._read()

    def _read(self) -> None:
        found = _TOKEN.match(self.text, self._position)
        self.kind = found.lastgroup if found else None
        self.value = found[found.lastgroup] if found and found.lastgroup else ""
        self._start = found.start(found.lastgroup) if found and found.lastgroup else self._position
        self._next = found.end() if found else self._position
        self.at_end = found is None and not self.text[self._position :].strip()

    def take(self, kind: str, expected: str) -> str:
        if self.kind != kind:
            self.fail(f"expected {expected}")
        value = self.value
        self._position = self._next
        self._read()
        return value

    def take_mark(self, mark: str) -> bool:
        if self.kind != "mark" or self.value != mark:
            return False
        self.take("mark", mark)
        return True

    def fail(self, message: str, start: int | None = None) -> NoReturn:
        place = self._start if start is None else start
        rest = self.text[place:].strip()
        found = f"at {rest!r}" if rest else "at its end"
        raise LinrankError(f"measure {self.text!r}, {found} (character {place + 1}): {message}") from None

    @property
    def start(self) -> int:
        return self._start


def _read_measure(tokens: _Tokens) -> Measure:
    start = tokens.start
    name = _measure_name(tokens)
    parameters = _read_parameters(tokens, name) if tokens.take_mark("(") else {}
    try:
        measure = Measure(name, **parameters)
        return measure @ _read_cutoff(tokens) if tokens.take_mark("@") else measure
    except LinrankError as error:
        if str(error).startswith("measure "):
            raise
        tokens.fail(str(error), start)
