"""The weights alone, for programs of the user's own: as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from typing import Any, ClassVar

from linrank.errors import LinrankError
from linrank.exporting.arithmetic import DOUBLE, Arithmetic
from linrank.exporting.curves import Curve
from linrank.exporting.engine import Accepts, Target
from linrank.exporting.weighted_sum import WeightedSum


def _no_name_is_wrong(name: str) -> None:  # noqa: ARG001 - of the kind of ProblemWithName
    return None


def _value(weight: float, factors: tuple[tuple[str, Curve | None], ...]) -> Any:
    """What is said of a feature, or of a product of two."""
    if len(factors) > 1:
        lines = [{"feature": name, **line.record()} for name, line in factors if line is not None]
        return {"weight": weight, "product": lines}
    ((_, curve),) = factors
    return weight if curve is None else {"weight": weight, **curve.record()}


@dataclass(frozen=True)
class JSONWeights(Target):
    """`{"feature": weight, …}`; with curves, `{"feature": {"weight": …, "knots": […], "values": […]}, …}`.

    A product is `"one * other": {"weight": …, "product": [{"feature": "one", "knots": […], "values": […]}, …]}`.
    """

    name: ClassVar[str] = "json"
    title: ClassVar[str] = "JSON"
    ending: ClassVar[str] = "weights.json"
    accepts: ClassVar[Accepts] = Accepts(shift=False, curves=True, products=True, problem_with_name=_no_name_is_wrong)
    arithmetic: ClassVar[Arithmetic] = DOUBLE
    run_by: ClassVar[str] = ""

    def write(self, ranking: WeightedSum) -> str:
        document: dict[str, Any] = {}
        for weight, factors in ranking.terms():
            key = " * ".join(name for name, _ in factors)
            if key in document:
                raise LinrankError(f"a feature is called {key!r}, as a product is. Name it otherwise: names=….")
            document[key] = _value(weight, factors)
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


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
