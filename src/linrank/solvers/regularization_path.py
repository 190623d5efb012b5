"""The solutions for many values of C, each started from the last one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from linrank.objective.objective import EvaluatedPoint, RankingObjective
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.solution import Journal, Solution

DEFAULT_CS: tuple[float, ...] = tuple(2.0**power for power in range(-15, 11))
"""The 26 values Lee & Lin search."""


@dataclass(frozen=True)
class PathStep:
    """The solution for one C."""

    C: float
    solution: Solution


def without_limit() -> float:
    """The seconds that are left where nobody counts them."""
    return np.inf


def regularization_path(
    objective: RankingObjective,
    Cs: Sequence[float] = DEFAULT_CS,
    *,
    solver: NewtonCG | None = None,
    seconds_left: Callable[[], float] = without_limit,
) -> Iterator[PathStep]:
    """Yield the solution of w.w / 2 + C x loss for each C in ascending order.

    A point of one C is a point of the next at no cost, since only the weight of the loss changes: where the solution
    hardly moves, a C costs the one Hessian product that shows it. `seconds_left` is asked before each.
    """
    solver = solver or NewtonCG()
    point: EvaluatedPoint | None = None
    for C in sorted(Cs):
        journal = Journal(max_seconds=min(solver.max_seconds, seconds_left()))
        if point is None:
            first = objective.with_C(C)
            point = first.at(solver.start_from_samples(first, journal))
        solution, point = solver.continue_from(point.with_C(C), journal)
        yield PathStep(C, solution)
