"""Three runs and judgements become weights that an engine takes, and an honest word on whether they are worth it."""

import json
import re

import numpy as np
import pytest

from fusing_cases import SETTINGS, engine_of, legs_for, made
from linrank import LinrankError, fuse
from linrank.fusing.engine import Deployed
from linrank.fusing.fusers import WeightedLegs
from linrank.fusing.fusion import fused_runs
from linrank.fusing.registry import ENGINES, REFUSED, engine_named

QUICK = {"n_resamples": 5, "n_folds": 3}


def runs_for(name, **settings):
    names = ("bm25(text)", "closeness(field,e)") if name == "vespa" else legs_for(name)
    runs, qrels = made(names=legs_for(name), **settings)
    return dict(zip(names, runs.values(), strict=False)), qrels


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_is_given_weights_within_its_bounds(name):
    runs, qrels = runs_for(name, n_queries=24)
    fusion = fuse(runs, qrels, name, method="pairwise", **QUICK, **SETTINGS.get(name, {}))
    weights = np.array(list(fusion.weight_of.values()))
    limits = fusion.engine.limits
    assert not limits.non_negative or (weights >= 0.0).all()
    assert np.abs(weights).sum() == pytest.approx(1.0, abs=1e-5)
    assert fusion.standing("pairwise").mean >= fusion.standing(f"{next(iter(runs))} alone").mean
    assert fusion.configuration.content


def test_the_better_leg_weighs_more_under_every_rule_that_normalises():
    for name, normaliser in (("opensearch", "min_max"), ("opensearch", "l2"), ("elasticsearch", "minmax"), ("sql", "")):
        runs, qrels = made(n_queries=30, names=("bm25", "dense"), strengths=(0.5, 3.0))
        weight_of = fuse(runs, qrels, name, normaliser=normaliser, method="pairwise", **QUICK).weight_of
        assert weight_of["dense"] > 1.5 * weight_of["bm25"], (name, normaliser)


def test_opensearch_is_given_a_pipeline_that_it_would_accept():
    runs, qrels = made(n_queries=20)
    fusion = fuse(runs, qrels, "opensearch", depth=20, normaliser="l2", **QUICK)
    (processor,) = json.loads(fusion.configuration.content)["phase_results_processors"]
    said = processor["normalization-processor"]
    weights = said["combination"]["parameters"]["weights"]
    assert said["normalization"] == {"technique": "l2"}
    assert said["combination"]["technique"] == "arithmetic_mean"
    assert all(0.0 <= weight <= 1.0 for weight in weights)
    assert sum(weights) == pytest.approx(1.0, abs=0.01)
    hybrid = json.loads(fusion.configuration.beside[".query.json"])["query"]["hybrid"]
    assert len(hybrid["queries"]) == len(weights)
    assert hybrid["pagination_depth"] == 20


def test_reciprocal_ranks_are_emitted_where_they_are_asked_for():
    runs, qrels = made(n_queries=20)
    k = fuse(runs, qrels, "opensearch", method="rrf", **QUICK).fuser.k
    found = {
        name: json.loads(fuse(runs, qrels, name, method="rrf", **QUICK).configuration.content)
        for name in ("opensearch", "elasticsearch", "qdrant")
    }
    processor = found["opensearch"]["phase_results_processors"][0]["score-ranker-processor"]
    assert processor == {"combination": {"technique": "rrf", "rank_constant": k}}
    assert found["elasticsearch"]["retriever"]["rrf"]["rank_constant"] == k
    # Qdrant counts places from 0.
    assert found["qdrant"]["query"] == {"rrf": {"k": k + 1}}
    with pytest.raises(LinrankError, match=r"Vespa cannot be told to fuse by reciprocal ranks"):
        fuse(*runs_for("vespa", n_queries=20), "vespa", method="rrf", **QUICK)


def test_legs_of_equal_worth_are_not_said_to_need_weights():
    runs, qrels = made(n_queries=40, strengths=(2.0, 2.0, 2.0))
    fusion = fuse(runs, qrels, "opensearch", **QUICK)
    assert fusion.verdict.worth_it is not True
    assert fusion.verdict.headline.startswith(("Do not", "Not shown"))


