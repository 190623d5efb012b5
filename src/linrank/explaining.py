"""Why one document stands above another: the difference of their scores, feature by feature and product by product."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.dataset.applied_scaling import QueryScaling, folds
from linrank.errors import LinrankError
from linrank.loaded import is_sparse
from linrank.model import LinearModel
from linrank.reading.named_columns import columns_by_name, named_table
from linrank.showing import text_table

_MOST_PRINTED = 20


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one feature, or a product of two, adds to the difference: weight x (above - below).

    Attributes
    ----------
    feature : str
        Of a product both names: "one * other".
    weight : float
        On the feature as it is given: where the model scales features, its weight divided by their scale. Where the
        model transforms features, on what the feature's curve makes of it.
    above, below : float or None
        The feature of the two documents; None of a product, which is of two features.
    amount : float
        weight x (above - below), or of what the curve makes of them.
    curved_above, curved_below : float or None
        What the curve makes of the feature, where the model transforms features; of a product, that of the two lines.
    """

    feature: str
    weight: float
    above: float | None
    below: float | None
    amount: float
    curved_above: float | None = None
    curved_below: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and texts, for JSON; what there is not is left out."""
        known = asdict(self)
        return {name: value for name, value in known.items() if value is not None}


@dataclass(frozen=True, repr=False)
class Explanation:
    """The difference of two scores, feature by feature; prints as a table.

    Attributes
    ----------
    difference : float
        The score of the first document minus that of the second; exactly the sum of the contributions, rounded once
        (`math.fsum`).
    contributions : tuple of Contribution
        The largest first, whatever their sign; equal ones in the order of the features.
    """

    difference: float
    contributions: tuple[Contribution, ...]

    def top(self, n: int) -> tuple[Contribution, ...]:
        """The n largest contributions that are not 0."""
        return tuple(part for part in self.contributions[:n] if part.amount != 0.0)

    def table(self, n: int = _MOST_PRINTED) -> str:
        """The n largest contributions in columns, and what the others add up to."""
        shown = self.top(n)
        curved = any(part.curved_above is not None for part in shown)
        rows = [("feature", "weight", "above", "below", *(("f(above)", "f(below)") if curved else ()), "contribution")]
        for part in shown:
            numbers = [part.weight, part.above, part.below, *((part.curved_above, part.curved_below) if curved else ())]
            cells = ("" if number is None else f"{number:.6g}" for number in numbers)
            rows.append((part.feature, *cells, f"{part.amount:+.6g}"))
        blank = [""] * (len(rows[0]) - 2)
        n_others = sum(part.amount != 0.0 for part in self.contributions) - len(shown)
        if n_others:
            others = math.fsum(part.amount for part in self.contributions[len(shown) :])
            rows.append((f"{n_others} more", *blank, f"{others:+.6g}"))
        rows.append(("difference of scores", *blank, f"{self.difference:+.6g}"))
        return text_table(rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and texts, for JSON."""
        return {
            "difference": self.difference,
            "contributions": [part.to_dict() for part in self.contributions],
        }

    def __str__(self) -> str:
        return self.table()

    __repr__ = __str__


def explain(model: Any, x_i: Any, x_j: Any, *, feature_names: Sequence[str] | None = None) -> Explanation:
    """Explain why document i stands above document j (or below it, where the difference is negative).

    The contribution of feature f is `w_f (x_if - x_jf)`, with w the weights on features as they are given; where the
    model has curves, `w_f (curve_f(x_if) - curve_f(x_jf))`. A product of two features contributes by itself, and is
    neither's. It needs no approximation: a linear model's scores differ by exactly the sum of these.

    Parameters
    ----------
    model : LinearModel, or a fitted linear ranker
        One that scales features by query is refused: there a document's scaled features depend on its whole query.
    x_i, x_j : the features of the two documents
        A row each: array, list or sparse row of one, by position; or by name a mapping (a pandas Series too) from
        names to values, or a pandas, polars or Arrow table of one row. Features without a weight may be left out.
    feature_names : one name a feature, optional
        Otherwise the model's.

    Returns
    -------
    Explanation
        With `difference` and `contributions`; prints as a table.

    Examples
    --------
    >>> import numpy as np
    >>> from linrank.explaining import explain
    >>> from linrank.model import LinearModel
    >>> model = LinearModel(np.array([2.0, -1.0]), ("title", "age"))
    >>> explain(model, [0.5, 1.0], [0.25, 3.0]).difference
    2.5
    """
    linear = _linear_model(model)
    if isinstance(linear.scaling, QueryScaling):
        raise LinrankError(
            "the model scales features by query, so two rows alone do not say what it sees of them. Scale the whole "
            "query, model.scaling.apply(X, queries), and explain replace(model, scaling=None) on two of its rows."
        )
    names = linear.feature_names if feature_names is None else tuple(str(name) for name in feature_names)
    if len(names) != linear.n_features:
        raise LinrankError(
            f"there are {len(names)} feature names, but {linear.n_features} features. Pass one name a feature."
        )
    can_fold = folds(linear.scaling, linear.weights)
    weights = linear.raw_weights() if can_fold else linear.weights
    needed = linear.used
    above, below = _row(x_i, names, needed, "x_i"), _row(x_j, names, needed, "x_j")
    # A feature without a weight may be missing: it has no part in the difference.
    known = np.flatnonzero(np.isfinite(above) & np.isfinite(below)).tolist()
    curved = products = None
    if linear.scaling is not None and not can_fold:
        curved = linear.scaling.apply(np.stack([above, below]))[:, known]
    if linear.products is not None:
        values = linear.products.values(np.stack([above, below]))
        products = linear.products.names(names), linear.products.weights, values
    seen = weights[known], above[known], below[known], [names[feature] for feature in known]
    return explain_rows(*seen, curved, products)


