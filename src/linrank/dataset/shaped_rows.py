"""Rows that go through a transform each time they are computed with: the transformed matrix is never held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets
from linrank.dataset.applied_scaling import Scaling
from linrank.dataset.features import DenseFeatures
from linrank.dataset.rows_on_demand import RowsOnDemand


@dataclass(frozen=True, eq=False, slots=True)
class ShapedRows(RowsOnDemand):
    """f(x) of dense rows x, with the face of features and that of an array; each product computes them anew.

    Who goes through blocks asks for `in_memory` once a block, and has its rows in cache for all that follows.
    """

    raw: DenseFeatures
    transform: Scaling

    @property
    def shape(self) -> tuple[int, int]:
        return self.raw.n_rows, self.raw.n_features

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.raw.values.dtype

    @property
    def n_rows(self) -> int:
        return self.raw.n_rows

    @property
    def n_features(self) -> int:
        return self.raw.n_features

    @property
    def n_bytes(self) -> int:
        return self.raw.n_bytes

    @property
    def values(self) -> NDArray[Any]:
        """What is held of the rows, as for every kind of features."""
        return self.raw.values

    def in_memory(self) -> DenseFeatures:
        return DenseFeatures(self.transform.apply(self.raw.values))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self.in_memory().values, dtype=dtype)

    def __getitem__(self, rows: Any) -> NDArray[Any]:
        return replace(self, raw=DenseFeatures(np.ascontiguousarray(self.raw.values[rows]))).in_memory().values

    def rows(self, start: int, stop: int) -> ShapedRows:
        return replace(self, raw=self.raw.rows(start, stop))

    def take(self, rows: Offsets) -> DenseFeatures:
        return replace(self, raw=self.raw.take(rows)).in_memory()

    def joined(self, others: Sequence[Any]) -> DenseFeatures:
        return self.in_memory().joined([other.in_memory() for other in others])
