"""Engines fuse as `linrank fuse` says: the same documents, in the same order, with the same scores."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from engines.test_sql import duckdb, postgresql  # noqa: F401 - fixtures
from fusing_cases import made
from linrank import fuse

ROOT = Path(__file__).resolve().parents[2]
QUICK = {"n_resamples": 2, "n_folds": 2, "method": "pairwise"}
LEGS = ("bm25", "dense", "title")


def hits():
    """Legs of one query with ties, a lone hit and documents in one leg only."""
    return {
        "bm25": {"a": 12.5, "b": 7.25, "c": 7.25, "d": 1.0},
        "dense": {"c": 0.75, "a": 0.5, "e": 0.25},
        "title": {"f": 3.0},
    }


def check_same(ours, theirs):
    assert [document for document, _ in theirs] == list(ours)
    for document, score in theirs:
        assert math.isclose(score, ours[document], rel_tol=1e-6, abs_tol=1e-7)


@pytest.fixture(params=["duckdb", "postgresql"])
def run(request):
    return request.getfixturevalue(request.param)


def rows_of(run, statement, found):
    for leg, its in found.items():
        run(f'DROP TABLE IF EXISTS "{leg}_hits"')
        run(f'CREATE TABLE "{leg}_hits" ("id" VARCHAR(10), "score" DOUBLE PRECISION)')
        run(f'INSERT INTO "{leg}_hits" VALUES ({run.mark}, {run.mark})', *its.items())
    return run(statement)


@pytest.mark.parametrize("settings", [{}, {"normaliser": "none"}, {"method": "rrf"}], ids=str)
def test_databases_fuse_as_they_are_told(run, settings):
    fusion = fuse(*made(n_queries=20), "sql", **(QUICK | settings))
    theirs = rows_of(run, fusion.configuration.content.rstrip().rstrip(";"), hits())
    ours = fusion.rank({leg: {"q": its} for leg, its in hits().items()})["q"]
    if settings.get("method") == "rrf":
        # Hits of equal scores have one of several orders of ranks.
        assert [round(score, 6) for _, score in theirs][:2] == [round(score, 6) for score in ours.values()][:2]
    else:
        check_same(ours, theirs)


def test_signals_are_columns_of_the_documents(run):
    runs, qrels = made(n_queries=20)
    table = {"document": [f"d{number:03d}" for number in range(60)], "fresh": [number % 7 for number in range(60)]}
    fusion = fuse(runs, qrels, "sql", signals=table, **QUICK)
    assert fusion.weight_of["fresh"] != 0.0
    fresh = {"a": 1.0, "b": 4.0, "c": 2.0, "d": 0.0, "e": 6.0}
    run('DROP TABLE IF EXISTS "documents"')
    run('CREATE TABLE "documents" ("id" VARCHAR(10), "fresh" DOUBLE PRECISION)')
    run(f'INSERT INTO "documents" VALUES ({run.mark}, {run.mark})', *fresh.items())
    theirs = rows_of(run, fusion.configuration.content.rstrip().rstrip(";"), hits())
    check_same(fusion.rank({leg: {"q": its} for leg, its in hits().items()}, {"fresh": fresh})["q"], theirs)


@pytest.fixture
def shard(tmp_path):
    """A collection whose legs are vectors of one number: a point's score is that number."""
    qdrant = pytest.importorskip("qdrant_edge", reason="qdrant-edge-py, Qdrant's core, is not installed")
    sparse = {leg: qdrant.EdgeSparseVectorParams() for leg in LEGS}
    made_ = qdrant.EdgeShard.create(str(tmp_path), qdrant.EdgeConfig(vectors={}, sparse_vectors=sparse))
    documents = sorted({document for its in hits().values() for document in its})
    points = []
    for place, document in enumerate(documents):
        vectors = {leg: qdrant.SparseVector([0], [its[document]]) for leg, its in hits().items() if document in its}
        points.append(qdrant.Point(place, vectors, {"fresh": float(place)} if place % 2 else {}))
    made_.update(qdrant.UpdateOperation.upsert_points(points))
    yield qdrant, made_, documents
    made_.close()


def answered(shard, fusion):
    """What Qdrant's core answers to the configuration, each leg asking for its own vector."""
    qdrant, points, documents = shard
    body = json.loads(fusion.configuration.content)

    def expression(part):
        if isinstance(part, float):
            return qdrant.Expression.Constant(part)
        if isinstance(part, str):
            return qdrant.Expression.Variable(part)
        ((kind, parts),) = part.items()
        return {"sum": qdrant.Expression.Sum, "mult": qdrant.Expression.Mult}[kind](
            [expression(each) for each in parts]
        )

    legs = [
        qdrant.Prefetch(
            limit=each["limit"], query=qdrant.Query.Nearest(qdrant.SparseVector([0], [1.0]), using=each["using"])
        )
        for each in body["prefetch"]
    ]
    if "rrf" in body["query"]:
        query = qdrant.Fusion.Rrf(k=body["query"]["rrf"]["k"])
    else:
        query = qdrant.Formula(expression(body["query"]["formula"]), body["query"]["defaults"])
    found = points.query(qdrant.QueryRequest(limit=body["limit"], query=query, prefetches=legs))
    return [(documents[point.id], point.score) for point in found]


def test_qdrant_fuses_as_it_is_told(shard):
    fusion = fuse(*made(n_queries=20), "qdrant", **QUICK)
    check_same(fusion.rank({leg: {"q": its} for leg, its in hits().items()})["q"], answered(shard, fusion))


def test_qdrant_adds_the_payload_and_0_where_a_point_has_none(shard):
    table = {"document": [f"d{number:03d}" for number in range(60)], "fresh": [number % 7 for number in range(60)]}
    fusion = fuse(*made(n_queries=20), "qdrant", signals=table, **QUICK)
    fresh = {document: float(place) for place, document in enumerate(shard[2]) if place % 2}
    ours = fusion.rank({leg: {"q": its} for leg, its in hits().items()}, {"fresh": fresh})["q"]
    check_same(ours, answered(shard, fusion))


def test_qdrant_counts_ranks_as_it_is_told(shard):
    fusion = fuse(*made(n_queries=20), "qdrant", **(QUICK | {"method": "rrf60"}))
    ours = fusion.rank({leg: {"q": its} for leg, its in hits().items()})["q"]
    theirs = dict(answered(shard, fusion))
    # b and c have one score in a leg, and either may be before the other.
    for document in ("a", "d", "e", "f"):
        assert theirs[document] == pytest.approx(ours[document], rel=1e-6)


def test_the_example_runs_and_every_engine_has_our_order(tmp_path):
    for package in ("bm25s", "wordllama", "duckdb", "pgserver", "qdrant_edge"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    script = ROOT / "examples" / "hybrid_search.py"
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for engine in ("Qdrant's core", "DuckDB", "PostgreSQL with pgvector"):
        assert f"{engine}: the same order as in Python, for 40 queries" in done.stdout
    assert (tmp_path / "hybrid_search.html").read_text().startswith("<!doctype html>")
