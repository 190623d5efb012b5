"""BestLinear: one answer, the transform, the weighting and the penalty that rank held-out queries best."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, replace
from typing import Any

import numpy as np

from linrank.arrays import Offsets, Vector
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import choose_scaling, column_deviations, scaled
from linrank.dataset.summary import count_pairs
from linrank.errors import LinrankError
from linrank.estimators.additive_ranker import AdditiveRanker
from linrank.estimators.declaring import with_settings
from linrank.estimators.linear_ranker import LinearRanker
from linrank.estimators.minimizing_ranker import NO_WEIGHTS
from linrank.estimators.rank_svm import RankSVM
from linrank.estimators.rank_svm_cv import RankSVMCV
from linrank.estimators.recipe_search import Part, Path, RecipeSearch, fitted
from linrank.estimators.recipes import (
    CURVES,
    LOSSES,
    PENALTIES,
    PLAIN,
    SMOOTHINGS,
    STRENGTHS,
    TRANSFORMS,
    WEIGHTINGS,
    Recipe,
    TriedRecipe,
    best_of,
    chosen_among,
    mean_and_error,
    near_means,
)
from linrank.estimators.searching import Edge, unfinished_said
from linrank.estimators.settings import check_choice, check_positive
from linrank.executors.local import Threads
from linrank.measures import parse_measure
from linrank.model import LinearModel

# Of the trainings that choose: what is chosen is trained as RankSVM is.
_TOLERANCE = 1e-4
# Deviations of features from which values of C are found.
_SIZES = (1e-30, 1e30)


@with_settings
class BestLinear(LinearRanker):
    """The best that a linear ranker can do here: transform, loss, weighting, penalty and C chosen on held-out queries.

    Minimises what `RankSVM` does, with the settings that the data asks for. Every transform is tried with every
    weighting and loss, and the best of these with every penalty, each over a path of C with warm starts. Plain RankSVM,
    on standardised features or, where units allow it, on features as they are, is kept unless another is better by
    more than one standard error of the differences, query by query.

    Parameters
    ----------
    transforms : sequence of {"none", "standard", "signed-log", "rank-gauss", "curves"}
        What may be done to the features. "none" is tried only where the ranges of features are within 1,000 times of
        one another, as `linrank train` leaves them then: elsewhere it goes by units. "standard" divides each by its
        standard deviation, or by its largest size where it is 0 nearly everywhere. With "curves", which are not tried
        unless they are named, the best loss and weighting are tried with the curves of `AdditiveRanker` too, by
        smoothings of 100, 10 and 1.
    weightings : sequence of {"pairs", "queries", "ndcg"}
        How pairs may be weighed in the squared hinge.
    penalties : sequence of {"l2", "l1"}
        What weights may cost.
    losses : sequence of {"squared_hinge", "xe_ndcg"}
        RankSVM's, and that of `XENDCG`, which is of whole lists and has no weighting.
    Cs : sequence of float
        To choose from, as `RankSVM` counts them. Unless given, 2^-12, 2^-10 ... 2^6 for losses that count once a query,
        and for pairs those divided by the mean number of pairs of a query; for features as they are, divided by their
        mean square deviation.
    cv : int
        Folds of whole queries that choose, where `fit` is given no `eval_set`.
    measure : str
        What is chosen by.
    max_seconds : float
        No training that chooses goes on after this time, but those of plain RankSVM; recipes that were not tried to
        their end are left out, and named in `remarks_`. What is tried then depends on the machine. What is chosen is
        trained after it.
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
        What each bought, in the order tried; none where no query could be held out and measured.
    expected_ : float
        The mean of the measure where each fold's recipe and C are chosen by the other folds, by the same rule; None
        with an `eval_set`. The other folds' models were trained on this fold, which a nested estimate forbids; on
        generated data it is as near to the truth as one, at a sixth of the time.
    remarks_ : tuple of str
        What must be known of the choice.

    Examples
    --------
    >>> from linrank import BestLinear, make_ranking
    >>> data, _ = make_ranking(60, 15, 6)
    >>> best = BestLinear(transforms=["standard"], weightings=["queries"], penalties=["l2"], cv=3).fit(data)
    >>> [str(tried.recipe) for tried in best.tried_]
    ['standard, pairs, l2', 'standard, xe_ndcg, l2', 'standard, queries, l2']
    """

    method = "best"
    watches = True
    chooses = True

    transforms: Sequence[str] = TRANSFORMS  # type: ignore[assignment]
    weightings: Sequence[str] = WEIGHTINGS
    penalties: Sequence[str] = PENALTIES
    _: KW_ONLY
    losses: Sequence[str] = LOSSES
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
        return self._ranker(self.recipe_ if hasattr(self, "recipe_") else PLAIN).objective

    def _check(self) -> None:
        for name, given, known in (
            ("transforms", self.transforms, (*TRANSFORMS, CURVES)),
            ("weightings", self.weightings, WEIGHTINGS),
            ("penalties", self.penalties, PENALTIES),
            ("losses", self.losses, LOSSES),
        ):
            if isinstance(given, str) or not hasattr(given, "__len__") or not len(given):
                raise LinrankError(f"{name}={given!r}; use a list of {', '.join(map(repr, known))}.")
            for one in given:
                check_choice(name, one, known)
                if list(given).count(one) > 1:
                    raise LinrankError(f"{name}={given!r} has {one!r} more than once; name each once.")
        if self.max_seconds is not None:
            check_positive("max_seconds", self.max_seconds, "it is a time.")
        if self.cv < 2:
            raise LinrankError(f"cv={self.cv}; use 2 or more folds.")
        parse_measure(self.measure)
        # What RankSVMCV refuses is refused here.
        RankSVMCV(self.Cs, cv=self.cv, n_threads=self.n_threads)._check()  # noqa: SLF001

    def _ranker(self, recipe: Recipe, C: float = 1.0, **limits: Any) -> RankSVM:
        """RankSVM by a recipe, for features that went through its transform; that of curves, for features as given."""
        settings: dict[str, Any] = {"loss": recipe.loss, "weighting": recipe.weighting, "n_threads": self.n_threads}
        if recipe.smoothing is not None:
            return AdditiveRanker(C, smoothing=recipe.smoothing, **settings, **limits)
        return RankSVM(C, penalty=recipe.penalty, **settings, **limits)

    def _unfitted(self, recipe: Recipe) -> RankSVM:
        """The one that chooses."""
        ranker = self._ranker(recipe, tol=_TOLERANCE)
        ranker.n_features_in_ = self.n_features_in_
        return ranker

    def _prepared(
        self, dataset: RankingDataset, validation: list[RankingDataset]
    ) -> tuple[RankingDataset, list[RankingDataset]]:
        # Each recipe does with the features what it says.
        return dataset, validation

    def _train(self, dataset: RankingDataset, validation: list[RankingDataset]) -> None:
        started = time.perf_counter()
        search = RecipeSearch(
            self._unfitted,
            self._strengths(dataset),
            self._parts(dataset, validation),
            parse_measure(self.measure),
            np.inf if self.max_seconds is None else started + self.max_seconds,
        )
        self.tried_: tuple[TriedRecipe, ...] = ()
        transforms = [each for each in reversed(TRANSFORMS) if each in self.transforms]
        if "none" in transforms and not _is_comparable(dataset):
            transforms.remove("none")
        n_unfinished = n_trainings = 0
        left_out: list[Recipe] = []
        with Threads(self.n_threads) as executor:
            for recipes in self._in_groups(transforms):
                with warnings.catch_warnings():
                    # What the chosen one would warn of is said at the end.
                    warnings.simplefilter("ignore")
                    timed = replace(search, ends=np.inf) if recipes == [PLAIN] else search
                    found = timed.paths(recipes, executor)
                left_out += [recipe for recipe in recipes if recipe not in found]
                for recipe, path in found.items():
                    n_trainings, n_unfinished = n_trainings + path.n_trainings, n_unfinished + path.n_unfinished
                    self._told(recipe, path)
        number, place, why = chosen_among(self.tried_)
        chosen: TriedRecipe = self.tried_[number]
        self.recipe_: Recipe = chosen.recipe
        self.C_ = float(chosen.Cs[place])
        self.expected_ = None if validation else self._expected(dataset)
        edge = _edge(chosen)
        if not self._is_measured():
            self.tried_, edge = (), None
            why = f"nothing was tried: no held-out query has a value of {self.measure}; C is that nearest to 1"
        unfinished = unfinished_said(n_unfinished, n_trainings) if n_unfinished else None
        self.remarks_ = tuple(filter(None, [why, self._said_of(left_out), edge, unfinished, self._fewer(search)]))
        self._train_chosen(dataset)

    def _train_chosen(self, dataset: RankingDataset) -> None:
        # (Curves are learnt with the weights.)
        self.transform_ = None if self.recipe_.transform == CURVES else fitted(self.recipe_.transform, dataset)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ranker = self._ranker(self.recipe_, self.C_).fit(scaled(dataset, self.transform_))
        if isinstance(ranker, AdditiveRanker):
            self.transform_ = ranker.transform_
        # `_keep` says what else there is to say.
        if NO_WEIGHTS in (str(one.message) for one in caught):
            warnings.warn(NO_WEIGHTS, UserWarning, stacklevel=4)
        self._keep(ranker.solution_, unfinished="what it would come to is not known. Pass other Cs.")

    def _strengths(self, dataset: RankingDataset) -> Callable[[Recipe], Vector]:
        """The values of C of a recipe, for this data unless they are given."""
        if self.Cs is not None:
            given = np.sort(np.asarray(self.Cs, dtype=np.float64))
            return lambda recipe: given  # noqa: ARG005
        n_pairs = count_pairs(dataset)
        a_query = float(n_pairs.sum()) / max(1, int(np.count_nonzero(n_pairs)))
        # By powers of two, so that values of C are.
        pairs_of_query, size = _power_of_two(max(1.0, a_query)), _power_of_two(_mean_square(dataset))
        strengths = np.array(STRENGTHS)

        def of_recipe(recipe: Recipe) -> Vector:
            # Whatever all features are multiplied by, those as they are have the weights for it.
            of_size = strengths / size if recipe.transform == "none" else strengths
            return of_size / pairs_of_query if recipe.counts_pairs else of_size

        return of_recipe

    def _parts(self, dataset: RankingDataset, validation: list[RankingDataset]) -> list[Part]:
        """What is trained on and what is held out: nothing where there is one query only."""
        if validation:
            return [lambda: (dataset, validation[-1])]
        if dataset.n_queries < 2:
            warnings.warn(
                "there is one query only, so nothing can be cross-validated: plain RankSVM with the C nearest to 1 is "
                "trained. Pass qid, or eval_set.",
                UserWarning,
                stacklevel=5,
            )
            return []
        dealt, n_folds = self._dealt(dataset)
        return [
            lambda fold=fold: (dataset.subset(dealt != fold), dataset.subset(dealt == fold))  # type: ignore[misc]
            for fold in range(n_folds)
        ]

    def _dealt(self, dataset: RankingDataset) -> tuple[Offsets, int]:
        """The fold of each query, and how many there are."""
        n_folds = min(self.cv, dataset.n_queries)
        return dataset.queries.dealt(n_folds, self.random_state), n_folds

    def _in_groups(self, transforms: Sequence[str]) -> Iterator[list[Recipe]]:
        """Plain RankSVM, those of each transform, the most promising first, and on the best of these L1 and curves."""
        yield [PLAIN]
        if not self._is_measured():
            return
        for transform in transforms:
            recipes = [Recipe(transform, loss=loss) for loss in self.losses if loss != PLAIN.loss]
            if PLAIN.loss in self.losses:
                recipes += [Recipe(transform, each) for each in ("queries", "ndcg", "pairs") if each in self.weightings]
            recipes = [recipe for recipe in recipes if recipe != PLAIN]
            if recipes:
                yield recipes
        highest = max(self.tried_, key=lambda tried: tried.mean).recipe
        if "l1" in self.penalties:
            yield [replace(highest, penalty="l1")]
        if CURVES in self.transforms:
            yield [replace(highest, transform=CURVES, smoothing=smoothing) for smoothing in SMOOTHINGS]

    def _is_measured(self) -> bool:
        """Whether there is anything to choose by."""
        return bool((~np.isnan(self.tried_[0].measures[0])).any())

    def _told(self, recipe: Recipe, path: Path) -> None:
        """Keep what a recipe came to, beside the first, and tell of it."""
        Cs, (measures, n_features) = path.Cs, path.whole()
        means = near_means(Cs, measures)
        means = means[:, ~np.isnan(means[0])]
        place = best_of(Cs, means)
        mean, _ = mean_and_error(means[place])
        gain, error = mean_and_error(means[place] - (self._of_plain() if self.tried_ else means[place]))
        used = float(n_features[place])
        tried = TriedRecipe(recipe, float(Cs[place]), used, mean, gain, error, path.seconds, Cs, measures)
        self.tried_ = (*self.tried_, tried)
        if self.progress is not None:
            self.progress(tried)

    def _of_plain(self) -> Vector:
        """What plain RankSVM came to, query by query, at the C that suits it."""
        plain = self.tried_[0]
        means = near_means(plain.Cs, plain.measures)
        means = means[:, ~np.isnan(means[0])]
        of_queries: Vector = means[best_of(plain.Cs, means)]
        return of_queries

    def _expected(self, dataset: RankingDataset) -> float | None:
        """The mean of the measure over queries, each by the recipe and the C that the other folds choose."""
        if dataset.n_queries < 2:
            return None
        folds = np.sort(self._dealt(dataset)[0])
        counted = ~np.isnan(self.tried_[0].measures[0])
        values: list[float] = []
        for fold in np.unique(folds[counted]):
            number, place, _ = chosen_among(self.tried_, counted & (folds != fold))
            values += self.tried_[number].measures[place, counted & (folds == fold)].tolist()
        return math.fsum(values) / len(values) if values else None

    def _fewer(self, search: RecipeSearch) -> str | None:
        n_folds = len(search.parts)
        return f"{n_folds} folds, as many as there are queries, and not {self.cv}" if 1 < n_folds < self.cv else None

    def _said_of(self, left_out: list[Recipe]) -> str | None:
        if not left_out:
            return None
        return (
            f"{len(left_out)} of {len(left_out) + len(self.tried_)} recipes were not tried to their end within "
            f"max_seconds={self.max_seconds:g}, so that another run may choose otherwise: "
            + "; ".join(map(str, left_out))
        )

    @property
    def choices_(self) -> dict[str, Any]:
        """The recipe and its C, by name."""
        return {**self.recipe_.settings, "C": self.C_}

    def on_shaped(self, parameters: Mapping[str, Any]) -> RankSVM:
        """RankSVM by the recipe of a model, for features that went through its transform; of curves, there is none."""
        if parameters["transform"] == CURVES:
            AdditiveRanker().on_shaped(parameters)
        recipe = Recipe(**{name: parameters[name] for name in ("transform", "weighting", "penalty", "loss")})
        return self._ranker(recipe, parameters["C"])

    def to_model(self, **extra: Any) -> LinearModel:
        """The chosen weights as a `LinearModel`, with the recipe and the C among its parameters."""
        model = super().to_model(**extra)
        return replace(model, parameters={**model.parameters, **self.choices_})


def _is_comparable(dataset: RankingDataset) -> bool:
    """Whether features can be learnt from as they are, and their units are not far apart."""
    return dataset.is_trainable and choose_scaling("auto", dataset).scaling is None


def _mean_square(dataset: RankingDataset) -> float:
    """Of the standard deviations of the features that vary: 1 where they are standardised."""
    if not dataset.is_trainable:
        return 1.0
    deviations = column_deviations(dataset)
    # Beyond, a C would be that nothing can be computed with.
    varying = np.clip(deviations[deviations > 0.0], *_SIZES)
    return float(np.mean(np.square(varying))) if len(varying) else 1.0


def _power_of_two(number: float) -> float:
    """The nearest by ratio."""
    return float(2.0 ** round(math.log2(number)))


def _edge(chosen: TriedRecipe) -> str | None:
    """That a C was chosen at an end of those tried, if it was."""
    if len(chosen.Cs) == 1 or chosen.C not in (chosen.Cs[0], chosen.Cs[-1]):
        return None
    return Edge("C", chosen.C, chosen.Cs[-1] == chosen.C).said()
