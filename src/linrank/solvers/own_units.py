"""What is left of a gradient, each feature in units of its own: for solvers whose rule is about lengths."""

from __future__ import annotations

import numpy as np

from linrank.objective.duality import NoDual
from linrank.objective.objective import EvaluatedPoint
from linrank.solvers.conjugate_gradient import Preconditioner
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.sampled_hessian import bends_of


def in_own_units(point: EvaluatedPoint) -> Preconditioner:
    """The inverse of the Hessian of a sample, where that is affordable, or else of a diagonal."""
    objective = point.objective
    # (The curvature of a loss that is not convex is a bound, and may be no matrix.)
    sample = None if objective.loss.dual == NoDual() else NewtonCG().sample_for(objective.data)
    if sample is None:
        diagonal = point.crude_hessian_diagonal()
        return lambda residual, out: np.divide(residual, diagonal, out=out)
    scale, bends, axes = bends_of(point.sampled_hessian(sample))
    bends = np.maximum(bends, 1e-15 * bends[-1])
    return lambda residual, out: np.multiply(scale, axes @ ((axes.T @ (scale * residual)) / bends), out=out)
