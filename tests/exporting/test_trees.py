"""Curves as trees: as near to the curves as is said, and to the bit what an engine makes of the file."""

import json
from dataclasses import replace

import numpy as np
import pytest

from exporting.test_curves import NAMES, a_model
from linrank import AdditiveRanker, LinearModel, LinrankError, RankSVM, export, make_shaped_ranking
from linrank.dataset.feature_shapes import FeatureShapes
from linrank.dataset.scaling import QueryScaling
from linrank.exporting.registry import TARGETS, engine_class
from linrank.exporting.solr import _before, _held, _written

TREES = [name for name in TARGETS if not engine_class(name).accepts.lines]
EVERY = pytest.mark.parametrize("target", TREES)
DATA = make_shaped_ranking(40, 12, 6, n_informative=4, random_state=2).data
MODEL = AdditiveRanker(0.05, smoothing=1.0).fit(DATA).to_model()
FLOAT32 = np.float32


def score_of_xgboost(node, document):
    """As the plugins read the dump: yes where the feature is less than the condition."""
    while "leaf" not in node:
        below = FLOAT32(document[node["split"]]) < FLOAT32(node["split_condition"])
        children = {child["nodeid"]: child for child in node["children"]}
        assert list(children) == [node["yes"], node["no"]]
        node = children[node["yes" if below else "no"]]
    return FLOAT32(node["leaf"])


def score_of_solr(tree, document):
    """As Solr reads its model: left where the feature is at most the threshold and a slack that is added to it."""
    node = tree["root"]
    while "value" not in node:
        threshold = FLOAT32(node["threshold"]) + FLOAT32(1e-6)
        node = node["left" if FLOAT32(document[node["feature"]]) <= threshold else "right"]
    return FLOAT32(tree["weight"]) * FLOAT32(node["value"])


def scores_there(made, rows):
    """A document after the other, by the file alone."""
    document = json.loads(made.content)
    if made.engine.name == "solr-trees":
        trees, of = document["params"]["trees"], score_of_solr
    else:
        trees, of = json.loads(document["model"]["model"]["definition"]), score_of_xgboost
    scores = []
    for row in rows.tolist():
        named = dict(zip(made.ranking.names, row, strict=True))
        score = FLOAT32(0.0)
        for tree in trees:
            score += of(tree, named)
        scores.append(score)
    return np.array(scores)


def at_thresholds(ranking):
    """Documents on thresholds, and on the numbers of float32 before and after them."""
    rng = np.random.default_rng(0)
    columns = []
    for steps in ranking.steps:
        at = np.append(steps.thresholds, FLOAT32(0.0))
        every = [np.nextafter(at, FLOAT32(-np.inf)), at, np.nextafter(at, FLOAT32(np.inf))]
        columns.append(rng.choice(np.concatenate(every), 300))
    return np.stack(columns, axis=1).astype(np.float64)


@EVERY
@pytest.mark.parametrize("shift", [0.0, 2.5])
@pytest.mark.parametrize("kind", ["rank-gauss", "additive", "trained"])
def test_the_file_has_the_foretold_scores_at_thresholds_too(target, kind, shift):
    made = export(MODEL if kind == "trained" else a_model(kind), target, shift=shift, steps=5)
    rows = np.concatenate([made.vectors.inputs, at_thresholds(made.ranking)])
    foretold = made.engine.arithmetic.scores(made.ranking, rows)
    assert np.array_equal(foretold[:8], made.vectors.scores)
    assert np.array_equal(scores_there(made, rows), foretold)


@EVERY
@pytest.mark.parametrize("steps", [1, 4, 64])
def test_the_sum_of_steps_is_as_near_to_the_score_as_it_says(target, steps):
    made = export(MODEL, target, steps=steps)
    columns = [MODEL.feature_names.index(name) for name in made.ranking.names]
    near = at_thresholds(made.ranking)
    rows = np.zeros((len(near), MODEL.n_features))
    rows[:, columns] = near
    apart = made.engine.arithmetic.scores(made.ranking, near) - MODEL.predict(rows)
    assert np.abs(apart).max() <= made.ranking.largest_error * (1 + 1e-6) + 1e-5
    # And no nearer than it says where every feature is where its steps are farthest off: half of the bound at least.
    assert np.abs(apart).max() > 0.2 * made.ranking.largest_error


@EVERY
def test_more_steps_are_nearer_and_the_order_of_data_is_compared(target):
    made = [export(MODEL, target, steps=steps, data=DATA) for steps in (1, 16, 256)]
    errors = [each.ranking.largest_error for each in made]
    assert errors[0] > 2 * errors[1] > 20 * errors[2]
    reversed_ = [each.order_changes.reversed for each in made]
    assert reversed_[0] > reversed_[1] > reversed_[2]
    assert any(f"may be off by {errors[1]:.3g}" in note for note in made[1].notes)


@EVERY
def test_a_feature_of_few_values_is_right_at_each(target):
    shapes = FeatureShapes.of("additive", [([0.0, 1.0, 2.0, 7.0], [0.0, 0.5, -1.0, 3.0])])
    made = export(LinearModel(np.array([2.0]), ("clicks",), shapes), target, steps=1)
    scores = made.engine.arithmetic.scores(made.ranking, np.array([[-1.0], [0.0], [1.0], [2.0], [7.0], [9.0]]))
    assert scores.tolist() == [0.0, 0.0, 1.0, -2.0, 6.0, 6.0]


