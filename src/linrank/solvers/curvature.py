"""What Newton's method knows of the curvature, and solves with: the Hessian of a sample of the data, or a diagonal."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from linrank.arrays import Vector
from linrank.objective.objective import EvaluatedPoint
from linrank.objective.samples import Sample
from linrank.solvers.conjugate_gradient import Doubt, Preconditioner
from linrank.solvers.sampled_hessian import SampledHessian

FREE_MULTIPLICATIONS = 2e8
"""What the Hessian of a sample may cost in any case."""

# A Hessian costs about as much as an eighth of its features in products: of so few, no more than the products that one
# of another point wants.
_FEW_FEATURES = 24


class Curvature:
    """That of one point, which serves others too: those after it, and those of a problem that differs little."""

    precondition: Preconditioner

    def __init__(self, doubt: Doubt | None = None) -> None:
        self.of_rests = doubt or Doubt()
        self._sample: Sample | None = None
        self._hessian: SampledHessian | None = None
        self._weights: Vector | None = None

    @classmethod
    def at(cls, point: EvaluatedPoint, sample: Sample | None, doubt: Doubt | None = None) -> Curvature:
        """That of a point by a sample, or as a diagonal where there is none."""
        made = cls(doubt)
        made.begin(point, sample)
        return made

    def begin(self, point: EvaluatedPoint, sample: Sample | None) -> None:
        """Go on to a problem with a sample of its own: from its point, unless the Hessian of another can serve."""
        self._sample, self._weights = sample, None
        if sample is None or self._hessian is None:
            self.renew(point)

    def renew(self, point: EvaluatedPoint) -> None:
        """Take that of another point."""
        # (Not the point, which may hold copies of rows.)
        self._weights = point.weights
        if self._sample is not None:
            self._hessian = SampledHessian.at(point, self._sample)
            self.precondition = self._hessian.inverse(point)
            return
        self.precondition = _by_diagonal(point.crude_hessian_diagonal())

    def is_of(self, point: EvaluatedPoint) -> bool:
        """Whether it is the point's own."""
        return self._weights is point.weights

    @property
    def is_sampled(self) -> bool:
        """Whether it is a Hessian, and no diagonal."""
        return self._sample is not None

    @property
    def doubt(self) -> Doubt | None:
        """Of a diagonal, which knows nothing of how features go together, and of another problem's Hessian."""
        return None if self.is_sampled and self._weights is not None else self.of_rests

    @property
    def is_exact(self) -> bool:
        """Whether at a point of its own it is the Hessian itself, and costs next to nothing."""
        if self._sample is None or self._hessian is None or self._sample.scale != 1.0:
            return False
        return self._sample.n_documents * self._hessian.matrix.size <= FREE_MULTIPLICATIONS

    @property
    def is_cheap(self) -> bool:
        """Whether it is worth having at every point: a diagonal, and the Hessian itself of few features."""
        if self._hessian is None:
            return True
        return self.is_exact and len(self._hessian.matrix) <= _FEW_FEATURES


def _by_diagonal(diagonal: Vector) -> Callable[[Vector, Vector], object]:
    return lambda residual, out: np.divide(residual, diagonal, out=out)
