"""Watching a validation measure during training: stopping early, and keeping the best weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from linrank.arrays import Vector
from linrank.dataset.features import scores_of
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError
from linrank.solvers.solution import Iteration, Watch


def watcher(progress: Callable[[Any], object] | None, watching: Patience | None = None) -> Watch | None:
    """What a solver calls after each iteration: the caller's progress, and the validation measure."""
    if progress is None and (watching is None or not watching.active):
        return None

    def watch(line: Any, weights: Vector) -> bool:
        if progress is not None:
            progress(line)
        return watching is not None and watching.active and watching(line, weights)

    return watch


class Patience:
    """Watches a validation measure during training, and says when it has not improved for a while."""

    def __init__(self, sets: list[RankingDataset], measure: Any, patience: int | None) -> None:
        if patience is not None and (not sets or patience < 1):
            raise LinrankError(f"patience={patience} needs eval_set to be patient on, and to be at least 1.")
        self._sets = sets
        self._measure = measure
        self._patience = patience
        self._since = 0
        self.best = -np.inf
        self.best_weights: Vector | None = None
        self.best_line: Iteration | None = None
        self.values: list[list[float]] = []

    @property
    def active(self) -> bool:
        return bool(self._sets)

    def __call__(self, line: Iteration, weights: Vector) -> bool:
        """Measure every set; the last one decides."""
        self.values.append([self._measure.mean(scores_of(data.features, weights), data) for data in self._sets])
        latest = self.values[-1][-1]
        self._since += 1
        if latest > self.best:
            self.best, self.best_weights, self.best_line, self._since = latest, weights, line, 0
        return self._patience is not None and self._since >= self._patience
