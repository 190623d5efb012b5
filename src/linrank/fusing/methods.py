"""Methods: how a fuser is chosen from judged queries, and the ways of fusing that everyone compares with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import Protocol

import numpy as np

from linrank.arrays import Vector
from linrank.fusing.fusers import CombMNZ, Fuser, ReciprocalRanks, WeightedLegs
from linrank.fusing.inner_folds import INNER_FOLDS, inner_folds, mean
from linrank.fusing.problem import FusionProblem
from linrank.fusing.trained_weights import Pairwise

RANK_CONSTANTS = (1, 2, 5, 10, 20, 40, 60, 100, 200)
_GRID_STEPS = 10
_MOST_GRID_POINTS = 1001


class Method(Protocol):
    """A way of choosing a fuser."""

    @property
    def name(self) -> str: ...
    @property
    def says(self) -> str: ...
    @property
    def learns(self) -> bool:
        """Whether it has anything to learn from judgements."""
        ...

    def learn(self, problem: FusionProblem, counts: Vector) -> Fuser:
        """The fuser for queries that count so often, 0 for those that are held out."""
        ...


@dataclass(frozen=True)
class Fixed:
    """A fuser that learns nothing."""

    name: str
    says: str
    fuser: Fuser
    learns: bool = False

    def learn(self, problem: FusionProblem, counts: Vector) -> Fuser:  # noqa: ARG002
        return self.fuser


@dataclass(frozen=True)
class BestOf:
    """The best of several fusers on the queries given; the first of equal ones."""

    name: str
    says: str
    choices: tuple[Fuser, ...]
    learns: bool = True

    def learn(self, problem: FusionProblem, counts: Vector) -> Fuser:
        means = [mean(problem.per_query(choice), counts) for choice in self.choices]
        return self.choices[int(np.argmax(means))]


@dataclass(frozen=True)
class Search:
    """Weights of the best mean measure itself: the grid's best, then steps of ever smaller size."""

    grid: BestOf
    name: str = "search"
    says: str = "weights of the highest measure, by search from the grid's best"
    learns: bool = True

    def learn(self, problem: FusionProblem, counts: Vector) -> Fuser:
        # From the grid every time: to start from what was found before would make weights look surer than they are.
        start = self.grid.learn(problem, counts)
        assert isinstance(start, WeightedLegs)
        units = np.where(problem.equal_weights > 0.0, problem.equal_weights, 1.0 / problem.spreads)
        point = np.array(start.weights) / units
        point /= np.abs(point).sum()
        best, value = start, mean(problem.per_query(start), counts)
        lowest = 0.0 if problem.engine.limits.non_negative else -np.inf
        for step in (0.05, 0.02, 0.01):
            moved = True
            while moved:
                moved = False
                for column in np.flatnonzero(~problem.idle_signals):
                    for sign in (step, -step):
                        tried = point.copy()
                        tried[column] = max(lowest, tried[column] + sign)
                        if not tried.any():
                            continue
                        tried /= np.abs(tried).sum()
                        fuser = WeightedLegs(tuple(problem.engine.in_units(tried * units).tolist()))
                        found = mean(problem.per_query(fuser), counts)
                        if found > value + 1e-9:
                            point, best, value, moved = tried, fuser, found, True
        return best


@dataclass(frozen=True)
class Chosen:
    """The one of several methods that is best on held-out queries of those given; the first of equal ones."""

    methods: tuple[Method, ...]
    name: str = "auto"
    learns: bool = True

    @property
    def says(self) -> str:
        *first, last = (method.name for method in self.methods)
        return f"what is best on held-out queries of {', '.join(first)} and {last}"

    def learn(self, problem: FusionProblem, counts: Vector) -> Fuser:
        return self.chosen(problem, counts).learn(problem, counts)

    def chosen(self, problem: FusionProblem, counts: Vector) -> Method:
        """Which it is."""
        parts = inner_folds(problem, counts)
        values = np.full((len(self.methods), problem.n_queries), np.nan)
        for part in range(INNER_FOLDS):
            held_out = parts == part
            kept = np.where(held_out, 0.0, counts)
            if not (kept * problem.training.n_pairs).any():
                return self.methods[0]
            for place, method in enumerate(self.methods):
                values[place, held_out] = problem.per_query(method.learn(problem, kept))[held_out]
        return self.methods[int(np.argmax([mean(row, counts) for row in values]))]


def methods_for(problem: FusionProblem, *, quick: bool = False) -> dict[str, Method]:
    """Every method by name; `quick` leaves out those that go through many orders of all candidates."""
    legs = problem.candidates.leg_names
    width = problem.matrix.shape[1]

    def weighted(weights: Vector) -> WeightedLegs:
        return WeightedLegs(tuple(problem.engine.in_units(weights * problem.equal_weights).tolist()))

    made: list[Method] = [
        Fixed(f"{name} alone", f"leg {name} alone", weighted(np.eye(width)[place])) for place, name in enumerate(legs)
    ]
    ranks = tuple(ReciprocalRanks(k) for k in RANK_CONSTANTS)
    made += [
        Fixed("equal", "equal weights (CombSUM)", weighted(np.ones(width))),
        Fixed("combmnz", "CombMNZ: the sum, times the number of legs that brought it", CombMNZ()),
        Fixed("rrf60", "reciprocal ranks, k = 60", ReciprocalRanks(60)),
        BestOf("rrf", "reciprocal ranks, k chosen", ranks),
    ]
    if not quick:
        steps = grid_steps(len(legs))
        points = [np.append(point, np.zeros(width - len(legs))) for point in simplex_grid(len(legs), steps)]
        grid = BestOf("grid", f"the best of weights in steps of 1/{steps}", tuple(map(weighted, points)))
        made.append(grid)
    trained: list[Method] = [
        Pairwise(),
        Pairwise("ndcg", "pairs weighed by what they change of NDCG, trained in rounds", by_rank=True),
    ]
    if not quick:
        trained.append(Search(grid))
    made += [*trained, Chosen(tuple(trained))]
    return {method.name: method for method in made}


def grid_steps(n_legs: int) -> int:
    """Ten steps from 0 to 1, as everyone uses; fewer where that would be more than a thousand points."""
    return max(s for s in range(1, _GRID_STEPS + 1) if s == 1 or _n_points(n_legs, s) <= _MOST_GRID_POINTS)


def n_grid_points(n_legs: int) -> int:
    """How many weights the grid has."""
    return _n_points(n_legs, grid_steps(n_legs))


def _n_points(n_legs: int, steps: int) -> int:
    return comb(steps + n_legs - 1, n_legs - 1)


def simplex_grid(n: int, steps: int) -> Sequence[Vector]:
    """All weights in steps of 1 / steps that add up to 1, those nearest to equal first."""
    points = [np.array(point) / steps for point in _parts(n, steps)]
    return sorted(points, key=lambda point: (round(float(((point - 1.0 / n) ** 2).sum()), 12), point.tolist()))


def _parts(n: int, total: int) -> list[list[int]]:
    if n == 1:
        return [[total]]
    return [[first, *rest] for first in range(total + 1) for rest in _parts(n - 1, total - first)]
