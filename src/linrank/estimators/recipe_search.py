"""Recipes on held-out queries: each over a path of C, with what several of them need computed once."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.cached import cached_property
from linrank.dataset.applied_scaling import ColumnScaling, Scaling
from linrank.dataset.features import scores_of
from linrank.dataset.fitted_transforms import RARE
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import fit_scaling, scaled
from linrank.dataset.transform_choice import choose_transform
from linrank.estimators.additive_ranker import AdditiveRanker
from linrank.estimators.coded_data import CodedData
from linrank.estimators.rank_svm import RankSVM
from linrank.estimators.rank_svm_cv import solutions_along, with_equal_queries
from linrank.estimators.recipes import CURVES, Recipe
from linrank.executors.local import Threads
from linrank.measures import Measure
from linrank.solvers.solution import Solution

Part = Callable[[], tuple[RankingDataset, RankingDataset]]
"""What is trained on and what is held out, made when it is asked for."""

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

    def whole(self) -> tuple[NDArray[np.float64], Vector]:
        """For each C the measures of all queries, and the features used in the mean over the parts."""
        measures = self.measures or [np.empty((len(self.Cs), 0))]
        return np.concatenate(measures, axis=1), np.mean(self.n_features or [np.zeros(len(self.Cs))], axis=0)


class Trained(NamedTuple):
    """A solution, the scores of held-out documents by it, and how many features it uses."""

    solution: Solution
    scores: Vector
    n_features: int


@dataclass
class _Seen:
    """A part of the data as the recipes with one transform see it."""

    train: RankingDataset
    held_out: RankingDataset
    executor: Threads
    seconds_left: Callable[[], float]
    _with_equal: Iterator[Solution] | None = None

    def trained(self, ranker: RankSVM, Cs: Vector) -> Iterator[Trained]:
        """What each C comes to."""
        for solution in self._solutions(ranker, Cs):
            scores = scores_of(self.held_out.features, solution.weights)
            yield Trained(solution, scores, int(np.count_nonzero(solution.weights)))

    def _solutions(self, ranker: RankSVM, Cs: Vector) -> Iterator[Solution]:
        """Of each C; those with equal queries, from which rounds for NDCG begin too, are computed once."""
        if ranker.weighting == "pairs" or ranker.penalty != "l2":
            return self._along(ranker, Cs)
        if self._with_equal is None:
            self._with_equal = self._along(with_equal_queries(ranker), Cs)
        equal, self._with_equal = itertools.tee(self._with_equal)
        return equal if ranker.weighting == "queries" else self._along(ranker, Cs, equal)

    def _along(self, ranker: RankSVM, Cs: Vector, equal: Iterator[Solution] | None = None) -> Iterator[Solution]:
        return solutions_along(ranker, self.train, Cs, self.executor, equal, self.seconds_left)


@dataclass
class _SeenByCurves:
    """A part of the data as the recipes with curves see it."""

    train: RankingDataset
    held_out: RankingDataset
    executor: Threads
    seconds_left: Callable[[], float]

    @cached_property
    def _coded(self) -> CodedData:
        return CodedData.of(self.train, AdditiveRanker.n_knots, np.zeros(self.train.n_features))

    def trained(self, ranker: RankSVM, Cs: Vector) -> Iterator[Trained]:
        """What each C comes to."""
        assert isinstance(ranker, AdditiveRanker)
        coded = self._coded.with_smoothing(float(ranker.smoothing))
        for solution in solutions_along(ranker.on(coded), self.train, Cs, self.executor, None, self.seconds_left):
            learnt = coded.learnt(solution.weights)
            yield Trained(solution, learnt.scores(self.held_out.features), int(np.count_nonzero(learnt.sizes)))


@dataclass
class RecipeSearch:
    """Tries recipes on the same parts of the data until its time is over.

    Attributes
    ----------
    make : the ranker of a recipe, for features that went through its transform
    strengths : the values of C of a recipe, ascending
    ends : when every training ends, by `time.perf_counter`
    """

    make: Callable[[Recipe], RankSVM]
    strengths: Callable[[Recipe], Vector]
    parts: Sequence[Part]
    measure: Measure
    ends: float = np.inf

    @property
    def seconds_left(self) -> float:
        return max(0.0, self.ends - time.perf_counter())

    def paths(self, recipes: Sequence[Recipe], executor: Threads) -> dict[Recipe, Path]:
        """Those of recipes with one transform, which each part fits and applies once; without those out of time."""
        found = {recipe: Path(self.strengths(recipe)) for recipe in recipes}
        for number, part in enumerate(self.parts):
            if self.seconds_left == 0.0:
                return {}
            if not found:
                break
            seen = self._seen(part, recipes[0].transform, executor)
            for recipe, path in list(found.items()):
                if self.seconds_left > 0.0:
                    self._measure(path, seen.trained(self.make(recipe), path.Cs), seen.held_out)
                if self.seconds_left == 0.0:
                    # Where its last training ended was a matter of time.
                    del found[recipe]
            if number == 0:
                self._leave_out(found, len(self.parts) - 1)
        return found

    def _seen(self, part: Part, transform: str, executor: Threads) -> _Seen | _SeenByCurves:
        train, held_out = part()
        if transform == CURVES:
            return _SeenByCurves(train, held_out, executor, lambda: self.seconds_left)
        chosen = fitted(transform, train)
        return _Seen(scaled(train, chosen), scaled(held_out, chosen), executor, lambda: self.seconds_left)

    def _measure(self, path: Path, trained: Iterator[Trained], held_out: RankingDataset) -> None:
        """Measure what is trained on a part, one after the other."""
        started = time.perf_counter()
        measures: list[Vector] = []
        n_features = []
        for solution, scores, used in trained:
            measures.append(self.measure.per_query(scores, held_out))
            n_features.append(float(used))
            path.n_trainings += 1
            path.n_unfinished += not solution.converged
            if self.seconds_left == 0.0:
                break
        path.measures.append(np.array(measures))
        path.n_features.append(np.array(n_features))
        path.seconds += time.perf_counter() - started

    def _leave_out(self, found: dict[Recipe, Path], n_parts: int) -> None:
        """Go on with those that are likely to end in time beside the ones before, by what the first part took."""
        left = self.seconds_left
        for recipe, path in list(found.items()):
            needed = n_parts * path.seconds
            if needed > left:
                del found[recipe]
            else:
                left -= needed


def fitted(transform: str, dataset: RankingDataset) -> Scaling | None:
    """The transform of a recipe, fitted to the data that it is trained on."""
    if transform == "none":
        return None
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
