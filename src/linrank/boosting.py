"""AdaRank: boosting of weak rankers on queries, each weighing more the worse it is ranked so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.compiled import kernel
from linrank.solvers.solution import Journal, Line, Solution, Watch

# A weak ranker that is right on every query would have an infinite strength.
_NEARLY_PERFECT = 1.0 - 1e-9
# Means of a measure that agree in so many decimals are equal: which of two is the larger would be a matter of rounding.
_DIGITS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Round(Line):
    """One round of boosting: a line of the history. Its value is the sum over queries of exp(-measure), after it."""

    ranker: int
    """The place of the weak ranker that was added; -1 before the first round."""
    alone: float
    """The mean of its measure over the queries as they weighed in this round: r."""
    strength: float
    """ln((1 + r) / (1 - r)) / 2, which it was added with."""
    measure: float
    """The mean of the measure on the training queries, after the round."""
    tried: int
    """Weak rankers tried in this round: all but the last did not raise the measure."""

    def __str__(self) -> str:
        return (
            f"round {self.number:3d}  f {self.value:.6e}  measure {self.measure:.6f}  "
            f"ranker {self.ranker}  strength {self.strength:.3f}"
        )


@dataclass(frozen=True, eq=False)
class WeakRankers:
    """What is boosted: `table[k, q]` is the measure of ranker k on query q, and `scores_of(k)` scores all documents."""

    table: NDArray[np.float64]
    scores_of: Callable[[int], Vector]


@dataclass(frozen=True)
class Boosting:
    """Lowers the sum over queries of v_q exp(-E_q), E_q being the measure of query q and v_q its weight.

    In the first round query q weighs v_q, then v_q exp(-E_q) in the present order. The weak ranker with the largest
    weighted mean r of the measure is added with the strength ln((1 + r) / (1 - r)) / 2 (Xu & Li, 2007).

    Their rule may pick the same ranker for ever: more of it alone changes no order, so the queries' weights stay, and
    it is picked again. Here a ranker that does not raise the training measure by more than `tolerance` is passed over
    in that round, and the next strongest is tried; it stops where none of them does. Of equal ones the first is taken.
    """

    max_iterations: int = 100
    tolerance: float = 0.0

    def boost(
        self,
        rankers: WeakRankers,
        measure: Callable[[Vector], Vector],
        query_weights: Vector,
        *,
        watch: Watch | None = None,
    ) -> Solution:
        """Boost; `measure` gives the value of each query, from -1 to 1, for scores of all documents.

        The solution's weights are the strengths of the weak rankers, summed over the rounds. Ctrl-C ends it after the
        last whole round.
        """
        journal = Journal(watch)
        return journal.until_ctrl_c(lambda: self._boost(_Run(self, rankers, measure, query_weights, journal), journal))

    def _boost(self, run: _Run, journal: Journal) -> Solution:
        run.note(-1, 0.0, 0.0, 0)
        for _ in range(self.max_iterations):
            if run.stop:
                return journal.solution(run.stop)
            if not run.add_a_ranker():
                return journal.solution("no weak ranker raises the training measure", converged=True)
        return journal.solution(f"out of rounds (max_iter={self.max_iterations})")


class _Run:
    """The ranker so far: its scores, the measure of each query, and the strengths it is made of."""

    def __init__(
        self,
        settings: Boosting,
        rankers: WeakRankers,
        measure: Callable[[Vector], Vector],
        query_weights: Vector,
        journal: Journal,
    ) -> None:
        self._settings = settings
        self._rankers = rankers
        self._measure = measure
        self._query_weights = query_weights
        self._journal = journal
        self._ranked = False
        self._strengths = np.zeros(len(rankers.table))
        self.stop: str | None = None
        self._scores = np.zeros_like(rankers.scores_of(0))
        self._values = measure(self._scores)

    def add_a_ranker(self) -> bool:
        """Add the strongest weak ranker that raises the training measure; False if none does."""
        if len(self._query_weights) == 0:
            return False
        # Before the first round there is no order yet, and the queries weigh what they were given.
        chances = self._query_weights * np.exp(-self._values) if self._ranked else self._query_weights
        alone = np.empty(len(self._rankers.table))
        _weighted_sums(self._rankers.table, chances / chances.sum(), alone)
        goal = self._mean(self._values) + self._settings.tolerance + 10.0**-_DIGITS
        for tried, ranker in enumerate(np.argsort(-np.round(alone, _DIGITS), kind="stable").tolist(), start=1):
            r = min(float(alone[ranker]), _NEARLY_PERFECT)
            if r <= 0.0:
                break
            strength = 0.5 * float(np.log((1.0 + r) / (1.0 - r)))
            scores = self._scores + strength * self._rankers.scores_of(ranker)
            values = self._measure(scores)
            if self._mean(values) > goal:
                self._scores, self._values, self._ranked = scores, values, True
                self._strengths[ranker] += strength
                self.note(ranker, r, strength, tried)
                return True
        return False

    def _mean(self, values: Vector) -> float:
        return float(np.sum(self._query_weights * values) / max(np.sum(self._query_weights), np.finfo(float).tiny))

    def note(self, ranker: int, alone: float, strength: float, tried: int) -> None:
        value = float(np.sum(self._query_weights * np.exp(-self._values)))
        self.stop = self._journal.add(
            Round, self._strengths.copy(), value, ranker=ranker, alone=alone, strength=strength,
            measure=self._mean(self._values), tried=tried,
        )  # fmt: skip


@kernel
def _weighted_sums(table, weights, sums):  # type: ignore[no-untyped-def]
    """sums_k = sum_q weights_q table_kq, in the order of the queries: equal rows have equal sums, to the last bit."""
    for k in range(table.shape[0]):
        total = 0.0
        for q in range(table.shape[1]):
            total += weights[q] * table[k, q]
        sums[k] = total
