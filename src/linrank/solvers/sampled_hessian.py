"""The loss's Hessian of a sample of the data as a matrix, and what is solved with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

from linrank.objective.objective import EvaluatedPoint
from linrank.objective.penalties import L2
from linrank.objective.samples import Sample
from linrank.solvers.cholesky import CholeskyFactor
from linrank.solvers.conjugate_gradient import Preconditioner

_RIDGES = (0.0, 1e-12, 1e-8, 1e-4)


@dataclass(frozen=True, eq=False)
class SampledHessian:
    """That of the loss, times C, without the penalty."""

    matrix: NDArray[np.float64]

    @classmethod
    def at(cls, point: EvaluatedPoint, sample: Sample) -> SampledHessian:
        return cls(point.with_penalty(L2(0.0)).sampled_hessian(sample))

    def inverse(self, point: EvaluatedPoint) -> Preconditioner:
        """What solves with it and the penalty's curvature at a point."""
        hessian = self.matrix.copy()
        hessian[np.diag_indices_from(hessian)] += point.objective.penalty.curvature(point.weights)
        return _inverse(hessian)


def bends_of(hessian: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The scale that gives a matrix a unit diagonal, each feature in units of its own, and eigh of what it then is."""
    diagonal = np.diagonal(hessian)
    scale = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    bends, axes = np.linalg.eigh(scale[:, None] * hessian * scale)
    return scale, bends, axes


def _inverse(hessian: NDArray[np.float64]) -> Preconditioner:
    """What solves with a matrix, which is written over."""
    # With a unit diagonal, features on different scales do not spoil the factors; a ridge helps where some are copies.
    scale = 1.0 / np.sqrt(np.diagonal(hessian))
    hessian *= scale[:, None]
    hessian *= scale
    for ridge in _RIDGES:
        hessian[np.diag_indices_from(hessian)] = 1.0 + ridge
        try:
            factor = CholeskyFactor.of(hessian)
        except LinAlgError:
            continue
        return lambda residual, out: np.multiply(scale, factor.solve(scale * residual), out=out)
    return lambda residual, out: np.multiply(scale * scale, residual, out=out)
