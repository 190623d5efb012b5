"""Qdrant's core ranks by the exported formula as the model does."""

import json

import numpy as np
import pytest

from linrank import LinearModel, export
from ranked_letor import AWKWARD, check_same_ranking, exported

qdrant = pytest.importorskip("qdrant_edge", reason="qdrant-edge-py, Qdrant's core, is not installed")

SPEAKABLE = tuple(name for name in AWKWARD if '"' not in name and "\\" not in name)


@pytest.fixture
def shard_of(tmp_path):
    """A collection of these payloads, one point each, with vectors of one number."""
    shards = []

    def make(payloads):
        config = qdrant.EdgeConfig(vectors=qdrant.EdgeVectorParams(size=1, distance=qdrant.Distance.Dot))
        folder = tmp_path / f"shard{len(shards)}"
        folder.mkdir()
        shard = qdrant.EdgeShard.create(str(folder), config)
        points = [qdrant.Point(place, [float(place)], payload) for place, payload in enumerate(payloads)]
        shard.update(qdrant.UpdateOperation.upsert_points(points))
        shards.append(shard)
        return shard

    yield make
    for shard in shards:
        shard.close()


def expression_of(part):
    """JSON of the REST API, in the words of the core."""
    if isinstance(part, float):
        return qdrant.Expression.Constant(part)
    if isinstance(part, str):
        return qdrant.Expression.Variable(part)
    ((kind, parts),) = part.items()
    make = {"sum": qdrant.Expression.Sum, "mult": qdrant.Expression.Mult}[kind]
    return make([expression_of(each) for each in parts])


def listed(shard, made, nearest=None):
    """The points and their scores, in the order that the query of the exported file gives them."""
    body = json.loads(made.content)
    assert body.keys() == {"prefetch", "query", "limit"}
    assert body["query"].keys() == {"formula", "defaults"}
    formula = qdrant.Formula(expression_of(body["query"]["formula"]), body["query"]["defaults"])
    brought = qdrant.Prefetch(limit=body["prefetch"]["limit"], query=nearest)
    found = shard.query(qdrant.QueryRequest(limit=body["limit"], query=formula, prefetches=[brought]))
    return [(point.id, point.score) for point in found]


@pytest.mark.runs("qdrant")
def test_it_ranks_as_the_model_does(shard_of, made_letor):
    made, rows, data = exported(made_letor, "qdrant", SPEAKABLE, shift=-0.5, candidates=1000)
    shard = shard_of([dict(zip(made.ranking.names, row, strict=True)) for row in rows.tolist()])
    found = listed(shard, made)
    check_same_ranking(made, rows, data, [score for _, score in sorted(found)])
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)


def test_a_key_that_a_point_lacks_counts_as_the_model_says(shard_of):
    model = LinearModel(np.array([2.0, 1.0]), ("a", "b c"), missing=0.25)
    shard = shard_of([{"a": 1.0, "b c": 1}, {"a": 1.0}, {"b c": [3.0]}, {"b c": []}])
    assert listed(shard, export(model, "qdrant")) == [(2, 3.5), (0, 3.0), (1, 2.25), (3, 0.75)]


def test_what_is_no_number_is_an_error(shard_of):
    made = export(LinearModel(np.ones(1), ("a",)), "qdrant")
    for value in (None, "1", True, [1.0, 2.0], {"b": 1.0}):
        with pytest.raises(Exception, match="cancelled"):
            listed(shard_of([{"a": value}]), made)


def test_paths_lead_into_the_payload(shard_of):
    names = ("stats.clicks", '"a key"."x.y"', "list[1]")
    made = export(LinearModel(np.array([1.0, 10.0, 100.0]), names), "qdrant", paths=True)
    assert listed(shard_of([{"stats": {"clicks": 1}, "a key": {"x.y": 2}, "list": [0, 3]}]), made) == [(0, 321.0)]
    # Otherwise a name is one key, whatever is in it.
    plain = export(LinearModel(np.ones(1), ("stats.clicks",)), "qdrant")
    assert listed(shard_of([{"stats": {"clicks": 1}, "stats.clicks": 5}]), plain) == [(0, 5.0)]


def test_the_score_of_the_search_is_a_feature(shard_of):
    made = export(LinearModel(np.array([10.0, -1.0]), ("$score", "price")), "qdrant")
    shard = shard_of([{"price": 1.0}, {"price": 2.0}, {"price": 30.0}])
    assert listed(shard, made, qdrant.Query.Nearest([1.0])) == [(1, 8.0), (0, -1.0), (2, -10.0)]
