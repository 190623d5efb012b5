"""WeightedSum: what is left of a model outside of linrank, a sum over features as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from linrank.arrays import Vector
from linrank.dataset.feature_shapes import FeatureShapes
from linrank.dataset.signed_log import SignedLog
from linrank.errors import LinrankError
from linrank.exporting.curves import Curve, Piecewise, curves_of

if TYPE_CHECKING:
    from linrank.model import LinearModel

# The column of the feature that is always 1, which the model does not have.
_CONSTANT = -1


class Product(NamedTuple):
    """weight x l_a(x_a) x l_b(x_b): the places of two features of a sum, and the line that each goes through."""

    weight: float
    places: tuple[int, int]
    lines: tuple[Piecewise, Piecewise]

    def rounded(self) -> Product:
        """The same where a target has the lines' numbers as float32."""
        one, other = self.lines
        return self._replace(lines=(one.rounded(), other.rounded()))


Term: TypeAlias = "tuple[float, tuple[tuple[str, Curve | None], ...]]"
"""A weight, and what it is multiplied with: a feature, by its name and with its curve if it has one; or two."""


@dataclass(frozen=True, eq=False)
class WeightedSum:
    """score = shift + sum of weight_j x_j over features as they are given.

    Where the model transforms features, shift + sum of weight_j f_j(x_j); and where it has products, plus these. Only
    a feature of a product may weigh 0: it is needed all the same.

    Attributes
    ----------
    names : what the target calls the features, in the order of the model
    weights : of the same features
    columns : which features of the model they are
    shift : a constant, which changes no order
    missing : what a missing value of a feature counts
    unused : features of the model that weigh 0, by their names in the model
    curves : f_j of each feature; none where features are weighed as they are
    products : what is added of two features each
    """

    names: tuple[str, ...]
    weights: Vector
    columns: tuple[int, ...]
    shift: float = 0.0
    missing: float = 0.0
    unused: tuple[str, ...] = ()
    curves: tuple[Curve, ...] = ()
    products: tuple[Product, ...] = ()

    @classmethod
    def of(cls, model: LinearModel, names: Mapping[str, str] | None = None, shift: float = 0.0) -> WeightedSum:
        """The sum that ranks raw features as the model does; `names` says what the target calls some of them."""
        has_curves = isinstance(model.scaling, FeatureShapes | SignedLog)
        raw = model.weights if has_curves else model.raw_weights()
        _refuse_lost(model, raw)
        used = np.flatnonzero(model.used).tolist()
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
            tuple(model.feature_names[j] for j in np.flatnonzero(~model.used).tolist()),
            curves_of(model.scaling, used),
            _products(model, used),
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

    def terms(self) -> list[Term]:
        """What is added up: features, and then products."""
        curves = self.curves or (None,) * len(self)
        of_features: list[Term] = [
            (weight, ((name, curve),))
            for name, weight, curve in zip(self.names, self.weights.tolist(), curves, strict=True)
            if weight
        ]
        return of_features + [
            (weight, tuple((self.names[place], line) for place, line in zip(places, lines, strict=True)))
            for weight, places, lines in self.products
        ]

    @property
    def all_weights(self) -> Vector:
        """Those of the features, and then those of the products."""
        return np.append(self.weights, [product.weight for product in self.products])

    def curved(self, rows: Any, *, rounded: bool = False) -> Any:
        """What `all_weights` are of rows: what the curves make of each feature, and then products.

        `rounded` where the target has the numbers of curves as float32.
        """
        if not self.curves:
            return rows
        curves = [curve.rounded() if rounded else curve for curve in self.curves]
        columns = [curve.at(rows[:, j]) for j, curve in enumerate(curves)]
        for _, (a, b), (one, other) in (product.rounded() if rounded else product for product in self.products):
            columns.append(one.at(rows[:, a]) * other.at(rows[:, b]))
        return np.stack(columns, axis=1)

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


def _products(model: LinearModel, used: list[int]) -> tuple[Product, ...]:
    """Those of the model, its features being at their places among those that are used."""
    if model.products is None:
        return ()
    return tuple(
        Product(weight, (used.index(one), used.index(other)), (Piecewise(*of_one), Piecewise(*of_other)))
        for weight, (one, other), (of_one, of_other) in model.products.each()
    )


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
