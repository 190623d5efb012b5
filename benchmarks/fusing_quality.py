"""What each way of learning weights is worth on queries that it has not seen.

    python benchmarks/fusing_quality.py [--to opensearch] [--normaliser z_score] [--queries 60] [--seeds 3]
    python benchmarks/fusing_quality.py --pages --queries 377 --seeds 6      # needs pip install --group hybrid
    python benchmarks/fusing_quality.py --classes --seeds 50

Of made-up legs, weights are learnt of so many judged queries and measured on 500 others. A leg is better for one query
than for another, as legs are, and brings 25 of 60 documents. With --pages, the legs are those of
examples/hybrid_search.py and every page asks its own query: weights are learnt of some, drawn by each seed, and
measured on all the others. Printed is the mean NDCG@10 of the grid, and what the others have more.

With --classes, the queries are of two classes: drawn by lot, or such that the better of two legs is another in each. Of
how many problems weights for classes are taken, is printed.
"""

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np

from linrank.fusing.candidates import Candidates
from linrank.fusing.evaluation import standings
from linrank.fusing.legs import read_legs
from linrank.fusing.methods import methods_for
from linrank.fusing.problem import FusionProblem, JudgedDocuments
from linrank.fusing.query_classes import learn_by_class
from linrank.fusing.registry import engine_named
from linrank.fusing.trained_weights import Pairwise
from linrank.measures import parse_measure

# How strongly the scores of each leg rise with the label.
KINDS = {
    "two legs": (1.0, 2.0),
    "three legs": (1.0, 3.0, 0.5),
    "three alike": (2.0, 2.0, 2.0),
    "one of noise": (2.0, 2.0, 0.0),
    "one relevant": (2.0, 3.0, 1.0),
    "long tails": (1.0, 3.0, 0.5),
    "four legs": (1.0, 2.0, 3.0, 0.5),
}
METHODS = ("auto", "pairwise", "ndcg", "search", "equal", "rrf")
# How strongly the scores of two legs rise with the label, in each of two classes.
CLASSES = {
    "drawn by lot": ((1.0, 3.0), (1.0, 3.0)),
    "a little different": ((1.5, 2.5), (2.5, 1.5)),
    "different": ((1.0, 3.0), (3.0, 1.0)),
    "opposite": ((0.0, 3.0), (3.0, 0.0)),
}
UNITS = (8.0, 0.2, 2.0, 1.0)
DOCUMENTS, DEPTH, UNSEEN = 60, 25, 500


def made_runs(kind, n_queries, rng):
    return runs_of(lambda query: KINDS[kind], kind, n_queries, rng)  # noqa: ARG005


def runs_of(strengths_of, kind, n_queries, rng):
    runs, qrels = {f"leg{number}": {} for number in range(len(strengths_of(0)))}, {}
    for query in range(n_queries):
        labels = np.where(rng.random(DOCUMENTS) < 0.1, rng.integers(1, 4, DOCUMENTS), 0)
        labels[0] = 2
        if kind == "one relevant":
            labels = 3 * (np.arange(DOCUMENTS) == rng.integers(DOCUMENTS))
        for unit, strength, run in zip(UNITS, strengths_of(query), runs.values(), strict=False):
            rise = 0.15 * strength * max(0.0, 1.0 + 0.5 * rng.normal())
            tail = kind == "long tails"
            chance = 0.3 * np.exp(1.2 * rng.normal(size=DOCUMENTS)) if tail else rng.gamma(2.0, 0.25, DOCUMENTS)
            scores = unit * (1.0 + rise * labels + chance)
            hits = np.argsort(-scores)[:DEPTH]
            run[f"q{query:04d}"] = {f"d{hit:02d}": float(scores[hit]) for hit in hits}
        qrels[f"q{query:04d}"] = {f"d{number:02d}": float(label) for number, label in enumerate(labels)}
    return runs, qrels


def problem_of(engine, runs, qrels, depth):
    legs = read_legs(runs)
    candidates = Candidates.of(legs.legs, legs.query_ids, legs.document_ids, depth)
    judged = JudgedDocuments.of(qrels, legs.query_ids, legs.document_ids)
    return FusionProblem.of(engine, candidates, judged, parse_measure("ndcg@10"), "irrelevant")


