"""BestLinear: one answer, the transform, the weighting and the penalty that rank held-out queries best."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.dataset.applied_scaling import ColumnScaling
from linrank.dataset.fitted_transforms import RARE
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import fit_scaling, scaled
from linrank.errors import LinrankError
from linrank.estimators.conventions import ConvergenceWarning
from linrank.estimators.declaring import with_settings
from linrank.estimators.linear_ranker import LinearRanker
from linrank.estimators.rank_svm import RankSVM
from linrank.estimators.rank_svm_cv import RankSVMCV
from linrank.estimators.settings import check_choice, check_positive
from linrank.measures import parse_measure, within_one_standard_error
from linrank.model import LinearModel

TRANSFORMS = ("standard", "signed-log", "rank-gauss")
WEIGHTINGS = ("pairs", "queries", "ndcg")
PENALTIES = ("l2", "l1")
# Half as many as RankSVMCV tries, and beyond both ends of those: weightings want each their own.
_CS = tuple(2.0**exponent for exponent in range(-18, 13, 2))


@dataclass(frozen=True)
class Recipe:
    """What is done to features, how pairs are weighed and what weights cost."""

    transform: str
    weighting: str
    penalty: str = "l2"

    def __str__(self) -> str:
        return f"{self.transform}, {self.weighting}, {self.penalty}"


_ROWS_AT_A_TIME = 65_536
# What everybody would try first, and what all others must beat.
PLAIN = Recipe("standard", "pairs")


@dataclass(frozen=True, eq=False)
class TriedRecipe:
    """A recipe with the C that suits it, and what came of it.

    Attributes
    ----------
    recipe : Recipe
    C : float
        The one with the largest mean.
    n_features : int
        That have a weight, trained on everything.
    mean : float
        Of the measure over held-out queries.
    gain, error : float
        The mean of the differences from plain RankSVM over the same queries, and its standard error.
    seconds : float
    measures : ndarray of shape (n_Cs, n_queries)
        Of each held-out query for each C.
    values : ndarray
        For the C that was chosen, without queries that the measure skips.
    """

    recipe: Recipe
    C: float
    n_features: int
    mean: float
    gain: float
    error: float
    seconds: float
    measures: NDArray[np.float64] = field(repr=False)
    values: Vector = field(repr=False)

    def record(self) -> dict[str, Any]:
        """As a model remembers it."""
        return {
            "transform": self.recipe.transform,
            "weighting": self.recipe.weighting,
            "penalty": self.recipe.penalty,
            "C": self.C,
            "mean": self.mean,
            "gain": self.gain,
            "standard_error_of_gain": self.error,
            "features_used": self.n_features,
            "seconds": round(self.seconds, 4),
        }

    def __str__(self) -> str:
        gain = f"{self.gain:+.4f} ± {self.error:.4f}" if self.recipe != PLAIN else "what others must beat"
        return f"{self.recipe!s:<24} C {self.C:<10.4g} {self.mean:.4f}  {gain}  {self.seconds:.1f} s"


@with_settings
class BestLinear(LinearRanker):
    """The best that a linear ranker can do here: transform, weighting, penalty and C chosen on held-out queries.

    Minimises what `RankSVM` does, with the settings that the data asks for. Every transform is tried with every
    weighting, and the best of these with every penalty, each over a path of C with warm starts. Plain RankSVM on
    standardised features is tried first and kept unless another is better by more than one standard error of the
    differences, query by query.

    Parameters
    ----------
    transforms : sequence of {"standard", "signed-log", "rank-gauss"}
        What may be done to the features. "standard" divides each by its standard deviation, or by its largest size
        where it is 0 nearly everywhere.
    weightings : sequence of {"pairs", "queries", "ndcg"}
        How pairs may be weighed.
    penalties : sequence of {"l2", "l1"}
        What weights may cost.
    Cs : sequence of float
        To choose from; 2^-18, 2^-16 ... 2^12 unless given.
    cv : int
        Folds of whole queries that choose, where `fit` is given no `eval_set`.
    measure : str
        What is chosen by.
    max_seconds : float
        No recipe is begun after this time; plain RankSVM always is. Which are tried then depends on the machine.
    random_state : int
        Seed of the folds.
    progress : callable
        Called with each `TriedRecipe` (prints as one line).

    Attributes
    ----------
    recipe_ : Recipe
        The one chosen.
    C_ : float
    tried_ : tuple of TriedRecipe
        What each bought, in the order tried.
    expected_ : float
        The mean of the measure where each fold's recipe and C are chosen by the other folds; None with an `eval_set`.
    remarks_ : tuple of str
        What must be known of the choice.

    Examples
    --------
    >>> from linrank import BestLinear, make_ranking
    >>> data, _ = make_ranking(60, 15, 6)
    >>> best = BestLinear(transforms=["standard"], weightings=["pairs", "queries"], penalties=["l2"], cv=3).fit(data)
    >>> [str(tried.recipe) for tried in best.tried_]
    ['standard, pairs, l2', 'standard, queries, l2']
    """

    method = "best"
    watches = True
    chooses = True

    transforms: Sequence[str] = TRANSFORMS  # type: ignore[assignment]
    weightings: Sequence[str] = WEIGHTINGS
    penalties: Sequence[str] = PENALTIES
    _: KW_ONLY
    Cs: Sequence[float] | None = None
    cv: int = 5
    measure: str = "ndcg@10"
    max_seconds: float | None = None
    random_state: int = 0
    n_threads: int | None = None
    progress: Callable[[TriedRecipe], object] | None = None

    @property
    def shapes_features(self) -> bool:
        return True

    @property
    def objective(self) -> str:
        chosen = self.recipe_ if hasattr(self, "recipe_") else PLAIN
        return self._ranker(chosen).objective

    def _check(self) -> None:
        for name, given, known in (
            ("transforms", self.transforms, TRANSFORMS),
            ("weightings", self.weightings, WEIGHTINGS),
            ("penalties", self.penalties, PENALTIES),
        ):
            if isinstance(given, str) or not len(given):
                raise LinrankError(f"{name}={given!r}; use a list of {', '.join(map(repr, known))}.")
            for one in given:
                check_choice(name, one, known)
        if self.max_seconds is not None:
            check_positive("max_seconds", self.max_seconds, "it is a time.")
        parse_measure(self.measure)
        self._ranker(PLAIN)._check()  # noqa: SLF001 - what RankSVMCV refuses is refused here

    def _ranker(self, recipe: Recipe) -> RankSVMCV:
        return RankSVMCV(
            _CS if self.Cs is None else self.Cs,
            transforms=None if recipe.transform == "standard" else recipe.transform,
            weighting=recipe.weighting,
            penalty=recipe.penalty,
            cv=self.cv,
            measure=self.measure,
            random_state=self.random_state,
            n_threads=self.n_threads,
        )

    def _prepared(
        self, dataset: RankingDataset, validation: list[RankingDataset]
    ) -> tuple[RankingDataset, list[RankingDataset]]:
        # Each recipe does with the features what it says.
        return dataset, validation

    def _train(self, dataset: RankingDataset, validation: list[RankingDataset]) -> None:
        self.tried_: tuple[TriedRecipe, ...] = ()
        started = time.perf_counter()
        scaling = _standard(dataset)
        forms = {"standard": [scaled(data, scaling) for data in (dataset, *validation)]}
        n_left_out, rankers = 0, {}
        for recipe in self._recipes():
            if self.tried_ and self.max_seconds is not None and time.perf_counter() - started > self.max_seconds:
                n_left_out += 1
                continue
            train, *watched = forms.get(recipe.transform, [dataset, *validation])
            ranker, tried = self._try(recipe, train, watched)
            rankers[recipe] = ranker
            self.tried_ = (*self.tried_, tried)
            if self.progress is not None:
                self.progress(tried)
        chosen, why = self._choice()
        ranker = rankers[chosen.recipe]
        self.recipe_, self.C_ = chosen.recipe, chosen.C
        self.transform_ = scaling if chosen.recipe.transform == "standard" else ranker.transform_
        self.expected_ = None if validation else self._expected(dataset)
        self.remarks_ = (*self._remarks(why, n_left_out), *ranker.remarks_)
        self._keep(ranker.solution_, unfinished="what it would come to is not known. Pass other Cs.")

    def _recipes(self) -> Iterator[Recipe]:
        """Plain RankSVM, then the most promising first; penalties of the best of these, which is known by then."""
        yield PLAIN
        for weighting in reversed(WEIGHTINGS):
            for transform in reversed(TRANSFORMS):
                recipe = Recipe(transform, weighting)
                if weighting in self.weightings and transform in self.transforms and recipe != PLAIN:
                    yield recipe
        if "l1" in self.penalties:
            yield replace(self._highest().recipe, penalty="l1")

    def _try(
        self, recipe: Recipe, train: RankingDataset, watched: list[RankingDataset]
    ) -> tuple[RankSVMCV, TriedRecipe]:
        started = time.perf_counter()
        ranker = self._ranker(recipe)
        with warnings.catch_warnings():
            # What the chosen one would warn of is said at the end.
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", UserWarning)
            ranker.fit(train, eval_set=watched or None)
        values = ranker.measures_[int(np.flatnonzero(ranker.Cs_ == ranker.C_)[0])]
        values = values[~np.isnan(values)]
        gains = values - (self.tried_[0].values if self.tried_ else values)
        mean, gain = (math.fsum(each) / max(1, len(each)) for each in (values, gains))
        error = float(gains.std()) / math.sqrt(max(1, len(gains) - 1)) if len(gains) else 0.0
        n_features, seconds = int(np.count_nonzero(ranker.coef_)), time.perf_counter() - started
        tried = TriedRecipe(recipe, ranker.C_, n_features, mean, gain, error, seconds, ranker.measures_, values)
        return ranker, tried

    def _highest(self) -> TriedRecipe:
        """The largest mean, the first of equal ones."""
        return max(self.tried_, key=lambda tried: tried.mean)

    def _choice(self) -> tuple[TriedRecipe, str | None]:
        """What is kept, and why it is not the one with the largest mean, if so."""
        plain, best = self.tried_[0], self._highest()
        if best is plain or not len(best.values) or not within_one_standard_error(plain.values, best.values):
            return best, None
        return plain, (
            f"plain RankSVM is kept: {best.recipe} is better by {best.gain:.4f}, within one standard error of it "
            f"({best.error:.4f})"
        )

    def _expected(self, dataset: RankingDataset) -> float | None:
        """The mean of the measure over queries, each by the recipe and the C that the other folds choose."""
        if dataset.n_queries < 2:
            return None
        n_folds = min(self.cv, dataset.n_queries)
        # In the order in which RankSVMCV measures them.
        folds = np.sort(dataset.queries.dealt(n_folds, self.random_state))
        every = np.concatenate([tried.measures for tried in self.tried_])
        counted = ~np.isnan(every[0])
        values: list[float] = []
        for fold in np.unique(folds[counted]):
            others, own = counted & (folds != fold), counted & (folds == fold)
            means = [math.fsum(row) for row in every[:, others].tolist()]
            values += every[int(np.argmax(means)), own].tolist()
        return math.fsum(values) / len(values) if values else None

    def _remarks(self, why: str | None, n_left_out: int) -> list[str]:
        said = [] if why is None else [why]
        if n_left_out:
            said.append(
                f"{n_left_out} of {n_left_out + len(self.tried_)} recipes were not tried within "
                f"max_seconds={self.max_seconds:g}: another run may choose otherwise"
            )
        return said

    @property
    def choices_(self) -> dict[str, Any]:
        """The recipe and its C, by name."""
        return {**asdict(self.recipe_), "C": self.C_}

    def on_shaped(self, parameters: Mapping[str, Any]) -> RankSVM:
        """RankSVM by the recipe of a model, for features that went through its transform."""
        chosen = {name: parameters[name] for name in ("C", "weighting", "penalty")}
        return RankSVM(n_threads=self.n_threads, **chosen)

    def to_model(self, **extra: Any) -> LinearModel:
        """The chosen weights as a `LinearModel`, with the recipe and the C among its parameters."""
        model = super().to_model(**extra)
        return replace(model, parameters={**model.parameters, **self.choices_})


def _standard(dataset: RankingDataset) -> ColumnScaling:
    """Each feature over its standard deviation or, if it is rare, its largest size; 0 stays, so sparse is as dense."""
    standard, largest = fit_scaling("standard", dataset), fit_scaling("max-abs", dataset)
    assert isinstance(standard, ColumnScaling)
    assert isinstance(largest, ColumnScaling)
    X = dataset.features
    if dataset.is_sparse:
        there = np.bincount(X.indices[X.data != 0], minlength=dataset.n_features)
    else:
        starts = range(0, dataset.n_documents, _ROWS_AT_A_TIME)
        there = sum(np.count_nonzero(X[start : start + _ROWS_AT_A_TIME], axis=0) for start in starts)
    rare = there <= (1.0 - RARE) * dataset.n_documents
    return replace(standard, shift=np.zeros(len(rare)), scale=np.where(rare, largest.scale, standard.scale))
