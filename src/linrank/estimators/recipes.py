"""Recipes of a linear ranker: what is done to features, what is minimised, and how one is chosen among those tried."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.measures import within_one_standard_error

TRANSFORMS = ("none", "standard", "signed-log", "rank-gauss")
# Learnt with the weights, and so tried only where they are asked for: bends of curves cost so much.
CURVES = "curves"
SMOOTHINGS = (100.0, 10.0, 1.0)
LOSSES = ("squared_hinge", "xe_ndcg")
WEIGHTINGS = ("pairs", "queries", "ndcg")
PENALTIES = ("l2", "l1")
# Of a loss that counts once a query; one that counts once a pair has these divided by the pairs a query has.
STRENGTHS = tuple(2.0**exponent for exponent in range(-12, 7, 2))
# Strengths so near to one another rank nearly alike: their mean says more of either than its own does.
_NEAR = 4.5


@dataclass(frozen=True)
class Recipe:
    """What is done to features, what is minimised, and what weights cost: settings of `RankSVM`, but "standard".

    With "curves", settings of `AdditiveRanker`.
    """

    transform: str
    weighting: str = "pairs"
    penalty: str = "l2"
    loss: str = "squared_hinge"
    smoothing: float | None = None

    @property
    def counts_pairs(self) -> bool:
        """Whether its loss is a sum over pairs, and not over queries."""
        return self.loss == "squared_hinge" and self.weighting == "pairs"

    @property
    def settings(self) -> dict[str, Any]:
        """Those that it has, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def __str__(self) -> str:
        what = self.weighting if self.loss == "squared_hinge" else self.loss
        smoothed = "" if self.smoothing is None else f" {self.smoothing:g}"
        return f"{self.transform}{smoothed}, {what}, {self.penalty}"


# What everybody would try first, and all others must beat; gains are beside the first, which does not go by units.
PLAIN = Recipe("standard")
_PLAIN_ONES = (PLAIN, Recipe("none"))


@dataclass(frozen=True, eq=False)
class TriedRecipe:
    """A recipe with the C that suits it, and what came of it.

    Attributes
    ----------
    recipe : Recipe
    C : float
        The one whose held-out queries, with those of the values of C next to it, have the largest mean.
    n_features : float
        That have a weight at this C, the mean over folds.
    mean : float
        Of the measure over held-out queries, and over this C and those next to it.
    gain, error : float
        The mean of the differences from RankSVM on standardised features over the same queries, and its standard error.
    seconds : float
    Cs : ndarray of shape (n_Cs,)
    measures : ndarray of shape (n_Cs, n_queries)
        Of each held-out query for each C, NaN where the measure skips it.
    """

    recipe: Recipe
    C: float
    n_features: float
    mean: float
    gain: float
    error: float
    seconds: float
    Cs: Vector = field(repr=False)
    measures: NDArray[np.float64] = field(repr=False)

    def record(self) -> dict[str, Any]:
        """As a model remembers it."""
        return {
            **self.recipe.settings,
            "C": self.C,
            "mean": self.mean,
            "gain": self.gain,
            "standard_error_of_gain": self.error,
            "features_used": self.n_features,
            "seconds": round(self.seconds, 4),
        }

    def __str__(self) -> str:
        gain = f"{self.gain:+.4f} ± {self.error:.4f}" if self.recipe != PLAIN else "what gains are beside"
        return f"{self.recipe!s:<26} C {self.C:<10.4g} {self.mean:.4f}  {gain}  {self.seconds:.1f} s"


def near_means(Cs: Vector, measures: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each C and query the mean over this C, twice, and those next to it that are within a factor of 4.5."""
    totals, weights = 2.0 * measures, np.full(len(Cs), 2.0)
    near = Cs[1:] <= _NEAR * Cs[:-1]
    totals[1:] += np.where(near[:, None], measures[:-1], 0.0)
    totals[:-1] += np.where(near[:, None], measures[1:], 0.0)
    weights[1:] += near
    weights[:-1] += near
    means: NDArray[np.float64] = totals / weights[:, None]
    return means


def best_of(Cs: Vector, values: NDArray[np.float64]) -> int:
    """The place of the largest mean, the first of equal ones; where nothing was measured, of the C nearest to 1."""
    if values.shape[1] == 0:
        return int(np.argmin(np.abs(np.log(Cs))))
    # Summed exactly, so that the order of the queries makes no difference.
    return int(np.argmax([math.fsum(row) for row in values.tolist()]))


def chosen_among(tried: Sequence[TriedRecipe], queries: Any = slice(None)) -> tuple[int, int, str | None]:
    """The recipe and the C that some held-out queries choose, by place, and why that is not the largest mean, if so.

    Plain RankSVM, on standardised features or on these as they are, is kept where the better of both is within one
    standard error of the largest.
    """
    found = []
    for one in tried:
        values = near_means(one.Cs, one.measures)[:, queries]
        values = values[:, ~np.isnan(values[0])]
        place = best_of(one.Cs, values)
        found.append((place, values[place]))

    def total(number: int) -> float:
        return math.fsum(found[number][1])

    best = max(range(len(found)), key=total)
    plain = max((number for number, one in enumerate(tried) if one.recipe in _PLAIN_ONES), key=total)
    values, of_plain = found[best][1], found[plain][1]
    if best == plain or (len(values) and not within_one_standard_error(of_plain, values)):
        return best, found[best][0], None
    gain, error = mean_and_error(values - of_plain)
    why = f"plain RankSVM is kept: {tried[best].recipe} is better by {gain:.4f}, within one standard error of it"
    return plain, found[plain][0], f"{why} ({error:.4f})"


def mean_and_error(values: Vector) -> tuple[float, float]:
    """The mean of some values, and its standard error."""
    if len(values) == 0:
        return 0.0, 0.0
    return math.fsum(values) / len(values), float(values.std()) / math.sqrt(max(1, len(values) - 1))
