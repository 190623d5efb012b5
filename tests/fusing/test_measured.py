"""What is gone through some queries at a time, and by the first documents alone, is what it is at once and by all."""

import numpy as np
import pytest

from fusing_cases import RULES, awkward, engine_of, legs_for, made, problem_of
from linrank import fuse
from linrank.dataset.queries import Queries
from linrank.fusing.fusers import ReciprocalRanks, WeightedLegs
from linrank.fusing.fusion import deployed_as, fused_runs
from linrank.measures import Judgements, evaluate, parse_measure

MEASURES = [
    "ndcg@1",
    "ndcg@3",
    "ndcg(linear)@3",
    "ndcg(letor)@5",
    "ndcg(ties=average)@3",
    "ndcg(ties=worst)@2",
    "dcg@2",
    "p@2",
    "p(rel=0)@2",
    "recall@3",
    "map",
    "map@3",
    "mrr",
    "mrr@2",
    "err@3",
    "ndcg",
    "ndcg(trec)@3",
    "ndcg@1000",
    "pairwise_accuracy",
]


@pytest.mark.kernels
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("unjudged", ["irrelevant", "left-out"])
def test_a_measure_of_the_first_documents_is_that_of_the_whole_order(measure, unjudged):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        runs, qrels = awkward(rng, ("a", "b", "c"))
        problem = problem_of(runs, qrels, engine_of("sql"), unjudged=unjudged, measure=measure)
        candidates = problem.candidates
        queries = Queries(candidates.queries.ids, candidates.starts, None)
        docids = [candidates.document_ids[number] for number in candidates.documents.tolist()]
        whole = Judgements(np.nan_to_num(problem.labels), queries, docids, problem.unretrieved)
        # Few different scores, so that many are tied at the cut-off.
        for scores in (rng.integers(0, 3, candidates.n_rows).astype(float), rng.random(candidates.n_rows)):
            wanted = evaluate(scores, whole, measure).per_query[parse_measure(measure)]
            np.testing.assert_array_equal(problem.measured(problem.given(scores)), wanted)


def everything_of(problem):
    weights = (0.5, 0.25, 0.25)
    fusers = (WeightedLegs(weights), ReciprocalRanks(5))
    return [
        problem.candidates.starts,
        problem.candidates.documents,
        *problem.candidates.rows,
        problem.matrix,
        problem.ranks,
        problem.training.above,
        problem.training.n_pairs,
        *(problem.scores(fuser) for fuser in fusers),
        *(problem.per_query(fuser) for fuser in fusers),
    ]


@pytest.mark.parametrize("engine", ["opensearch", "vespa"])
def test_ranges_of_queries_and_threads_change_nothing(monkeypatch, engine):
    runs, qrels = made(n_queries=12)
    at_once = problem_of(runs, qrels, engine_of(engine))
    wanted, spreads = everything_of(at_once), []
    monkeypatch.setattr("linrank.fusing.query_ranges._ROWS_AT_A_TIME", 60)
    monkeypatch.setattr("linrank.fusing.query_ranges._TASKS_WITHOUT_THREADS", 1)
    monkeypatch.setattr("linrank.fusing.candidates._HITS_AT_A_TIME", 90)
    for threads in (1, 3):
        monkeypatch.setattr("linrank.fusing.query_ranges.number_of_threads", lambda _, n=threads: n)
        problem = problem_of(runs, qrels, engine_of(engine))
        for found, other in zip(everything_of(problem), wanted, strict=True):
            np.testing.assert_array_equal(found, other)
        np.testing.assert_allclose(problem.spreads, at_once.spreads, rtol=1e-12)
        spreads.append(problem.spreads)
    np.testing.assert_array_equal(*spreads)


def plain_ndcg(ranked, labels, cutoff=10):
    """NDCG of a list of documents, by judgements; None where nothing is relevant."""

    def dcg(values):
        return sum((2.0**value - 1.0) / np.log2(place + 2.0) for place, value in enumerate(values[:cutoff]))

    ideal = dcg(sorted(labels.values(), reverse=True))
    return dcg([labels.get(document, 0.0) for document in ranked]) / ideal if ideal else None


@pytest.mark.parametrize(("name", "normaliser"), RULES)
@pytest.mark.parametrize("unjudged", ["irrelevant", "condensed"])
def test_what_is_measured_is_what_is_deployed(name, normaliser, unjudged):
    """A leg that weighs 0 is not searched: what it alone brings is in no list, and relevant documents are missed."""
    engine, names = engine_of(name, normaliser), legs_for(name)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        runs, qrels = awkward(rng, names)
        if name == "qdrant":
            for hits in (hits for run in runs.values() for hits in run.values()):
                hits.update({document: score - 2.0 for document, score in hits.items()})
        problem = problem_of(runs, qrels, engine, unjudged=unjudged)
        drawn = rng.dirichlet(np.ones(len(names)))
        for idle in range(2 ** len(names) - 1):
            weights = [0.0 if idle >> leg & 1 else weight for leg, weight in enumerate(drawn)]
            fuser = WeightedLegs(tuple(engine.in_units(np.array(weights)).tolist()))
            ranked = fused_runs(engine, names, deployed_as(engine, problem.candidates, fuser), runs, None)
            found = problem.per_query(fuser)
            for query, value in zip(problem.candidates.query_ids, found.tolist(), strict=True):
                order = [d for d in ranked.get(query, {}) if unjudged == "irrelevant" or d in qrels[query]]
                assert value == pytest.approx(plain_ndcg(order, qrels[query]), abs=1e-12)


def test_distances_alone_are_not_left_over():
    """Milvus adds up raw distances where no other metric is beside them: a leg of another one stays, and weighs 0."""
    rng = np.random.default_rng(0)
    runs, qrels = awkward(rng, ("bm25", "dense"), n_queries=12)
    runs["dense"] = {query: {d: -score for d, score in hits.items()} for query, hits in runs["dense"].items()}
    fusion = fuse(runs, qrels, "milvus", normaliser="none", metrics="BM25,L2", n_folds=2, n_resamples=2)
    bm25, dense = fusion.weights
    assert bm25.loss is None
    assert dense.loss is not None
    assert fusion.engine.asked(np.array([0.0, 1.0])).tolist() == [True, True]
    assert fusion.engine.asked(np.array([1.0, 0.0])).tolist() == [True, False]
