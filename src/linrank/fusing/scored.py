"""EngineCandidates: candidates as an engine sees them, for a fuser to score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.cached import cached_property
from linrank.fusing.candidates import Candidates
from linrank.fusing.engine import FusionEngine
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
        starts, matrix = self.candidates.starts, self.matrix

        def largest(first: int, last: int) -> Vector:
            rows = matrix[starts[first] : starts[last]]
            made: Vector = np.maximum(rows.max(axis=0, initial=0.0), -rows.min(axis=0, initial=0.0))
            return made

        sizes: Vector = np.max([np.zeros(matrix.shape[1]), *over_queries(largest, starts)], axis=0)
        return np.less_equal(self._deviations, _ROUNDING * sizes)

    @cached_property
    def spreads(self) -> Vector:
        """Of each column, its standard deviation about the queries' means; 1 for a constant."""
        return np.where(self.is_constant, 1.0, self._deviations)

    @cached_property
    def _deviations(self) -> Vector:
        starts, matrix = self.candidates.starts, self.matrix

        def squares(first: int, last: int) -> Vector:
            sums = np.zeros(matrix.shape[1])
            add_squares_within(matrix, starts[first : last + 1], np.empty_like(sums), sums)
            return sums

        # Added in the order of the queries, for any number of threads.
        made: Vector = np.sqrt(np.sum(over_queries(squares, starts), axis=0) / max(1, self.candidates.n_rows))
        return made

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

    def by_rows(self, score: Callable[[slice], Vector]) -> Vector:
        """The scores of all rows, some queries' at a time."""
        starts, made = self.candidates.starts, np.empty(self.candidates.n_rows)

        def fill(first: int, last: int) -> None:
            rows = slice(int(starts[first]), int(starts[last]))
            made[rows] = score(rows)

        over_queries(fill, starts)
        return made
