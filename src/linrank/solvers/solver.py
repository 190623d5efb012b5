"""What every solver shares: refusing what it cannot minimise, its clock, and Ctrl-C."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import ClassVar, Generic, TypeVar

import numpy as np

from linrank.arrays import Vector
from linrank.errors import LinrankError
from linrank.objective.objective import EvaluatedPoint, RankingObjective
from linrank.solvers.solution import Journal, Solution, Watch

Problem = TypeVar("Problem")
Start = TypeVar("Start")


class Minimizer(Generic[Problem, Start], metaclass=ABCMeta):
    """Minimises problems of some kind; one file an algorithm, its settings as fields."""

    max_seconds: float
    solution: ClassVar[type[Solution]] = Solution
    """What it returns."""

    def refuses(self, objective: Problem) -> str | None:  # noqa: ARG002
        """Why this solver cannot minimise a problem, and what can; None where it can."""
        return None

    def minimize(self, objective: Problem, start: Start | None = None, *, watch: Watch | None = None) -> Solution:
        """Minimise from a given point, or from where the solver begins; Ctrl-C ends it at the last point there is."""
        reason = self.refuses(objective)
        if reason is not None:
            raise LinrankError(f"{type(self).__name__}: {reason}")
        journal = Journal(watch, self.max_seconds, self.solution)
        return journal.until_ctrl_c(lambda: self._run(objective, start, journal), self._starter(objective))

    def _starter(self, objective: Problem) -> Callable[[Vector], EvaluatedPoint] | None:  # noqa: ARG002
        """What evaluates weights that were found before there was a point, where there may be such."""
        return None

    @abstractmethod
    def _run(self, objective: Problem, start: Start | None, journal: Journal) -> Solution:
        """Minimise, noting every point."""


class Solver(Minimizer[RankingObjective, Vector], metaclass=ABCMeta):
    """Minimises objectives in the weights."""

    def _starter(self, objective: RankingObjective) -> Callable[[Vector], EvaluatedPoint]:
        return objective.start


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
