"""Products of two features that a model adds to its curves, each through a line of its own first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector
from linrank.cached import cached_property
from linrank.dataset.feature_shapes import FeatureShapes
from linrank.dataset.scaling_record import numbers_of, scaling_of_record, scaling_record
from linrank.errors import LinrankError
from linrank.loaded import is_sparse

_ROWS_AT_A_TIME = 4096


@dataclass(frozen=True, eq=False)
class FeatureProducts:
    """sum over products of weight x l_a(x_a) x l_b(x_b), each of two features as they are given.

    Attributes
    ----------
    weights : one a product
    pairs : of shape (n_products, 2), the numbers of the two features from 0, the lower one first
    lines : l_j of the features that are in a product, in ascending order of their numbers
    """

    weights: Vector
    pairs: NDArray[np.int64]
    lines: FeatureShapes

    def __post_init__(self) -> None:
        pairs = self.pairs
        if len(self.weights) == 0 or pairs.shape != (len(self.weights), 2):
            raise LinrankError(f"{len(self.weights)} weights of products, but {len(pairs)} pairs of features.")
        if not np.isfinite(self.weights).all():
            raise LinrankError("the weight of a product is not a finite number.")
        if not ((pairs[:, 0] >= 0) & (pairs[:, 0] < pairs[:, 1])).all() or len(np.unique(pairs, axis=0)) < len(pairs):
            raise LinrankError("a product is of two different features, the lower number first, and stands there once.")
        if self.lines.n_features != len(self.columns):
            raise LinrankError(f"{len(self.columns)} features are in products, but {self.lines.n_features} have lines.")

    def __len__(self) -> int:
        return len(self.weights)

    @cached_property
    def columns(self) -> Offsets:
        """The numbers of the features that are in a product, ascending."""
        return np.unique(self.pairs)

    @cached_property
    def places(self) -> Offsets:
        """The pairs as places in `columns`."""
        return np.searchsorted(self.columns, self.pairs)

    def names(self, features: Sequence[str]) -> list[str]:
        """What products are called, by the names of all features: `title * clicks`."""
        return [f"{features[one]} * {features[other]}" for one, other in self.pairs.tolist()]

    def values(self, X: Any) -> NDArray[np.float64]:
        """l_a(x_a) x l_b(x_b) of rows, dense or CSR, a column a product: the same bits for both."""
        part = X[:, self.columns]
        lines = self.lines.apply(np.asarray(part.toarray() if is_sparse(part) else part, dtype=np.float64))
        with np.errstate(over="ignore", invalid="ignore"):
            products: NDArray[np.float64] = lines[:, self.places[:, 0]] * lines[:, self.places[:, 1]]
        return products

    def scores(self, X: Any) -> Vector:
        """What products add to the score of each row, which depends on that row alone."""
        if is_sparse(X):
            from linrank.dataset.features import as_features

            # Of any other form, rows cannot be taken.
            X = as_features(X).to_csr()  # type: ignore[union-attr]
        scores = np.zeros(X.shape[0])
        for first in range(0, len(scores), _ROWS_AT_A_TIME):
            part = slice(first, first + _ROWS_AT_A_TIME)
            values = self.values(X[part])
            with np.errstate(over="ignore", invalid="ignore"):
                for place, weight in enumerate(self.weights.tolist()):
                    scores[part] += weight * values[:, place]
        return scores

    def each(self) -> Iterator[tuple[float, tuple[int, int], tuple[Any, Any]]]:
        """The weight of each product, its two features, and the knots and values of the line of each."""
        for weight, (one, other), (a, b) in zip(
            self.weights.tolist(), self.pairs.tolist(), self.places.tolist(), strict=True
        ):
            yield weight, (one, other), (self.lines.curve(a), self.lines.curve(b))

    def shown(self, features: Sequence[str]) -> list[dict[str, Any]]:
        """Plain numbers and texts, the largest weight first."""
        order = np.argsort(-np.abs(self.weights), kind="stable").tolist()
        return [
            {
                "features": [features[feature] for feature in self.pairs[place].tolist()],
                "weight": float(self.weights[place]),
                "lines": [self.lines.shown(line) for line in self.places[place].tolist()],
            }
            for place in order
        ]

    def record(self) -> dict[str, Any]:
        """What a model file has of them."""
        return {"weights": self.weights, "pairs": self.pairs.tolist(), "lines": scaling_record(self.lines)}

    @classmethod
    def of_record(cls, record: dict[str, Any], n_features: int) -> FeatureProducts:
        """Those that were written, of so many features; everything is checked."""
        pairs = record.get("pairs")
        if not isinstance(pairs, list) or not all(_is_pair(pair, n_features) for pair in pairs):
            raise LinrankError(f"products need pairs of features, by numbers from 0 to {n_features - 1}.")
        made = np.array(pairs, dtype=np.int64).reshape(len(pairs), 2)
        lines = record.get("lines")
        known = scaling_of_record(lines, len(np.unique(made))) if isinstance(lines, dict) else None
        if not isinstance(known, FeatureShapes):
            raise LinrankError("products need a line for each of their features.")
        return cls(numbers_of(record.get("weights")), made, known)


def _is_pair(pair: Any, n_features: int) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(type(one) is int and 0 <= one < n_features for one in pair)
