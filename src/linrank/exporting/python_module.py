"""A module of plain Python that needs nothing but an interpreter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from linrank.exporting.arithmetic import DOUBLE, Arithmetic
from linrank.exporting.curves import Curve, Piecewise
from linrank.exporting.engine import Accepts, Target
from linrank.exporting.weighted_sum import WeightedSum

_MODULE = '''\
"""A linear ranker: score(document) is higher for what should stand above. Written by linrank."""
{curves}
WEIGHTS = {{
{weights}
}}
SHIFT = {shift!r}
# What a value counts that is None or NaN.
MISSING = {missing!r}


def score(document):
    """The score of a document: a mapping from the name of each feature in WEIGHTS to its value."""
    total = 0.0
    {kept}for name, weight in WEIGHTS.items():
        value = document[name]
        # NaN is the one number that differs from itself.
        value = MISSING if value is None or value != value else value
        total += weight * {value}
{products}    return total + SHIFT


def rank(documents):
    """The places of the documents, the best first; equal ones keep their order."""
    scores = [score(document) for document in documents]
    return sorted(range(len(scores)), key=lambda place: -scores[place])
'''


_PIECEWISE = '''
from bisect import bisect_right

# What each feature goes through before its weight: straight lines between these points, constant before and after.
CURVES = {{
{curves}}}


def curve(name, value{given}):
    """What the curve of a feature makes of its value."""
    knots, values = {of}[name]
    k = bisect_right(knots, value) - 1
    if k < 0 or k == len(knots) - 1:
        return values[max(k, 0)]
    return values[k] + (value - knots[k]) * ((values[k + 1] - values[k]) / (knots[k + 1] - knots[k]))

'''
_LINES = """
# The line of each feature that is in a product.
LINES = {{
{lines}}}
# A weight, and the two features whose lines it is multiplied with.
PRODUCTS = [
{products}]
"""
_ADD_PRODUCTS = """\
        known[name] = value
    for weight, one, other in PRODUCTS:
        total += weight * (curve(one, known[one], LINES) * curve(other, known[other], LINES))
"""
_LOGARITHM = '''
from math import copysign, log1p

# What each feature goes through before its weight: sign(x) ln(1 + |x| / unit) / scale, by these two.
CURVES = {{
{curves}}}


def curve(name, value):
    """What the logarithm of a feature makes of its value."""
    unit, scale = CURVES[name]
    return copysign(log1p(abs(value) / unit), value) / scale

'''


@dataclass(frozen=True)
class PythonModule(Target):
    """A Python module with `score(document)` and `rank(documents)`."""

    name: ClassVar[str] = "python"
    title: ClassVar[str] = "Python"
    ending: ClassVar[str] = "ranker.py"
    accepts: ClassVar[Accepts] = Accepts(curves=True, products=True)
    arithmetic: ClassVar[Arithmetic] = DOUBLE
    run_by: ClassVar[str] = "a bare interpreter"

    def write(self, ranking: WeightedSum) -> str:
        weights = "\n".join(f"    {name!r}: {weight!r}," for name, weight in ranking.weight_of.items())
        curves = _curves(ranking) + _products(ranking)
        return _MODULE.format(
            weights=weights,
            shift=ranking.shift,
            missing=ranking.missing,
            curves=curves,
            value="curve(name, value)" if ranking.curves else "value",
            kept="known = {}\n    " if ranking.products else "",
            products=_ADD_PRODUCTS if ranking.products else "",
        )

    def notes(self, ranking: WeightedSum) -> tuple[str, ...]:
        return (f"None and NaN count as {ranking.missing:g}; a feature that a document lacks is a KeyError",)


def _curves(ranking: WeightedSum) -> str:
    if not ranking.curves:
        return ""
    listed = _listed(dict(zip(ranking.names, ranking.curves, strict=True)))
    if not isinstance(ranking.curves[0], Piecewise):
        return _LOGARITHM.format(curves=listed)
    given, of = (", curves=CURVES", "curves") if ranking.products else ("", "CURVES")
    return _PIECEWISE.format(curves=listed, given=given, of=of)


def _products(ranking: WeightedSum) -> str:
    if not ranking.products:
        return ""
    lines = {
        ranking.names[place]: line
        for product in ranking.products
        for place, line in zip(product.places, product.lines, strict=True)
    }
    products = "".join(
        f"    ({weight!r}, {ranking.names[one]!r}, {ranking.names[other]!r}),\n"
        for weight, (one, other), _ in ranking.products
    )
    return _LINES.format(lines=_listed(lines), products=products)


def _listed(curves: Mapping[str, Curve]) -> str:
    return "".join(f"    {name!r}: {list(curve.record().values())!r},\n" for name, curve in curves.items())
