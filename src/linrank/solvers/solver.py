"""What every solver of a `RankingObjective` shares: refusing what it cannot minimise, its clock, and Ctrl-C."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod

import numpy as np

from linrank.arrays import Vector
from linrank.errors import LinrankError
from linrank.objective.objective import RankingObjective
from linrank.solvers.solution import Journal, Solution, Watch


class Solver(metaclass=ABCMeta):
    """Minimises objectives of some kind; one file an algorithm, its settings as fields."""

    max_seconds: float

    def refuses(self, objective: RankingObjective) -> str | None:  # noqa: ARG002
        """Why this solver cannot minimise an objective, and what can; None where it can."""
        return None

    def minimize(
        self, objective: RankingObjective, start: Vector | None = None, *, watch: Watch | None = None
    ) -> Solution:
        """Minimise from given weights, or from where the solver begins; Ctrl-C ends it at the last point there is."""
        reason = self.refuses(objective)
        if reason is not None:
            raise LinrankError(f"{type(self).__name__}: {reason}")
        journal = Journal(watch, self.max_seconds)
        try:
            return self._run(objective, start, journal)
        except KeyboardInterrupt:
            if journal.is_empty and journal.so_far is not None:
                # It came while a first point was looked for: what was found by then is handed over.
                journal.note_smooth(objective.start(journal.so_far), inner=0, step=0.0)
            return journal.solution("interrupted", interrupted=True)

    @abstractmethod
    def _run(self, objective: RankingObjective, start: Vector | None, journal: Journal) -> Solution:
        """Minimise, noting every point."""


def wants_smooth_loss(objective: RankingObjective) -> str | None:
    """Why a loss with corners is refused."""
    if hasattr(objective.loss, "smoothed"):
        return f"{type(objective.loss).__name__} has corners, and no curvature there. Use solver='smoothed'."
    return None


def wants_weight_penalty(objective: RankingObjective) -> str | None:
    """Why a penalty that is no sum over features is refused."""
    if not objective.is_separable:
        return f"{objective.penalty} is no sum of L1, L2 and bounds over features."
    return None


def wants_proximal_penalty(objective: RankingObjective) -> str | None:
    """Why a penalty without a proximal step is refused."""
    if not hasattr(objective.penalty, "shrunk"):
        return f"{objective.penalty} has no proximal step."
    return None


def wants_smooth_penalty(objective: RankingObjective) -> str | None:
    """Why a penalty with corners or bounds is refused."""
    if not (objective.is_separable and objective.weight_penalty.is_smooth):
        return f"{objective.penalty} has corners or bounds. Use solver='proximal-newton'."
    return None


def wants_strength(objective: RankingObjective) -> str | None:
    """Why a smooth penalty that leaves a weight free is refused: where the loss is flat, there is no Newton step."""
    if not np.all(objective.weight_penalty.strengths > 0.0):
        return "some weight has no penalty, and need not have a best value. Add L2, however weak."
    return None
