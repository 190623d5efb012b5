"""Made-up legs and judgements whose best weights are known, and small ones that have every corner in them."""

import numpy as np

from linrank.fusing.candidates import Candidates
from linrank.fusing.legs import read_legs
from linrank.fusing.problem import FusionProblem, JudgedDocuments
from linrank.fusing.registry import ENGINES, engine_named
from linrank.measures import parse_measure

SETTINGS = {"milvus": {"metrics": "BM25,COSINE,IP"}}
# Every rule there is: an engine with one of its normalisers.
RULES = [
    (name, normaliser) for name in ENGINES for normaliser in engine_named(name, **SETTINGS.get(name, {})).normalisers
]


def engine_of(name, normaliser=""):
    return engine_named(name, normaliser=normaliser, **SETTINGS.get(name, {}))


def legs_for(name):
    return ("bm25", "dense") if name == "weaviate" else ("bm25", "dense", "title")


def made(n_queries=40, n_documents=60, depth=25, names=("bm25", "dense", "title"), seed=0, strengths=(1.0, 3.0, 0.5)):
    """Runs whose scores rise with relevance, each leg as strongly as told, and complete judgements."""
    rng = np.random.default_rng(seed)
    units = {"bm25": 8.0, "dense": 0.2, "title": 2.0}
    runs, qrels = {name: {} for name in names}, {}
    for query in range(n_queries):
        labels = np.where(rng.random(n_documents) < 0.1, rng.integers(1, 4, n_documents), 0)
        labels[0] = 2
        for name, strength in zip(names, strengths, strict=False):
            scores = units[name] * (1.0 + 0.15 * strength * labels + rng.gamma(2.0, 0.25, n_documents))
            order = np.argsort(-scores)[:depth]
            runs[name][f"q{query}"] = {f"d{document:03d}": float(scores[document]) for document in order}
        qrels[f"q{query}"] = {f"d{document:03d}": float(label) for document, label in enumerate(labels)}
    return runs, qrels


def awkward(rng, names, n_queries=6):
    """A few queries with ties, legs of one hit or none, documents in one leg only and judgements of few."""
    runs, qrels = {name: {} for name in names}, {}
    for query in range(n_queries):
        documents = [f"d{number}" for number in range(rng.integers(4, 12))]
        for name in names:
            size = [0, 1, 2, len(documents)][rng.integers(4)] if query else len(documents)
            hits = rng.choice(documents, size=size, replace=False)
            runs[name][f"q{query}"] = {str(hit): float(rng.integers(1, 6)) / 2.0 for hit in hits}
        qrels[f"q{query}"] = {str(d): float(rng.integers(0, 3)) for d in documents if rng.random() < 0.7}
        qrels[f"q{query}"] |= {"d0": 2.0, "d1": 0.0}
    return runs, qrels


def known_weights(engine, names, seed, noise=0.0, n_queries=30, n_documents=40, depth=20):
    """Runs, judgements made of what the engine itself fuses by known weights, and those weights.

    Each of a query's candidates is labelled by its place in the fused order, in five grades; with noise of so many
    standard deviations of the fused scores, drawn for each document, added before.
    """
    rng = np.random.default_rng(seed)
    # An arctangent makes hardly more of 8 than of 4: then being found is all that counts, and many weights are right.
    units = {"bm25": 1.0 if engine.name == "milvus" else 8.0, "dense": 0.2, "title": 2.0}
    runs = {name: {} for name in names}
    for query in range(n_queries):
        for name in names:
            scores = units[name] * (0.2 + rng.gamma(2.0, 0.5, n_documents))
            hits = np.argsort(-scores)[:depth]
            runs[name][f"q{query:03d}"] = {f"d{hit:02d}": float(scores[hit]) for hit in hits}
    everything = {query: {} for query in runs[names[0]]}
    problem = problem_of(runs, everything, engine)
    weights = rng.dirichlet(np.full(len(names), 2.0))
    if not engine.limits.non_negative:
        weights[-1] *= -1.0
    weights = engine.in_units(weights / problem.spreads)
    fused = engine.combine(problem.matrix, weights).astype(np.float64)
    fused += noise * fused.std() * rng.normal(size=len(fused))
    qrels, candidates = {}, problem.candidates
    for query, qid in enumerate(candidates.query_ids):
        rows = np.arange(candidates.starts[query], candidates.starts[query + 1])
        grades = np.searchsorted(np.quantile(fused[rows], [0.5, 0.7, 0.85, 0.95]), fused[rows], side="left")
        documents = [candidates.document_ids[number] for number in candidates.documents[rows]]
        qrels[qid] = {document: float(grade) for document, grade in zip(documents, grades, strict=True)}
    return runs, qrels, weights


def problem_of(runs, qrels, engine, depth=100, unjudged="irrelevant", measure="ndcg@10"):
    legs = read_legs(runs)
    every = Candidates.of(legs.legs, legs.query_ids, legs.document_ids, depth)
    there = np.flatnonzero((np.diff(every.starts) > 0) & [query in qrels for query in legs.query_ids])
    ids = [legs.query_ids[query] for query in there.tolist()]
    candidates = Candidates.of([leg.take(there) for leg in legs.legs], ids, legs.document_ids, depth)
    judged = JudgedDocuments.of(qrels, candidates.query_ids, candidates.document_ids)
    return FusionProblem.of(engine, candidates, judged, parse_measure(measure), unjudged)
