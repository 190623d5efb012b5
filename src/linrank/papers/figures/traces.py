"""Runs of solvers side by side: values and weights on the way, against the least of several runs' times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.executors.local import Threads
from linrank.objective.objective import RankingObjective
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.objective.registry import make_loss
from linrank.objective.sorted_pairs import PairSums
from linrank.objective.structures.by_name import STRUCTURES
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.smoothed_newton import SmoothedNewton
from linrank.solvers.solver import Solver

_REPEATS = 3
_QUICK_SECONDS = 2.0


@dataclass(frozen=True)
class Run:
    """A solver, a loss by name, and the structure its sums over pairs are kept in."""

    solver: Solver
    loss: str = "squared_hinge"
    sums: str = "auto"


@dataclass(frozen=True)
class Trace:
    """One run: the seconds and the relative distance from the least value of each iteration, and the weights there."""

    seconds: Vector
    distance: Vector
    measure: Vector
    """What the solver went by: |g| / |g at 0| for TRON."""
    weights: NDArray[np.float64]

    @property
    def at_default(self) -> float | None:
        """The distance where |g| is first at most 1e-3 |g at 0|, the paper's default rule."""
        stops = np.flatnonzero(self.measure <= 1e-3)
        return float(self.distance[stops[0]]) if len(stops) else None


def traces(data: RankingDataset, C: float, runs: Mapping[str, Run]) -> dict[str, Trace]:
    """Every run on one thread, as the paper's are; quick ones several times in turn, for the least of their times.

    A solver does the same each time, so that the time of an iteration is the least there is.
    """
    with Threads(1) as executor:
        placed = PlacedData.of(data, executor)
        least = {loss: _least(_objective(placed, loss, "auto", C)) for loss in {run.loss for run in runs.values()}}
        made: dict[str, list[Trace]] = {name: [] for name in runs}
        for _ in range(_REPEATS):
            for name, run in runs.items():
                if not made[name] or made[name][0].seconds[-1] < _QUICK_SECONDS:
                    made[name].append(_trace(_objective(placed, run.loss, run.sums, C), run.solver, least[run.loss]))
    return {name: _quickest(repeats) for name, repeats in made.items()}


def _trace(objective: RankingObjective, solver: Solver, least: float) -> Trace:
    # What is compiled and placed at the first use is not what is compared.
    first = objective.start()
    if not hasattr(objective.loss, "smoothed"):
        first.hessian_product(first.gradient)
    weights: list[Vector] = []
    history = solver.minimize(objective, watch=lambda _, at: weights.append(at.copy())).history
    seconds, values, measure = np.array([(line.seconds, line.value, line.gap) for line in history]).T
    return Trace(seconds, (values - least) / least, measure, np.array(weights))


def _quickest(repeats: Sequence[Trace]) -> Trace:
    n = min(len(trace.seconds) for trace in repeats)
    seconds = np.min([trace.seconds[:n] for trace in repeats], axis=0)
    first = repeats[0]
    return Trace(seconds, first.distance[:n], first.measure[:n], first.weights[:n])


def _least(objective: RankingObjective) -> float:
    """The least value there is, but for rounding; for the hinge a bound on it, within 1e-7."""
    if hasattr(objective.loss, "smoothed"):
        solution = SmoothedNewton(1e-7).minimize(objective)
        return solution.value - solution.certified_gap
    return NewtonCG(1e-14).minimize(objective).value


def _objective(placed: PlacedData, loss: str, sums: str, C: float) -> RankingObjective:
    return RankingObjective(make_loss(loss, PairSums("all", STRUCTURES[sums])), L2(), C, placed)
