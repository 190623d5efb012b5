"""Singular values moved towards zero: the proximal step of the nuclear norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from linrank.arrays import Vector

Matrix: TypeAlias = NDArray[np.float64]

# Up to this shorter side all singular values are computed: asking for some of them costs more than it saves.
_SMALL = 32
# From this shorter side on, only those that are kept are looked for, near where they were the last time; unless they
# are more than one in so many.
_LARGE, _MANY = 512, 4
_SPARE, _MOST_TURNS, _STEADY = 8, 12, 1e-12
# Squares of singular values below this ratio to the largest have lost half of their digits.
_SAFE_RATIO = 1e-5


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A matrix with shrunk singular values, their sum and their number; of a large one also where to start next time.

    `complete` says that no singular value above the threshold can have been missed.
    """

    matrix: Matrix
    norm: float
    rank: int
    basis: Matrix | None
    complete: bool


def shrink(matrix: Matrix, threshold: float, basis: Matrix | None = None) -> Shrunk:
    """U max(0, S - threshold) V' for matrix = U S V': the least of threshold |A|_* + |A - matrix|² / 2 over A.

    Cai, Candès & Shen (2010), Theorem 2.1. Given the basis of a nearby matrix, a large one is decomposed near it only.
    """
    wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    near = None if basis is None else _near(wide, threshold, basis)
    sizes, vectors = _all_above(wide, threshold) if near is None else near
    kept = sizes > threshold
    left, sizes = vectors[:, kept], sizes[kept]
    shares = 1.0 - threshold / sizes
    shrunk = (left * shares) @ (left.T @ wide) if wide is matrix else ((matrix @ left) * shares) @ left.T
    next_basis = None
    if wide.shape[0] >= _LARGE and _MANY * (len(sizes) + _SPARE) <= wide.shape[0]:
        next_basis = _with_spare(left) if near is None else vectors
    return Shrunk(shrunk, float((sizes - threshold).sum()), len(sizes), next_basis, near is None)


def _all_above(wide: Matrix, threshold: float) -> tuple[Vector, Matrix]:
    """The singular values above the threshold, perhaps with others, and their left vectors."""
    squares = wide @ wide.T
    # No singular value is larger than the root of the sum of all squares.
    most = float(np.sqrt(np.trace(squares)))
    if most <= threshold:
        return np.zeros(0), np.zeros((wide.shape[0], 0))
    if threshold < _SAFE_RATIO * most:
        vectors, sizes, _ = np.linalg.svd(wide, full_matrices=False)
        return sizes, vectors
    if wide.shape[0] <= _SMALL:
        values, vectors = np.linalg.eigh(squares)
    else:
        values, vectors = eigh(
            squares, subset_by_value=(threshold * threshold, np.inf), overwrite_a=True, check_finite=False
        )
    return np.sqrt(np.maximum(values, 0.0)), vectors


def _with_spare(left: Matrix) -> Matrix:
    """The vectors with a few more, among which those that come up next can grow."""
    spare = np.random.default_rng(0).standard_normal((left.shape[0], _SPARE))
    return np.hstack([left, spare])


def _near(wide: Matrix, threshold: float, basis: Matrix) -> tuple[Vector, Matrix] | None:
    """Subspace iteration until the singular values above the threshold stand still; None if they may be more."""
    image = wide.T @ basis
    before = np.zeros(basis.shape[1])
    for _ in range(_MOST_TURNS):
        basis, _ = np.linalg.qr(wide @ image)
        image = wide.T @ basis
        values, mix = np.linalg.eigh(image.T @ image)
        basis, image = basis @ mix, image @ mix
        sizes = np.sqrt(np.maximum(values, 0.0))
        if sizes[0] > threshold:
            return None
        if np.abs(np.maximum(sizes, threshold) - np.maximum(before, threshold)).sum() <= _STEADY * sizes[-1]:
            return sizes, basis
        before = sizes
    return None
