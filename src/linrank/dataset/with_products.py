"""Binned features with products of two of their lines beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector
from linrank.dataset.binned_features import BinnedFeatures
from linrank.dataset.features import DenseFeatures


@dataclass(frozen=True, slots=True)
class WithProducts:
    """The columns of binned features and, after them, dense ones of the same rows."""

    binned: BinnedFeatures
    products: DenseFeatures

    @property
    def n_rows(self) -> int:
        return self.binned.n_rows

    @property
    def n_features(self) -> int:
        return self.binned.n_features + self.products.n_features

    @property
    def values(self) -> NDArray[np.uint32]:
        """What is held of the rows; of the products nothing is on disk that could be cut short."""
        return self.binned.values

    @property
    def n_bytes(self) -> int:
        return self.binned.n_bytes + self.products.n_bytes

    def in_memory(self) -> WithProducts:
        """Themselves: features on disk read all of theirs."""
        return self

    def rows(self, start: int, stop: int) -> WithProducts:
        return WithProducts(self.binned.rows(start, stop), self.products.rows(start, stop))

    def take(self, rows: Offsets) -> WithProducts:
        return WithProducts(self.binned.take(rows), self.products.take(rows))

    def joined(self, others: Sequence[Any]) -> WithProducts:
        """Their rows and, after them, those of the others."""
        binned, products = [other.binned for other in others], [other.products for other in others]
        return WithProducts(self.binned.joined(binned), self.products.joined(products))

    def product(self, weights: Vector, scores: Vector) -> Vector:
        self.binned.product(weights[: self._n_binned], scores)
        scores += self.products.product(weights[self._n_binned :], np.empty(self.n_rows))
        return scores

    def transposed_product(self, slopes: Vector, total: Vector) -> Vector:
        self.binned.transposed_product(slopes, total[: self._n_binned])
        self.products.transposed_product(slopes, total[self._n_binned :])
        return total

    def transposed_square_product(self, slopes: Vector, total: Vector) -> Vector:
        self.binned.transposed_square_product(slopes, total[: self._n_binned])
        self.products.transposed_square_product(slopes, total[self._n_binned :])
        return total

    def magnitudes(self) -> WithProducts:
        """What the absolute values are not above."""
        return WithProducts(self.binned.magnitudes(), self.products.magnitudes())

    def to_dense(self, columns: Offsets | None = None) -> NDArray[Any]:
        """All columns, or some, written out."""
        chosen = np.arange(self.n_features) if columns is None else np.asarray(columns, dtype=np.int64)
        is_binned = chosen < self._n_binned
        dense = np.empty((self.n_rows, len(chosen)))
        dense[:, is_binned] = self.binned.to_dense(chosen[is_binned])
        dense[:, ~is_binned] = self.products.to_dense(chosen[~is_binned] - self._n_binned)
        return dense

    @property
    def _n_binned(self) -> int:
        return self.binned.n_features
