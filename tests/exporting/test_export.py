"""What every target owes: the model's order, from raw features, without what weighs 0; and refusals with a remedy."""

import json
import runpy
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from linrank import LinearModel, LinrankError, RankingDataset, RankSVM, export, make_ranking
from linrank.dataset.scaling import ColumnScaling, QueryScaling
from linrank.exporting.order_changes import order_changes
from linrank.exporting.registry import TARGETS, engine_class, engine_named
from linrank.exporting.weighted_sum import WeightedSum
from linrank.model import LinearModel as Model

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "new_target.py"
ENGINES = [*map(engine_class, TARGETS), runpy.run_path(str(EXAMPLE))["JavaScript"]]
# What takes only curves owes the same of these: tests/exporting/test_trees.py.
ENGINES = [engine for engine in ENGINES if engine.accepts.lines]
EVERY = pytest.mark.parametrize("target", ENGINES, ids=lambda engine: engine.name)
NAMES = ("title_bm25", "age", "clicks", "price")


def a_model(**changes) -> Model:
    scaling = ColumnScaling("standard", np.array([1.0, 5.0, 0.0, 2.0]), np.array([2.0, 0.5, 1.0, 4.0]))
    model = LinearModel(np.array([1.5, -0.25, 0.0, 3.0]), NAMES, scaling, method="ranksvm")
    return replace(model, **changes)


