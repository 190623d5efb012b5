"""NDCG@1, 3, 5, 10 and MAP of a million documents in 10,000 queries: linrank, pytrec_eval and ranx side by side.

Every library starts from the same three arrays (labels, scores, query ids) and ends with the same five means, so the
time includes its own grouping or its dictionaries. Each is called once before the clock runs: compiled code is loaded.

    python benchmarks/measures.py [n_documents] [n_queries]

The row of the table of speeds is in sorts of the scores by NumPy.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable

import numpy as np
from measuring import Figures, Row, Turns

from linrank.measures import Judgements, evaluate, parse_measures

CUTOFFS = (1, 3, 5, 10)
# Linear gains, since that is what trec_eval and ranx mean by NDCG.
MEASURES = parse_measures("ndcg(linear)@1,3,5,10 map")
Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


def make_data(n_documents: int, n_queries: int) -> Arrays:
    rng = np.random.default_rng(0)
    labels = rng.choice(5, size=n_documents, p=[0.52, 0.32, 0.13, 0.02, 0.01])
    scores = labels + rng.normal(scale=2.0, size=n_documents)
    return labels, scores, np.sort(rng.integers(0, n_queries, size=n_documents))


def with_linrank(labels, scores, qid, n_threads=None):
    evaluation = evaluate(scores, Judgements.from_arrays(labels, qid=qid), MEASURES, n_threads=n_threads)
    return list(evaluation.mean.values())


def as_dictionaries(labels, scores, qid):
    """Qrels and run as both peers take them: {query: {document: value}}."""
    texts = [str(number) for number in range(len(qid))]
    bounds = [0, *(np.flatnonzero(qid[1:] != qid[:-1]) + 1).tolist(), len(qid)]
    labels, scores = labels.tolist(), scores.tolist()
    qrels, run = {}, {}
    for start, stop in itertools.pairwise(bounds):
        query = str(qid[start])
        qrels[query] = dict(zip(texts[start:stop], labels[start:stop], strict=True))
        run[query] = dict(zip(texts[start:stop], scores[start:stop], strict=True))
    return qrels, run


def with_pytrec_eval(labels, scores, qid):
    import pytrec_eval

    qrels, run = as_dictionaries(labels, scores, qid)
    names = [*(f"ndcg_cut_{k}" for k in CUTOFFS), "map"]
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut." + ",".join(map(str, CUTOFFS)), "map"})
    values = evaluator.evaluate(run).values()
    return [float(np.mean([of_query[name] for of_query in values])) for name in names]


def with_ranx(labels, scores, qid):
    import ranx

    qrels, run = as_dictionaries(labels, scores, qid)
    names = [*(f"ndcg@{k}" for k in CUTOFFS), "map"]
    means = ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), names)
    return [float(means[name]) for name in names]


def best_time(function: Callable[..., list[float]], data: Arrays, repeats: int) -> tuple[float, list[float]]:
    means = function(*data)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function(*data)
        times.append(time.perf_counter() - start)
    return min(times), means


def measures(_):
    data = make_data(1_000_000, 10_000)
    with_linrank(*data)
    turns = Turns({"ours": lambda: with_linrank(*data), "sort": data[1].argsort})
    beside = {}
    for name, function in (("pytrec_eval", with_pytrec_eval), ("ranx", with_ranx)):
        try:
            beside[name], _ = best_time(function, data, repeats=1)
        except ModuleNotFoundError:
            continue
    return Figures(turns.least("ours"), turns.ratios("ours", "sort", "sorts"), beside=beside)


ROWS = [Row("measures", "NDCG@1,3,5,10 and MAP of 1,000,000 documents in 10,000 queries", measures)]


def main() -> None:
    n_documents, n_queries = (int(text) for text in (sys.argv[1:] or ["1000000", "10000"]))
    data = make_data(n_documents, n_queries)
    ours, expected = best_time(with_linrank, data, repeats=5)
    rows = [
        ("linrank", ours, expected),
        ("linrank, 1 thread", *best_time(lambda *arrays: with_linrank(*arrays, n_threads=1), data, repeats=5)),
        ("pytrec_eval", *best_time(with_pytrec_eval, data, repeats=2)),
        ("ranx", *best_time(with_ranx, data, repeats=2)),
    ]
    print(f"NDCG@1,3,5,10 and MAP, {n_documents:,} documents in {n_queries:,} queries, from arrays to means, warm:\n")
    print("| library | seconds | times linrank's | NDCG@10 | MAP |\n|---|---:|---:|---:|---:|")
    for name, seconds, means in rows:
        print(f"| {name} | {seconds:.3f} | {seconds / ours:.1f} | {means[3]:.6f} | {means[4]:.6f} |")
        np.testing.assert_allclose(means, expected, rtol=1e-6, err_msg=name)


if __name__ == "__main__":
    main()
