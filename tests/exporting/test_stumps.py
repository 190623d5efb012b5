"""An additive model as trees of one split: their sum is within half a step a feature of its scores."""

import json

import numpy as np
import pytest

from linrank import AdditiveRanker, LinrankError, RankSVM, make_shaped_ranking
from linrank.exporting.stumps import Stumps

DATA = make_shaped_ranking(40, 12, 6, n_informative=4, random_state=2).data
MODEL = AdditiveRanker(0.05, smoothing=1.0).fit(DATA).to_model()


def score_of_xgboost(trees, document):
    """As the plugins read the dump: yes where the feature is less than the condition."""
    total = 0.0
    for tree in trees:
        children = {child["nodeid"]: child["leaf"] for child in tree["children"]}
        goes = np.float32(document[tree["split"]]) < np.float32(tree["split_condition"])
        total += children[tree["yes" if goes else "no"]]
    return total


def score_of_solr(trees, document):
    """As Solr reads its model: left where the feature is at most the threshold."""
    total = 0.0
    for tree in trees:
        root = tree["root"]
        left = np.float32(document[root["feature"]]) <= np.float32(root["threshold"])
        total += float(tree["weight"]) * float(root["left" if left else "right"]["value"])
    return total


@pytest.mark.parametrize("steps", [1, 4, 32])
def test_the_sum_of_steps_is_as_near_to_the_score_as_it_says(steps):
    stumps = Stumps.of(MODEL, steps)
    trees, solr = json.loads(json.dumps(stumps.to_xgboost())), json.loads(json.dumps(stumps.to_solr()))
    documents = [dict(zip(MODEL.feature_names, row, strict=True)) for row in DATA.features[:60].tolist()]
    scores = np.array([score_of_xgboost(trees, document) for document in documents])
    apart = scores - MODEL.predict(DATA.features[:60])
    # The first value of each curve is a constant that steps leave out.
    constant = sum(
        weight * values[0] for weight, (_, values) in zip(MODEL.weights, MODEL.scaling.curves(), strict=True)
    )
    assert np.abs(apart + constant).max() <= stumps.largest_error * (1 + 1e-6) + 1e-5
    assert [score_of_solr(solr, document) for document in documents] == pytest.approx(scores, abs=1e-12)


def test_more_steps_are_nearer():
    errors = [Stumps.of(MODEL, steps).largest_error for steps in (1, 4, 32)]
    assert errors[0] > 2 * errors[1] > 10 * errors[2]
    assert len(Stumps.of(MODEL, 32).stumps) > len(Stumps.of(MODEL, 4).stumps)


def test_what_is_no_curve_is_refused():
    with pytest.raises(LinrankError, match="only curves become steps"):
        Stumps.of(RankSVM().fit(DATA).to_model())
    with pytest.raises(LinrankError, match="steps=0; use 1 or more"):
        Stumps.of(MODEL, 0)
