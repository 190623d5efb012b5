"""OpenSearch takes the pipeline and the hybrid query, and answers what `Fusion.rank` says, to the bit."""

import json

import numpy as np
import pytest

from fusing_cases import made
from linrank import fuse
from linrank.fusing.opensearch import QUERY

QUICK = {"n_resamples": 2, "n_folds": 2, "method": "pairwise"}
LEGS = ("bm25", "dense", "title")
FUSED = {
    "min_max": {},
    "l2": {"normaliser": "l2"},
    "z_score": {"normaliser": "z_score"},
    "rrf": {"method": "rrf60"},
    "cut": {"depth": 3, "method": "equal"},
}
# With several shards, each brings as many hits as the depth says, and a leg more.
CASES = [(n_shards, how) for n_shards in (1, 3) for how in FUSED if n_shards == 1 or how != "cut"]


def found(rng):
    """A query's hits in three legs, no two scores of a leg alike: many, some of score 0, and a single one."""
    documents = [f"d{number:02d}" for number in range(25)]
    some = rng.permutation(documents).tolist()
    return {
        "bm25": dict(zip(some[:20], map(float, np.round(rng.gamma(2.0, 3.0, 20), 3)), strict=True)),
        "dense": dict(zip(some[10:], [*map(float, np.round(rng.random(13), 4)), 0.0, 0.0], strict=True)),
        "title": {some[rng.integers(25)]: 3.5},
    }


def query_for(leg):
    """A query whose score is the document's number in that field."""
    factor = {"field_value_factor": {"field": leg}}
    filter_ = {"bool": {"filter": {"exists": {"field": leg}}}}
    return {"function_score": {"query": filter_, "functions": [factor], "boost_mode": "replace"}}


@pytest.fixture(scope="module")
def hits_of(opensearch_hybrid):
    """The hits that an index of so many shards has, by that number."""
    made_ = {n_shards: found(np.random.default_rng(n_shards)) for n_shards in (1, 3)}
    for n_shards, hits in made_.items():
        opensearch_hybrid.create_index(f"hybrid-{n_shards}", dict.fromkeys(LEGS, "float"), n_shards)
        documents = {document: {} for its in hits.values() for document in its}
        for leg, its in hits.items():
            for document, score in its.items():
                documents[document][leg] = score
        opensearch_hybrid.index(f"hybrid-{n_shards}", documents)
    return made_


@pytest.mark.parametrize(("n_shards", "how"), CASES)
def test_the_pipeline_fuses_as_rank_says(opensearch_hybrid, hits_of, tmp_path, n_shards, how):
    name, hits = f"hybrid-{n_shards}", hits_of[n_shards]
    fusion = fuse(*made(n_queries=20), "opensearch", index=name, **(QUICK | FUSED[how]))
    file = tmp_path / "pipeline.json"
    fusion.save(file)
    pipeline, query = (json.loads((tmp_path / each).read_text()) for each in (file.name, file.name + QUERY))
    opensearch_hybrid.put("/_search/pipeline/linrank", pipeline)
    assert query["query"]["hybrid"]["queries"] == [{"REPLACE": f"with the query of leg {leg}"} for leg in LEGS]
    query["query"]["hybrid"]["queries"] = [query_for(leg) for leg in LEGS]
    answer = opensearch_hybrid.post(f"/{name}/_search?search_pipeline=linrank", query | {"size": 50})
    theirs = {hit["_id"]: np.float32(hit["_score"]) for hit in answer["hits"]["hits"]}
    ours = fusion.rank({leg: {"q": its} for leg, its in hits.items()})["q"]
    assert theirs.keys() == ours.keys()
    if how == "l2" and n_shards > 1:
        # The squares are added up shard after shard.
        assert theirs == pytest.approx(ours, rel=1e-6)
        return
    assert theirs == {document: np.float32(score) for document, score in ours.items()}
    assert [ours[document] for document in theirs] == list(ours.values())
