"""Fusers: how several legs become one score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from linrank.arrays import Vector

if TYPE_CHECKING:
    from linrank.fusing.scored import EngineCandidates


class Fuser(Protocol):
    """A way of fusing, as a value."""

    @property
    def says(self) -> str:
        """In words."""
        ...

    def scores(self, candidates: EngineCandidates) -> Vector:
        """The fused score of each candidate; -inf for one that the fuser leaves out."""
        ...


@dataclass(frozen=True)
class WeightedLegs:
    """Sum of weight x normalised score, as the engine adds it up; -inf for what no leg that is searched brings."""

    weights: tuple[float, ...]

    @property
    def says(self) -> str:
        return "weights " + ", ".join(f"{weight:g}" for weight in self.weights)

    def scores(self, candidates: EngineCandidates) -> Vector:
        weights, matrix, engine = np.array(self.weights), candidates.matrix, candidates.engine
        asked = engine.asked(weights[: len(candidates.candidates.legs)])
        if asked.all():
            return candidates.by_rows(lambda rows: engine.combine(matrix[rows], weights))
        brought = candidates.candidates.brought_by(asked)
        return candidates.by_rows(lambda rows: np.where(brought[rows], engine.combine(matrix[rows], weights), -np.inf))


@dataclass(frozen=True)
class ReciprocalRanks:
    """Sum over legs of 1 / (k + rank), ranks from 1 on, as the engine divides; signals have no ranks."""

    k: int

    @property
    def says(self) -> str:
        return f"reciprocal ranks, k = {self.k}"

    def scores(self, candidates: EngineCandidates) -> Vector:
        ranks = candidates.ranks
        reciprocals = candidates.engine.reciprocals(self.k + np.arange(1, ranks.max(initial=0) + 1))
        # What a place adds, from none on.
        added = np.append(reciprocals.dtype.type(0.0), reciprocals)

        def score(rows: slice) -> Vector:
            made = np.zeros(rows.stop - rows.start, dtype=added.dtype)
            for column in ranks[rows].T:
                made += added[column]
            return made

        return candidates.by_rows(score)


@dataclass(frozen=True)
class CombMNZ:
    """The sum of normalised scores times the number of legs that brought the document."""

    @property
    def says(self) -> str:
        return "CombMNZ"

    def scores(self, candidates: EngineCandidates) -> Vector:
        ranks, matrix = candidates.ranks, candidates.matrix
        n_legs = ranks.shape[1]
        weights = candidates.equal_weights[:n_legs]

        def score(rows: slice) -> Vector:
            found = (ranks[rows] > 0).sum(axis=1)
            return np.asarray(found * (matrix[rows, :n_legs].astype(np.float64) * weights).sum(axis=1))

        return candidates.by_rows(score)
