"""Milvus Lite takes the ranker that was written, and answers what `Fusion.rank` says."""

import pytest

from fusing_cases import made
from linrank import fuse

QUICK = {"n_resamples": 2, "n_folds": 2, "method": "pairwise"}
METRICS = {"bm25": "IP", "dense": "COSINE", "title": "L2"}
DOCUMENTS = "abcdefghij"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A collection of ten points, which has a vector of two numbers for each leg."""
    pymilvus = pytest.importorskip("pymilvus", reason="pymilvus is not installed")
    pytest.importorskip("milvus_lite", reason="milvus-lite, Milvus as a package, is not installed")
    made_ = pymilvus.MilvusClient(str(tmp_path_factory.mktemp("milvus") / "points.db"))
    schema, index = made_.create_schema(), made_.prepare_index_params()
    schema.add_field("id", pymilvus.DataType.VARCHAR, max_length=10, is_primary=True)
    for leg, metric in METRICS.items():
        schema.add_field(leg, pymilvus.DataType.FLOAT_VECTOR, dim=2)
        index.add_index(leg, index_type="FLAT", metric_type=metric)
    made_.create_collection("points", schema=schema, index_params=index)
    points = [
        {"id": name, "bm25": [0.5 * place - 2.0, 1.0], "dense": [1.0, 0.3 * place], "title": [0.1 * place**2, 0.5]}
        for place, name in enumerate(DOCUMENTS)
    ]
    made_.insert("points", points)
    made_.load_collection("points")
    yield made_
    made_.close()


def asked(client, leg, depth):
    """A leg's hits as a run has them: distances have a minus sign."""
    (found,) = client.search("points", [[1.0, 0.0]], anns_field=leg, limit=depth)
    return {hit["id"]: -hit["distance"] if METRICS[leg] == "L2" else hit["distance"] for hit in found}


@pytest.mark.parametrize("settings", [{}, {"normaliser": "none"}, {"method": "rrf60"}], ids=str)
def test_the_ranker_fuses_as_rank_says(client, settings):
    from pymilvus import AnnSearchRequest

    runs, qrels = made(n_queries=20)
    # As distances have it: all below 0, and the best is nearest to it.
    runs["title"] = {query: {name: score - 9.0 for name, score in its.items()} for query, its in runs["title"].items()}
    fusion = fuse(runs, qrels, "milvus", metrics=",".join(METRICS.values()), depth=7, **(QUICK | settings))
    written: dict = {}
    exec(fusion.configuration.content, written)
    assert fusion.deployed.legs == tuple(METRICS)
    requests = [AnnSearchRequest([[1.0, 0.0]], leg, {}, limit=7) for leg in METRICS]
    (answer,) = client.hybrid_search("points", requests, written["ranker"], limit=10)
    theirs = {hit["id"]: hit["distance"] for hit in answer}
    ours = fusion.rank({leg: {"q": asked(client, leg, 7)} for leg in METRICS})["q"]
    assert theirs == pytest.approx(ours, rel=1e-6)
    assert [ours[name] for name in theirs] == pytest.approx(list(ours.values()), rel=1e-6)
