"""Recipes on held-out queries: each over a path of C, with what several of them need computed once."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.dataset.applied_scaling import ColumnScaling, Scaling
from linrank.dataset.features import scores_of
from linrank.dataset.fitted_transforms import RARE
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import fit_scaling, scaled
from linrank.dataset.transform_choice import choose_transform
from linrank.estimators.rank_svm import RankSVM
from linrank.estimators.rank_svm_cv import solutions_along, with_equal_queries
from linrank.estimators.recipes import Recipe
from linrank.executors.local import Threads
from linrank.measures import Measure
from linrank.solvers.solution import Solution

Parts = Sequence[Callable[[], tuple[RankingDataset, RankingDataset]]]
"""What is trained on and what is held out, made when it is asked for."""

# A path ends with so many values of C, one after the other, that are worse than the best beyond a standard error.
_FALLEN = 3
_ROWS_AT_A_TIME = 65_536


@dataclass
class Path:
    """What came of one recipe: of each part the measure of each held-out query and the features used, for each C."""

    Cs: Vector
    measures: list[NDArray[np.float64]] = field(default_factory=list)
    n_features: list[Vector] = field(default_factory=list)
    n_trainings: int = 0
    n_unfinished: int = 0
    seconds: float = 0.0

    def whole(self) -> tuple[Vector, NDArray[np.float64], Vector]:
        """The values of C that every part came to, the measures of all queries, and the features used."""
        n_reached = min((len(part) for part in self.measures), default=len(self.Cs))
        measures = [part[:n_reached] for part in self.measures] or [np.empty((n_reached, 0))]
        n_features = np.mean([part[:n_reached] for part in self.n_features] or [np.zeros(n_reached)], axis=0)
        return self.Cs[:n_reached], np.concatenate(measures, axis=1), n_features


@dataclass
class _Seen:
    """A part of the data as the recipes with one transform see it."""

    train: RankingDataset
    held_out: RankingDataset
    executor: Threads
    _with_equal: Iterator[Solution] | None = None

    @classmethod
    def of(cls, train: RankingDataset, held_out: RankingDataset, transform: str, executor: Threads) -> _Seen:
        chosen = fitted(transform, train)
        return cls(scaled(train, chosen), scaled(held_out, chosen), executor)

    def solutions(self, ranker: RankSVM, Cs: Vector) -> Iterator[Solution]:
        """Of each C; those with equal queries, from which rounds for NDCG begin too, are computed once."""
        if ranker.weighting == "pairs" or ranker.penalty != "l2":
            return solutions_along(ranker, self.train, Cs, self.executor)
        if self._with_equal is None:
            self._with_equal = solutions_along(with_equal_queries(ranker), self.train, Cs, self.executor)
        equal, self._with_equal = itertools.tee(self._with_equal)
        return equal if ranker.weighting == "queries" else solutions_along(ranker, self.train, Cs, self.executor, equal)


@dataclass
class RecipeSearch:
    """Tries recipes on the same parts of the data until its time is over.

    Attributes
    ----------
    make : the ranker of a recipe, for features that went through its transform, with some seconds at most
    strengths : the values of C of a recipe, ascending
    ends : when no further training is begun, by `time.perf_counter`
    """

    make: Callable[[Recipe, float], RankSVM]
    strengths: Callable[[Recipe], Vector]
    parts: Parts
    measure: Measure
    ends: float = np.inf

    @property
    def seconds_left(self) -> float:
        return max(0.0, self.ends - time.perf_counter())

    def paths(self, recipes: Sequence[Recipe], executor: Threads, *, to_the_end: bool = False) -> dict[Recipe, Path]:
        """Those of recipes with one transform, which each part fits and applies once; without those out of time."""
        found = {recipe: Path(self.strengths(recipe)) for recipe in recipes}
        for number, part in enumerate(self.parts):
            if not found:
                break
            seen = _Seen.of(*part(), recipes[0].transform, executor)
            for recipe, path in list(found.items()):
                started = time.perf_counter()
                ranker = self.make(recipe, np.inf if to_the_end else self.seconds_left)
                self._measure(path, seen.solutions(ranker, path.Cs), seen.held_out, to_the_end)
                path.seconds += time.perf_counter() - started
                if self.seconds_left == 0.0 and not to_the_end:
                    # Where its last training ended was a matter of time.
                    del found[recipe]
            if number == 0 and not to_the_end:
                self._leave_out(found, len(self.parts) - 1)
        return found

    def _measure(self, path: Path, solutions: Iterator[Solution], held_out: RankingDataset, to_the_end: bool) -> None:
        """Measure the solutions of a part one after the other, until the measure has fallen."""
        measures: list[Vector] = []
        n_features = []
        for solution in solutions:
            measures.append(self.measure.per_query(scores_of(held_out.features, solution.weights), held_out))
            n_features.append(float(np.count_nonzero(solution.weights)))
            path.n_trainings += 1
            path.n_unfinished += not solution.converged
            if _has_fallen(measures) or (self.seconds_left == 0.0 and not to_the_end):
                break
        path.measures.append(np.array(measures))
        path.n_features.append(np.array(n_features))

    def _leave_out(self, found: dict[Recipe, Path], n_parts: int) -> None:
        """Go on with the first of the recipes, as many as are likely to end in time, by what the first part took."""
        needed = 0.0
        for recipe, path in list(found.items()):
            needed += n_parts * path.seconds
            if needed > self.seconds_left:
                del found[recipe]


def _has_fallen(measures: Sequence[Vector]) -> bool:
    """Whether the last values are all worse than the best beyond one standard error of the differences."""
    if len(measures) <= _FALLEN:
        return False
    values = np.array(measures)
    values = values[:, ~np.isnan(values[0])]
    if values.shape[1] < 2:
        return False
    behind = values[np.argmax(values.mean(axis=1))] - values[-_FALLEN:]
    errors = behind.std(axis=1, ddof=1) / np.sqrt(behind.shape[1])
    return bool((behind.mean(axis=1) > errors).all())


def fitted(transform: str, dataset: RankingDataset) -> Scaling | None:
    """The transform of a recipe, fitted to the data that it is trained on."""
    if transform == "standard":
        return _standard(dataset)
    return choose_transform(transform, "auto" if transform == "signed-log" else "none", dataset).scaling


def _standard(dataset: RankingDataset) -> ColumnScaling:
    """Each feature over its standard deviation or, if it is rare, its largest size; 0 stays, so sparse is as dense."""
    standard, largest = fit_scaling("standard", dataset), fit_scaling("max-abs", dataset)
    assert isinstance(standard, ColumnScaling)
    assert isinstance(largest, ColumnScaling)
    X: Any = dataset.features
    if dataset.is_sparse:
        there = np.bincount(X.indices[X.data != 0], minlength=dataset.n_features)
    else:
        starts = range(0, dataset.n_documents, _ROWS_AT_A_TIME)
        there = sum(np.count_nonzero(X[start : start + _ROWS_AT_A_TIME], axis=0) for start in starts)
    rare = there <= (1.0 - RARE) * dataset.n_documents
    return replace(standard, shift=np.zeros(len(rare)), scale=np.where(rare, largest.scale, standard.scale))