def test_neighbours_of_float32_are_right_at_each():
    knots = [16777216.0, 16777218.0, 16777220.0]
    shapes = FeatureShapes.of("additive", [(knots, [0.0, 1.0, 3.0])])
    made = export(LinearModel(np.array([1.0]), ("bytes",), shapes), "opensearch-trees", steps=3)
    assert made.engine.arithmetic.scores(made.ranking, np.array(knots)[:, None]).tolist() == [0.0, 1.0, 3.0]


@EVERY
def test_what_every_target_owes(target):
    made = export(a_model("additive"), target)
    assert made.ranking.unused == ("clicks",)
    assert "clicks" not in made.content
    assert made.content == export(a_model("additive"), target).content
    with pytest.raises(LinrankError, match="two features are called 'age'"):
        export(a_model("additive"), target, names={"price": "age"})
    with pytest.raises(LinrankError, match="cannot take the feature name"):
        export(a_model("additive"), target, names={"price": ""})
    with pytest.raises(LinrankError, match="scaled by query cannot be folded"):
        export(replace(a_model("additive"), scaling=QueryScaling()), target)
    shifted = export(a_model("additive"), target, shift=2.5)
    assert shifted.vectors.scores == pytest.approx(made.vectors.scores + 2.5, rel=1e-6)
    assert shifted.ranking.names == made.ranking.names


@EVERY
def test_what_is_no_curve_is_refused(target):
    with pytest.raises(LinrankError, match=rf"{target} has curves as trees.*Export it to {target[:-6]}, or train"):
        export(RankSVM().fit(DATA), target)
    with pytest.raises(LinrankError, match=r"logarithms would need more and more\. Train with --transform rank-gauss"):
        export(a_model("signed-log"), target)
    for steps in (0, 10**9, 2.5, True, "8"):
        with pytest.raises(LinrankError, match=f"steps={steps!r}; use a whole number from 1 to 65,536"):
            export(MODEL, target, steps=steps)
    flat = FeatureShapes.of("additive", [([0.0, 1.0], [2.0, 2.0])] * 4)
    with pytest.raises(LinrankError, match="every curve of the model is flat"):
        export(LinearModel(np.ones(4), NAMES, flat), target)


def test_solr_is_given_the_numbers_that_its_slack_makes_thresholds_of():
    rng = np.random.default_rng(0)
    wanted = np.concatenate(
        [rng.normal(size=20_000) * 10.0 ** rng.uniform(low, high, 20_000) for low, high in ((-45, 38), (-8, 2))]
    )
    wanted = np.sort(wanted.astype(FLOAT32))
    held = _held(wanted)
    assert np.all(np.diff(held) >= 0)
    assert np.array_equal(_written(_before(held)) + FLOAT32(1e-6), _before(held))
    # Where float32 is coarser than the slack they are those that were wanted; elsewhere next to them.
    coarse = np.abs(wanted) > 2.0
    assert np.array_equal(held[coarse], wanted[coarse])
    assert np.all(np.abs(held - wanted) <= np.maximum(2.0**-22 * np.abs(wanted), 2.0**-42))


@pytest.mark.parametrize("way", ["missing", "no"])
@pytest.mark.parametrize("missing", [-3.0, 0.75, 1e9])
def test_a_missing_value_goes_where_the_models_own_goes(missing, way):
    """OpenSearch's plugin of 3.6.0 takes `no` whatever is written, later ones and Elasticsearch's what is."""
    made = export(a_model("additive", missing=missing), "opensearch-trees", steps=3)
    for tree in json.loads(json.loads(made.content)["model"]["model"]["definition"]):
        node = tree
        while "leaf" not in node:
            node = next(child for child in node["children"] if child["nodeid"] == node[way])
        filled = score_of_xgboost(tree, dict.fromkeys(made.ranking.names, missing))
        assert node["leaf"] == filled


def test_what_a_plugin_counts_for_a_missing_value_is_said():
    zero, more = (export(a_model("additive", missing=missing), "opensearch-trees").notes for missing in (0.0, 0.75))
    assert "a feature that a document lacks counts as 0, as in the model" in zero
    assert any("counts as 0.75, as in the model; as 0 in plugins that are older than" in note for note in more)


def test_both_plugins_are_given_the_same():
    first, second = (export(MODEL, target).content for target in ("elasticsearch-trees", "opensearch-trees"))
    assert first == second


def test_a_file_too_large_for_zookeeper_is_noted():
    assert not any("ZooKeeper" in note for note in export(MODEL, "solr-trees").notes)
    notes = export(MODEL, "solr-trees", steps=3000).notes
    assert any("SolrCloud keeps models in ZooKeeper, which takes 1,048,576: set fewer steps" in note for note in notes)


def test_knots_that_are_one_in_float32_are_one_threshold():
    shapes = FeatureShapes.of("additive", [([0.0, 1e9, 1e9 + 1.0, 2e9], [0.0, 1.0, 2.0, 3.0])])
    model = LinearModel(np.array([1.0]), ("price",), shapes)
    made = export(model, "opensearch-trees", steps=8)
    assert np.all(np.diff(made.ranking.steps[0].thresholds) > 0)
    assert made.ranking.largest_error >= 1.0
