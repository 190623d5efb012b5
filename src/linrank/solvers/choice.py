"""Which solver minimises an objective: by name, or the default for its loss and penalty."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from linrank.errors import LinrankError
from linrank.objective.concave_penalties import ConcavePenalty
from linrank.objective.l1_ball import L1Ball
from linrank.objective.objective import RankingObjective
from linrank.solvers.frank_wolfe import FrankWolfe
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.proximal import proximal_solver
from linrank.solvers.proximal_gradient import ProximalGradient
from linrank.solvers.proximal_newton import ProximalNewton
from linrank.solvers.registry import SOLVERS
from linrank.solvers.reweighted_l1 import ReweightedL1
from linrank.solvers.smoothed_newton import SmoothedNewton
from linrank.solvers.solver import Solver


def default_solver(objective: RankingObjective) -> type[Solver]:
    """The solver for an objective's loss and penalty."""
    if isinstance(objective.penalty, ConcavePenalty):
        return ReweightedL1
    if isinstance(objective.penalty, L1Ball):
        return FrankWolfe
    if hasattr(objective.loss, "smoothed"):
        return SmoothedNewton
    if not objective.is_separable:
        return ProximalGradient
    return NewtonCG if objective.weight_penalty.is_smooth else proximal_solver(objective)


def solver_for(objective: RankingObjective, name: str | None = None, **settings: Any) -> Solver:
    """The solver that is asked for, or else the default; one that cannot minimise the objective is refused."""
    make = default_solver(objective) if name is None else SOLVERS[name]
    if name == "newton" and not (objective.is_separable and objective.weight_penalty.is_smooth):
        # Newton's method all the same, with corners and bounds in its model.
        make = ProximalNewton
    solver = make(**settings)
    reason = solver.refuses(objective)
    if reason is not None:
        raise LinrankError(f"solver={name!r} cannot minimise this: {reason}")
    return solver


def first_that_can(names: Iterable[str], objective: RankingObjective) -> str | None:
    """The first of some solvers that minimises an objective; None, the default, where none does."""
    return next((name for name in names if SOLVERS[name]().refuses(objective) is None), None)
