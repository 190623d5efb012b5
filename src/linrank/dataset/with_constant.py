"""Features with a constant beside them, for an intercept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector
from linrank.dataset.features import Features


@dataclass(frozen=True, slots=True)
class WithConstant:
    """Features and one more that is 1 in every row, for an intercept: it is not stored, and nothing is copied."""

    features: Features

    @property
    def n_rows(self) -> int:
        return self.features.n_rows

    @property
    def n_features(self) -> int:
        return self.features.n_features + 1

    @property
    def n_bytes(self) -> int:
        return self.features.n_bytes

    @property
    def values(self) -> NDArray[Any]:
        """Those that are stored."""
        return self.features.values

    def in_memory(self) -> WithConstant:
        """Themselves: who adds a constant has all rows in memory."""
        return self

    def rows(self, start: int, stop: int) -> WithConstant:
        return WithConstant(self.features.rows(start, stop))

    def take(self, rows: Offsets) -> WithConstant:
        return WithConstant(self.features.take(rows))

    def joined(self, others: Sequence[Any]) -> WithConstant:
        return WithConstant(self.features.joined([other.features for other in others]))

    def product(self, weights: Vector, scores: Vector) -> Vector:
        self.features.product(weights[:-1], scores)
        scores += weights[-1]
        return scores

    def transposed_product(self, slopes: Vector, total: Vector) -> Vector:
        self.features.transposed_product(slopes, total[:-1])
        total[-1] += np.sum(slopes)
        return total

    def transposed_square_product(self, slopes: Vector, total: Vector) -> Vector:
        self.features.transposed_square_product(slopes, total[:-1])
        total[-1] += np.sum(slopes)
        return total

    def magnitudes(self) -> WithConstant:
        return WithConstant(self.features.magnitudes())

    def to_dense(self, columns: Offsets | None = None) -> NDArray[Any]:
        whole = np.column_stack([self.features.to_dense(), np.ones(self.n_rows)])
        return whole if columns is None else whole[:, columns]
