"""What a target computes of a feature before its weight: piecewise linear curves, and signed logarithms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np

from linrank.arrays import Vector
from linrank.dataset.feature_shapes import FeatureShapes
from linrank.dataset.signed_log import SignedLog, signed_log


@dataclass(frozen=True, eq=False)
class Piecewise:
    """f(x) = value_k + (x - knot_k) slope_k after knot k; constant before the first knot and after the last."""

    knots: Vector
    values: Vector

    @property
    def slopes(self) -> Vector:
        """Of the segment that begins at each knot but the last."""
        slopes: Vector = np.diff(self.values) / np.diff(self.knots)
        return slopes

    @property
    def usual_size(self) -> float:
        return float(np.median(np.abs(self.knots))) or 1.0

    def at(self, x: Any) -> Any:
        """F of some values, in their own precision."""
        return FeatureShapes.of("additive", [(self.knots, self.values)]).at(x, 0)

    def rounded(self) -> Piecewise:
        """The curve whose knots are numbers of float32: those that are one there are one knot, the last of them."""
        with np.errstate(over="ignore"):
            knots = np.clip(self.knots, *_FLOAT32).astype(np.float32).astype(np.float64)
        kept = np.append(np.diff(knots) > 0, True)
        return Piecewise(knots[kept], self.values[kept])

    def fits(self, smallest: float, largest: float) -> bool:  # noqa: ARG002 - one signature for both curves
        """Whether numbers of these sizes hold it: its knots are apart there, and its slopes not beyond."""
        if len(self.knots) < 2:
            return True
        held = self.rounded() if largest <= _FLOAT32[1] else self
        return len(held.knots) > 1 and float(np.abs(held.slopes).max()) <= largest

    def said(self, x: str) -> str:
        """In words, for who computes it before."""
        points = [f"({knot:.6g}, {value:.6g})" for knot, value in zip(self.knots, self.values, strict=True)]
        if len(points) > _NAMED:
            points[_NAMED - 2 : -1] = ["…"]
        return f"f({x}) = the straight lines through {', '.join(points)}, constant before and after"

    def record(self) -> dict[str, Any]:
        return {"knots": self.knots.tolist(), "values": self.values.tolist()}


@dataclass(frozen=True)
class Logarithm:
    """f(x) = sign(x) ln(1 + |x| / unit) / scale."""

    unit: float
    scale: float

    @property
    def usual_size(self) -> float:
        return self.unit

    def at(self, x: Any) -> Any:
        """F of some values, in their own precision."""
        logged = signed_log(np.array(x, dtype=np.float64, ndmin=1), self.unit).reshape(np.shape(x))
        return logged / self.scale

    def rounded(self) -> Logarithm:
        """The same with numbers of float32."""
        return replace(self, **{name: float(np.float32(number)) for name, number in self.record().items()})

    def fits(self, smallest: float, largest: float) -> bool:
        """Whether numbers of these sizes hold it."""
        return all(smallest <= number <= largest for number in (self.unit, self.scale))

    def said(self, x: str) -> str:
        """In words, for who computes it before."""
        return f"f({x}) = sign({x}) * ln(1 + abs({x}) / {self.unit!r}) / {self.scale!r}"

    def record(self) -> dict[str, Any]:
        return {"unit": self.unit, "scale": self.scale}


Curve: TypeAlias = Piecewise | Logarithm

Part = TypeVar("Part")

_NAMED = 6
_FLOAT32 = (-float(np.finfo(np.float32).max), float(np.finfo(np.float32).max))


def curves_of(transform: Any, columns: list[int]) -> tuple[Curve, ...]:
    """Those of some features; none where the features of a model have none."""
    if isinstance(transform, FeatureShapes):
        return tuple(Piecewise(*transform.curve(column)) for column in columns)
    if isinstance(transform, SignedLog):
        return tuple(Logarithm(**transform.shown(column)) for column in columns)
    return ()


@dataclass(frozen=True)
class Words:
    """How a language of expressions says what a curve computes.

    Attributes
    ----------
    number : a number, which may be negative
    choose : (x, threshold, below, otherwise): the one if x is below the threshold, else the other
    ln : the natural logarithm of an expression
    """

    number: Callable[[float], str]
    choose: Callable[[str, str, str, str], str]
    ln: Callable[[str], str]

    def value(self, curve: Curve | None, x: str) -> str:
        """What the curve makes of x, or x itself without one."""
        return x if curve is None else self.curve(curve, x)

    def curve(self, curve: Curve, x: str) -> str:
        """What the curve makes of x, which is an expression that may stand anywhere."""
        if isinstance(curve, Logarithm):
            unit = self.number(curve.unit)
            below, above = f"-{self.ln(f'1.0 - {x} / {unit}')}", self.ln(f"1.0 + {x} / {unit}")
            logged = self.choose(x, self.number(0.0), f"({below})", above)
            return f"({logged} / {self.number(curve.scale)})"
        lines = [
            f"({self.number(value)} + ({x} - {self.number(knot)}) * {self.number(slope)})"
            for value, knot, slope in zip(curve.values, curve.knots, curve.slopes, strict=False)
        ]
        ends = (self.number(value) for value in (curve.values[0], curve.values[-1]))
        thresholds = [self.number(float(knot)) for knot in curve.knots]
        return halved(
            [next(ends), *lines, next(ends)], lambda k, below, above: self.choose(x, thresholds[k], below, above)
        )


def halved(results: Sequence[Part], split: Callable[[int, Part, Part], Part]) -> Part:
    """The results between thresholds as a tree of `split(threshold, below, above)`: few comparisons of many."""

    def between(first: int, last: int) -> Part:
        middle = (first + last) // 2
        return results[first] if middle == first else split(middle - 1, between(first, middle), between(middle, last))

    return between(0, len(results))


def plain_number(number: float) -> str:
    """As most languages write it; in parentheses where it is negative, so that it may follow a minus."""
    return f"({float(number)!r})" if number < 0 else repr(float(number))
