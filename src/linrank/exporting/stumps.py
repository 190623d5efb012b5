"""An additive model as trees of one split, for engines that take nothing but trees: its curves as steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linrank.arrays import Vector
from linrank.dataset.feature_shapes import FeatureShapes
from linrank.errors import LinrankError
from linrank.model import LinearModel


@dataclass(frozen=True)
class Stump:
    """Adds `below` to the score where the feature is less than the threshold, and `above` elsewhere."""

    feature: str
    threshold: float
    below: float
    above: float


@dataclass(frozen=True)
class Stumps:
    """The steps that an additive model becomes; a document's score is their sum.

    `largest_error` is how far a sum of steps may be from the model's score plus a constant, whatever the document:
    half a step of each feature. It counts only where documents differ by less.
    """

    stumps: tuple[Stump, ...]
    largest_error: float

    @classmethod
    def of(cls, model: LinearModel, steps: int = 16) -> Stumps:
        """Cut each segment of each curve into steps, at most so many in each and fewer in flat ones, of equal rises.

        The rise of all steps is about the same: `steps` is the number in the segment that rises most.
        """
        if not isinstance(model.scaling, FeatureShapes):
            raise LinrankError("only curves become steps, and this model has none. Export it as a linear model.")
        if steps < 1:
            raise LinrankError(f"steps={steps}; use 1 or more.")
        curves = [
            (knots, weight * values)
            for weight, (knots, values) in zip(model.weights, model.scaling.curves(), strict=True)
        ]
        rise = max((float(np.abs(np.diff(values)).max(initial=0.0)) for _, values in curves), default=0.0) / steps
        if rise == 0.0:
            raise LinrankError("every curve of the model is flat: it ranks nothing. Train with a weaker penalty.")
        stumps: list[Stump] = []
        error = 0.0
        for name, (knots, values) in zip(model.feature_names, curves, strict=True):
            made = _steps(name, knots, values, rise)
            stumps += made
            error += 0.5 * max((abs(stump.above) for stump in made), default=0.0)
        return cls(tuple(stumps), error)

    def to_xgboost(self) -> list[dict[str, Any]]:
        """As XGBoost dumps trees: what the plugins of Elasticsearch and OpenSearch take as model/xgboost+json."""
        return [
            {
                "nodeid": 0,
                "depth": 0,
                "split": stump.feature,
                "split_condition": stump.threshold,
                "yes": 1,
                "no": 2,
                "missing": 1,
                "children": [{"nodeid": 1, "leaf": stump.below}, {"nodeid": 2, "leaf": stump.above}],
            }
            for stump in self.stumps
        ]

    def to_solr(self) -> list[dict[str, Any]]:
        """As the `trees` of Solr's MultipleAdditiveTreesModel: left where a feature is at most the threshold."""
        return [
            {
                "weight": "1",
                "root": {
                    "feature": stump.feature,
                    # The largest float32 that is less: its engines compare float32 numbers.
                    "threshold": str(float(np.nextafter(np.float32(stump.threshold), np.float32(-np.inf)))),
                    "left": {"value": str(stump.below)},
                    "right": {"value": str(stump.above)},
                },
            }
            for stump in self.stumps
        ]


def _steps(name: str, knots: Vector, values: Vector, rise: float) -> list[Stump]:
    """Steps at the middles of parts of equal rise: there the curve and the steps are apart by half a step at most."""
    made = []
    for k in range(len(knots) - 1):
        change = values[k + 1] - values[k]
        n_steps = int(np.ceil(abs(change) / rise * (1.0 - 1e-12)))
        for step in range(n_steps):
            at = knots[k] + (step + 0.5) / n_steps * (knots[k + 1] - knots[k])
            # As float32 has it, which is what the engines hold: thresholds of both forms are then the same.
            made.append(Stump(name, float(np.float32(at)), 0.0, float(change / n_steps)))
    return made
