"""Every rule gives the float32 numbers that the engine's own code gave for these hits, to the bit.

Each line of recorded.jsonl has hits that were made up, the code they were given to (`of`), and what came of them.
OpenSearch's are those of the released plugin's classes, called directly, and of searches in a server with that plugin.
Elasticsearch's, Milvus's and Weaviate's are those of the functions named there alone, without the server around them.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from linrank.fusing.candidates import Candidates
from linrank.fusing.fusers import ReciprocalRanks, WeightedLegs
from linrank.fusing.legs import read_legs
from linrank.fusing.registry import engine_named
from linrank.fusing.scored import EngineCandidates

CASES = [json.loads(line) for line in Path(__file__).with_name("recorded.jsonl").read_text().splitlines()]


def name_of(case):
    how = case["settings"].get("normaliser") or case["settings"].get("metrics") or ("rrf" if "k" in case else "")
    return f"{case['engine']}-{how}-{len(case['legs'])}"


def candidates_of(engine, case):
    names = [f"leg{place}" for place in range(len(case["legs"]))]
    legs = read_legs({name: {"q": hits} for name, hits in zip(names, case["legs"], strict=True)})
    brought = [engine.brings(leg) for leg in legs.legs]
    return Candidates.of(brought, legs.query_ids, legs.document_ids, 100)


def float32_of(values):
    return {document: np.float32(value) for document, value in values.items()}


def test_every_rule_that_was_read_in_a_source_is_there():
    there = {(case["engine"], case["settings"].get("normaliser", "rrf" if "k" in case else "")) for case in CASES}
    assert {("opensearch", rule) for rule in ("min_max", "l2", "z_score", "rrf")} <= there
    assert {("elasticsearch", rule) for rule in ("minmax", "l2_norm", "none", "rrf")} <= there
    assert {("milvus", ""), ("weaviate", "")} <= there
    assert {"BM25", "IP", "COSINE", "L2"} == {
        metric for case in CASES for metric in case["settings"].get("metrics", "").split(",") if metric
    }


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_hits_become_what_the_engine_made_of_them(case):
    engine = engine_named(case["engine"], **case["settings"])
    candidates = candidates_of(engine, case)
    scored = EngineCandidates(engine, candidates)
    documents = [candidates.document_ids[number] for number in candidates.documents.tolist()]
    for column, wanted in enumerate(case.get("normalised", ())):
        found = dict(zip(documents, scored.matrix[:, column], strict=True))
        assert {document: found[document] for document in wanted} == float32_of(wanted)
    if "fused" not in case:
        return
    fuser = ReciprocalRanks(case["k"]) if "k" in case else WeightedLegs(tuple(case["weights"]))
    scores = scored.scores(fuser).astype(np.float32)
    assert dict(zip(documents, scores, strict=True)) == float32_of(case["fused"])
    # Of equal scores, the engine takes the document that was stored first.
    assert np.all(np.diff([np.float32(score) for score in case["fused"].values()]) <= 0.0)