def test_a_leg_of_noise_is_found_out():
    runs, qrels = made(n_queries=40, strengths=(3.0, 3.0, 0.0))
    noise, signal = fuse(runs, qrels, "opensearch", method="pairwise", **QUICK).weights[2::-2]
    assert noise.weight < 0.5 * signal.weight
    assert noise.loss < 0.1 * signal.loss or noise.can_go


def test_what_is_measured_was_not_learnt_from():
    """Judgements that are drawn by lot teach nothing: no method is better than another on held-out queries."""
    runs, qrels = made(n_queries=40)
    rng = np.random.default_rng(0)
    for query in qrels:
        qrels[query] = {document: float(rng.integers(0, 2)) for document in qrels[query]}
    fusion = fuse(runs, qrels, "opensearch", **QUICK)
    assert fusion.verdict.worth_it is not True


def test_ranking_other_runs_is_what_the_vectors_say():
    runs, qrels = made(n_queries=20)
    for name in ("opensearch", "qdrant", "sql"):
        fusion = fuse(runs, qrels, name, method="pairwise", **QUICK)
        vectors = fusion.vectors
        ranked = fusion.rank({leg: {"other": hits} for leg, hits in vectors["hits"].items()})["other"]
        assert ranked == vectors["fused"]
        assert list(ranked.values()) == sorted(ranked.values(), reverse=True)


def test_a_leg_that_weighs_nothing_brings_no_documents():
    """The engine is not told of that leg, and answers with what the others bring."""
    engine = engine_named("milvus", metrics="COSINE,L2,IP")
    deployed = Deployed(("bm25", "title"), (), WeightedLegs((0.5, 0.5)), 100)
    found = {"bm25": {"q": {"a": 1.0}}, "dense": {"q": {"b": -1.0}}, "title": {"q": {"a": 0.0}}}
    # Cosine 1 is 1, and the inner product 0 a half: each leg has its own rule still.
    assert fused_runs(engine, ("bm25", "dense", "title"), deployed, found, None) == {"q": {"a": 0.75}}


def test_hits_of_score_0_are_none_in_opensearch():
    runs, qrels = made(n_queries=20)
    more = {leg: {query: hits | {"none": 0.0} for query, hits in run.items()} for leg, run in runs.items()}
    fusion = fuse(more, qrels, **QUICK)
    assert fusion.weight_of == fuse(runs, qrels, **QUICK).weight_of
    assert "60 hits of score 0 are left out: OpenSearch does not fuse them" in fusion.notes
    assert "none" not in fusion.rank(more)["q0"]
    assert "none" in fuse(more, qrels, "elasticsearch", **QUICK).rank(more)["q0"]


@pytest.mark.parametrize(("engine", "normaliser"), [("opensearch", "l2"), ("elasticsearch", "none")])
def test_scores_below_0_are_refused_where_they_count_as_they_are(engine, normaliser):
    runs, qrels = made(n_queries=20)
    below = runs | {"dense": {query: {d: s - 1.0 for d, s in hits.items()} for query, hits in runs["dense"].items()}}
    with pytest.raises(LinrankError, match=r"leg 'dense' has scores below 0.* Give the scores that .* gives"):
        fuse(below, qrels, engine, normaliser=normaliser, **QUICK)
    fuse(below, qrels, engine, **QUICK)


def test_distances_are_given_to_milvus_with_a_minus_sign():
    runs, qrels = made(n_queries=20)
    with pytest.raises(LinrankError, match=r"leg 'dense' has the metric L2 and scores above 0.* minus sign"):
        fuse(runs, qrels, "milvus", metrics="COSINE,L2,IP", **QUICK)
    with pytest.raises(LinrankError, match=r"a document that a leg missed counts 0.* Use norm_score"):
        fuse(runs, qrels, "milvus", normaliser="none", metrics="L2,L2,L2", **QUICK)
    # Beside other metrics, Milvus turns distances round even where scores are raw.
    engine = engine_named("milvus", normaliser="none", metrics="BM25,L2,IP")
    assert [engine.rule(leg).name for leg in range(3)] == ["none", "norm_score of L2", "none"]


def test_runs_that_end_before_the_depth_are_told_of():
    """The engine would normalise over more hits than were trained on."""
    runs, qrels = made(n_queries=20, depth=25)
    said = "no leg brings more than 25 hits of a query, and the depth is 100"
    assert any(note.startswith(said) for note in fuse(runs, qrels, **QUICK).notes)
    assert not any("no leg brings more" in note for note in fuse(runs, qrels, depth=25, **QUICK).notes)


