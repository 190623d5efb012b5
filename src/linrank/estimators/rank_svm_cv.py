"""RankSVMCV: RankSVM whose C is chosen on a validation set, or by cross-validation over queries."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import KW_ONLY, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.dataset.applied_scaling import Scaling
from linrank.dataset.features import scores_of
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import scaled
from linrank.dataset.stored_dataset import StoredDataset
from linrank.dataset.transform_choice import choose_transform
from linrank.errors import LinrankError
from linrank.estimators.choosing import Choice, best_strength
from linrank.estimators.declaring import fixed, with_settings
from linrank.estimators.linear_ranker import scaling_after
from linrank.estimators.minimizing_ranker import say_if_no_weights
from linrank.estimators.rank_svm import RankSVM
from linrank.estimators.searching import Edge, Tried, beyond, edges_of, unfinished_said
from linrank.estimators.watching import watcher
from linrank.executors.local import Threads
from linrank.measures import Measure, parse_measure
from linrank.model import LinearModel
from linrank.objective.objective import RankingObjective
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.regularization_path import DEFAULT_CS, regularization_path, without_limit
from linrank.solvers.solution import Solution
from linrank.solvers.weighted_rounds import WeightedRounds

_Choose: TypeAlias = Callable[[RankingDataset], Scaling | None]
_ToCut: TypeAlias = tuple[RankingDataset, _Choose]
"""What is cut into folds, and what the features of each training part go through."""


@with_settings
class RankSVMCV(RankSVM):
    """RankSVM for every C of a path with warm starts, and the best C by a measure of ranking.

    Minimises the same objective as `RankSVM`. C is chosen on the last set of `eval_set` if one is passed to `fit`, and
    by `cv` folds of whole queries otherwise; then the ranker is trained on everything.

    Parameters
    ----------
    Cs : sequence of float, optional
        To choose from; 2^-15 ... 2^10 unless given, and then on by twos, six at most, while the choice is at an end.
    cv : int
        Folds, of whole queries.
    one_se : bool
        Choose the smallest C within one standard error of the best, by the differences query by query: a plainer model.
    random_state : int
        Seed of the folds.
    measure : str
        What C is chosen by.

    Attributes
    ----------
    C_ : float
        The C chosen.
    Cs_ : ndarray
    measures_ : ndarray of shape (n_Cs, n_queries)
        The measure of each held-out query for each C (NaN where the measure skips it).
    mean_measure_, standard_error_ : ndarray of shape (n_Cs,)
        Over queries.
    remarks_ : tuple of str
        What must be known of the choice: that C is the largest or smallest value tried, that trainings on the way
        stopped before they converged.
    """

    Cs: Sequence[float] | None = None
    _: KW_ONLY
    cv: int = 5
    one_se: bool = False
    random_state: int = 0
    C: float = fixed(1.0)
    max_seconds: float | None = fixed(None)
    patience: int | None = fixed(None)
    warm_start: bool = fixed(False)

    def _check(self) -> None:
        Cs = self._grid()
        if Cs.ndim != 1 or len(Cs) == 0 or not (np.isfinite(Cs).all() and (Cs > 0).all()):
            raise LinrankError(f"Cs={self.Cs}; use one or more positive numbers.")
        super()._check()

    def _prepared(
        self, dataset: RankingDataset, validation: list[RankingDataset]
    ) -> tuple[RankingDataset, list[RankingDataset]]:
        given: _ToCut | None = self.__dict__.pop("_given_cut", None)
        prepared = super()._prepared(dataset, validation)
        self._to_cut: _ToCut = given or (dataset, self._of_fold)
        return prepared

    def _of_fold(self, train: RankingDataset) -> Scaling | None:
        # What is fitted on data that C is then measured on would flatter it: each fold has a transform of its own, of
        # the kind that was chosen for all of them, since a C of one kind says nothing of another's.
        if self.transform_ is None:
            return None
        kind = self.transform_.kind if self.transforms == "auto" else str(self.transforms)
        return choose_transform(kind, scaling_after(kind), train).scaling

    def cut(self, dataset: RankingDataset, choose: _Choose) -> None:
        """Let the next `fit` cross-validate on these data, each fold with what is chosen for its training part.

        For who gives `fit` features that went through what was fitted to all of them.
        """
        self._given_cut: _ToCut = dataset, choose

    def _train(self, dataset: RankingDataset, validation: list[RankingDataset]) -> None:
        self._n_trainings = self._n_unfinished = 0
        cut: _ToCut = self.__dict__.pop("_to_cut")
        to_cut = (dataset, self._of_fold) if validation else cut
        Cs = np.sort(self._grid())
        with self._executor() as executor:
            measures = self._measured(to_cut, validation, Cs, executor)
            chosen = best_strength(Cs, measures, one_se=self.one_se)
            while (further := self._beyond(Cs, chosen)) is not None:
                place = int(np.searchsorted(Cs, further))
                row = self._measured(to_cut, validation, np.array([further]), executor)
                Cs, measures = np.insert(Cs, place, further), np.insert(measures, place, row, axis=0)
                chosen = best_strength(Cs, measures, one_se=self.one_se)
            self.measures_, self.Cs_, self.C_ = measures, Cs, float(Cs[chosen.number])
            self.mean_measure_, self.standard_error_ = chosen.means, chosen.errors
            self.remarks_ = self._remarks(Cs, chosen)
            objective = self._objective(dataset, executor).with_C(self.C_)
            solution = self._solve(objective, None, watcher(self.progress))
        say_if_no_weights(objective, solution)
        self._finish(solution)

    def _grid(self) -> Vector:
        return np.asarray(DEFAULT_CS if self.Cs is None else self.Cs, dtype=np.float64)

    def _beyond(self, Cs: Vector, chosen: Choice) -> float | None:
        """The next C beyond the end that the choice is at; none of those that the user lists."""
        if self.Cs is not None:
            return None
        return next((beyond(edge, DEFAULT_CS, Cs.tolist()) for edge in _edges(Cs, chosen)), None)

    def _remarks(self, Cs: Vector, chosen: Choice) -> tuple[str, ...]:
        said = [edge.said() for edge in _edges(Cs, chosen)]
        if self._n_unfinished:
            said.append(unfinished_said(self._n_unfinished, self._n_trainings))
        return tuple(said)

    def _measured(
        self, to_cut: _ToCut, validation: list[RankingDataset], Cs: Vector, executor: Threads
    ) -> NDArray[np.float64]:
        """The measure of each query that decides, for each C."""
        measure = parse_measure(self.measure)
        if validation:
            return self._measure_path(to_cut[0], validation[-1], Cs, measure, executor)
        return self._cross_validate(*to_cut, Cs, measure, executor)

    def to_model(self, **extra: Any) -> LinearModel:
        """The trained weights as a `LinearModel`, with the C that was chosen."""
        model = super().to_model(**extra)
        return replace(model, parameters={**model.parameters, "C": self.C_})

    def _cross_validate(
        self, dataset: RankingDataset, choose: _Choose, Cs: Vector, measure: Measure, executor: Threads
    ) -> NDArray[np.float64]:
        if isinstance(dataset, StoredDataset):
            raise LinrankError("RankSVMCV takes no folds of data that is not in memory. Pass an eval_set.")
        if dataset.n_queries < 2:
            warnings.warn(
                "there is one query only, so C cannot be cross-validated: the one nearest to 1 is used. "
                "Pass qid, or eval_set.",
                UserWarning,
                stacklevel=3,
            )
            return np.zeros((len(Cs), 0))
        folds = min(self.cv, dataset.n_queries)
        parts = []
        for train, test in dataset.folds(folds, self.random_state):
            chosen = choose(train)
            parts.append(self._measure_path(scaled(train, chosen), scaled(test, chosen), Cs, measure, executor))
        return np.concatenate(parts, axis=1)

    def _measure_path(
        self, train: RankingDataset, test: RankingDataset, Cs: Vector, measure: Measure, executor: Threads
    ) -> NDArray[np.float64]:
        measures = []
        for solution in solutions_along(self, train, Cs, executor):
            measures.append(measure.per_query(scores_of(test.features, solution.weights), test))
            self._n_trainings += 1
            self._n_unfinished += not solution.converged
        return np.array(measures)


def solutions_along(
    ranker: RankSVM,
    dataset: RankingDataset,
    Cs: Vector,
    executor: Threads,
    equal: Iterator[Solution] | None = None,
    seconds_left: Callable[[], float] = without_limit,
) -> Iterator[Solution]:
    """Those of a ranker for ascending values of C, each started from the last, in the seconds that are left for it.

    With weighting="ndcg", rounds start from the solution with equal queries for the same C: from `equal`, if it is had.
    """
    objective = ranker._objective(dataset, executor).with_C(float(Cs[0]))  # noqa: SLF001 - as RankSVMCV's own
    found: Iterator[Solution]
    if ranker.weighting == "ndcg":
        rounds = ranker._rounds(objective)  # noqa: SLF001
        equal = equal or solutions_along(with_equal_queries(ranker), dataset, Cs, executor, None, seconds_left)
        found = _rounds_from(equal, rounds, objective, Cs, seconds_left)
    else:
        found = _each_from_the_last(ranker._solver(objective), objective, Cs, seconds_left)  # noqa: SLF001
    for solution in found:
        if solution.interrupted:
            raise KeyboardInterrupt
        yield solution


def with_equal_queries(ranker: RankSVM) -> RankSVM:
    """The ranker whose solutions rounds for NDCG start from."""
    equal = copy(ranker)
    equal.weighting = "queries"
    return equal


def _each_from_the_last(
    solver: Any, objective: RankingObjective, Cs: Vector, seconds_left: Callable[[], float]
) -> Iterator[Solution]:
    if isinstance(solver, NewtonCG):
        for step in regularization_path(objective, Cs.tolist(), solver=solver, seconds_left=seconds_left):
            yield step.solution
        return
    weights = None
    for C in Cs.tolist():
        solution = _limited(solver, seconds_left).minimize(objective.with_C(C), weights)
        weights = solution.weights
        yield solution


def _rounds_from(
    equal: Iterator[Solution],
    rounds: WeightedRounds,
    objective: RankingObjective,
    Cs: Vector,
    seconds_left: Callable[[], float],
) -> Iterator[Solution]:
    for C, begun in zip(Cs.tolist(), equal, strict=False):
        limited = replace(rounds, solver=_limited(rounds.solver, seconds_left))
        if limited.solver.max_seconds == 0.0:
            return
        yield limited.minimize(objective.with_C(C), begun=begun)


def _limited(solver: Any, seconds_left: Callable[[], float]) -> Any:
    return replace(solver, max_seconds=min(solver.max_seconds, seconds_left()))


def _edges(Cs: Vector, chosen: Choice) -> list[Edge]:
    if np.isnan(chosen.means).any():
        return []
    tried = [Tried({"C": C}, mean) for C, mean in zip(Cs.tolist(), chosen.means.tolist(), strict=True)]
    return list(edges_of({"C": float(Cs[chosen.number])}, tried))
