"""Cholesky factors by NumPy, and solving with them: the import of SciPy's takes longer than many a training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.compiled import summing_kernel


@dataclass(frozen=True)
class CholeskyFactor:
    """L with L L' = H, by which H x = b is solved."""

    lower: NDArray[np.float64]

    @classmethod
    def of(cls, matrix: NDArray[np.float64]) -> CholeskyFactor:
        """The factor of a symmetric matrix; `np.linalg.LinAlgError` where it is not positive definite."""
        return cls(np.asarray(np.linalg.cholesky(matrix), dtype=np.float64))

    def solve(self, right: Vector) -> Vector:
        """X with H x = right."""
        solution = right.copy()
        _solve(self.lower, solution)
        return solution


@summing_kernel
def _solve(lower, right):  # type: ignore[no-untyped-def]
    """Write x over the right side: forwards with L, backwards with L', both along the rows of L."""
    n = len(right)
    for i in range(n):
        total = 0.0
        for j in range(i):
            total += lower[i, j] * right[j]
        right[i] = (right[i] - total) / lower[i, i]
    for i in range(n - 1, -1, -1):
        right[i] /= lower[i, i]
        x = right[i]
        for j in range(i):
            right[j] -= x * lower[i, j]
