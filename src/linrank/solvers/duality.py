"""Lower bounds on the least value of a squared-hinge objective, from the slopes of its pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.objective.objective import EvaluatedPoint
from linrank.objective.penalties import L1


def dual_value(point: EvaluatedPoint, penalty: L1, free: NDArray[np.bool_] | None = None) -> float:
    """A value that C sum xi² + strength / 2 w.w + sum t_j |w_j| never goes below, xi being max(0, 1 - margin).

    The dual is: maximise sum a - sum a² / (4 C) - sum_j max(0, |u_j| - t_j)² / (2 strength) over a >= 0 a pair, with
    u = sum a_ij (x_i - x_j); without the quadratic penalty, |u_j| <= t_j must hold instead. At a point, a = 2 C xi is
    near the best, and all its sums are known: sum xi² is the loss, sum xi is the loss minus half its slope along w,
    and u is minus C times its gradient.
    """
    C, strength = point.objective.C, point.objective.penalty.strength
    pull: Vector = np.abs(C * point.loss_gradient)
    thresholds = np.broadcast_to(penalty.thresholds, pull.shape)
    if free is not None:
        pull, thresholds = pull[free], thresholds[free]
    squares = point.loss_value
    sums = squares - 0.5 * float(point.loss_gradient @ point.weights)
    if strength > 0.0:
        beyond = np.maximum(pull - thresholds, 0.0)
        return 2 * C * sums - C * squares - float(beyond @ beyond) / (2 * strength)
    # The largest share of a that keeps within the thresholds, but no more than is best.
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(pull > 0.0, thresholds / pull, np.inf).min(initial=np.inf)
    best = sums / squares if squares > 0.0 else 0.0
    share = max(0.0, min(float(room), best))
    return 2 * C * share * sums - C * share * share * squares
