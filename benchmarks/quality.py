"""How well a linear ranker ranks, by what is done to its features and how its pairs are weighed, beside tuned trees.

python benchmarks/quality.py                        the MSLR sample, dealt into five folds by each of four seeds
python benchmarks/quality.py MQ2008 OHSUMED         their own five folds
python benchmarks/quality.py --queries 10,20,40     the sample, with so many training queries a fold
python benchmarks/quality.py --only ranksvm-ndcg,lightgbm --features rank-gauss

Every ranker is compared as `linrank compare` does it: settings are chosen among a grid on a fold's validation queries,
and its test queries are looked at once. A query of the sample is tested once a seed; the mean over the seeds is its one
value in intervals and tests, since the same query is no new one. Results are kept in benchmarks/data, so that a run
that was stopped goes on.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict

import numpy as np
from letor import FOLDER, is_here, parts
from made_data import DATA, MSLR

from linrank import LightGBMRanker, RankingDataset, compare
from linrank.experiments.folds import Fold, Part, dealt_folds, find_folds
from linrank.measures.significance import bootstrap_interval, holm, randomisation_test

MEASURE = "ndcg@10"
FEATURES = {
    "standardised": {"scaling": "standard"},
    "signed-log": {"scaling": "none", "transform": "signed-log"},
    "rank-gauss": {"scaling": "none", "transform": "rank-gauss"},
    "by query": {"scaling": "query"},
}
LINEAR = ("ranksvm", "ranksvm-queries", "ranksvm-ndcg", "lambdarank", "xendcg", "smoothrank")
# These do with the features what suits them.
ITS_OWN, OWN = "its own", ("additive", "best", "lightgbm", "stumps")
TREES = {"n_trees": [50, 100, 200, 400], "learning_rate": [0.03, 0.1]}
OBJECTS = {
    "lightgbm": (LightGBMRanker(), {**TREES, "max_leaves": [4, 8, 16]}),
    "stumps": (LightGBMRanker(max_leaves=2), TREES),
}
YARDSTICK = (ITS_OWN, "lightgbm")


def folds_of(name, seed, n_train):
    """The folds of a data set for a seed, each with so many of its training queries where a number is given."""
    if name == MSLR:
        pooled = RankingDataset.joined(parts(MSLR, 1, "train", "vali", "test"))
        folds = dealt_folds(Part("", data=pooled), n_folds=5, seed=seed)
    else:
        folds = find_folds(FOLDER / name)
    return [fewer(fold, n_train, seed) for fold in folds] if n_train else folds


def fewer(fold, n_train, seed):
    """The fold with some of its training queries, drawn by the seed; fewer of them are some of more."""
    loaded = {part: there.load() for part, there in fold.parts().items()}
    order = np.random.default_rng(seed).permutation(loaded["train"].n_queries)
    loaded["train"] = loaded["train"].subset(np.sort(order[:n_train]))
    return Fold(fold.name, **{part: Part("", data=data) for part, data in loaded.items()})


def measured(name, seed, n_train, features, rankers, n_processes):
    """The measure of every test query by (seed, query), and the seconds of a training, for each ranker."""
    of_size = f"-{n_train}" if n_train else ""
    out = DATA / "quality" / f"{name}{of_size}-{seed}-{features.replace(' ', '-')}"
    with warnings.catch_warnings():
        # What failed is missing in the table.
        warnings.simplefilter("ignore")
        done = compare(
            folds_of(name, seed, n_train),
            {ranker: OBJECTS.get(ranker, ranker) for ranker in rankers},
            measures=MEASURE,
            out=out,
            n_processes=n_processes,
            progress=lambda job, result: result and print(f"  {features}: {job.contender.name}, {job.fold.name}"),
            **FEATURES.get(features, {"scaling": "standard"}),
        )  # fmt: skip
    for ranker in done.results.complete():
        jobs = done.results.of(ranker)
        values = {
            qid: v for job in jobs for qid, v in zip(job.qids, job.per_query[MEASURE], strict=True) if v is not None
        }
        yield ranker, values, sum(job.seconds for job in jobs) / len(jobs)


def table(name, seeds, n_train, chosen, features, n_processes):
    """Print a line for every ranker on every form of the features."""
    values, seconds = defaultdict(lambda: defaultdict(list)), defaultdict(list)
    for seed in seeds:
        for form in (*features, ITS_OWN):
            rankers = [ranker for ranker in (OWN if form == ITS_OWN else LINEAR) if not chosen or ranker in chosen]
            if rankers:
                for ranker, of_queries, took in measured(name, seed, n_train, form, rankers, n_processes):
                    seconds[form, ranker].append(took)
                    for qid, value in of_queries.items():
                        values[form, ranker][qid].append(value)
    means = {
        key: np.array([np.mean(of_query[qid]) for qid in sorted(of_query, key=str)]) for key, of_query in values.items()
    }
    others = [key for key in means if key != YARDSTICK and YARDSTICK in means]
    adjusted = dict(
        zip(others, holm([randomisation_test(means[key], means[YARDSTICK]).p_value for key in others]), strict=True)
    )
    size = f", {n_train} training queries a fold" if n_train else ""
    print(f"\n{name}{size}: {MEASURE}, {len(next(iter(means.values())))} queries, {len(seeds)} seed(s)\n")
    print("| ranker | features | ndcg@10 | 95 % | less LightGBM's | p (Holm) | seconds |")
    print("|---|---|---:|---|---:|---:|---:|")
    for key in sorted(means, key=lambda key: -means[key].mean()):
        low, high = bootstrap_interval(means[key])
        beside = " | "
        if key in adjusted:
            beside = f"{means[key].mean() - means[YARDSTICK].mean():+.4f} | {adjusted[key]:.3f}"
        interval, took = f"{low:.3f} to {high:.3f}", f"{np.mean(seconds[key]):.3g}"
        print(f"| {key[1]} | {key[0]} | {means[key].mean():.4f} | {interval} | {beside} | {took} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*", default=[MSLR])
    parser.add_argument("--queries", default="0", help="numbers of training queries; 0: all")
    parser.add_argument("--only", default="", help="rankers, by commas")
    parser.add_argument("--features", default=",".join(FEATURES), help="forms of the features, by commas")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--processes", type=int, default=1)
    arguments = parser.parse_args()
    for name in filter(is_here, arguments.data):
        # Folds that are given are not dealt again.
        seeds = range(arguments.seeds if name == MSLR else 1)
        for n_train in map(int, arguments.queries.split(",")):
            chosen, forms = [list(filter(None, text.split(","))) for text in (arguments.only, arguments.features)]
            table(name, seeds, n_train, chosen, forms, arguments.processes)


if __name__ == "__main__":
    main()