def some_data(n_rows=60) -> RankingDataset:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n_rows, 4)) * (2, 0.5, 1, 4)
    return RankingDataset.from_arrays(X, rng.integers(0, 3, n_rows), qid=np.arange(n_rows) // 10, feature_names=NAMES)


@EVERY
def test_the_vectors_have_the_models_order(target):
    # Lifted where the target refuses negative scores, which this data has.
    shift = 0.0 if target.accepts.negative_scores else 32.0
    made = export(a_model(), target(), data=(data := some_data()), shift=shift)
    rows = np.asarray(data.features[:8])
    expected = a_model().predict(rows)
    scores = made.vectors.scores.astype(float)
    assert np.argsort(scores).tolist() == np.argsort(expected).tolist()
    # Up to a constant, the folded scaling's shift.
    assert np.ptp(scores - expected) < 1e-5
    assert made.order_changes.reversed == 0


@EVERY
def test_features_of_weight_zero_are_left_out_and_named(target):
    made = export(a_model(), target())
    assert made.ranking.unused == ("clicks",)
    assert made.ranking.names == ("title_bm25", "age", "price")
    if not made.engine.has_every_feature:
        assert b"clicks" not in (made.content if isinstance(made.content, bytes) else made.content.encode())


@EVERY
def test_the_same_model_gives_the_same_bytes(target):
    assert export(a_model(), target()).content == export(a_model(), target()).content


@EVERY
def test_what_scales_or_fills_by_query_is_refused(target):
    with pytest.raises(LinrankError, match="scaled by query cannot be folded"):
        export(a_model(scaling=QueryScaling()), target())
    with pytest.raises(LinrankError, match=r"least value in the query, which no engine knows. Train"):
        export(a_model(missing="query_min"), target())


@EVERY
def test_a_name_given_twice_or_empty_is_refused(target):
    with pytest.raises(LinrankError, match="two features are called 'age'"):
        export(a_model(), target(), names={"price": "age"})
    if target.name != "json":
        with pytest.raises(LinrankError, match="cannot take the feature name"):
            export(a_model(), target(), names={"price": ""})


@EVERY
def test_features_of_one_name_in_the_model_have_a_remedy_that_works(target):
    twice = a_model(feature_names=("age", "age", "clicks", "price"))
    with pytest.raises(LinrankError, match=r"two features are called 'age', .* Train on data whose features have diff"):
        export(twice, target, names={"age": "years"})


@EVERY
def test_weights_without_a_finite_score_are_refused_before_a_file_is_written(target, tmp_path):
    weights = np.full(4, target.arithmetic.largest)
    with pytest.raises(LinrankError, match=r"the score of row \d is -?(inf|nan) in"):
        export(a_model(weights=weights, scaling=None), target(), out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@EVERY
def test_a_weight_that_the_target_cannot_hold_is_refused(target):
    weights = np.array([1e300, 1.0, 0.0, 1.0])
    if target.arithmetic.largest < 1e300:
        with pytest.raises(LinrankError, match=r"'title_bm25' on unscaled values is 5e\+299, which .* cannot hold"):
            export(a_model(weights=weights), target())
    else:
        export(a_model(weights=weights), target())


@EVERY
def test_the_shift_is_added_or_refused(target):
    if not target.accepts.shift:
        with pytest.raises(LinrankError, match="no place for a constant"):
            export(a_model(), target(), shift=2.5)
        return
    plain, shifted = export(a_model(), target()), export(a_model(), target(), shift=2.5)
    assert shifted.vectors.scores == pytest.approx(plain.vectors.scores + 2.5, rel=1e-6, abs=1e-6)


@EVERY
def test_a_saved_export_has_its_vectors_beside_it(target, tmp_path):
    place = tmp_path / "made"
    made = export(a_model(), target(), out=place)
    written = place.read_bytes()
    assert written == (made.content if isinstance(made.content, bytes) else made.content.encode())
    vectors = json.loads((tmp_path / "made.vectors.json").read_text())
    assert vectors["features"] == list(made.ranking.names)
    assert [vector["score"] for vector in vectors["vectors"]] == [float(str(score)) for score in made.vectors.scores]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made", "made.vectors.json"]


def test_vectors_are_finite_or_the_export_is_refused(tmp_path):
    far = RankingDataset.from_arrays(
        np.array([[1e60, 1, 1, 1], [2e60, 3, 1, 1.0]]), [0, 1], qid=[1, 1], feature_names=NAMES
    )
    plain = a_model(scaling=None)
    assert np.isfinite(export(plain, "csv", data=far, out=tmp_path / "far").vectors.scores).all()
    with pytest.raises(LinrankError, match="the score of row 0 is inf in Solr"):
        export(plain, "solr", data=far, out=tmp_path / "solr")
    heavy = a_model(scaling=None, weights=np.array([3e38, 1.0, 0.0, 1.0]))
    with pytest.raises(LinrankError, match=r"the score of row \d is -?inf in Solr, which computes a float32"):
        export(heavy, "solr", out=tmp_path / "heavy")


@pytest.mark.parametrize("target", TARGETS)
def test_every_setting_is_described(target):
    target = engine_class(target)
    for setting in fields(target):
        assert f"    {setting.name} : " in target.__doc__


def test_elasticsearchs_plugin_is_given_what_opensearchs_is():
    # They share the code that reads and computes it, and only OpenSearch's is run in tests.
    assert export(a_model(), "elasticsearch").content == export(a_model(), "opensearch").content


def test_a_model_of_zeros_ranks_nothing():
    with pytest.raises(LinrankError, match="every weight of the model is 0"):
        export(a_model(weights=np.zeros(4)), "json")


def test_unknown_targets_and_settings_say_what_there_is():
    with pytest.raises(LinrankError, match=r"no target 'sorl'. Did you mean 'solr'"):
        export(a_model(), "sorl")
    with pytest.raises(LinrankError, match="solr has no setting 'featureset'; its settings are model, store"):
        export(a_model(), "solr", featureset="x")
    assert '"name": "x"' in export(a_model(), "solr", model="x").content
    with pytest.raises(LinrankError, match="set it where the engine is made"):
        export(a_model(), engine_named("solr"), store="x")
    with pytest.raises(LinrankError, match="has no feature 'pric'; it has title_bm25, age"):
        export(a_model(), "json", names={"pric": "p"})


def test_a_ranker_or_a_file_is_a_model_too(tmp_path):
    data, _ = make_ranking(20, 8, 4)
    ranker = RankSVM().fit(data)
    ranker.to_model().save(tmp_path / "model.json")
    assert export(ranker, "json").content == export(tmp_path / "model.json", "json").content
    with pytest.raises(LinrankError, match="has no weights to export"):
        export(object(), "json")


def test_a_weight_that_scaling_makes_vanish_is_refused():
    scaling = ColumnScaling("max-abs", np.zeros(4), np.array([1e200, 1.0, 1.0, 1.0]))
    with pytest.raises(LinrankError, match=r"'title_bm25' on unscaled values is 0.0: out of the range"):
        WeightedSum.of(a_model(scaling=scaling, weights=np.array([1e-200, 1.0, 0.0, 1.0])))


def test_scores_that_overflow_are_refused_with_their_row():
    data = some_data()
    data = replace(data, features=data.features * 1e38)
    with pytest.raises(LinrankError, match=r"the score of row [0-9]+ is .*inf in Solr"):
        export(a_model(), "solr", data=data)


def test_order_changes_are_those_of_all_pairs_one_by_one():
    rng = np.random.default_rng(0)
    queries = RankingDataset.from_arrays(np.zeros((40, 1)), np.zeros(40), qid=np.repeat([3, 1, 2, 1], 10)).queries
    before, after = rng.integers(0, 6, (2, 40)).astype(float)
    pairs = reversed_ = tied = 0
    of_query = np.repeat([3, 1, 2, 1], 10)
    for i in range(40):
        for j in range(40):
            if of_query[i] == of_query[j] and before[i] > before[j]:
                pairs += 1
                reversed_ += after[i] < after[j]
                tied += after[i] == after[j]
    changes = order_changes(before, after, queries)
    assert (changes.pairs, changes.reversed, changes.tied) == (pairs, reversed_, tied)


def test_float32_ties_are_counted():
    data = some_data()
    # Differences far below float32's resolution.
    X = np.asarray(data.features).copy()
    X[:, 0] = 1e6 + np.arange(len(X)) * 1e-3
    X[:, 1:] = 0
    made = export(a_model(), "solr", data=replace(data, features=X))
    assert made.order_changes.tied > 0
    assert export(a_model(), "python", data=replace(data, features=X)).order_changes.tied == 0


@pytest.mark.runs("python")
def test_the_python_module_needs_a_bare_interpreter_only(tmp_path):
    made = export(a_model(missing=1.0), "python", out=tmp_path / "ranker.py", names={"age": 'a\'g\\e "x" {y}'})
    script = (
        "import json, sys, ranker\n"
        "vectors = json.load(open('ranker.py.vectors.json'))\n"
        "documents = [dict(zip(vectors['features'], row['inputs'])) for row in vectors['vectors']]\n"
        "documents.append(dict.fromkeys(vectors['features']))\n"
        "print(json.dumps([[ranker.score(document) for document in documents], ranker.rank(documents),"
        " len([name for name in sys.modules if name in ('numpy', 'linrank')])]))\n"
    )
    ran = subprocess.run([sys.executable, "-S", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    scores, order, others = json.loads(ran.stdout)
    assert others == 0
    assert scores[:-1] == made.vectors.scores.tolist()
    assert scores[-1] == pytest.approx(made.ranking.weights.sum())
    assert order == np.argsort(-np.array(scores), kind="stable").tolist()
