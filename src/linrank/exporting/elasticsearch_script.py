"""Elasticsearch and OpenSearch without a plugin: a script_score query over fields of the documents."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from linrank.errors import LinrankError
from linrank.exporting.arithmetic import ROUNDED_DOUBLE, Arithmetic
from linrank.exporting.curves import Piecewise, Words, plain_number
from linrank.exporting.engine import Accepts, Target, curl, printable
from linrank.exporting.weighted_sum import WeightedSum

_LANGUAGES = ("painless", "expression")
# The score of the query that finds the documents, to both languages.
_SCORE = "_score"
# A sum of thousands of terms overflows the stack of the compiler of expressions, and the server dies of that.
_LONGEST_SUM = 500
# `script.max_size_in_bytes`, unless it is set.
_LARGEST_SCRIPT = 65_535

# Names and weights are parameters, so that every model is the same script, compiled once.
_PAINLESS = (
    "double total = 0.0; "
    "for (int i = 0; i < params.names.size(); ++i) {{ "
    "{score}"
    "def field = doc[params.names[i]]; "
    "total += params.weights[i] * (field.size() == 0 ? params.missing : field.value); "
    "}} "
    "return total + params.shift"
)
_PAINLESS_SCORE = "if (params.names[i] == '_score') { total += params.weights[i] * _score; continue; } "

# The same where each value goes through its curve first: straight lines between knots, found by halving.
_PAINLESS_CURVES = (
    "double total = 0.0; "
    "for (int i = 0; i < params.names.size(); ++i) {{ "
    "double x = params.missing; "
    "{score}if (doc[params.names[i]].size() != 0) {{ x = doc[params.names[i]].value; }} "
    "def curve = params.curves[i]; "
    "{curve}"
    "total += params.weights[i] * x; "
    "}} "
    "return total + params.shift"
)
_PAINLESS_CURVED_SCORE = "if (params.names[i] == '_score') { x = _score; } else "
_PAINLESS_KNOTS = (
    "int k = 0; int end = curve.knots.size(); "
    "while (end - k > 1) { int middle = (k + end) / 2; "
    "if (x >= curve.knots[middle]) { k = middle; } else { end = middle; } } "
    "if (x < curve.knots[0] || k == curve.knots.size() - 1) { x = curve.values[k]; } else { "
    "double slope = (curve.values[k + 1] - curve.values[k]) / (curve.knots[k + 1] - curve.knots[k]); "
    "x = curve.values[k] + (x - curve.knots[k]) * slope; } "
)
# With products beside the curves: what a curve or a line makes of a value is a function then.
_PAINLESS_PRODUCTS = (
    f"double at(def curve, double x) {{{{ {_PAINLESS_KNOTS.replace('{', '{{').replace('}', '}}')}return x; }}}} "
    "double total = 0.0; double[] values = new double[params.names.size()]; "
    "for (int i = 0; i < params.names.size(); ++i) {{ "
    "double x = params.missing; "
    "{score}if (doc[params.names[i]].size() != 0) {{ x = doc[params.names[i]].value; }} "
    "values[i] = x; "
    "total += params.weights[i] * at(params.curves[i], x); "
    "}} "
    "for (def product : params.products) {{ "
    "double one = at(product.lines[0], values[product.places[0]]); "
    "double other = at(product.lines[1], values[product.places[1]]); "
    "total += product.weight * (one * other); "
    "}} "
    "return total + params.shift"
)
_PAINLESS_LOGARITHM = (
    "double logged = Math.log1p(Math.abs(x) / curve.unit); x = (x < 0 ? -logged : logged) / curve.scale; "
)


def _problem(name: str) -> str | None:
    if name != _SCORE and name.startswith("_"):
        return "begins as the engine's own fields do, with _"
    if "" in name.split("."):
        return "has a dot with nothing before or after it, and dots lead from objects to their fields"
    return printable(name)


@dataclass(frozen=True)
class ElasticsearchScript(Target):
    """A search for Elasticsearch or OpenSearch whose scores are a script's, over numeric fields and `_score`.

    Parameters
    ----------
    lang : "painless", for any number of features, or "expression", which is faster, for up to 500
    index : that is searched
    url : of the server
    """

    name: ClassVar[str] = "elasticsearch-script"
    title: ClassVar[str] = "script_score"
    ending: ClassVar[str] = "script.json"
    accepts: ClassVar[Accepts] = Accepts(negative_scores=False, curves=True, products=True, problem_with_name=_problem)
    arithmetic: ClassVar[Arithmetic] = ROUNDED_DOUBLE
    run_by: ClassVar[str] = "OpenSearch 3.6 and Lucene's expression compiler"

    lang: str = "painless"
    index: str = "products"
    url: str = "http://localhost:9200"

    def __post_init__(self) -> None:
        if self.lang not in _LANGUAGES:
            raise LinrankError(f"lang={self.lang!r}: there are {' and '.join(_LANGUAGES)}.")

    def write(self, ranking: WeightedSum) -> str:
        script = _painless(ranking) if self.lang == "painless" else _expression(ranking)
        search = {"query": {"script_score": {"query": {"match_all": {}}, "script": script}}}
        return json.dumps(search, indent=1, ensure_ascii=False) + "\n"

    def commands(self, ranking: WeightedSum, file: str) -> str:  # noqa: ARG002 - one signature for every engine
        at = f"{self.url}/{self.index}/_search"
        asked = curl("-X", "POST", at, "-H", "Content-Type: application/json", "--data-binary", f"@{file}")
        return f"# match_all is yours to replace: the query whose documents are scored\n{asked}"

    def notes(self, ranking: WeightedSum) -> tuple[str, ...]:
        return (
            f"a field that a document lacks counts as {ranking.missing:g}; of several values, the least counts",
            "as it is, every document is scored: put your own query in the place of match_all",
        )


def _painless(ranking: WeightedSum) -> dict[str, Any]:
    parameters: dict[str, Any] = {
        "names": list(ranking.names),
        "weights": ranking.weights.tolist(),
        "missing": ranking.missing,
        "shift": ranking.shift,
    }
    has_score = _SCORE in ranking.names
    if ranking.curves:
        parameters["curves"] = [curve.record() for curve in ranking.curves]
        of = _PAINLESS_KNOTS if isinstance(ranking.curves[0], Piecewise) else _PAINLESS_LOGARITHM
        curved_score = _PAINLESS_CURVED_SCORE if has_score else ""
        source = _PAINLESS_CURVES.format(score=curved_score, curve=of)
        if ranking.products:
            source = _PAINLESS_PRODUCTS.format(score=curved_score)
            parameters["products"] = [
                {"weight": weight, "places": places, "lines": [line.record() for line in lines]}
                for weight, places, lines in ranking.products
            ]
    else:
        source = _PAINLESS.format(score=_PAINLESS_SCORE if has_score else "")
    return {"lang": "painless", "source": source, "params": parameters}


def _expression(ranking: WeightedSum) -> dict[str, Any]:
    terms = []
    for weight, factors in ranking.terms():
        values = [_WORDS.value(curve, _value(name, ranking.missing)) for name, curve in factors]
        terms.append(" * ".join([repr(weight), *values]))
    if ranking.shift:
        terms.append(repr(ranking.shift))
    source = " + ".join(terms)
    if len(terms) > _LONGEST_SUM or len(source.encode()) > _LARGEST_SCRIPT:
        raise LinrankError(
            f"{len(ranking):,} features make an expression of {len(source.encode()):,} bytes; the engine takes sums of "
            f"{_LONGEST_SUM} terms and {_LARGEST_SCRIPT:,} bytes. Use lang='painless' (--set lang=painless)."
        )
    return {"lang": "expression", "source": source}


_WORDS = Words(
    plain_number, lambda x, threshold, below, otherwise: f"({x} < {threshold} ? {below} : {otherwise})",
    lambda x: f"ln({x})",
)  # fmt: skip


def _value(name: str, missing: float) -> str:
    if name == _SCORE:
        return _SCORE
    field = "doc['" + name.replace("\\", "\\\\").replace("'", "\\'") + "']"
    # What is missing is 0 to an expression.
    return f"{field}.value" if missing == 0 else f"({field}.empty ? {missing!r} : {field}.value)"
