"""The rankers every other one should beat: the best single feature, and weights that somebody chose."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY, replace
from typing import Any

import numpy as np

from linrank.arrays import Vector
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError
from linrank.estimators.ada_rank import SingleFeatures, in_any_order, repeated, signs_of
from linrank.estimators.declaring import with_settings
from linrank.estimators.linear_ranker import LinearRanker
from linrank.measures import parse_measure


@with_settings
class SingleFeature(LinearRanker):
    """Ranks by one feature: the one with the best measure on the training data, or the one that is named.

    Maximises `mean over queries of the measure` over rankings by x_j or -x_j; of equal ones the first feature is taken,
    and higher values first.

    Parameters
    ----------
    feature : str or int
        A name, as of a DataFrame's column or, where there are none, the feature's number from 1 as text, such as "7";
        or a column's number from 0. None: the best one.
    direction : {"both", "higher", "lower"}
        Whether higher values rank first, or lower ones, or whichever is better.
    measure : str
        What to choose by. Ties that the measure would leave to the order of the rows, or to document ids, are averaged
        over.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        1 or -1 for the feature, 0 for all others.
    feature_ : int
        The feature's column, from 0.
    objective_ : float
        The mean of the measure over the training queries, weighted by query_weight.
    measures_ : ndarray of shape (n_features,)
        The same for every feature, in its better direction; where a feature is named, NaN for all others.

    Examples
    --------
    >>> from linrank import SingleFeature, make_ranking
    >>> data, _ = make_ranking(100, 20, 10)
    >>> SingleFeature("4").fit(data.features, data.labels, qid=data.qid).feature_
    3
    """

    method = "single-feature"

    feature: str | int | None = None
    _: KW_ONLY
    direction: str = "both"
    measure: str = "ndcg@10"
    n_threads: int | None = None

    @property
    def objective(self) -> str:
        return super().objective.replace("ndcg@10", self.measure)

    def _check(self) -> None:
        in_any_order(parse_measure(self.measure))
        signs_of(self.direction)

    def _train(self, dataset: RankingDataset, validation: list[RankingDataset]) -> None:  # noqa: ARG002
        measure, signs = in_any_order(parse_measure(self.measure)), signs_of(self.direction)
        dataset = repeated(dataset)
        named = None if self.feature is None else self._column(self.feature)
        if named is not None:
            dataset = replace(dataset, features=dataset.features[:, [named]])
        alone = SingleFeatures.of(dataset, measure, signs, self.n_threads)
        if alone.table.shape[1] == 0:
            warnings.warn(f"no query has a value by {measure}: nothing is compared.", UserWarning, stacklevel=3)
        total = max(float(np.sum(alone.query_weights)), np.finfo(float).tiny)
        means = (np.sum(alone.table * alone.query_weights, axis=1) / total).reshape(len(signs), dataset.n_features)
        best = int(np.argmax(means.max(axis=0)))
        self.feature_ = best if named is None else named
        self.coef_ = np.zeros(self.n_features_in_)
        self.coef_[self.feature_] = signs[int(np.argmax(means[:, best]))]
        self.measures_ = np.full(self.n_features_in_, np.nan)
        self.measures_[slice(None) if named is None else [named]] = means.max(axis=0)
        self.objective_ = float(means.max())
        self.n_iter_ = 1
        self.history_ = ()

    def _column(self, feature: str | int) -> int:
        names = list(self._names)
        if isinstance(feature, str) and feature in names:
            return names.index(feature)
        if isinstance(feature, int | np.integer) and not isinstance(feature, bool) and 0 <= feature < len(names):
            return int(feature)
        raise LinrankError(f"feature={feature!r}; use a column's number from 0 to {len(names) - 1}, or {_some(names)}.")


@with_settings
class FixedWeights(LinearRanker):
    """Ranks by `w.x` with weights that are given, and not learned: what is in use today, to compare with.

    Parameters
    ----------
    weights : dict, text or array of shape (n_features,)
        A weight for each name, as of a DataFrame's columns or, where there are none, the features' numbers from 1 as
        text; features that are not named have the weight 0. As text: "title=2,body=0.5". None: 1 for every feature.

    Examples
    --------
    >>> from linrank import FixedWeights, make_ranking
    >>> data, _ = make_ranking(100, 20, 4)
    >>> FixedWeights({"1": 2.0, "4": -0.5}).fit(data.features, data.labels, qid=data.qid).coef_
    array([ 2. ,  0. ,  0. , -0.5])
    """

    method = "fixed-weights"

    weights: Mapping[str, float] | str | Any = None

    def _check(self) -> None:
        """Nothing can be said before the columns are known."""

    def _train(self, dataset: RankingDataset, validation: list[RankingDataset]) -> None:  # noqa: ARG002
        self.coef_ = self._given()
        self.n_iter_ = 1
        self.history_ = ()

    def _given(self) -> Vector:
        names = list(self._names)
        if self.weights is None:
            return np.ones(len(names))
        if isinstance(self.weights, str | Mapping):
            named = _from_text(self.weights) if isinstance(self.weights, str) else self.weights
            unknown = [name for name in named if str(name) not in names]
            if unknown:
                raise LinrankError(f"weights: there is no feature {unknown[0]!r}; there are {_some(names)}.")
            weights = np.zeros(len(names))
            for name, weight in named.items():
                weights[names.index(str(name))] = weight
        else:
            weights = np.array(self.weights, dtype=np.float64)
            if weights.shape != (len(names),):
                raise LinrankError(
                    f"weights have shape {weights.shape}, but there are {len(names)} features. Pass one weight a "
                    "feature, or a dict of names."
                )
        if not np.isfinite(weights).all():
            name = names[int(np.flatnonzero(~np.isfinite(weights))[0])]
            raise LinrankError(f"the weight of feature {name!r} is not a finite number. Give it one, or 0.")
        return weights


def _from_text(text: str) -> dict[str, float]:
    weights = {}
    for part in text.split(","):
        name, equals, value = part.rpartition("=")
        try:
            weights[name.strip()] = float(value)
        except ValueError:
            equals = ""
        if not equals:
            raise LinrankError(f"weights: {part.strip()!r} is not NAME=NUMBER. Write title=2,body=0.5.") from None
    return weights


def _some(names: list[str]) -> str:
    return ", ".join(map(repr, names[:8])) + (", …" if len(names) > 8 else "")
