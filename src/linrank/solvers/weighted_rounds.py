"""Convex problems one after the other: what pairs weigh in one is by the order that the last one ended with."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from linrank.arrays import Vector
from linrank.objective.objective import RankingObjective
from linrank.objective.weighting import EqualQueries, Weighting
from linrank.solvers.curvature import Curvature
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.solution import Journal, Solution, Watch
from linrank.solvers.solver import Solver

MOST_ROUNDS = 2
"""Rounds by the order of the last, after the one in which all pairs of a query weigh alike."""

# Where a round lowers its objective by a smaller share, the order that it is weighed by is as good as its own.
_SETTLED = 1e-3


@dataclass(frozen=True)
class WeightedRounds:
    """Minimises with equal pairs first; then, from each solution, with pairs weighed by the order it gives.

    Every round is a convex problem that the solver solves and certifies; the solution is that of the last round. It
    ends where a round lowers its own objective by less than 1e-3 of it, after `most_rounds`, or, where `judge` tells
    how good the present weights are, with the first round that is no better than the one before, which is kept then.
    """

    solver: Solver
    weighting: Weighting
    first: Weighting = field(default_factory=EqualQueries)
    most_rounds: int = MOST_ROUNDS

    def minimize(
        self,
        objective: RankingObjective,
        start: Vector | None = None,
        *,
        watch: Watch | None = None,
        judge: Callable[[], float] | None = None,
        begun: Solution | None = None,
    ) -> Solution:
        """Minimise round by round; Ctrl-C, the clock and the watcher end it at the last point there is.

        Who has the solution of the first round passes it as `begun`.
        """
        run = _Run(self.solver, watch)
        if begun is None:
            run.solve(_weighed(objective, self.first, objective.start(start).weights), start)
        else:
            run.take(begun)
        try:
            self._go_on(objective, run, judge)
            run.certify()
        except KeyboardInterrupt:
            # Between two rounds, before the first point of one, or at the certificate: the one that is kept is whole.
            return replace(run.whole(), message="interrupted", converged=False, interrupted=True)
        return run.whole()

    def _go_on(self, objective: RankingObjective, run: _Run, judge: Callable[[], float] | None) -> None:
        """Solve the rounds after the first, until one is no better than the one before."""
        measure = judge() if judge is not None else -np.inf
        for _ in range(self.most_rounds):
            if run.is_over or self._next(objective, run):
                return
            if judge is not None and not run.is_over:
                before, measure = measure, judge()
                if measure <= before:
                    run.kept -= 1
                    return

    def _next(self, objective: RankingObjective, run: _Run) -> bool:
        """Solve the next round; return whether the weights have settled."""
        weights = run.rounds[-1].weights
        weighed = _weighed(objective, self.weighting, weights)
        before = weighed.at(weights).value
        value = run.solve(weighed, weights).value
        return before - value <= _SETTLED * abs(value)


def _weighed(objective: RankingObjective, weighting: Weighting, weights: Vector) -> RankingObjective:
    return replace(objective, data=objective.data.weighed(weighting, weights))


class _Run:
    """The rounds so far as one run: one history, one clock, one watcher."""

    def __init__(self, solver: Solver, watch: Watch | None) -> None:
        self._solver = solver
        self._watch = watch
        self._started = time.perf_counter()
        self._lines: list[Any] = []
        self._objectives: list[RankingObjective | None] = []
        self._curvature = Curvature()
        self.rounds: list[Solution] = []
        self.kept = -1
        """The place of the round whose solution is the run's: the last, unless told."""
        self.is_over = False
        """Whether the watcher, the clock or Ctrl-C has ended it."""

    def solve(self, objective: RankingObjective, start: Vector | None) -> Solution:
        """Solve the next one, in the time that is left."""
        solution = self._solved(objective, start, is_last=False)
        self.take(solution, objective)
        return solution

    def _solved(self, objective: RankingObjective, start: Vector | None, *, is_last: bool) -> Solution:
        first, past = len(self._lines), time.perf_counter() - self._started

        def note(line: Any, weights: Vector) -> bool:
            self._lines.append(replace(line, number=first + line.number, seconds=past + line.seconds))
            self.is_over = self._watch is not None and bool(self._watch(self._lines[-1], weights))
            return self.is_over

        most = self._solver.max_seconds
        solver: Any = replace(self._solver, max_seconds=max(0.0, most - past))  # type: ignore[type-var]
        if isinstance(solver, NewtonCG):
            # Of the round that is kept alone the end is made sure of, and a certificate wanted. The others begin with
            # the Hessian of the last, which costs more than the few products more that it takes.
            solver = replace(solver, makes_sure=is_last, curvature=None if is_last else self._curvature)
        solution: Solution = solver.minimize(objective, start, watch=note)
        late = time.perf_counter() - self._started > most
        if late and not solution.interrupted:
            solution = replace(solution, message=f"out of time (max_seconds={most:g})")
        self.is_over = self.is_over or solution.interrupted or late
        return solution

    def take(self, solution: Solution, objective: RankingObjective | None = None) -> None:
        """Take a solution as that of a round; of an objective, unless it was certified before."""
        self.rounds.append(solution)
        self._objectives.append(objective)
        self.kept = len(self.rounds) - 1

    def certify(self) -> None:
        """Make sure of the end of the round that is kept, unless time or somebody has ended it, and certify it."""
        kept, objective = self.rounds[self.kept], self._objectives[self.kept]
        if not isinstance(self._solver, NewtonCG) or objective is None or kept.interrupted:
            return
        if self.is_over:
            left = self._solver.max_seconds - (time.perf_counter() - self._started)
            journal = Journal(max_seconds=max(0.0, left))
            self.rounds[self.kept] = self._solver.certified_at(objective.at(kept.weights), kept, journal)
            return
        sure = self._solved(objective, kept.weights, is_last=True)
        iterations, products = kept.iterations + sure.iterations, kept.inner_iterations + sure.inner_iterations
        self.rounds[self.kept] = replace(sure, iterations=iterations, inner_iterations=products)

    def whole(self) -> Solution:
        """The solution of the round that is kept, with the history of all."""
        kept, rounds = self.rounds[self.kept], f"; round {self.kept + 1} of {len(self.rounds)}"
        return replace(
            kept,
            message=kept.message if kept.interrupted else kept.message + rounds,
            round=self.kept + 1,
            history=tuple(self._lines),
            iterations=sum(one.iterations for one in self.rounds),
            inner_iterations=sum(one.inner_iterations for one in self.rounds),
        )
