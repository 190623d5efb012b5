"""Features through signed logarithms, which travel with a model as a scaling does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from linrank.arrays import Vector, float_rows
from linrank.dataset.queries import Queries
from linrank.errors import LinrankError
from linrank.loaded import is_sparse
from linrank.threads import side_by_side

# What is computed in float64 at a time, so that float32 rows are not copied whole.
_NUMBERS_AT_A_TIME = 1 << 17


@dataclass(frozen=True, eq=False)
class SignedLog:
    """logged = sign(x) ln(1 + |x| / unit) / scale, one unit and one scale a column: zeros stay zeros."""

    unit: Vector
    scale: Vector
    kind: Literal["signed-log"] = "signed-log"

    def __post_init__(self) -> None:
        numbers = (self.unit, self.scale)
        usable = all(bool((np.isfinite(these) & (these > 0)).all()) for these in numbers)
        if self.unit.shape != self.scale.shape or not usable:
            raise LinrankError("a signed logarithm needs a positive unit and a positive scale a feature.")

    @property
    def n_features(self) -> int:
        return len(self.unit)

    def at(self, x: Any, feature: int) -> Vector:
        """f_j of some values."""
        logged = signed_log(np.array(x, dtype=np.float64, ndmin=1), self.unit[feature]).reshape(np.shape(x))
        with np.errstate(over="ignore"):
            scaled: Vector = logged / self.scale[feature]
        return scaled

    def apply(
        self,
        X: Any,
        queries: Queries | None = None,  # noqa: ARG002
        n_threads: int | None = 1,
        *,
        in_place: bool = False,
    ) -> Any:
        """The logarithms, as an array or CSR matrix of the same dtype; what is missing stays missing.

        A new one, unless `in_place`: then dense rows that can be written over are.
        """
        self._check_width(int(X.shape[1]))
        if is_sparse(X):
            from linrank.dataset.features import SparseFeatures, as_features

            features = as_features(X)
            assert isinstance(features, SparseFeatures)
            logged = signed_log(features.values.astype(np.float64), self.unit[features.columns])
            with np.errstate(over="ignore"):
                logged /= self.scale[features.columns]
                return replace(features, values=logged.astype(features.values.dtype)).to_csr()
        rows = float_rows(X)
        made = rows if in_place and rows.flags.writeable else np.empty_like(rows)
        step = max(1, _NUMBERS_AT_A_TIME // max(1, self.n_features))

        def some(first: int) -> None:
            logged = signed_log(rows[first : first + step].astype(np.float64), self.unit)
            # What is too far becomes infinite, which whoever uses it looks for.
            with np.errstate(over="ignore"):
                logged /= self.scale
                made[first : first + step] = logged

        for _ in side_by_side(some, range(0, len(rows), step), n_threads):
            pass
        return made

    def shown(self, feature: int) -> dict[str, Any]:
        """The logarithm of a feature as plain numbers."""
        return {"unit": float(self.unit[feature]), "scale": float(self.scale[feature])}

    def fold(self, weights: Vector) -> Vector:
        raise LinrankError(
            f"{len(weights)} weights on signed logarithms of features cannot be folded into weights on raw features. "
            "Train without a transform, or export to a target that computes logarithms."
        )

    def unfold(self, weights: Vector) -> Vector:
        return self.fold(weights)

    def scaled(self, scale: Vector) -> SignedLog:
        """f_j / scale_j."""
        with np.errstate(over="ignore"):
            return replace(self, scale=self.scale * scale)

    def _check_width(self, width: int) -> None:
        if width != self.n_features:
            raise LinrankError(f"the logarithms were fitted on {self.n_features} features, but there are {width}.")


def signed_log(values: Vector, unit: Any) -> Vector:
    """sign(x) ln(1 + |x| / unit)."""
    sizes: Vector = np.abs(values)
    with np.errstate(over="ignore"):
        sizes /= unit
    # What is too far from 0 to be divided by its unit has a logarithm nevertheless; NaN stays.
    np.minimum(sizes, np.finfo(np.float64).max, out=sizes)
    return np.copysign(_log1p(sizes), values, out=sizes)


def _log1p(sizes: Vector) -> Vector:
    """ln(1 + size) as ln(u) + (size - (u - 1)) / u, with u = 1 + size as it is rounded: half of NumPy's own time."""
    with_one = 1.0 + sizes
    rounded = with_one - 1.0
    np.subtract(sizes, rounded, out=rounded)
    rounded /= with_one
    np.log(with_one, out=with_one)
    with_one += rounded
    return with_one