def test_each_leg_of_milvus_has_its_rule_in_the_notes():
    fusion = fuse(*made(n_queries=20), "milvus", metrics="BM25,COSINE,IP", **QUICK)
    said = "bm25 2 atan(s) / pi, dense (1 + s) / 2, title 1/2 + atan(s) / pi"
    assert f"legs are normalised by norm_score: {said}" in fusion.notes


def test_what_is_as_good_is_said_to_be_written_by_its_method():
    runs, qrels = made(n_queries=20, strengths=(1.0, 1.0, 1.0))
    # Scores that say nothing: ranks are all there is to learn from.
    blurred = {
        leg: {
            query: {document: 1e3 if place == 0 else 1.0 - place / 100.0 for place, document in enumerate(hits)}
            for query, hits in run.items()
        }
        for leg, run in runs.items()
    }
    verdict = fuse(blurred, qrels, method="equal", **QUICK).verdict
    assert verdict.worth_it is False
    assert verdict.headline.startswith(("Do not bother, no better than", "Do not deploy it, worse than"))
    assert f"Method {verdict.rival} writes that configuration instead." in verdict.reasons


def test_weaviate_computes_the_other_weight():
    weights = engine_of("weaviate").in_units(np.array([0.0123456789, 0.9876543211]))
    assert weights.tolist() == [0.012346, 0.987654]


def test_documents_that_nobody_judged_are_what_was_said():
    runs, qrels = made(n_queries=20)
    few = {query: dict(list(labels.items())[:12]) for query, labels in qrels.items()}
    found = {rule: fuse(runs, few, unjudged=rule, method="pairwise", **QUICK) for rule in
             ("irrelevant", "left-out", "condensed")}  # fmt: skip
    assert len({fusion.weight_of["dense"] for fusion in found.values()}) > 1
    assert found["left-out"].weight_of == found["condensed"].weight_of
    # Taking documents out of a list never moves a judged one down.
    assert found["condensed"].standing("equal").mean >= found["left-out"].standing("equal").mean
    for rule, fusion in found.items():
        assert fusion.facts.unjudged == rule
        assert fusion.notes[0].startswith("documents that nobody judged")
    with pytest.raises(LinrankError, match="unjudged='ignored'"):
        fuse(runs, few, unjudged="ignored")


def test_queries_without_hits_or_judgements_are_told_of():
    runs, qrels = made(n_queries=20)
    for run in runs.values():
        run["q3"] = {}
        run["new"] = dict(run["q4"])
    qrels["nowhere"] = {"d001": 1.0}
    fusion = fuse(runs, qrels, method="pairwise", **QUICK)
    assert fusion.facts.queries == 19
    assert "1 queries of the runs are not judged: nothing is learnt from them" in fusion.notes
    assert any("2 judged queries are in no run" in note for note in fusion.notes)
    assert fusion.to_judge[0].query == "new"


