"""The sparse rankers on OHSUMED and MQ2008: five folds, parameters chosen on the validation parts, beside the papers.

    python benchmarks/sparse.py                     both data sets; takes a few minutes
    python benchmarks/sparse.py OHSUMED             one of them

NDCG is the standard one (gain 2^y - 1, discount 1/log2(rank + 1)), as in the papers; MAP counts labels of 1 and more as
relevant (the MinBatSRank paper says 2 for OHSUMED, but its figures are those of 1). Published ones are means from that
paper's Tables 2 to 4. Training seconds are those of one fit of the chosen parameters, the mean over folds; published
ones are of other machines.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

from linrank import FenchelRank, MCPRank, MinBatSRank, RankSVM, RSRank, SparseRank, feature_path, read
from linrank.measures import MAP, NDCG, evaluate

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
CUTOFFS = [NDCG @ k for k in (1, 3, 5, 10)]
SELECT = NDCG @ 10

# Method: how to make it from one value, and the values to choose from (the papers' grids, thinned).
GRIDS = {
    "RankSVM (dense)": (RankSVM, [2.0**p for p in range(-14, 4, 2)]),
    "RankSVM, L1": (lambda C: RankSVM(C, penalty="l1", tol=1e-5), [2.0**-p for p in range(6, 15)]),
    "SparseRank": (lambda l1: SparseRank(l1, tol=1e-3), [2.0**p for p in range(6, 15)]),
    "FenchelRank": (FenchelRank, [0.5, 1.0, 2.0, 4.0, 8.0]),
    "MCPRank": (lambda l1: MCPRank(l1, tol=1e-3), [2.0**p for p in range(6, 15)]),
    "MinBatSRank": (MinBatSRank, [2.0**p for p in range(4, 16)]),
    "RSRank": (RSRank, [2.0**p for p in range(8)]),
}
PUBLISHED = {
    ("OHSUMED", "SparseRank"): ("0.5671", "0.5000", "0.4764", "0.4563", "0.4489", "0.2978", "18.89"),
    ("OHSUMED", "FenchelRank"): ("0.5453", "0.5131", "0.4879", "0.4608", "0.4480", "0.2844", "254.97"),
    ("OHSUMED", "MinBatSRank"): ("0.5704", "0.5030", "0.4816", "0.4663", "0.4511", "0.2311", "0.04"),
}


def folds(name):
    for number in range(1, 6):
        yield tuple(read(SHARED / name / f"Fold{number}" / f"{part}.txt") for part in ("train", "vali", "test"))


def fit(make, value, train):
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker = make(value).fit(train.features, train.labels, qid=train.qid)
    return ranker.coef_, time.perf_counter() - started


def on_fold(make, values, train, vali, test, measures):
    """The chosen parameters' test measures, share of features, seconds and validation NDCG@10."""
    fits = [(value, *fit(make, value, train)) for value in values]
    quality = [SELECT.mean(vali.features @ weights, vali) for _, weights, _ in fits]
    _, weights, seconds = fits[int(np.argmax(quality))]
    means = evaluate(test.features @ weights, test, measures).mean
    return [*(means[measure] for measure in measures), np.count_nonzero(weights) / len(weights), seconds, max(quality)]


def on_path(train, vali, test, measures):
    """feature_path, the model within one standard error of the best on the validation part."""
    started = time.perf_counter()
    path = feature_path(train, None, eval_set=(vali.features, vali.labels), eval_qid=vali.qid)
    seconds = time.perf_counter() - started
    weights = path.select_features(one_se=True).weights
    means = evaluate(test.features @ weights, test, measures).mean
    quality = SELECT.mean(vali.features @ weights, vali)
    return [*(means[measure] for measure in measures), np.count_nonzero(weights) / len(weights), seconds, quality]


def table(name):
    measures = [*CUTOFFS, MAP]
    data = list(folds(name))
    print(f"\n## {name}: mean of five folds, ± standard deviation over folds\n")
    print("| method | " + " | ".join(map(str, measures)) + " | features | seconds | validation ndcg@10 |")
    print("|---|" + "---:|" * (len(measures) + 3), flush=True)
    for method, (make, values) in GRIDS.items():
        fit(make, values[0], data[0][0])
        show(method, np.array([on_fold(make, values, *parts, measures) for parts in data]))
        if (name, method) in PUBLISHED:
            print(f"| *{method}, published* | " + " | ".join(PUBLISHED[name, method]) + " | |", flush=True)
    show("feature_path, one s.e.", np.array([on_path(*parts, measures) for parts in data]))


def show(method, rows):
    cells = [
        f"{mean:.4f} ± {spread:.3f}" for mean, spread in zip(rows.mean(0)[:5], rows.std(0, ddof=1)[:5], strict=True)
    ]
    share, seconds, quality = rows.mean(0)[5:]
    print(f"| {method} | " + " | ".join(cells) + f" | {share:.2f} | {seconds:.3f} | {quality:.4f} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*", default=["OHSUMED", "MQ2008"])
    for asked in parser.parse_args().data:
        if not (SHARED / asked).is_dir():
            print(f"{asked} is not beside the project")
            continue
        table(asked)
