"""What weighing pairs for NDCG buys: RankSVM three ways, LambdaRank, XENDCG and SmoothRank on real judgements.

    python benchmarks/weighting.py                          MSLR's sample, MQ2008 and OHSUMED
    python benchmarks/weighting.py MSLR --seeds 4           one of them; MSLR's 97 queries, drawn into folds four times
    python benchmarks/weighting.py MSLR --features raw      standardised in place of rank-gauss
    python benchmarks/weighting.py OHSUMED --methods 'RankSVM, for NDCG' XENDCG      some of them, beside LambdaRank

Settings are chosen by NDCG@10 on the validation part alone, among `GRIDS`; the test part is measured once. MSLR's
sample has three parts of one fold: they are pooled, and split by query into five folds, of which one is tested on, the
next chosen on and three trained on. MQ2008 and OHSUMED come in folds, normalised. NDCG@10 is the standard one, its mean
over queries; a query that several seeds test counts once, with its mean. Tests are two-sided randomisation tests of the
queries' differences from LambdaRank, adjusted by Holm. Times are of one processor and one thread: of the training that
is chosen, and of all trainings of a search, as shares of LambdaRank's.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from dataclasses import replace

import numpy as np
from letor import is_here, parts
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from linrank import XENDCG, LambdaRank, RankingDataset, RankSVM, SmoothRank
from linrank.measures import NDCG
from linrank.measures.significance import holm, randomisation_test

MEASURE = NDCG @ 10
MSLR = "MSLR-WEB10K-sample"
RIVAL = "LambdaRank"
METHODS = {
    "RankSVM, pairs alike": lambda **settings: RankSVM(tol=1e-4, **settings),
    "RankSVM, queries alike": lambda **settings: RankSVM(weighting="queries", tol=1e-4, **settings),
    "RankSVM, for NDCG": lambda **settings: RankSVM(weighting="ndcg", tol=1e-4, **settings),
    RIVAL: lambda **settings: LambdaRank(patience=50, tol=1e-4, **settings),
    "XENDCG": lambda **settings: XENDCG(tol=1e-4, **settings),
    "SmoothRank": lambda **settings: SmoothRank(patience=50, **settings),
}
GRIDS = {
    "RankSVM, pairs alike": {"C": [2.0**k for k in range(-20, 5, 3)]},
    "RankSVM, queries alike": {"C": [2.0**k for k in range(-10, 9, 2)]},
    "RankSVM, for NDCG": {"C": [2.0**k for k in range(-10, 9, 2)]},
    RIVAL: {"C": [0.01, 0.1, 1.0, 10.0]},
    "XENDCG": {"C": [2.0**k for k in range(-8, 7, 2)]},
    "SmoothRank": {"C": [2.0**k for k in (-6, -3, 0, 3)], "sigma": [0.1, 0.01]},
}


def rank_gauss(train, *others):
    """Training quantiles as normal scores, exactly: what `transforms="rank-gauss"` comes near to with 64 knots."""
    return mapped(QuantileTransformer(output_distribution="normal", subsample=None), train, *others)


def standardised(train, *others):
    return mapped(StandardScaler(), train, *others)


def mapped(transformer, train, *others):
    transformer.fit(train.features)
    return [
        replace(data, features=np.clip(transformer.transform(data.features), -4.0, 4.0)) for data in (train, *others)
    ]


FEATURES = {"rank-gauss": rank_gauss, "raw": standardised}


def pooled():
    """The queries of all parts of MSLR's sample."""
    found = parts(MSLR, 1, "train", "vali", "test")
    qid = np.concatenate([np.char.add(f"{number} ", data.qid.astype(str)) for number, data in enumerate(found)])
    features = np.concatenate([np.asarray(data.features, dtype=np.float64) for data in found])
    return RankingDataset.from_arrays(features, np.concatenate([data.labels for data in found]), qid=qid)


def splits_of_mslr(seeds, how):
    data = pooled()
    for seed in range(seeds):
        folds = np.array_split(np.random.default_rng(seed).permutation(data.n_queries), 5)
        for number in range(5):
            test, vali, *train = (folds[(number + other) % 5] for other in range(5))
            chosen = [np.sort(np.concatenate(some)) for some in (train, [vali], [test])]
            yield FEATURES[how](*(data.subset(queries) for queries in chosen))


