"""Qdrant: a formula over the payload of the points that a search brings."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from linrank.exporting.arithmetic import ROUNDED_DOUBLE_OF_FLOAT32_WEIGHTS, Arithmetic
from linrank.exporting.curves import Curve, Logarithm
from linrank.exporting.engine import Accepts, Target, curl, printable, unusable_name
from linrank.exporting.weighted_sum import WeightedSum

_SCORE = re.compile(r"\$score(\[[0-9]+\])?")
_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
_KEY = r'(?:[\w-]+|"[^"\\]+")'
_PATH = re.compile(rf"{_KEY}(?:\.{_KEY}|\[[0-9]+\])*")


def _problem(name: str) -> str | None:
    if "\\" in name:
        return "has a backslash, which no key of a formula can have"
    return printable(name)


def _curve(curve: Curve, x: str) -> dict[str, Any]:
    """What a curve makes of a variable: value_0 + sum of slope_k ((x within segment k) - knot_k) over segments."""
    if isinstance(curve, Logarithm):
        # Of what is above 0 and of what is below: there is no sign.
        above, below = ({"max": [side, 0.0]} for side in (x, {"neg": x}))
        logs = [{"ln": {"sum": [1.0, {"div": {"left": side, "right": curve.unit}}]}} for side in (above, below)]
        logged = {"sum": [logs[0], {"neg": logs[1]}]}
        return {"div": {"left": logged, "right": curve.scale}}
    terms: list[Any] = [float(curve.values[0])]
    for k, slope in enumerate(curve.slopes.tolist()):
        start, end = curve.knots[k : k + 2].tolist()
        terms.append({"mult": [slope, {"sum": [{"min": [{"max": [x, start]}, end]}, -start]}]})
    return {"sum": terms}


@dataclass(frozen=True)
class Qdrant(Target):
    """A query by formula: the points that `prefetch` brings, ordered by their payload.

    Parameters
    ----------
    collection : that is searched
    paths : whether names are paths into the payload, such as stats.clicks or "a key".part[0]; otherwise each is one key
    candidates : how many points are brought to be ordered
    url : of the server
    """

    name: ClassVar[str] = "qdrant"
    title: ClassVar[str] = "Qdrant"
    ending: ClassVar[str] = "qdrant.json"
    accepts: ClassVar[Accepts] = Accepts(curves=True, products=True, problem_with_name=_problem)
    arithmetic: ClassVar[Arithmetic] = ROUNDED_DOUBLE_OF_FLOAT32_WEIGHTS
    run_by: ClassVar[str] = "Qdrant's core"

    collection: str = "products"
    paths: bool = False
    candidates: int = 100
    url: str = "http://localhost:6333"

    def write(self, ranking: WeightedSum) -> str:
        variables = [self._variable(name) for name in ranking.names]
        terms: list[Any] = [
            {"mult": [weight, *(self._value(name, curve) for name, curve in factors)]}
            for weight, factors in ranking.terms()
        ]
        if ranking.shift:
            terms.append(ranking.shift)
        payload = [variable for variable in variables if not _SCORE.fullmatch(variable)]
        document: Mapping[str, Any] = {
            "prefetch": {"limit": self.candidates},
            "query": {"formula": {"sum": terms}, "defaults": dict.fromkeys(payload, ranking.missing)},
            "limit": self.candidates,
        }
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"

    def _value(self, name: str, curve: Curve | None) -> Any:
        variable = self._variable(name)
        return variable if curve is None else _curve(curve.rounded(), variable)

    def _variable(self, name: str) -> str:
        if _SCORE.fullmatch(name):
            return name
        if self.paths:
            if not _PATH.fullmatch(name):
                raise unusable_name(self.title, name, "is not a path into the payload (paths)")
            return name
        if '"' in name:
            raise unusable_name(self.title, name, "has a quotation mark, which no key of a formula can have")
        return name if _PLAIN.fullmatch(name) else f'"{name}"'

    def commands(self, ranking: WeightedSum, file: str) -> str:  # noqa: ARG002 - one signature for every engine
        at = f"{self.url}/collections/{self.collection}/points/query"
        asked = curl("-X", "POST", at, "-H", "Content-Type: application/json", "--data-binary", f"@{file}")
        return f"# prefetch is yours to fill: the search whose points are ordered\n{asked}"

    def notes(self, ranking: WeightedSum) -> tuple[str, ...]:
        newer = ("curves need a Qdrant whose formulas have max and min",) if ranking.curves else ()
        return (
            *newer,
            f"a key that a point lacks counts as {ranking.missing:g}; null, a text or several values are an error",
            "as it is, prefetch brings any points: put your own search there (query, filter, using)",
        )
