"""Qdrant: a formula over the payload of the points that a search brings."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from linrank.exporting.arithmetic import ROUNDED_DOUBLE_OF_FLOAT32_WEIGHTS, Arithmetic
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
    accepts: ClassVar[Accepts] = Accepts(problem_with_name=_problem)
    arithmetic: ClassVar[Arithmetic] = ROUNDED_DOUBLE_OF_FLOAT32_WEIGHTS
    run_by: ClassVar[str] = "Qdrant's core"

    collection: str = "products"
    paths: bool = False
    candidates: int = 100
    url: str = "http://localhost:6333"

    def write(self, ranking: WeightedSum) -> str:
        variables = {self._variable(name): weight for name, weight in ranking.weight_of.items()}
        terms: list[Any] = [{"mult": [weight, variable]} for variable, weight in variables.items()]
        if ranking.shift:
            terms.append(ranking.shift)
        payload = [variable for variable in variables if not _SCORE.fullmatch(variable)]
        document: Mapping[str, Any] = {
            "prefetch": {"limit": self.candidates},
            "query": {"formula": {"sum": terms}, "defaults": dict.fromkeys(payload, ranking.missing)},
            "limit": self.candidates,
        }
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"

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
        return (
            f"a key that a point lacks counts as {ranking.missing:g}; null, a text or several values are an error",
            "as it is, prefetch brings any points: put your own search there (query, filter, using)",
        )
