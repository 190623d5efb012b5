"""Fusers: how several legs become one score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from linrank.arrays import Vector

if TYPE_CHECKING:
    from linrank.fusing.scored import EngineCandidates

# The scores of the candidates of some queries, from the first to before the last; -inf for one that is left out.
Scorer: TypeAlias = Callable[[int, int], Vector]


class Fuser(Protocol):
    """A way of fusing, as a value."""

    @property
    def says(self) -> str:
        """In words."""
        ...

    def scorer(self, candidates: EngineCandidates) -> Scorer:
        """What gives candidates their fused scores, some queries' at a time."""
        ...


@dataclass(frozen=True)
class WeightedLegs:
    """Sum of weight x normalised score, as the engine adds it up; -inf for what no leg that is searched brings."""

    weights: tuple[float, ...]

    @property
    def says(self) -> str:
        return "weights " + ", ".join(f"{weight:g}" for weight in self.weights)

    def scorer(self, candidates: EngineCandidates) -> Scorer:
        weights, matrix, engine = np.array(self.weights), candidates.matrix, candidates.engine
        asked = engine.asked(weights[: len(candidates.candidates.legs)])

        def score(first: int, last: int) -> Vector:
            fused = engine.combine(matrix[candidates.rows_of(first, last)], weights).astype(np.float64)
            if not asked.all():
                fused[~candidates.candidates.brought_by(asked, first, last)] = -np.inf
            return fused

        return score


@dataclass(frozen=True)
class ReciprocalRanks:
    """Sum over legs of 1 / (k + rank), ranks from 1 on, as the engine divides; signals have no ranks."""

    k: int

    @property
    def says(self) -> str:
        return f"reciprocal ranks, k = {self.k}"

    def scorer(self, candidates: EngineCandidates) -> Scorer:
        ranks = candidates.ranks
        reciprocals = candidates.engine.reciprocals(self.k + np.arange(1, ranks.max(initial=0) + 1))
        # What a place adds, from none on.
        added = np.append(reciprocals.dtype.type(0.0), reciprocals)

        def score(first: int, last: int) -> Vector:
            its = ranks[candidates.rows_of(first, last)]
            made = np.zeros(len(its), dtype=added.dtype)
            for column in its.T:
                made += added[column]
            return made.astype(np.float64)

        return score


@dataclass(frozen=True)
class CombMNZ:
    """The sum of normalised scores times the number of legs that brought the document."""

    @property
    def says(self) -> str:
        return "CombMNZ"

    def scorer(self, candidates: EngineCandidates) -> Scorer:
        ranks, matrix = candidates.ranks, candidates.matrix
        n_legs = ranks.shape[1]
        weights = candidates.equal_weights[:n_legs]

        def score(first: int, last: int) -> Vector:
            rows = candidates.rows_of(first, last)
            found = (ranks[rows] > 0).sum(axis=1)
            return np.asarray(found * (matrix[rows, :n_legs].astype(np.float64) * weights).sum(axis=1))

        return score
