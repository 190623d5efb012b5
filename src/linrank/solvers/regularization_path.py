"""The solutions for many values of C, each started from the last one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from linrank.arrays import Vector
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


def regularization_path(
    objective: RankingObjective, Cs: Sequence[float] = DEFAULT_CS, *, solver: NewtonCG | None = None
) -> Iterator[PathStep]:
    """Yield the solution of w.w / 2 + C x loss for each C in ascending order.

    A point of one C is a point of the next at no cost, since only the weight of the loss changes. From the third value
    on, the start is moved on along the line through the last two solutions in log C, if that lowers the objective.
    """
    solver = solver or NewtonCG()
    point: EvaluatedPoint | None = None
    trail: list[tuple[float, Vector]] = []
    for C in sorted(Cs):
        if point is None:
            point = objective.with_C(C).at(solver.start_from_samples(objective.with_C(C)))
        start = _guess(point.with_C(C), trail, C)
        solution, point = solver.continue_from(start, Journal(max_seconds=solver.max_seconds))
        trail = [*trail[-1:], (float(np.log(C)), solution.weights)]
        yield PathStep(C, solution)


def _guess(point: EvaluatedPoint, trail: list[tuple[float, Vector]], C: float) -> EvaluatedPoint:
    if len(trail) < 2:
        return point
    (older, first), (newer, second) = trail
    ahead = (float(np.log(C)) - newer) / (newer - older)
    moved = point.objective.at(second + ahead * (second - first))
    return moved if moved.value < point.value else point
