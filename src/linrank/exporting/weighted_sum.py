"""WeightedSum: what is left of a model outside of linrank, a sum over features as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from linrank.arrays import Vector
from linrank.dataset.feature_shapes import FeatureShapes
from linrank.dataset.signed_log import SignedLog
from linrank.errors import LinrankError
from linrank.exporting.curves import Curve, curves_of

if TYPE_CHECKING:
    from linrank.model import LinearModel

# The column of the feature that is always 1, which the model does not have.
_CONSTANT = -1


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """score = shift + sum of weight_j x_j over features as they are given, none of which weighs 0.

    Where the model transforms features, shift + sum of weight_j f_j(x_j).

    Attributes
    ----------
    names : what the target calls the features, in the order of the model
    weights : of the same features
    columns : which features of the model they are
    shift : a constant, which changes no order
    missing : what a missing value of a feature counts
    unused : features of the model that weigh 0, by their names in the model
    curves : f_j of each feature; none where features are weighed as they are
    """

    names: tuple[str, ...]
    weights: Vector
    columns: tuple[int, ...]
    shift: float = 0.0
    missing: float = 0.0
    unused: tuple[str, ...] = ()
    curves: tuple[Curve, ...] = ()

    @classmethod
    def of(cls, model: LinearModel, names: Mapping[str, str] | None = None, shift: float = 0.0) -> WeightedSum:
        """The sum that ranks raw features as the model does; `names` says what the target calls some of them."""
        has_curves = isinstance(model.scaling, FeatureShapes | SignedLog)
        raw = model.weights if has_curves else model.raw_weights()
        _refuse_lost(model, raw)
        used = np.flatnonzero(raw).tolist()
        if not used:
            raise LinrankError("every weight of the model is 0: it ranks nothing. Train with a weaker penalty.")
        if not np.isfinite(shift):
            raise LinrankError(f"shift {shift}: give a finite number.")
        called = _renamed(model.feature_names, names or {})
        # New names are by the old ones, so that they cannot tell two features of one name apart.
        _refuse_repeated([model.feature_names[j] for j in used], "Train on data whose features have different names.")
        _refuse_repeated([called[j] for j in used], "Give each a name of its own.")
        return cls(
            tuple(called[j] for j in used),
            raw[used],
            tuple(used),
            float(shift),
            _filling(model),
            tuple(model.feature_names[j] for j in np.flatnonzero(raw == 0).tolist()),
            curves_of(model.scaling, used),
        )

    def __len__(self) -> int:
        return len(self.names)

    @property
    def weight_of(self) -> dict[str, float]:
        """Each feature's weight by its name, in order."""
        return dict(zip(self.names, self.weights.tolist(), strict=True))

    @property
    def has_shift(self) -> bool:
        """Whether a constant is added, as it is or by a feature that is always 1."""
        return bool(self.shift) or _CONSTANT in self.columns

    def terms(self) -> list[tuple[str, float, Curve | None]]:
        """Each feature's name, its weight, and its curve where it has one."""
        curves = self.curves or (None,) * len(self)
        return list(zip(self.names, self.weights.tolist(), curves, strict=True))

    def curved(self, rows: Any, *, rounded: bool = False) -> Any:
        """What the curves make of rows, a column a feature; `rounded` where the target has their numbers as float32."""
        if not self.curves:
            return rows
        curves = [curve.rounded() if rounded else curve for curve in self.curves]
        return np.stack([curve.at(rows[:, j]) for j, curve in enumerate(curves)], axis=1)

    def with_constant(self, name: str) -> WeightedSum:
        """The same sum where the shift is the weight of a feature that is always 1; itself where there is no shift."""
        if not self.shift:
            return self
        if name in self.names:
            raise LinrankError(
                f"a feature is called {name!r}, as the constant one that carries the shift. Name that one otherwise: "
                "constant='…'."
            )
        return replace(
            self, names=(*self.names, name), weights=np.append(self.weights, self.shift),
            columns=(*self.columns, _CONSTANT), shift=0.0,
        )  # fmt: skip


def _refuse_lost(model: LinearModel, raw: Vector) -> None:
    """Refuse weights that scaling takes out of the range of numbers."""
    lost = np.flatnonzero((raw == 0) != (model.weights == 0))
    beyond = np.flatnonzero(~np.isfinite(raw))
    for column in (*lost.tolist(), *beyond.tolist()):
        raise LinrankError(
            f"the weight of feature {model.feature_names[column]!r} on unscaled values is {raw[column]}: out of the "
            "range of numbers. Give the feature in other units, and train again."
        )


def _renamed(known: Sequence[str], names: Mapping[str, str]) -> list[str]:
    for name in names:
        if name not in known:
            there = ", ".join(known[:8]) + (", …" if len(known) > 8 else "")
            raise LinrankError(f"names: the model has no feature {name!r}; it has {there}.")
    return [names.get(name, name) for name in known]


def _refuse_repeated(names: Sequence[str], remedy: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise LinrankError(f"two features are called {name!r}, and one of them would be lost. {remedy}")
        seen.add(name)


def _filling(model: LinearModel) -> float:
    if model.missing == "query_min":
        raise LinrankError(
            "the model fills a missing value with the feature's least value in the query, which no engine knows. Train "
            "with --missing and a number, such as 0."
        )
    # Where nothing was missing in training, engines count a missing value as 0.
    return 0.0 if isinstance(model.missing, str) else float(model.missing)
