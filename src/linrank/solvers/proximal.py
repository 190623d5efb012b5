"""Which of the two proximal solvers suits an objective."""

from __future__ import annotations

from linrank.objective.objective import RankingObjective
from linrank.solvers.newton_cg import MOST_FEATURES_IN_A_MATRIX
from linrank.solvers.proximal_gradient import ProximalGradient
from linrank.solvers.proximal_newton import ProximalNewton


def proximal_solver(objective: RankingObjective) -> type[ProximalNewton | ProximalGradient]:
    """Newton's method where its model can be a matrix; for more features, accelerated gradients.

    With a diagonal for a model, Newton's method is a gradient method without acceleration.
    """
    return ProximalNewton if objective.data.n_features <= MOST_FEATURES_IN_A_MATRIX else ProximalGradient
