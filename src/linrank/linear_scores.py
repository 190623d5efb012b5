"""What a linear model makes of rows: finite scores, or a refusal that names the row and the feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector, dense_scores
from linrank.cached import cached_property
from linrank.dataset.applied_scaling import ColumnScaling, Scaling
from linrank.dataset.feature_products import FeatureProducts
from linrank.dataset.queries import Queries
from linrank.errors import UnusableNumberError
from linrank.loaded import is_sparse


@dataclass(frozen=True, eq=False)
class LinearScores:
    """score(x) = weights . scaling(x) + products(x), for rows in an array or a SciPy matrix."""

    weights: Vector
    scaling: Scaling | None
    products: FeatureProducts | None
    names: Sequence[str]

    @cached_property
    def used(self) -> NDArray[np.bool_]:
        """Which features a score depends on: those with a weight, and those that are in a product."""
        used: NDArray[np.bool_] = self.weights != 0
        if self.products is not None:
            used[self.products.columns] = True
        return used

    @property
    def by_query(self) -> bool:
        """Whether a score depends on the other documents of its query."""
        return self.scaling is not None and self.scaling.kind == "query"

    def of(self, X: Any, queries: Queries | None = None) -> Vector:
        """The scores, each of which depends on its row alone, and by query on those of its query."""
        # What leaves float64 on the way is looked at below, and told or mended there.
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self._quick(X, queries)
            odd = np.flatnonzero(~np.isfinite(scores))
            if len(odd):
                scores[odd] = self._careful(X, queries, odd)
        return scores

    def _quick(self, X: Any, queries: Queries | None) -> Vector:
        """The scores, but for rows that lack a value, or go further than the numbers they are computed in."""
        folded = None
        if isinstance(self.scaling, ColumnScaling) and not is_sparse(X):
            # A third of the time: the features are read once, and never written.
            folded = self.scaling.folded_exactly(self.weights)
        rows = X if self.scaling is None or folded is not None else self.scaling.apply(X, queries)
        weights, constant = folded or (self.weights, 0.0)
        scores = _product(rows, weights)
        if self.products is not None:
            scores = scores + self.products.scores(X)
        return scores - constant if constant else scores

    def _careful(self, X: Any, queries: Queries | None, odd: NDArray[np.intp]) -> Vector:
        """The scores of some rows by the features that are used alone, scaled in float64; or what is wrong with one."""
        rows = X if X.dtype == np.float64 else X.astype(np.float64)
        given = _chosen(rows, odd)
        scaled = given
        if self.scaling is not None:
            scaled = _chosen(self.scaling.apply(rows, queries), odd) if self.by_query else self.scaling.apply(given)
        needed = np.flatnonzero(self.used)
        raw, values = _dense(given, needed), _dense(scaled, needed)
        scores = dense_scores(values, self.weights[needed])
        if self.products is not None:
            scores = scores + self.products.scores(given)
        bad = np.flatnonzero(~np.isfinite(scores))
        if len(bad):
            # What a row lacks comes first: by query, it may be all that is wrong with other rows.
            lacking = np.argwhere(~np.isfinite(raw[bad]) & ~np.isfinite(values[bad]))
            at, column = lacking[0] if len(lacking) else (0, None)
            row = bad[at]
            raise self._refusal(raw[row], values[row], column, _place(int(odd[row]), queries))
        return scores

    def _refusal(self, raw: Vector, values: Vector, lacking: int | None, place: str) -> UnusableNumberError:
        """What to say of a row whose score is no number, by its features that are used."""
        needed = np.flatnonzero(self.used)
        if lacking is not None:
            name = self.names[needed[lacking]]
            return UnusableNumberError(
                f"feature {name!r} is {raw[lacking]} in row {place}, and has a weight. Fill it in as for training."
            )
        terms = np.abs(values * self.weights[needed])
        largest = int(np.argmax(terms))
        said = f"feature {self.names[needed[largest]]!r} is {raw[largest]:g} there"
        if not np.isfinite(values[largest]):
            said += ", which the model cannot scale"
        if self.products is not None and np.isfinite(terms.sum()):
            said = f"its products of features, such as {self.products.names(self.names)[0]}, are too large"
        return UnusableNumberError(
            f"the score of row {place} leaves float64: {said}. Look for features too large to be true, or in other "
            "units than in training."
        )


def _product(X: Any, weights: Vector) -> Vector:
    if not is_sparse(X):
        return dense_scores(X, weights)
    from linrank.dataset.features import scores_of

    return scores_of(X, weights)


def _chosen(X: Any, rows: NDArray[np.intp]) -> Any:
    return X.tocsr()[rows] if is_sparse(X) else X[rows]


def _dense(X: Any, columns: NDArray[np.intp]) -> Vector:
    part = X[:, columns]
    return np.asarray(part.toarray() if is_sparse(part) else part, dtype=np.float64)


def _place(row: int, queries: Queries | None) -> str:
    """A row by its number from 0, and its query where there are several."""
    if queries is None or queries.n_queries < 2 or row >= queries.n_documents:
        return str(row)
    return f"{row} (query {queries.ids[queries.of_rows()[row]]})"
