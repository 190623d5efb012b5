"""Quality against number of features, measured as the comparison measures: its folds, its scaling, its test queries."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from linrank.arrays import Vector
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import scaled
from linrank.estimators.catalogue import METHODS
from linrank.experiments.compare import Comparison
from linrank.experiments.curve import curve_content
from linrank.experiments.feature_path import FeaturePath, FeatureStep, feature_path
from linrank.experiments.final import parts_as_compared
from linrank.experiments.folds import whole_data
from linrank.experiments.report import FeatureCurve, RecommendedPoint
from linrank.experiments.weight_intervals import standard_deviations
from linrank.measures import parse_measure

# A path is trained on no more documents than these: a share of the queries is enough for its shape.
MOST_DOCUMENTS = 200_000


@dataclass(frozen=True)
class ComparedCurve:
    """The curve, with the step that has as many features as the recommended model.

    Attributes
    ----------
    path : FeaturePath
        Of all queries, its weights for features as they are; held out are the comparison's test queries.
    chosen : FeatureStep
    all_features : float
        The mean of the same ranker with every feature, on the same queries.
    spreads : ndarray
        The standard deviation of each feature that a weight multiplies.
    folds : bool
        Whether weights are of features as they are; not of those that were transformed, or scaled within their query.
    is_share : bool
        Whether the steps were trained on a share of the queries, as there are very many documents.
    """

    path: FeaturePath
    chosen: FeatureStep
    all_features: float
    spreads: Vector
    folds: bool
    is_share: bool


def compared_curve(comparison: Comparison) -> ComparedCurve:
    """Train a path on each fold's training part and on everything, and measure it on the test parts."""
    plan = comparison.results.plan
    measure, protocol = parse_measure(plan.protocol.select), plan.protocol
    can_fold = protocol.scaling != "query" and protocol.transform == "none"
    pairs, dense = [], []
    for fold in plan.folds:
        parts = parts_as_compared(comparison.results, fold)
        train, test = _share(parts["train"]), parts["test"]
        chosen = protocol.choice(train)
        pairs.append((train, test) if can_fold else (scaled(train, chosen), scaled(test, chosen)))
        # As the steps of the path are: RankSVM with C = 1 on the features it has.
        ranker = METHODS["ranksvm"].load()(C=1.0).fit(scaled(train, chosen))
        dense.append(measure.per_query(ranker.predict(scaled(test, chosen)), test))
    everything = whole_data(plan.folds)
    whole = _share(everything)
    if not can_fold:
        # There are no weights for features as they are: the path is of those that are scaled or transformed.
        whole = scaled(whole, protocol.choice(whole))
    path = feature_path(whole, None, cv=pairs, measure=measure, scaling=protocol.scaling if can_fold else "none")
    is_share = whole.n_queries < everything.n_queries
    mean = float(np.nanmean(np.concatenate(dense)))
    return ComparedCurve(path, _nearest(path, comparison), mean, standard_deviations(whole), can_fold, is_share)


def compared_curve_content(comparison: Comparison, curve: ComparedCurve) -> FeatureCurve:
    """The curve for the page, with the recommended ranker at its place."""
    results, linear = comparison.results, comparison.recommended_linear
    point = None
    if linear is not None:
        size = int(np.count_nonzero(comparison.recommended_model().used))
        mean = float(np.nanmean(results.per_query(linear, results.plan.protocol.select)))
        point = RecommendedPoint(linear, size, mean, is_best_linear=linear != comparison.recommended)
    content = curve_content(curve.path, curve.chosen, spreads=curve.spreads, dense=curve.all_features)
    share = " A share of the queries trained them, as there are very many documents." if curve.is_share else ""
    scaling = comparison.results.plan.protocol.scaling
    how = "scaled within their query" if scaling == "query" else "transformed"
    within = "" if curve.folds else f" Weights multiply features that are {how}."
    note = (
        "The curve is RankSVM with C = 1 on the features that an L1 penalty leaves, trained on the training parts and "
        f"measured on the test queries of the comparison, as the leaderboard is.{share}{within}"
    )
    return replace(content, recommended=point, one_standard_error=None, note=note, is_raw=curve.folds)


def _share(data: RankingDataset) -> RankingDataset:
    if data.n_documents <= MOST_DOCUMENTS:
        return data
    share = MOST_DOCUMENTS / data.n_documents
    return data.split(share, 1.0 - share)[0]


def _nearest(path: FeaturePath, comparison: Comparison) -> FeatureStep:
    """The step with as many features as the recommended linear model, or the next smaller one there is."""
    steps = path.by_size()
    if comparison.recommended_linear is None:
        return max(steps, key=lambda step: step.mean)
    size = int(np.count_nonzero(comparison.recommended_model().used))
    return max((step for step in steps if step.n_features <= size), key=lambda s: s.n_features, default=steps[0])
