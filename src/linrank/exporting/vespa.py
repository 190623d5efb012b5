"""Vespa: a rank profile whose expression is the sum, over rank features by their own names."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import ClassVar

from linrank.errors import LinrankError
from linrank.exporting.arithmetic import DOUBLE_ANY_ORDER, Arithmetic
from linrank.exporting.curves import Words, plain_number
from linrank.exporting.engine import Accepts, Target, unusable_name
from linrank.exporting.weighted_sum import WeightedSum

_PHASES = ("first-phase", "second-phase", "global-phase")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PROFILE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
# Braces would end the block of the expression early.
_TEXT = re.compile(r'"(?:[^"\\{}]|\\["\\])*"')
_OUTPUT = re.compile(r"\.(?:[A-Za-z_][A-Za-z0-9_]*|[0-9]+)")
_ATTRIBUTE = re.compile(r"attribute\([A-Za-z_][A-Za-z0-9_.]*\)")
_QUERY = re.compile(r"query\([A-Za-z_][A-Za-z0-9_]*\)")
# Of the language of expressions: called with something, these are no rank features.
_FUNCTION = re.compile(
    r"(?:acosh?|asinh?|atan[2h]?|cosh?|sinh?|tanh?|abs|bit|ceil|elu|erf|exp|fabs|floor|fmod|hamming|if|in|isNan|ldexp|log|"
    r"log10|pow|relu|sigmoid|sqrt|argmax|argmin|avg|concat|count|diag|expand|f|join|map|matmul|max|median|merge|min|prod|"
    r"random|range|reduce|rename|softmax|sum|tensor)\("
)


def _end_of_feature(text: str, start: int) -> int | None:
    """Where a rank feature that begins in a text ends: name, name(argument,…), name(…).output; None if none begins."""
    name = _IDENTIFIER.match(text, start)
    if name is None or _FUNCTION.match(text, start):
        return None
    end = name.end()
    if text[end : end + 1] == "(":
        while True:
            argument = _end_of_argument(text, end + 1)
            if argument is None or text[argument : argument + 1] not in (",", ")"):
                return None
            end = argument
            if text[end] == ")":
                break
        end += 1
    while output := _OUTPUT.match(text, end):
        end = output.end()
    return end


def _end_of_argument(text: str, start: int) -> int | None:
    plain = _NUMBER.match(text, start) or _TEXT.match(text, start)
    return plain.end() if plain else _end_of_feature(text, start)


def _problem(name: str) -> str | None:
    # Deeper than any feature there is, and than Python likes to recurse.
    if name.count("(") > 50 or _end_of_feature(name, 0) != len(name):
        return "is no rank feature, such as bm25(title) or fieldMatch(title).proximity, nor a function of the profile's"
    return None


@dataclass(frozen=True)
class Vespa(Target):
    """A rank profile to put into a schema; the features are called what Vespa calls them, such as bm25(title).

    Parameters
    ----------
    profile : its name
    inherits : the profile it begins with
    phase : that it ranks in: "first-phase", "second-phase" or "global-phase"
    rerank_count : how many documents are ranked again, in the second phase by every node, in the global one in all
    wrap : what plain names stand for, with %s in the place of the name, such as attribute(%s)
    """

    name: ClassVar[str] = "vespa"
    title: ClassVar[str] = "Vespa"
    ending: ClassVar[str] = "profile"
    accepts: ClassVar[Accepts] = Accepts(curves=True, products=True, problem_with_name=_problem)
    arithmetic: ClassVar[Arithmetic] = DOUBLE_ANY_ORDER
    run_by: ClassVar[str] = "Vespa's evaluator of ranking expressions, without a server"

    profile: str = "linrank"
    inherits: str = "default"
    phase: str = "first-phase"
    rerank_count: int = 100
    wrap: str = ""

    def __post_init__(self) -> None:
        for setting in (self.profile, self.inherits):
            if not _PROFILE.fullmatch(setting):
                raise LinrankError(f"{setting!r} is no name of a rank profile: use letters, digits, _ and -.")
        if self.phase not in _PHASES:
            raise LinrankError(f"phase={self.phase!r}: there are {', '.join(_PHASES)}.")
        if self.wrap and (self.wrap.count("%s") != 1 or _problem(self.wrap.replace("%s", "name")) is not None):
            raise LinrankError(
                f"wrap={self.wrap!r}: write a rank feature with %s in the place of the name: attribute(%s)."
            )

    def prepare(self, ranking: WeightedSum) -> WeightedSum:
        if not self.wrap:
            return ranking
        names = tuple(self.wrap.replace("%s", name) if _IDENTIFIER.fullmatch(name) else name for name in ranking.names)
        for name, plain in zip(names, ranking.names, strict=True):
            if names.count(name) > 1:
                raise unusable_name(self.title, plain, f"is {name!r} as another feature is")
        return replace(ranking, names=names)

    def write(self, ranking: WeightedSum) -> str:
        lines = [f"rank-profile {self.profile} inherits {self.inherits} {{"]
        inputs = [name for name in ranking.names if _QUERY.fullmatch(name)]
        if inputs:
            declared = (f"        {name} double: {ranking.missing!r}" for name in inputs)
            lines += ["    inputs {", *declared, "    }"]
        lines.append(f"    {self.phase} {{")
        if self.phase != "first-phase":
            lines.append(f"        rerank-count: {self.rerank_count}")
        lines += [
            "        expression {",
            *(f"            {line}" for line in expression_lines(ranking)),
            "        }",
            "    }",
        ]
        lines += ["    match-features {", *(f"        {name}" for name in ranking.names), "    }", "}"]
        return "\n".join(lines) + "\n"

    def commands(self, ranking: WeightedSum, file: str) -> str:  # noqa: ARG002 - one signature for every engine
        return "\n".join(
            (
                f"# put {file} into schemas/NAME.sd, inside schema NAME {{ … }}, then",
                "vespa deploy",
                f"vespa query 'select * from sources * where userQuery()' query=… ranking={self.profile}",  # noqa: S608
            )
        )

    def notes(self, ranking: WeightedSum) -> tuple[str, ...]:
        return (
            f"an attribute that a document lacks counts as {ranking.missing:g}; other rank features are always there",
            "matchfeatures of every hit has the values that were ranked by: linrank fromlogs reads them",
        )


def expression_lines(ranking: WeightedSum) -> list[str]:
    """The sum, a term a line."""
    terms = []
    for weight, factors in ranking.terms():
        values = [_WORDS.value(curve, _value(name, ranking.missing)) for name, curve in factors]
        terms.append((weight, "".join(f" * {value}" for value in values)))
    if ranking.shift:
        terms.append((ranking.shift, ""))
    (first, of_first), *others = terms
    return [f"{first!r}{of_first}", *(f"{'-' if number < 0 else '+'} {abs(number)!r}{of}" for number, of in others)]


_WORDS = Words(
    plain_number, lambda x, threshold, below, otherwise: f"if ({x} < {threshold}, {below}, {otherwise})",
    lambda x: f"log({x})",
)  # fmt: skip


def _value(name: str, missing: float) -> str:
    # An attribute without a value is NaN, and would make the score NaN.
    return f"if (isNan({name}) == 1, {missing!r}, {name})" if _ATTRIBUTE.fullmatch(name) else name
