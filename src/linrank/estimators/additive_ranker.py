"""AdditiveRanker: each feature through a curve of its own, and a few products, trained exactly as RankSVM is."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import KW_ONLY, replace
from typing import Any

import numpy as np

from linrank.arrays import Vector
from linrank.dataset.binned_features import MOST_KNOTS
from linrank.dataset.promising_pairs import check_pairs_can_be_compared
from linrank.dataset.query_blocks import BLOCK_BYTES, cut_into_blocks
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError
from linrank.estimators.choosing import Choice, best_strength
from linrank.estimators.coded_data import CodedData
from linrank.estimators.conventions import check_trained
from linrank.estimators.curve_directions import directions_by_name
from linrank.estimators.declaring import fixed, with_settings
from linrank.estimators.rank_svm import RankSVM
from linrank.estimators.settings import check_count, check_not_negative
from linrank.estimators.watching import watcher
from linrank.executors.local import Threads
from linrank.measures import parse_measure
from linrank.model import LinearModel
from linrank.objective.group_l1 import GroupL1
from linrank.objective.penalties import L2, Bounds, Penalty
from linrank.objective.placement import PlacedData
from linrank.objective.weighting import NDCGDocuments
from linrank.solvers.solution import Solution

# What is chosen among, the most flexible first; the last is the straight line.
SMOOTHINGS = (0.1, 1.0, 10.0, 100.0, math.inf)
# Of so many bytes a block: its columns written out, for the Hessian of a sample, are some twenty times as many.
_BLOCK_BYTES = BLOCK_BYTES // 4


@with_settings
class AdditiveRanker(RankSVM):
    """RankSVM on curves: score(x) = f_1(x_1) + f_2(x_2) + …, each f_j linear between knots and constant beyond them.

    Minimises {formula}; or another `loss`. A curve is a straight line in the normal scores of its feature, which is
    what rank-gauss makes of it, plus what bends it: `slope` is that of the line, and `bending` the sum of its squared
    changes of slope at the knots, each divided by the distance of the knots beside it. As `smoothing` grows the curves
    become lines, and the ranker the linear one on transformed features. Knots are values of the feature, chosen by
    their ranks: units make no difference. The minimum is exact and certified as RankSVM's is, on features that are
    coded in 32 bits.

    Where features bend little and queries are few, lines are as good. So `smoothing="auto"` keeps shapes only where
    held-out queries say so: of 0.1, 1, 10, 100 and lines it takes the plainest that is within one standard error
    of the best, by `measure` on the last set of `eval_set` or, without one, by `cv` folds of whole queries.

    Parameters
    ----------
    C : float
        Weight of the loss, which is a sum over pairs.
    smoothing : float or {"auto", "line"}
        How much a bend costs; "line" allows none.
    n_knots : int
        Of each curve, at most; from 2 to 16.
    group_l1 : float
        More than 0 adds `group_l1 * sum over features of sqrt(number of its columns) * sqrt(slope^2 + smoothing *
        bending)`, by which whole features leave.
    monotone : text or dict
        Which way curves go: "+" for all to rise and "-" to fall, or {feature: "+" or "-"} by name or number, or
        the same as JSON, by name. Such a curve is smoothed by the sum over segments of (slope - least slope)^2 *
        length in the place of its bending.
    cv : int
        Folds of whole queries, where there is no `eval_set`.
    one_se : bool
        False takes the smoothing with the best mean.
    random_state : int
        Seed of the folds.
    interactions : int
        Products of two features beside the curves, at most: `weight * l_a(x_a) * l_b(x_b)`, l_j the line of feature j,
        with `weight^2 / 2` in the penalty. They are those along which the loss of the curves alone falls most steeply,
        and are trained together with the curves, exactly. How many, of this number, a quarter of it, a quarter of
        that, … and none, held-out queries decide as they do for smoothing.
    measure : str
        What smoothing, and the number of products, are chosen by.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        How much each curve moves scores: its standard deviation over the training data, 0 for a feature that left.
    transform_ : FeatureShapes
        The curves divided by `coef_`: a document's score is `coef_ . transform_.apply(x)`.
    smoothing_ : float or "line"
        The one that was chosen, or given.
    products_ : FeatureProducts or None
        What is added to the curves: `products_.weights`, `products_.pairs` of feature numbers from 0, and their lines.
    mean_measure_, standard_error_ : dict
        Of each smoothing that was tried, over held-out queries.
    mean_measure_of_products_ : dict
        Of each number of products that was tried.
    remarks_ : tuple of str
        What must be known of the choice.

    Examples
    --------
    >>> from linrank import AdditiveRanker, make_ranking
    >>> data, _ = make_ranking(100, 20, 10)
    >>> model = AdditiveRanker(C=0.01, smoothing=1.0).fit(data)
    >>> knots, values = model.curves_["1"]
    >>> len(knots)
    12
    """

    method = "additive"
    chooses = True
    reads_files = False

    _: KW_ONLY
    smoothing: float | str = "auto"
    n_knots: int = 12
    group_l1: float = 0.0
    monotone: str | Mapping[Any, str] | None = None
    interactions: int = 0
    cv: int = 5
    one_se: bool = True
    random_state: int = 0
    penalty: str = fixed("l2")
    l1_ratio: float = fixed(0.5)
    bounds: Any = fixed(None)
    prior: Any = fixed(None)
    patience: int | None = fixed(None)
    warm_start: bool = fixed(False)
    executor: Any = fixed(None)
    # Curves go by ranks: a transform before them would change nothing but where their lines are straight.
    transforms: str | None = fixed(None)

    @property
    def shapes_features(self) -> bool:
        return True

    @property
    def objective(self) -> str:
        has_products = getattr(self, "products_", self.interactions)
        products = ", with products of two features" if has_products else ""
        return super().objective + products + (f", + {self.group_l1:g} * group L1" if self.group_l1 else "")

    @property
    def curves_(self) -> Mapping[str, tuple[Vector, Vector]]:
        """The knots of each feature's curve and its values there, by name: the score is their sum, and of products."""
        check_trained(self)
        curves = zip(self.transform_.curves(), self.coef_.tolist(), strict=True)
        return {name: (knots, size * values) for name, ((knots, values), size) in zip(self._names, curves, strict=True)}

    @property
    def choices_(self) -> dict[str, Any]:
        """The smoothing and, where some were asked for, the number of products, by name."""
        n_products = {"interactions": len(self.products_ or ())} if self.interactions else {}
        return {"smoothing": self.smoothing_, **n_products}

    def on_shaped(self, parameters: Mapping[str, Any]) -> Any:  # noqa: ARG002 - one signature for all
        """Not to be had: curves are what it learns."""
        raise LinrankError("curves are learnt with their weights, and have no weights without them.")

    def to_model(self, **extra: Any) -> LinearModel:
        """The curves as the scaling of a `LinearModel` whose weights are `coef_`; `extra` overrides its fields."""
        model = super().to_model(**extra)
        return replace(model, parameters={**model.parameters, **self.choices_})

    def _check(self) -> None:
        if self._asked() is not None and not self._asked() > 0.0:  # type: ignore[operator]
            raise LinrankError(f"smoothing={self.smoothing}; use a positive number, 'line' for no shapes, or 'auto'.")
        check_count("n_knots", self.n_knots, 2)
        if self.n_knots > MOST_KNOTS:
            raise LinrankError(f"n_knots={self.n_knots}; at most {MOST_KNOTS} can be told apart in a code.")
        check_not_negative("group_l1", self.group_l1, "it is the strength of a penalty.")
        if self.group_l1 and self.monotone is not None:
            raise LinrankError("group_l1 and monotone cannot be had together: leave one of them out.")
        check_count("interactions", self.interactions, 0)
        if self.interactions and isinstance(self.monotone, str) and self.monotone in ("+", "-"):
            raise LinrankError(
                f"interactions={self.interactions} and monotone={self.monotone!r}: what a product adds for a feature "
                "rises or falls by another. Leave one out, or name features in monotone: they are in no product."
            )
        super()._check()

    def _train(self, dataset: RankingDataset, validation: list[RankingDataset]) -> None:
        directions = directions_by_name(self.monotone, self._names)
        self.mean_measure_: dict[Any, float] = {}
        self.standard_error_: dict[Any, float] = {}
        self.mean_measure_of_products_: dict[int, float] = {}
        self.remarks_: tuple[str, ...] = ()
        if self.interactions:
            check_pairs_can_be_compared(dataset.n_features)
        with self._executor() as executor:
            asked = self._asked()
            smoothing = self._chosen(dataset, validation, directions, executor) if asked is None else asked
            coded = CodedData.of(dataset, self.n_knots, directions).with_smoothing(smoothing)
            start = None
            if n_products := self._number_of_products(dataset, validation, coded, executor):
                curves, coded, weights = coded, *self._with_products(dataset, coded, n_products, executor)
                start = coded.weights_from(curves, weights)
            solution = self._solved(dataset, coded, executor, start, watcher(self.progress))
        self.smoothing_ = _named(smoothing)
        learnt = coded.learnt(solution.weights)
        self.transform_, self.products_ = learnt.shapes, learnt.products
        measure = parse_measure(self.measure)
        scored = [measure.mean(learnt.scores(data.features), data) for data in validation]
        self.eval_history_ = [scored] if scored else []
        self._finish(replace(solution, weights=learnt.sizes))

    def _asked(self) -> float | None:
        """The smoothing that is asked for, infinity for lines; None where held-out queries are to choose."""
        if self.smoothing == "auto":
            return None
        try:
            # (On a command line numbers are text.)
            return math.inf if self.smoothing == "line" else float(self.smoothing)
        except ValueError:
            raise LinrankError(f"smoothing={self.smoothing!r}; use a positive number, 'line' or 'auto'.") from None

    def on(self, coded: CodedData) -> AdditiveRanker:
        """The same ranker, whose objective is that of the columns of `coded`."""
        return copy(self)._use(coded)  # noqa: SLF001

    def _use(self, coded: CodedData) -> AdditiveRanker:
        self._coded = coded
        return self

    def _solved(
        self, dataset: RankingDataset, coded: CodedData, executor: Threads, start: Vector | None, watch: Any = None
    ) -> Solution:
        own = self.on(coded)
        solution: Solution = own._solve(own._objective(dataset, executor), start, watch)  # noqa: SLF001
        return solution

    def _placed(self, dataset: RankingDataset, executor: Threads) -> PlacedData:
        blocks = cut_into_blocks(dataset, _BLOCK_BYTES, self._coded.features())
        return PlacedData.of_blocks(blocks, self._coded.n_columns, executor)

    def _penalty(self) -> Penalty:
        if self.group_l1:
            return GroupL1(self._coded.groups(), self.group_l1, ridge=1.0)
        return L2() if self.monotone is None else L2() + Bounds(*self._coded.bounds())

    def _chosen(
        self, dataset: RankingDataset, validation: list[RankingDataset], directions: Vector, executor: Threads
    ) -> float:
        """The plainest smoothing within one standard error of the best, or the best, on queries held out."""
        if not validation and dataset.n_queries < 2:
            warnings.warn(
                "there is one query only, so that shapes cannot be validated: curves are straight lines. Pass qid, "
                "eval_set or a smoothing.",
                UserWarning,
                stacklevel=4,
            )
            return math.inf
        chosen = self._best(
            SMOOTHINGS, dataset, validation, lambda train, test: self._measured(train, test, directions, executor)
        )
        names = [_named(smoothing) for smoothing in SMOOTHINGS]
        self.mean_measure_ = dict(zip(names, chosen.means.tolist(), strict=True))
        self.standard_error_ = dict(zip(names, chosen.errors.tolist(), strict=True))
        if np.isnan(chosen.means).any():
            return math.inf
        kept, line = names[chosen.number], chosen.means[-1]
        said = f"{self.measure} {chosen.means[chosen.number]:.4f} on held-out queries"
        best = f"the best of {len(names)} smoothings has {chosen.means.max():.4f}"
        self.remarks_ = (
            f"no shapes: lines have {said}, and {best}, all with C = {self.C:g}: by another C it may be otherwise"
            if kept == "line"
            else f"shapes with smoothing {kept:g} have {said}, lines {line:.4f}; {best}",
        )
        return SMOOTHINGS[chosen.number]

    def _number_of_products(
        self, dataset: RankingDataset, validation: list[RankingDataset], coded: CodedData, executor: Threads
    ) -> int:
        """The least number of products within one standard error of the best, or the best, on queries held out."""
        if not self.interactions:
            return 0
        if not validation and dataset.n_queries < 2:
            warnings.warn(
                "there is one query only, so that products cannot be validated: there are none. Pass qid or eval_set.",
                UserWarning,
                stacklevel=4,
            )
            return 0
        numbers = _fewer_and_fewer(min(int(self.interactions), coded.n_pairs))
        if numbers == (0,):
            self.remarks_ += ("no products: there are not two features that could be in one",)
            return 0
        chosen = self._best(
            numbers,
            dataset,
            validation,
            lambda train, test: self._measured_products(train, test, numbers, coded, executor),
        )
        self.mean_measure_of_products_ = dict(zip(numbers, chosen.means.tolist(), strict=True))
        if np.isnan(chosen.means).any():
            return 0
        kept, mean = numbers[chosen.number], chosen.means[chosen.number]
        said = f"{self.measure} {mean:.4f} on held-out queries"
        best = f"the best of {len(numbers)} numbers of them has {chosen.means.max():.4f}"
        subject = "1 product has" if kept == 1 else f"{kept} products have"
        self.remarks_ += (
            f"{subject} {said}, curves alone {chosen.means[-1]:.4f}; {best}"
            if kept
            else f"no products: curves alone have {said}, and {best}",
        )
        return kept

    def _best(
        self,
        candidates: tuple[float, ...],
        dataset: RankingDataset,
        validation: list[RankingDataset],
        measured: Callable[[RankingDataset, RankingDataset], list[Vector]],
    ) -> Choice:
        """The plainest candidate, which is nearest to the last, within one standard error of the best, or the best."""
        parts = [(dataset, validation[-1])] if validation else self._folds(dataset)
        measures = np.concatenate([np.array(measured(*part)) for part in parts], axis=1)
        places = np.arange(1.0, len(candidates) + 1.0)
        return best_strength(places, measures, one_se=self.one_se, plainest_last=True)

    def _folds(self, dataset: RankingDataset) -> Iterator[tuple[RankingDataset, RankingDataset]]:
        return dataset.folds(min(self.cv, dataset.n_queries), self.random_state)

    def _measured(
        self, train: RankingDataset, test: RankingDataset, directions: Vector, executor: Threads
    ) -> list[Vector]:
        """The measure of each held-out query for each smoothing, trained from the plainest on."""
        measure = parse_measure(self.measure)
        coded, weights = CodedData.of(train, self.n_knots, directions), np.zeros(0)
        measures: list[Vector] = []
        for smoothing in reversed(SMOOTHINGS):
            last, coded = coded, coded.with_smoothing(smoothing)
            start = coded.weights_from(last, weights) if measures else None
            weights = self._whole(self._solved(train, coded, executor, start))
            measures.append(measure.per_query(coded.learnt(weights).scores(test.features), test))
        return measures[::-1]

    def _measured_products(
        self, train: RankingDataset, test: RankingDataset, numbers: tuple[int, ...], like: CodedData, executor: Threads
    ) -> list[Vector]:
        """The measure of each held-out query for each number of products, trained from none on."""
        measure = parse_measure(self.measure)
        coded = CodedData.of(train, self.n_knots, like.basis.directions).with_smoothing(like.smoothing)
        most, weights = self._with_products(train, coded, numbers[0], executor)
        measures = [measure.per_query(coded.learnt(weights).scores(test.features), test)]
        for number in numbers[-2::-1]:
            last, coded = coded, coded.with_pairs(most.pairs[:number])
            if coded.n_columns > last.n_columns:
                start = coded.weights_from(last, weights)
                weights = self._whole(self._solved(train, coded, executor, start))
            measures.append(measure.per_query(coded.learnt(weights).scores(test.features), test))
        return measures[::-1]

    def _with_products(
        self, dataset: RankingDataset, coded: CodedData, most: int, executor: Threads
    ) -> tuple[CodedData, Vector]:
        """The data with the products along which the loss of the best curves falls most, and the weights of these."""
        weights = self._whole(self._solved(dataset, coded, executor, None))
        objective = self.on(coded)._objective(dataset, executor)  # noqa: SLF001
        if self.weighting == "ndcg":
            data = objective.data.weighed(NDCGDocuments(self.pairs), weights)  # type: ignore[arg-type]
            objective = replace(objective, data=data)
        slopes = dataset.queries.ungrouped(objective.at(weights).document_slopes())
        return coded.with_pairs(coded.promising_pairs(slopes, most)), weights

    def _whole(self, solution: Solution) -> Vector:
        """The weights of a solution on the way to another; Ctrl-C ends that, too."""
        if solution.interrupted:
            raise KeyboardInterrupt
        return solution.weights


def _named(smoothing: float) -> Any:
    """As JSON has it, which knows no infinity."""
    return float(smoothing) if math.isfinite(smoothing) else "line"


def _fewer_and_fewer(most: int) -> tuple[int, ...]:
    """A number, a quarter of it, a quarter of that and so on, and 0."""
    numbers = []
    while most:
        numbers.append(most)
        most //= 4
    return (*numbers, 0)
