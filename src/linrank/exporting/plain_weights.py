"""The weights alone, for programs of the user's own: as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from typing import ClassVar

from linrank.exporting.arithmetic import DOUBLE, Arithmetic
from linrank.exporting.engine import Accepts, Target
from linrank.exporting.weighted_sum import WeightedSum


def _no_name_is_wrong(name: str) -> None:  # noqa: ARG001 - of the kind of ProblemWithName
    return None


@dataclass(frozen=True)
class JSONWeights(Target):
    """`{"feature": weight, …}`."""

    name: ClassVar[str] = "json"
    title: ClassVar[str] = "JSON"
    ending: ClassVar[str] = "weights.json"
    accepts: ClassVar[Accepts] = Accepts(shift=False, problem_with_name=_no_name_is_wrong)
    arithmetic: ClassVar[Arithmetic] = DOUBLE
    run_by: ClassVar[str] = ""

    def write(self, ranking: WeightedSum) -> str:
        return json.dumps(ranking.weight_of, indent=1, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class CSVWeights(Target):
    """Lines `feature,weight` under a header."""

    name: ClassVar[str] = "csv"
    title: ClassVar[str] = "CSV"
    ending: ClassVar[str] = "weights.csv"
    accepts: ClassVar[Accepts] = Accepts(shift=False)
    arithmetic: ClassVar[Arithmetic] = DOUBLE
    run_by: ClassVar[str] = ""

    def write(self, ranking: WeightedSum) -> str:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(("feature", "weight"))
        writer.writerows((name, repr(weight)) for name, weight in ranking.weight_of.items())
        return text.getvalue()