def test_signals_are_weighed_where_the_engine_can_and_refused_elsewhere():
    runs, qrels = made(n_queries=30)
    rng = np.random.default_rng(0)
    documents = [f"d{number:03d}" for number in range(60)]
    table = {"document": documents, "noise": rng.random(60)}
    fusion = fuse(runs, qrels, "qdrant", signals=table, method="pairwise", **QUICK)
    assert set(fusion.weight_of) == {"bm25", "dense", "title", "noise"}
    if fusion.weight_of["noise"]:
        assert "noise" in fusion.configuration.content
    with pytest.raises(LinrankError, match=r"OpenSearch adds no numbers of documents \(noise\).*function_score"):
        fuse(runs, qrels, "opensearch", signals=table)
    with pytest.raises(LinrankError, match="'bm25' is a signal and a leg"):
        fuse(runs, qrels, "qdrant", signals={"document": documents, "bm25": [1.0] * 60})


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"engine": "meilisearch"}, "takes no linear score"),
        ({"engine": "opensaerch"}, "Did you mean 'opensearch'"),
        ({"normaliser": "softmax"}, "OpenSearch has no normaliser 'softmax'; there are min_max, l2, z_score"),
        ({"method": "magic"}, "there is no method 'magic'; there are"),
        ({"engine": "weaviate"}, "Weaviate fuses 2 legs, and 3 are given"),
        ({"engine": "milvus"}, "normalises a leg by its metric.*metrics=BM25,COSINE"),
        ({"depth": 0}, "depth=0"),
        ({"n_folds": 1000}, "1000 folds of 20 queries"),
        ({"by": "language"}, "by names a column of queries"),
        ({"colour": "red"}, "opensearch has no setting 'colour'"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_remedy(settings, said):
    runs, qrels = made(n_queries=20)
    with pytest.raises(LinrankError, match=said):
        fuse(runs, qrels, **settings)


def test_more_legs_than_opensearch_takes_are_refused():
    runs, qrels = made(n_queries=6)
    many = {f"leg{number}": runs["bm25"] for number in range(6)}
    with pytest.raises(LinrankError, match="OpenSearch fuses at most 5 legs, and 6 are given"):
        fuse(many, qrels)


def test_saving_leaves_what_the_user_filled_in(tmp_path):
    runs, qrels = made(n_queries=12)
    fusion = fuse(runs, qrels, method="equal", **QUICK)
    place = tmp_path / "pipeline.json"
    assert len(fusion.save(place)) == 3
    (tmp_path / "pipeline.json.query.json").write_text("mine")
    assert str(tmp_path / "pipeline.json.query.json") not in fusion.save(place)
    assert (tmp_path / "pipeline.json.query.json").read_text() == "mine"
    assert json.loads((tmp_path / "pipeline.json.vectors.json").read_text())["format"] == "linrank-vectors"


@pytest.mark.parametrize("settings", [{"n_resamples": 0}, {"method": "equal"}], ids=str)
def test_a_weight_that_was_learnt_once_has_no_interval(settings, tmp_path):
    fusion = fuse(*made(n_queries=12), **(QUICK | {"method": "pairwise"} | settings))
    assert [(weight.low, weight.high) for weight in fusion.weights] == [(None, None)] * len(fusion.weights)
    assert re.search(r"\n  bm25 +0\.\d+ {10}", str(fusion))
    json.dumps(fusion.to_dict(), allow_nan=False)
    fusion.page(tmp_path / "page.html")
    assert "None" not in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("number", [1, -1])
def test_too_few_resamples_for_an_interval_are_refused(number):
    with pytest.raises(LinrankError, match=f"n_resamples={number}; intervals are of 2 or more"):
        fuse(*made(n_queries=12), n_resamples=number)


def test_the_page_stands_alone_and_takes_no_name_for_html(tmp_path):
    runs, qrels = made(n_queries=12)
    runs["<script>alert(1)</script>"] = runs.pop("bm25")
    fusion = fuse(runs, qrels, method="pairwise", **QUICK)
    fusion.page(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "").replace("http://localhost", "")
    assert fusion.verdict.headline.split(":")[0] in page


def test_what_is_refused_says_why_for_every_engine_that_is():
    runs, qrels = made(n_queries=4)
    for name in REFUSED:
        with pytest.raises(LinrankError, match=f"no weights for '{name}'"):
            fuse(runs, qrels, name)


@pytest.mark.parametrize("settings", [{}, {"normaliser": "none"}], ids=str)
def test_sqlite_fuses_as_it_is_told(settings):
    import sqlite3

    found = {"bm25": {"a": 12.5, "b": 7.25, "c": 7.25}, "dense": {"c": 0.75, "a": 0.5, "e": 0.25}, "title": {"f": 3.0}}
    fusion = fuse(*made(n_queries=12), "sql", method="equal", **QUICK, **settings)
    with sqlite3.connect(":memory:") as connection:
        for leg, its in found.items():
            connection.execute(f'CREATE TABLE "{leg}_hits" (id TEXT, score REAL)')
            connection.executemany(f'INSERT INTO "{leg}_hits" VALUES (?, ?)', its.items())
        theirs = connection.execute(fusion.configuration.content).fetchall()
    ours = fusion.rank({leg: {"q": its} for leg, its in found.items()})["q"]
    assert [document for document, _ in theirs] == list(ours)
    assert [score for _, score in theirs] == pytest.approx(list(ours.values()), rel=1e-12)
