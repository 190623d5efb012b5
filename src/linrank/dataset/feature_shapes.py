"""Features through a curve each: piecewise linear functions that travel with a model as a scaling does."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from linrank.arrays import Offsets, Vector, float_rows, offsets_from_sizes
from linrank.cached import cached_property
from linrank.dataset.queries import Queries
from linrank.errors import LinrankError
from linrank.loaded import is_sparse

ShapeKind = Literal["rank-gauss", "additive"]

# The compiler is worth its start for as many numbers.
_MANY = 1 << 16
_MOST_KNOTS = 65_535
_ROWS_AT_A_TIME = 4096


@dataclass(frozen=True, eq=False)
class FeatureShapes:
    """shaped = f_j(x): f_j is linear between its knots, and constant before the first and after the last.

    A ranking depends on differences within a query only, so sparse features have f_j(x) - f_j(0): zeros stay zeros, and
    every order stays the same.

    Attributes
    ----------
    kind : how the curves came about
    knots, values : x and f_j(x) at the knots of all features, one feature after the other
    starts : where those of each feature begin, and where the last ends
    """

    kind: ShapeKind
    knots: Vector
    values: Vector
    starts: Offsets

    @classmethod
    def of(
        cls, kind: ShapeKind, curves: Iterable[tuple[Sequence[float] | Vector, Sequence[float] | Vector]]
    ) -> FeatureShapes:
        """From the knots and the values of each feature."""
        listed = [(np.asarray(x, dtype=np.float64), np.asarray(f, dtype=np.float64)) for x, f in curves]
        for number, (x, f) in enumerate(listed, 1):
            if x.ndim != 1 or x.shape != f.shape or len(x) == 0:
                raise LinrankError(f"the curve of feature {number} needs one value a knot, and a knot at least.")
        starts = offsets_from_sizes(np.array([len(x) for x, _ in listed], dtype=np.int64))
        knots, values = (
            np.concatenate([curve[which] for curve in listed]) if listed else np.empty(0) for which in (0, 1)
        )
        return cls.checked(kind, knots, values, starts)

    @classmethod
    def checked(cls, kind: ShapeKind, knots: Vector, values: Vector, starts: Offsets) -> FeatureShapes:
        """Curves whose knots and values may be anything: refused where they are none."""
        made = cls(kind, knots, values, starts)
        has_next = made._has_next[:-1]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            runs = np.diff(knots)
            ascend = (runs > 0) | ~has_next
            steep = has_next & ~np.isfinite(np.diff(values) / runs)
            reach = knots[starts[1:] - 1] - knots[starts[:-1]] if len(knots) else knots
        _refuse("has knots or values that are not finite", ~(np.isfinite(knots) & np.isfinite(values)), starts)
        _refuse("has knots that do not ascend", ~ascend, starts)
        _refuse("rises further than float64 can tell", steep, starts)
        _refuse("reaches further than float64 can tell", ~np.isfinite(reach), np.arange(len(starts)))
        _refuse(f"has more than {_MOST_KNOTS:,} knots", np.diff(starts) > _MOST_KNOTS, np.arange(len(starts)))
        return made

    @property
    def n_features(self) -> int:
        return len(self.starts) - 1

    def curve(self, feature: int) -> tuple[Vector, Vector]:
        """The knots of a feature, by its number from 0, and the values there."""
        here = slice(self.starts[feature], self.starts[feature + 1])
        return self.knots[here], self.values[here]

    def curves(self) -> Iterator[tuple[Vector, Vector]]:
        return (self.curve(feature) for feature in range(self.n_features))

    @cached_property
    def slopes(self) -> Vector:
        """Of the segment that begins at each knot; 0 at the last of a feature."""
        slopes = np.zeros(len(self.knots))
        # From one feature to the next it may be any way, and is not looked at.
        with np.errstate(over="ignore"):
            rises, runs = np.diff(self.values), np.diff(self.knots)
        np.divide(rises, runs, out=slopes[:-1], where=self._has_next[:-1])
        return slopes

    @cached_property
    def following(self) -> Vector:
        """The knot after each; infinity at the last of a feature."""
        return np.where(self._has_next, np.append(self.knots[1:], np.inf), np.inf)

    @property
    def _has_next(self) -> Any:
        has_next = np.ones(len(self.knots), dtype=bool)
        has_next[self.starts[1:] - 1] = False
        return has_next

    def at(self, x: Any, feature: int) -> Vector:
        """f_j of some values: value_k + (x - knot_k) slope_k, with k the last knot that is not beyond x."""
        start, stop = self.starts[feature], self.starts[feature + 1]
        knots = self.knots[start:stop]
        x = np.clip(np.asarray(x, dtype=np.float64), knots[0], knots[-1])
        knot = start + np.maximum(np.searchsorted(knots, x, side="right") - 1, 0)
        shaped: Vector = self.values[knot] + (x - self.knots[knot]) * self.slopes[knot]
        return shaped

    @cached_property
    def at_zero(self) -> Vector:
        """f_j(0) of each feature."""
        from linrank.dataset.curve_kernels import shaped_entries

        zeros = np.zeros(self.n_features)
        return shaped_entries(zeros, np.arange(self.n_features, dtype=np.int32), zeros, self)

    def apply(
        self,
        X: Any,
        queries: Queries | None = None,  # noqa: ARG002
        n_threads: int | None = 1,
        *,
        in_place: bool = False,
    ) -> Any:
        """The shaped features, as an array or CSR matrix of the same dtype; what is missing stays missing.

        A new one, unless `in_place`: then dense rows that can be written over are.
        """
        self._check_width(int(X.shape[1]))
        if is_sparse(X):
            from linrank.dataset.curve_kernels import shaped_entries
            from linrank.dataset.features import SparseFeatures, as_features

            features = as_features(X)
            assert isinstance(features, SparseFeatures)
            values = shaped_entries(features.values, features.columns, self.at_zero, self)
            return replace(features, values=values).to_csr()
        rows = float_rows(X)
        shaped = rows if in_place and rows.flags.writeable else np.empty_like(rows)
        if rows.size >= _MANY and "numba" in sys.modules:
            from linrank.dataset.curve_kernels import shape_rows

            shape_rows(rows, self, n_threads, shaped)
            return shaped
        for first in range(0, len(rows), _ROWS_AT_A_TIME):
            part = slice(first, first + _ROWS_AT_A_TIME)
            # What float32 has no number for becomes infinite, which whoever uses it looks for.
            with np.errstate(over="ignore"):
                for feature in range(self.n_features):
                    shaped[part, feature] = self.at(rows[part, feature], feature)
        return shaped

    @cached_property
    def table(self) -> Any:
        """Where the compiled form looks values up."""
        from linrank.dataset.curve_kernels import SegmentTable

        return SegmentTable.of(self.knots, self.starts)

    def __getstate__(self) -> dict[str, Any]:
        # What was computed is computed again, where it is wanted.
        return {name: self.__dict__[name] for name in ("kind", "knots", "values", "starts")}

    def scaled(self, scale: Vector) -> FeatureShapes:
        """The curves f_j / scale_j."""
        return replace(self, values=self.values / np.repeat(scale, np.diff(self.starts)))

    def from_zero(self) -> FeatureShapes:
        """The curves f_j - f_j(0), which rank alike and give dense and sparse rows the same score."""
        return replace(self, values=self.values - np.repeat(self.at_zero, np.diff(self.starts)))

    def shown(self, feature: int) -> dict[str, Any]:
        """The curve of a feature as plain numbers."""
        knots, values = self.curve(feature)
        return {"knots": knots.tolist(), "values": values.tolist()}

    def fold(self, weights: Vector) -> Vector:
        raise LinrankError(
            f"{len(weights)} weights on features that go through curves ({self.kind}) cannot be folded into weights on "
            "raw features. Train without a transform, or export to a target that computes curves."
        )

    def unfold(self, weights: Vector) -> Vector:
        return self.fold(weights)

    def _check_width(self, width: int) -> None:
        if width != self.n_features:
            raise LinrankError(f"the curves were fitted on {self.n_features} features, but there are {width}.")


def _refuse(what: str, wrong: Any, starts: Offsets) -> None:
    """Raise for the first feature with something wrong."""
    places = np.flatnonzero(wrong)
    if len(places):
        number = int(np.searchsorted(starts, places[0], side="right"))
        raise LinrankError(f"the curve of feature {number} {what}. Give the feature in other units, and train again.")
