"""What is gone through some queries at a time, and by the first documents alone, is what it is at once and by all."""

import numpy as np
import pytest

from fusing_cases import awkward, engine_of, made, problem_of
from linrank.dataset.queries import Queries
from linrank.fusing.fusers import ReciprocalRanks, WeightedLegs
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
            np.testing.assert_array_equal(problem.measured(scores), wanted)


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
        *(fuser.scores(problem) for fuser in fusers),
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
