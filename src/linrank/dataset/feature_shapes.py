"""Features through a curve each: piecewise linear functions that travel with a model as a scaling does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from linrank.arrays import Offsets, Vector, float_rows
from linrank.dataset.queries import Queries
from linrank.errors import LinrankError
from linrank.loaded import is_sparse

ShapeKind = Literal["rank-gauss", "additive"]


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
    def of(cls, kind: ShapeKind, curves: Iterable[tuple[Sequence[float], Sequence[float]]]) -> FeatureShapes:
        """From the knots and the values of each feature."""
        listed = [(np.asarray(x, dtype=np.float64), np.asarray(f, dtype=np.float64)) for x, f in curves]
        for number, (x, f) in enumerate(listed, 1):
            _refuse_unsound(number, x, f)
        starts = np.cumsum([0, *(len(x) for x, _ in listed)]).astype(np.int64)
        knots, values = (
            np.concatenate([curve[which] for curve in listed]) if listed else np.empty(0) for which in (0, 1)
        )
        return cls(kind, knots, values, starts)

    @property
    def n_features(self) -> int:
        return len(self.starts) - 1

    def curve(self, feature: int) -> tuple[Vector, Vector]:
        """The knots of a feature, by its number from 0, and the values there."""
        here = slice(self.starts[feature], self.starts[feature + 1])
        return self.knots[here], self.values[here]

    def curves(self) -> Iterator[tuple[Vector, Vector]]:
        return (self.curve(feature) for feature in range(self.n_features))

    def apply(self, X: Any, queries: Queries | None = None) -> Any:  # noqa: ARG002 - one signature for every scaling
        """The shaped features, as a new array or CSR matrix of the same dtype; what is missing stays missing."""
        self._check_width(int(X.shape[1]))
        if is_sparse(X):
            from linrank.dataset.features import SparseFeatures, as_features

            features = as_features(X)
            assert isinstance(features, SparseFeatures)
            return replace(features, values=self._of_entries(features.values, features.columns)).to_csr()
        rows = float_rows(X)
        shaped = np.empty_like(rows)
        for feature, (knots, values) in enumerate(self.curves()):
            shaped[:, feature] = np.interp(rows[:, feature], knots, values)
        return shaped

    def _of_entries(self, entries: Any, columns: Any) -> Any:
        at_zero = [np.interp(0.0, knots, values) for knots, values in self.curves()]
        shaped = np.empty_like(entries)
        for feature in np.unique(columns):
            here = columns == feature
            shaped[here] = np.interp(entries[here], *self.curve(feature)) - at_zero[feature]
        return shaped

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


def _refuse_unsound(number: int, knots: Vector, values: Vector) -> None:
    if knots.ndim != 1 or knots.shape != values.shape or len(knots) == 0:
        raise LinrankError(f"the curve of feature {number} needs one value a knot, and a knot at least.")
    if not (np.isfinite(knots).all() and np.isfinite(values).all()):
        raise LinrankError(f"the curve of feature {number} has knots or values that are not finite.")
    if not (np.diff(knots) > 0).all():
        raise LinrankError(f"the knots of feature {number} do not ascend.")
