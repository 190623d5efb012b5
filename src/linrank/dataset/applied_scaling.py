"""Feature scaling that travels with a model and, where it can, folds into weights for raw features."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector, dense_scores, float_rows
from linrank.cached import cached_property
from linrank.dataset.queries import Queries
from linrank.errors import LinrankError
from linrank.loaded import is_sparse

ScalingKind = Literal["standard", "min-max", "max-abs", "query"]

# In scales: features this far from 0 are scored unscaled, by folded weights.
_MOST_SHIFT = 1e4


class Scaling(Protocol):
    """A change of features that is fitted once and then applied to any data with the same columns."""

    @property
    def kind(self) -> str: ...

    def apply(self, X: Any, queries: Queries | None = None) -> Any:
        """The scaled features, as a new array or CSR matrix of the same dtype."""
        ...

    def fold(self, weights: Vector) -> Vector:
        """The weights that rank raw features as `weights` ranks scaled ones."""
        ...

    def unfold(self, weights: Vector) -> Vector:
        """The inverse of `fold`: the weights of scaled features that rank as `weights` ranks raw ones."""
        ...


@dataclass(frozen=True, eq=False)
class ColumnScaling:
    """scaled = (x - shift) / scale, one shift and one scale a column.

    A ranking depends on differences within a query only, so sparse features are not shifted: they stay sparse,
    and every order stays the same.
    """

    kind: ScalingKind
    shift: Vector
    scale: Vector

    def apply(self, X: Any, queries: Queries | None = None) -> Any:  # noqa: ARG002 - one signature for every scaling
        self._check_width(int(X.shape[1]))
        # What is too far to be scaled becomes infinite, or none; whoever uses it looks for that, as for missing values.
        with np.errstate(all="ignore"):
            if is_sparse(X):
                from linrank.dataset.features import SparseFeatures, as_features

                features = as_features(X)
                assert isinstance(features, SparseFeatures)
                scale = self.scale.astype(features.values.dtype)
                if not (np.isfinite(scale) & (scale > 0)).all():
                    # Float32 does not have the scale: float64 has what becomes of the features.
                    scale = self.scale
                values = scale[features.columns]
                np.divide(features.values, values, out=values)
                return replace(features, values=values).to_csr()
            values = float_rows(X)
            # Straight into the result's own type: no float64 copy of float32 features.
            scaled = np.subtract(values, self.shift, out=np.empty_like(values), casting="same_kind")
            return np.divide(scaled, self.scale, out=scaled, casting="same_kind")

    def fold(self, weights: Vector) -> Vector:
        # w . (x - shift) / scale = (w / scale) . x - constant, and a constant changes no order.
        return self._within_float64(weights, self.divided(weights))

    def divided(self, weights: Vector) -> Vector:
        """Weights / scale, infinite where that leaves float64."""
        self._check_width(len(weights))
        with np.errstate(over="ignore"):
            divided: Vector = weights / self.scale
        return divided

    def unfold(self, weights: Vector) -> Vector:
        self._check_width(len(weights))
        with np.errstate(over="ignore"):
            return self._within_float64(weights, weights * self.scale)

    def _within_float64(self, given: Vector, made: Vector) -> Vector:
        beyond = np.flatnonzero(np.isfinite(given) & ~np.isfinite(made))
        if len(beyond):
            column = int(beyond[0])
            raise LinrankError(
                f"feature {column + 1} has the weight {given[column]:g} and the scale {self.scale[column]:g}, which "
                "together leave float64. Give the feature in other units, and train again."
            )
        return made

    def folded_exactly(self, weights: Vector) -> tuple[Vector, float] | None:
        """Raw weights v and a constant c with w . (x - shift) / scale = v . x - c; None where that would cost digits.

        It costs as many as the shift is longer than the scale; four of sixteen are less than features are known to.
        """
        if not self._is_near_zero:
            return None
        raw = self.divided(weights)
        if (np.abs(raw[weights != 0]) < np.finfo(np.float64).tiny).any():
            return None
        # Summed as a document is, so that the average one scores 0; and no number where a weight has become none.
        with np.errstate(all="ignore"):
            constant = float(dense_scores(self.shift[None], raw)[0])
        return (raw, constant) if math.isfinite(constant) else None

    @cached_property
    def _is_near_zero(self) -> bool:
        with np.errstate(over="ignore"):
            return bool((np.abs(self.shift) <= _MOST_SHIFT * self.scale).all())

    def _check_width(self, width: int) -> None:
        if width != len(self.scale):
            raise LinrankError(f"the scaling was fitted on {len(self.scale)} features, but there are {width}.")


@dataclass(frozen=True)
class QueryScaling:
    """scaled = (x - least) / (most - least) within each query, as LETOR's QueryLevelNorm; 0 where all are equal.

    Sparse features are divided by (most - least) and not shifted, which changes no order.
    """

    kind: ScalingKind = "query"

    def apply(self, X: Any, queries: Queries | None = None) -> Any:
        if queries is None:
            raise LinrankError("scaling by query needs to know the queries. Pass qid.")
        if X.shape[0] != queries.n_documents:
            raise LinrankError(f"there are {X.shape[0]} rows, but the queries have {queries.n_documents}.")
        if queries.n_queries == 1 and not is_sparse(X):
            return _scaled_query(float_rows(X))
        from linrank.dataset.query_scaling import scaled_queries

        return scaled_queries(X, queries)

    def fold(self, weights: Vector) -> Vector:
        raise LinrankError(
            f"{len(weights)} weights on features scaled by query cannot be folded into weights on raw features: "
            "the scale differs from query to query. Train with scaling 'standard', 'min-max' or 'max-abs' to export."
        )

    def unfold(self, weights: Vector) -> Vector:
        return self.fold(weights)


def folds(scaling: Scaling | None, weights: Vector | None = None) -> bool:
    """Whether weights on scaled features are weights on raw ones too, but for their units; these, where some are told.

    Those of a scale that is too small have none that float64 can tell.
    """
    if isinstance(scaling, ColumnScaling):
        return weights is None or bool(np.isfinite(scaling.divided(weights)).all())
    return scaling is None


def folded(weights: Vector, scaling: Scaling | None) -> Vector:
    """The weights of raw features."""
    return weights if scaling is None else scaling.fold(weights)


def _scaled_query(values: NDArray[Any]) -> Any:
    """The documents of one query, as a search engine asks for them: without a compiler. NaN is no least or most."""
    least = np.fmin.reduce(values, axis=0, initial=np.inf).astype(np.float64)
    most = np.fmax.reduce(values, axis=0, initial=-np.inf).astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        # Half of each where the width leaves float64: halves of such numbers are exact.
        half = np.where(np.isinf(most - least), 0.5, 1.0)
        width = half * most - half * least
        varies = width > 0
        scaled = half * values - half * least
        scaled /= np.where(varies, width, 1.0)
    scaled[:, ~varies] = 0.0
    return scaled.astype(values.dtype, copy=False)
