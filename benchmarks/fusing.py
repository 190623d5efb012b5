"""How long fusing takes: 10 legs x 10,000 queries x depth 1,000, from arrays of hits to weights.

    python benchmarks/fusing.py [--queries 10000] [--depth 1000] [--legs 10]

Legs share half of their documents, as legs do; 5 documents of a query are relevant. Reading text is no part of it: a
run file is read by linrank.reading.trec at its own pace. Of the processors' time, that of the system is mostly the
first touch of new memory, which on virtual machines can be most of a step; so the time of touching as much memory as
the matrix takes is shown beside.
"""

import argparse
import resource
import time

import numpy as np

from linrank.fusing.candidates import Candidates, Leg
from linrank.fusing.problem import FusionProblem, JudgedDocuments
from linrank.fusing.registry import engine_named
from linrank.fusing.trained_weights import Pairwise
from linrank.measures import parse_measure

RELEVANT = 5


def made_legs(n_legs, n_queries, depth, n_documents, rng):
    """Hits in the order of their scores, as a run has them; relevant documents are brought by most legs, higher up."""
    queries = np.repeat(np.arange(n_queries), depth)
    # Each query has a pool of documents, twice as many as a leg brings.
    pools = rng.integers(n_documents - 2 * depth, size=n_queries)
    for number in range(n_legs):
        documents = np.empty((n_queries, depth), dtype=np.int32)
        scores = np.sort(rng.gamma(2.0, 1.0, (n_queries, depth)), axis=1)[:, ::-1]
        order = rng.permutation(2 * depth)[:depth]
        documents[:] = pools[:, None] + order[None, :]
        places = rng.integers(depth // (2 + number % 5), size=n_queries)
        # The pool's first document, one of the relevant ones, takes the place of another hit.
        there = np.argmax(order == 0) if (order == 0).any() else None
        if there is not None:
            rows = np.arange(n_queries)
            documents[rows, there], documents[rows, places] = documents[rows, places], documents[rows, there]
        yield Leg.of(f"leg{number}", queries, documents.ravel(), scores.ravel(), n_queries), pools


def main():
    parser = argparse.ArgumentParser()
    for name, default in (("queries", 10_000), ("depth", 1000), ("legs", 10), ("documents", 1_000_000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    pairs = [made_legs(given.legs, given.queries, given.depth, given.documents, rng)]
    legs, pools = zip(*pairs[0], strict=True)
    judged = JudgedDocuments(
        np.repeat(np.arange(given.queries), RELEVANT),
        (pools[0][:, None] + np.arange(RELEVANT)[None, :]).ravel().astype(np.int64),
        np.ones(given.queries * RELEVANT),
    )
    documents, engine = range(given.documents), engine_named("elasticsearch")
    run(legs[:2], range(given.queries), documents, judged, engine, given.depth, quiet=True)
    run(legs, range(given.queries), documents, judged, engine, given.depth)


def run(legs, queries, documents, judged, engine, depth, *, quiet=False):
    steps, before = [], spent()

    def done(what):
        nonlocal before
        now = spent()
        steps.append((what, *(now - before)))
        before = now

    candidates = Candidates.of(legs, queries, documents, depth)
    done("candidates")
    problem = FusionProblem.of(engine, candidates, judged, parse_measure("ndcg@10"), "irrelevant")
    done("labels")
    _ = problem.matrix
    done("normalised")
    _ = problem.spreads, problem.training
    done("training rows")
    counts = np.ones(problem.n_queries)
    fuser = Pairwise().learn(problem, counts)
    done("weights")
    problem.per_query(fuser)
    done("measured")
    if quiet:
        return
    n_hits = sum(len(leg.scores) for leg in legs)
    print(f"{n_hits:,} hits, {candidates.n_rows:,} candidates, {int(problem.training.n_pairs.sum()):,} pairs")
    for what, seconds, used, system in [*steps, ("all", *(sum(step[place] for step in steps) for place in (1, 2, 3)))]:
        print(f"  {what:<14} {seconds:7.2f} s   {used:7.2f} s of processors, {system:.2f} of them the system's")
    print(fuser.says)
    size, before = problem.matrix.nbytes, spent()
    np.ones(size, dtype=np.uint8)
    print(f"to touch as many new bytes as the matrix has ({size / 1e6:.0f} MB): {(spent() - before)[0]:.2f} s")


def spent():
    """Seconds by the clock, of the processors, and of those the system's."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return np.array([time.perf_counter(), used.ru_utime + used.ru_stime, used.ru_stime])


if __name__ == "__main__":
    main()
