"""EngineCandidates: candidates as an engine sees them, for a fuser to score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.cached import cached_property
from linrank.fusing.candidates import Candidates
from linrank.fusing.engine import FusionEngine
from linrank.fusing.fusers import Fuser, Scorer
from linrank.fusing.pair_kernels import add_squares_within
from linrank.fusing.query_ranges import over_queries

# A standard deviation of so small a part of the numbers is that of equal ones.
_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class EngineCandidates:
    """Candidates, and what an engine makes of them.

    Attributes
    ----------
    engine : by whose rules
    candidates : one row each
    """

    engine: FusionEngine
    candidates: Candidates

    @cached_property
    def matrix(self) -> NDArray[Any]:
        """What is weighed, one column a leg or signal."""
        return self.engine.matrix(self.candidates)

    @cached_property
    def ranks(self) -> NDArray[np.int32]:
        """The place of each row in each leg, 0 where it is not."""
        return self.candidates.ranks()

    @cached_property
    def is_constant(self) -> NDArray[np.bool_]:
        """Of each column, whether its numbers differ within queries by no more than the rounding of their mean."""
        deviations, largest = self._deviations
        return np.less_equal(deviations, _ROUNDING * largest)

    @cached_property
    def spreads(self) -> Vector:
        """Of each column, its standard deviation about the queries' means; 1 for a constant."""
        return np.where(self.is_constant, 1.0, self._deviations[0])

    @cached_property
    def _deviations(self) -> tuple[Vector, Vector]:
        """Of each column, the standard deviation about the queries' means, and the largest size of its numbers."""
        starts, matrix = self.candidates.starts, self.matrix

        def part(first: int, last: int) -> tuple[Vector, Vector]:
            sums, largest = np.zeros(matrix.shape[1]), np.zeros(matrix.shape[1])
            add_squares_within(matrix, starts[first : last + 1], np.empty_like(sums), sums, largest)
            return sums, largest

        parts = over_queries(part, starts)
        # Added in the order of the queries, for any number of threads.
        squares = np.sum([sums for sums, _ in parts], axis=0)
        return np.sqrt(squares / max(1, self.candidates.n_rows)), np.max([largest for _, largest in parts], axis=0)

    @cached_property
    def equal_weights(self) -> Vector:
        """Those by which legs count alike: 1 each, or 1 / spread where scores are raw; signals 0."""
        n_legs = len(self.candidates.legs)
        made = np.zeros(self.matrix.shape[1])
        made[:n_legs] = 1.0 / self.spreads[:n_legs] if self.engine.is_raw else 1.0
        return made

    @cached_property
    def idle_signals(self) -> NDArray[np.bool_]:
        """Of each column, whether it is a signal that is the same for all of a query's candidates, and weighs 0."""
        return self.is_constant & (np.arange(self.matrix.shape[1]) >= len(self.candidates.legs))

    def rows_of(self, first: int, last: int) -> slice:
        """Those of the queries from the first to before the last."""
        return slice(int(self.candidates.starts[first]), int(self.candidates.starts[last]))

    def given(self, scores: Vector) -> Scorer:
        """Scores that all candidates have already, as a fuser gives them."""
        return lambda first, last: scores[self.rows_of(first, last)]

    def scores(self, fuser: Fuser) -> Vector:
        """The fused score of each candidate; -inf for one that the fuser leaves out."""
        score, made = fuser.scorer(self), np.empty(self.candidates.n_rows)

        def fill(first: int, last: int) -> None:
            made[self.rows_of(first, last)] = score(first, last)

        over_queries(fill, self.candidates.starts)
        return made