def made_up(engine, kind, n_queries, seed):
    """The mean measure of unseen queries by each method."""
    runs, qrels = made_runs(kind, n_queries + UNSEEN, np.random.default_rng(seed))
    problem = problem_of(engine, runs, qrels, DEPTH)
    return means_of(problem, np.where(np.arange(problem.n_queries) < n_queries, 1.0, 0.0))


def means_of(problem, counts):
    """The mean measure, by each method, of the queries that do not count in learning."""
    methods = methods_for(problem)
    learnt = {name: methods[name].learn(problem, counts) for name in ("grid", *METHODS)}
    return {name: problem.per_query(fuser)[counts == 0.0].mean() for name, fuser in learnt.items()}


def pages_problem(engine):
    """Every page of the example asks the sentence that says what it is about, and is the one relevant to it."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
    import hybrid_search as example
    import wordllama

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names, summaries, bodies = zip(*example.pages(), strict=True)
    embed = wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True).embed
    queries = [query for query in dict.fromkeys(summaries) if 3 <= len(query.split()) <= 30]
    vectors, asked = embed(list(bodies), norm=True), embed(queries, norm=True)
    legs = {
        "bm25": example.Keywords(list(bodies)).scores,
        "name": example.Keywords([example.words_of_name(name) for name in names]).scores,
        "dense": dict(zip(queries, asked @ vectors.T, strict=True)).get,
    }
    runs = {leg: {query: example.first(scores(query)) for query in queries} for leg, scores in legs.items()}
    qrels = {query: {} for query in queries}
    for page, query in enumerate(summaries):
        if query in qrels:
            qrels[query][str(page)] = 1.0
    return problem_of(engine, runs, qrels, example.DEPTH)


def on_pages(problem, n_queries, seed):
    counts = np.zeros(problem.n_queries)
    counts[np.random.default_rng(seed).choice(problem.n_queries, n_queries, replace=False)] = 1.0
    return means_of(problem, counts)


def classes_taken(engine, kind, n_queries, seed):
    """Whether two classes are given weights of their own."""
    rng = np.random.default_rng(seed)
    of_query = rng.permutation(np.arange(n_queries) % 2).tolist()
    runs, qrels = runs_of(lambda query: CLASSES[kind][of_query[query]], kind, n_queries, rng)
    problem = problem_of(engine, runs, qrels, DEPTH)
    names = [str(of_query[int(query[1:])]) for query in problem.candidates.query_ids]
    (deployed,) = standings(problem, {"pairwise": Pairwise()}, "pairwise", 5, seed)
    return learn_by_class(problem, names, "class", deployed, n_folds=5, seed=seed).differ


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--to", default="opensearch")
    parser.add_argument("--normaliser", default="")
    parser.add_argument("--queries", type=int, default=60)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--pages", action="store_true")
    parser.add_argument("--classes", action="store_true")
    given = parser.parse_args()
    settings = {"metrics": "BM25,IP,IP,IP"} if given.to == "milvus" else {}
    engine = engine_named(given.to, normaliser=given.normaliser, **settings)
    if given.classes:
        for kind in CLASSES:
            taken = sum(classes_taken(engine, kind, given.queries, seed) for seed in range(given.seeds))
            print(f"{kind:<20}{taken:4d} of {given.seeds}", flush=True)
        return
    print(f"{'':<14}{'grid':>8}" + "".join(f"{name:>10}" for name in METHODS))
    every = []
    pages = pages_problem(engine) if given.pages else None
    for kind in KINDS if pages is None else ("pages",):
        found = [
            made_up(engine, kind, given.queries, seed) if pages is None else on_pages(pages, given.queries, seed)
            for seed in range(given.seeds)
        ]
        gains = np.array([[each[name] - each["grid"] for name in METHODS] for each in found])
        every.append(gains)
        grid = np.mean([each["grid"] for each in found])
        print(f"{kind:<14}{grid:8.4f}" + "".join(f"{gain:+10.4f}" for gain in gains.mean(axis=0)), flush=True)
    gains = np.concatenate(every)
    errors = gains.std(axis=0, ddof=1) / np.sqrt(len(gains))
    print(f"{'all':<22}" + "".join(f"{gain:+10.4f}" for gain in gains.mean(axis=0)))
    print(f"{'standard error':<22}" + "".join(f"{error:10.4f}" for error in errors))


if __name__ == "__main__":
    main()
