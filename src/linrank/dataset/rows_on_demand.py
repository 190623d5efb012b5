"""Rows that are brought into memory, as they are computed with, each time that is done."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector
from linrank.dataset.features import Features


class RowsOnDemand(ABC):
    """The products of features for who has none at hand: every one asks for the rows anew."""

    __slots__ = ()

    @abstractmethod
    def in_memory(self) -> Features:
        """The rows."""

    def product(self, weights: Vector, scores: Vector) -> Vector:
        return self.in_memory().product(weights, scores)

    def transposed_product(self, slopes: Vector, total: Vector) -> Vector:
        return self.in_memory().transposed_product(slopes, total)

    def transposed_square_product(self, slopes: Vector, total: Vector) -> Vector:
        return self.in_memory().transposed_square_product(slopes, total)

    def magnitudes(self) -> Features:
        return self.in_memory().magnitudes()

    def to_dense(self, columns: Offsets | None = None) -> NDArray[Any]:
        return self.in_memory().to_dense(columns)