def splits_of_folds(name):
    for fold in range(1, 6):
        yield parts(name, fold, "train", "vali", "test")


def searched(name, train, vali, test):
    """The measure of each test query by the settings that are best on the validation part, and what it took."""
    best, total = (-np.inf, None, None, 0.0), 0.0
    for values in itertools.product(*GRIDS[name].values()):
        settings = dict(zip(GRIDS[name], values, strict=True))
        ranker = METHODS[name](n_threads=1, **settings)
        watched = {"eval_set": vali} if getattr(ranker, "patience", None) is not None else {}
        started = time.process_time()
        ranker.fit(train, **watched)
        seconds = time.process_time() - started
        total += seconds
        measured = MEASURE.mean(ranker.predict(vali), vali)
        if measured > best[0]:
            best = (measured, settings, ranker, seconds)
    _, settings, ranker, seconds = best
    return MEASURE.per_query(ranker.predict(test), test), settings, seconds, total


def run(splits, methods):
    """For each method the mean of each test query, the settings chosen, and the seconds of one training and of all."""
    values = {name: {} for name in methods}
    chosen, seconds = {name: [] for name in methods}, {name: [] for name in methods}
    for number, (train, vali, test) in enumerate(splits):
        said = []
        for name in methods:
            per_query, settings, *took = searched(name, train, vali, test)
            for query, value in zip(test.queries.ids, per_query, strict=True):
                values[name].setdefault(query, []).append(value)
            chosen[name].append(settings)
            seconds[name].append(took)
            said.append(f"{np.nanmean(per_query):.4f} ({took[1]:.1f} s)")
        print(f"  split {number + 1}: {' '.join(said)}", flush=True)
    means = {name: np.array([np.mean(each) for each in found.values()]) for name, found in values.items()}
    return means, chosen, {name: np.sum(took, axis=0) for name, took in seconds.items()}


def table(means, chosen, seconds):
    others = [name for name in means if name != RIVAL]
    tests = {name: randomisation_test(means[name], means[RIVAL]) for name in others}
    adjusted = dict(zip(others, holm([test.p_value for test in tests.values()]), strict=True))
    print("\n| | NDCG@10 | less LambdaRank | p (Holm) | time of a training | of a search | settings chosen |")
    print("|---|---:|---:|---:|---:|---:|---|")
    for name in means:
        difference = f"{tests[name].difference:+.4f} | {adjusted[name]:.3f}" if name in tests else "| "
        one, search = seconds[name] / seconds[RIVAL]
        settings = " ".join(sorted({",".join(f"{value:g}" for value in each.values()) for each in chosen[name]}))
        print(f"| {name} | {np.nanmean(means[name]):.4f} | {difference} | {one:.2f} | {search:.2f} | {settings} |")
    print(f"\nLambdaRank: {seconds[RIVAL][0]:.1f} s of chosen trainings, {seconds[RIVAL][1]:.1f} s of searches\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*", default=["MSLR", "MQ2008", "OHSUMED"], help="(MSLR MQ2008 OHSUMED)")
    parser.add_argument("--seeds", type=int, default=4, help="how often MSLR's queries are drawn into folds (4)")
    parser.add_argument("--features", choices=FEATURES, default="rank-gauss", help="of MSLR (rank-gauss)")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), help="(all)")
    arguments = parser.parse_args()
    methods = [name for name in METHODS if name in (*arguments.methods, RIVAL)]
    warnings.simplefilter("ignore")
    for name in arguments.data:
        if not is_here(MSLR if name == "MSLR" else name):
            continue
        of_mslr = name == "MSLR"
        print(f"{name}, {arguments.seeds} seeds, {arguments.features} features" if of_mslr else name)
        splits = splits_of_mslr(arguments.seeds, arguments.features) if of_mslr else splits_of_folds(name)
        table(*run(splits, methods))


if __name__ == "__main__":
    main()