def explain_rows(
    weights: Vector,
    above: Vector,
    below: Vector,
    names: Sequence[str],
    curved: Any = None,
    products: tuple[Sequence[str], Vector, Any] | None = None,
) -> Explanation:
    """Explain the difference of weights.above and weights.below, or of what curves make of the two: `curved`.

    Products are their names, their weights, and what they are of the two documents.
    """
    amounts = weights * (above - below if curved is None else curved[0] - curved[1])
    parts = [
        Contribution(
            names[f],
            float(weights[f]),
            float(above[f]),
            float(below[f]),
            float(amounts[f]),
            *(() if curved is None else curved[:, f].tolist()),
        )
        for f in range(len(names))
    ]
    of_products, sizes, values = products or ((), np.empty(0), np.empty((2, 0)))
    for name, weight, (one, other) in zip(of_products, sizes.tolist(), values.T.tolist(), strict=True):
        parts.append(Contribution(name, weight, None, None, weight * (one - other), one, other))
    beyond = next((part.feature for part in parts if not math.isfinite(part.amount)), None)
    if beyond is not None:
        raise LinrankError(f"what {beyond} adds to the score leaves float64. Look for features too large to be true.")
    # Stable, so that equal ones keep the order of the features.
    ordered = tuple(sorted(parts, key=lambda part: -abs(part.amount)))
    return Explanation(math.fsum(part.amount for part in ordered), ordered)


def _linear_model(model: Any) -> LinearModel:
    if isinstance(model, LinearModel):
        return model
    if not hasattr(model, "to_model"):
        raise LinrankError(
            f"a {type(model).__name__} has no weights to explain by. Pass a LinearModel or a fitted linear ranker."
        )
    made: LinearModel = model.to_model()
    return made


def _row(row: Any, names: Sequence[str], needed: NDArray[np.bool_], which: str) -> Vector:
    """One document's features as float64, in the order of the names; NaN where one that is not needed is not there."""
    if isinstance(row, Mapping) or _has_text_keys(row):
        row = _by_name(row, names, needed, which)
    elif named_table(row) is not None:
        row = np.where(needed, columns_by_name(row, names, needed), np.nan)
    values = np.asarray(row.toarray() if is_sparse(row) else row, dtype=np.float64)
    if values.ndim == 2 and values.shape[0] == 1:
        values = values[0]
    if values.shape != (len(names),):
        raise LinrankError(
            f"{which} has shape {values.shape}, but the model has {len(names)} features. Pass one row of features."
        )
    missing = np.flatnonzero(needed & ~np.isfinite(values))
    if len(missing):
        raise LinrankError(
            f"{which}: feature {names[missing[0]]!r} is not a finite number. Fill it in as for training."
        )
    return values


def _has_text_keys(row: Any) -> bool:
    """Whether it is a row by name, as a pandas Series whose index is the names of the columns."""
    return hasattr(row, "keys") and np.ndim(row) == 1 and all(isinstance(key, str) for key in row.keys())  # noqa: SIM118


def _by_name(row: Any, names: Sequence[str], needed: NDArray[np.bool_], which: str) -> list[Any]:
    named = {str(name): row[name] for name in row.keys()}  # noqa: SIM118 - a Series iterates over its values
    absent = [name for name, asked in zip(names, needed.tolist(), strict=True) if asked and name not in named]
    if absent:
        raise LinrankError(
            f"{which} has no feature {absent[0]!r}, which the model has a weight for; it has {', '.join(named)}."
        )
    return [named.get(name, np.nan) for name in names]
