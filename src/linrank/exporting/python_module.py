"""A module of plain Python that needs nothing but an interpreter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from linrank.exporting.arithmetic import DOUBLE, Arithmetic
from linrank.exporting.engine import Accepts, Target
from linrank.exporting.weighted_sum import WeightedSum

_MODULE = '''\
"""A linear ranker: score(document) is higher for what should stand above. Written by linrank."""

WEIGHTS = {{
{weights}
}}
SHIFT = {shift!r}
# What a value counts that is None or NaN.
MISSING = {missing!r}


def score(document):
    """The score of a document: a mapping from the name of each feature in WEIGHTS to its value."""
    total = 0.0
    for name, weight in WEIGHTS.items():
        value = document[name]
        # NaN is the one number that differs from itself.
        total += weight * (MISSING if value is None or value != value else value)
    return total + SHIFT


def rank(documents):
    """The places of the documents, the best first; equal ones keep their order."""
    scores = [score(document) for document in documents]
    return sorted(range(len(scores)), key=lambda place: -scores[place])
'''


@dataclass(frozen=True)
class PythonModule(Target):
    """A Python module with `score(document)` and `rank(documents)`."""

    name: ClassVar[str] = "python"
    title: ClassVar[str] = "Python"
    ending: ClassVar[str] = "ranker.py"
    accepts: ClassVar[Accepts] = Accepts()
    arithmetic: ClassVar[Arithmetic] = DOUBLE
    run_by: ClassVar[str] = "a bare interpreter"

    def write(self, ranking: WeightedSum) -> str:
        weights = "\n".join(f"    {name!r}: {weight!r}," for name, weight in ranking.weight_of.items())
        return _MODULE.format(weights=weights, shift=ranking.shift, missing=ranking.missing)

    def notes(self, ranking: WeightedSum) -> tuple[str, ...]:
        return (f"None and NaN count as {ranking.missing:g}; a feature that a document lacks is a KeyError",)
