"""What the recommended model weighs, with intervals from queries drawn again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.dataset.applied_scaling import folds
from linrank.dataset.feature_shapes import FeatureShapes
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import scaled
from linrank.errors import LinrankError
from linrank.estimators.linear_ranker import LinearRanker
from linrank.experiments.compare import Comparison
from linrank.experiments.comparison import fitted, linear_weights
from linrank.experiments.comparison_curve import MOST_DOCUMENTS
from linrank.experiments.final import final_settings, settings_of_folder, unfitted
from linrank.experiments.report import Shape, WeightRow, Weights
from linrank.experiments.weight_intervals import RESAMPLES, standard_deviations, weight_resamples
from linrank.model import LinearModel

UNITS = "the change of the score for one standard deviation of {}"
OF_CURVES = "the standard deviation of what its curve adds to the score"


def compared_weights(comparison: Comparison, data: RankingDataset) -> Weights:
    """The weights of the recommended linear model, trained on all queries of `data`."""
    name = str(comparison.recommended_linear)
    model = comparison.recommended_model()
    if tuple(data.names) != model.feature_names:
        raise LinrankError("the data has other features than the model. Run the comparison again.")
    seen = scaled(data, model.scaling)
    spread = standard_deviations(seen)
    weights = model.weights * spread
    raw = model.raw_weights() if folds(model.scaling, model.weights) else None
    note = ""
    if comparison.recommended != name:
        note = (
            f"{comparison.recommended}, the recommended ranker, is no weighted sum of features: these are the weights "
            f"of {name}, the best linear ranker."
        )
    low = high = None
    if data.n_documents <= MOST_DOCUMENTS:
        try:
            drawn = _resampled(comparison, name, model, seen) * spread
            low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
        except LinrankError as error:
            note = f"{note} There are no intervals: {error}".strip()
    else:
        note = f"{note} There are no intervals, as there are very many documents.".strip()
    rows = tuple(
        WeightRow(
            data.names[j],
            None if raw is None else float(raw[j]),
            float(weights[j]),
            None if low is None else float(low[j]),
            None if high is None else float(high[j]),
        )
        for j in np.argsort(-np.abs(weights), kind="stable")
        if weights[j] or (low is not None and high is not None and (low[j] or high[j]))
    )
    shapes = shapes_of(model)
    return Weights(name, rows, units_of(model), note, shapes, products_of(model, data))


def units_of(model: LinearModel) -> str:
    """What the bars of a model say. A shift and a factor are made good by the weight; anything else is named."""
    if folds(model.scaling):
        return UNITS.format("the feature")
    kind = str(getattr(model.scaling, "kind", "scaling"))
    if kind == "additive":
        return OF_CURVES
    return UNITS.format(f"what {'scaling by query' if kind == 'query' else kind} makes of the feature")


def shapes_of(model: LinearModel) -> tuple[Shape, ...]:
    """The curves of an additive model, those that move scores the most first; none of another."""
    if not isinstance(model.scaling, FeatureShapes) or model.scaling.kind != "additive":
        return ()
    shapes = []
    for j in np.argsort(-np.abs(model.weights), kind="stable").tolist():
        if model.weights[j]:
            knots, values = model.scaling.curve(j)
            shapes.append(
                Shape(model.feature_names[j], tuple(knots.tolist()), tuple((model.weights[j] * values).tolist()))
            )
    return tuple(shapes)


def products_of(model: LinearModel, data: RankingDataset) -> tuple[WeightRow, ...]:
    """How much each product moves the scores of documents, the most first; none of a model without."""
    if model.products is None:
        return ()
    sizes = model.products.weights * model.products.values(data.features).std(axis=0)
    names = model.products.names(model.feature_names)
    order = np.argsort(-np.abs(sizes), kind="stable").tolist()
    return tuple(WeightRow(names[place], None, float(sizes[place])) for place in order)


def _resampled(comparison: Comparison, method: str, model: LinearModel, data: RankingDataset) -> NDArray[np.float64]:
    """The weights of the recommended settings when queries are drawn again, once a row; `data` as the model sees it."""
    settings = final_settings(comparison.results, method)

    def weights_on(part: RankingDataset) -> Vector:
        made = unfitted(comparison.results, method, settings)
        if isinstance(made, LinearRanker):
            made = made.on_shaped(model.parameters)
        return np.asarray(linear_weights(fitted(method, made, part), data.n_features))

    with settings_of_folder(comparison.results, method):
        return weight_resamples(weights_on, data, RESAMPLES, comparison.results.plan.protocol.seed)
