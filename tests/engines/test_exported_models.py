"""Exported models, installed by the commands that the export prints."""

import shutil
import subprocess

import numpy as np
import pytest

from engines.judged_like import NAMES, WEIGHTS, assert_same_ranking, documents
from engines.test_opensearch_ltr import create_features, field_value
from engines.test_solr import field_features
from exporting.test_trees import at_thresholds
from linrank import LinearModel, RankingDataset, export
from linrank.dataset.feature_shapes import FeatureShapes
from linrank.dataset.scaling import ColumnScaling
from linrank.exporting.registry import engine_named

SHIFTS = pytest.mark.parametrize("shift", [0.0, 12.5])
FIELDS = [f"x{place}_f" for place in range(len(NAMES))]
# Quotes and letters that must be escaped in JSON, in a URL and in a shell.
MODEL = "l'été / 1"


def exported(target: str, shift: float, **settings):
    """A standardised model, whose test vectors are documents of no negative value, which OpenSearch refuses."""
    centers, widths = np.linspace(-2.0, 3.0, len(NAMES)), np.linspace(0.1, 40.0, len(NAMES))
    model = LinearModel(np.array(WEIGHTS), tuple(NAMES), ColumnScaling("standard", centers, widths), method="ranksvm")
    values = documents(lowest=0.0)
    data = RankingDataset.from_arrays(values, np.zeros(len(values)), qid=np.zeros(len(values)), feature_names=NAMES)
    return export(model, engine_named(target, model=MODEL, **settings), shift=shift, data=data)


def documents_of(made) -> dict[str, dict[str, float]]:
    rows = made.vectors.inputs[:, : len(NAMES)].tolist()
    return {str(place): dict(zip(FIELDS, row, strict=True)) for place, row in enumerate(rows)}


def install(made, folder) -> None:
    """The printed commands, as a user would paste them into a shell."""
    if not shutil.which("curl"):
        pytest.skip("the printed commands are for curl, which is not here")
    file = folder / f"model.{made.engine.ending}"
    made.save(file)
    subprocess.run(["sh", "-c", made.commands(file)], check=True, capture_output=True)


@pytest.mark.runs("solr")
@SHIFTS
def test_solr_gives_the_scores_of_the_test_vectors(solr, tmp_path, shift):
    core = "shifted" if shift else "exported"
    made = exported("solr", shift, url=solr.url, collection=core, store="mine")
    solr.create_core(core)
    solr.put(core, "/schema/feature-store", field_features("mine", NAMES))
    solr.index(core, [{"id": key} | each for key, each in documents_of(made).items()])
    install(made, tmp_path)
    assert_same_ranking(solr.rerank(core, MODEL), made.vectors.scores)


@pytest.mark.runs("opensearch")
@SHIFTS
def test_opensearch_gives_the_scores_of_the_test_vectors(opensearch_ltr, tmp_path, shift):
    index = "shifted" if shift else "exported"
    made = exported("opensearch", shift, url=opensearch_ltr.url, index=index, featureset=index)
    opensearch_ltr.create_index(index, dict.fromkeys(FIELDS, "float"))
    opensearch_ltr.index(index, documents_of(made))
    create_features(opensearch_ltr, index, dict(zip(NAMES, map(field_value, FIELDS), strict=True)))
    install(made, tmp_path)
    assert_same_ranking(opensearch_ltr.rerank(index, MODEL), made.vectors.scores)


def trees(target: str, shift: float = 0.0, missing: str | float = "error", **settings):
    """Curves of no negative knot, in units from 1e-7 to 1e15, and documents on both sides of every step."""
    rng = np.random.default_rng(1)
    shapes = FeatureShapes.of(
        "additive",
        [
            (np.cumsum(rng.random(12)) * unit, np.cumsum(rng.normal(size=12)))
            for unit in 10.0 ** np.linspace(-7, 15, len(NAMES))
        ],
    )
    model = LinearModel(np.array(WEIGHTS), tuple(NAMES), shapes, method="additive", missing=missing)
    made = export(model, engine_named(target, model=MODEL, steps=6, **settings), shift=shift)
    rows = np.maximum(at_thresholds(made.ranking), 0.0)
    kept = {str(place): dict(zip(FIELDS, row, strict=True)) for place, row in enumerate(rows.tolist())}
    return made, kept, made.engine.arithmetic.scores(made.ranking, rows)


@pytest.mark.runs("solr-trees")
@SHIFTS
def test_solr_has_the_scores_of_trees_at_their_thresholds(solr, tmp_path, shift):
    core = "trees-shifted" if shift else "trees"
    made, kept, scores = trees("solr-trees", shift, url=solr.url, collection=core, store="mine")
    solr.create_core(core)
    solr.put(core, "/schema/feature-store", field_features("mine", NAMES))
    solr.index(core, [{"id": key} | each for key, each in kept.items()])
    install(made, tmp_path)
    assert_same_ranking(solr.rerank(core, MODEL), scores)


@pytest.mark.runs("opensearch-trees")
@SHIFTS
def test_opensearch_has_the_scores_of_trees_at_their_thresholds(opensearch_ltr, tmp_path, shift):
    index = "trees-shifted" if shift else "trees"
    made, kept, scores = trees("opensearch-trees", shift, url=opensearch_ltr.url, index=index, featureset=index)
    opensearch_ltr.create_index(index, dict.fromkeys(FIELDS, "float"))
    opensearch_ltr.index(index, kept)
    create_features(opensearch_ltr, index, dict(zip(NAMES, map(field_value, FIELDS), strict=True)))
    install(made, tmp_path)
    assert_same_ranking(opensearch_ltr.rerank(index, MODEL), scores)


@pytest.mark.runs("opensearch-trees")
@pytest.mark.parametrize("missing", [0.0, 2.5])
def test_opensearch_takes_a_feature_whose_query_does_not_match_for_the_models_missing_value(
    opensearch_ltr, tmp_path, missing
):
    index = f"trees-lacking-{missing:.0f}"
    made, kept, _ = trees("opensearch-trees", missing=missing, url=opensearch_ltr.url, index=index, featureset=index)
    rng = np.random.default_rng(2)
    documents = {key: {field: each[field] for field in FIELDS if rng.random() < 0.7} for key, each in kept.items()}
    opensearch_ltr.create_index(index, dict.fromkeys(FIELDS, "float"))
    opensearch_ltr.index(index, documents)
    create_features(opensearch_ltr, index, dict(zip(NAMES, map(field_value_if_any, FIELDS), strict=True)))
    install(made, tmp_path)
    rows = np.array([[each.get(field, missing) for field in FIELDS] for each in documents.values()])
    assert_same_ranking(opensearch_ltr.rerank(index, MODEL), made.engine.arithmetic.scores(made.ranking, rows))


def field_value_if_any(field: str) -> dict:
    """A query that matches documents with the field alone, as a query of text matches those with its words."""
    factor = {"field_value_factor": {"field": field}}
    return {"function_score": {"query": {"exists": {"field": field}}, "functions": [factor], "boost_mode": "replace"}}
