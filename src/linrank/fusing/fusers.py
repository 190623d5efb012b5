"""Fusers: how several legs become one score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from linrank.arrays import Vector

if TYPE_CHECKING:
    from linrank.fusing.problem import FusionProblem


class Fuser(Protocol):
    """A way of fusing, as a value."""

    @property
    def says(self) -> str:
        """In words."""
        ...

    def scores(self, problem: FusionProblem) -> Vector:
        """The fused score of each candidate."""
        ...


@dataclass(frozen=True)
class WeightedLegs:
    """Sum of weight x normalised score, as the engine adds it up."""

    weights: tuple[float, ...]

    @property
    def says(self) -> str:
        return "weights " + ", ".join(f"{weight:g}" for weight in self.weights)

    def scores(self, problem: FusionProblem) -> Vector:
        weights = np.array(self.weights)
        return problem.engine.combine(problem.matrix, weights).astype(np.float64)


@dataclass(frozen=True)
class ReciprocalRanks:
    """Sum over legs of 1 / (k + rank), ranks from 1 on, as the engine divides; signals have no ranks."""

    k: int

    @property
    def says(self) -> str:
        return f"reciprocal ranks, k = {self.k}"

    def scores(self, problem: FusionProblem) -> Vector:
        engine, ranks = problem.engine, problem.ranks
        made = np.zeros(len(ranks), dtype=engine.reciprocals(ranks[:0, 0]).dtype)
        for column in ranks.T:
            made += np.where(column > 0, engine.reciprocals(self.k + column), made.dtype.type(0.0))
        return made.astype(np.float64)


@dataclass(frozen=True)
class CombMNZ:
    """The sum of normalised scores times the number of legs that brought the document."""

    @property
    def says(self) -> str:
        return "CombMNZ"

    def scores(self, problem: FusionProblem) -> Vector:
        legs = problem.matrix[:, : problem.ranks.shape[1]]
        found = (problem.ranks > 0).sum(axis=1)
        return np.asarray(found * (legs.astype(np.float64) * problem.equal_weights[: legs.shape[1]]).sum(axis=1))
