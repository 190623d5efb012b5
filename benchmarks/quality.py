"""How well a linear ranker ranks, by what is done to its features and how its pairs are weighed, beside tuned trees.

python benchmarks/quality.py                        the MSLR sample, dealt into five folds by each of four seeds
python benchmarks/quality.py MQ2008 OHSUMED         their own five folds
python benchmarks/quality.py --queries 10,20,40     the sample, with so many training queries a fold
python benchmarks/quality.py --only ranksvm,ranksvm-ndcg,lambdarank --features rank-gauss --beside lambdarank --times

Every ranker is compared as `linrank compare` does it: settings are chosen among a grid on a fold's validation queries,
and its test queries are looked at once. A query of the sample is tested once a seed; the mean over the seeds is its one
value in intervals and tests, since the same query is no new one. Differences are from one ranker (`--beside`), on the
same features where it is measured on them, with two-sided randomisation tests over queries, adjusted by Holm over the
rows of a table. `--times` trains once more with what was chosen, in the folds of the first seed: by the processor's
time and in one thread, as a share of what LambdaRank takes on the same features. Results are kept in benchmarks/data,
so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import defaultdict

import numpy as np
from letor import FOLDER, is_here, parts
from made_data import DATA, MSLR

from linrank import AdditiveRanker, BestLinear, LightGBMRanker, RankingDataset, compare
from linrank.dataset.scaling import scaled
from linrank.estimators.catalogue import METHODS
from linrank.experiments.comparison import fitted, made_for
from linrank.experiments.folds import Fold, Part, dealt_folds, find_folds
from linrank.measures.significance import bootstrap_interval, holm, randomisation_test

MEASURE = "ndcg@10"
FEATURES = {
    "standardised": {"scaling": "standard"},
    "signed-log": {"scaling": "auto", "transform": "signed-log"},
    "rank-gauss": {"scaling": "none", "transform": "rank-gauss"},
    "auto": {"scaling": "standard", "transform": "auto"},
    "by query": {"scaling": "query"},
}
LINEAR = ("ranksvm", "ranksvm-queries", "ranksvm-ndcg", "lambdarank", "xendcg", "smoothrank")
# These do with the features what suits them.
ITS_OWN, OWN = "its own", ("additive", "additive-products", "best", "best-by-folds", "lightgbm", "stumps")
TREES = {"n_trees": [50, 100, 200, 400], "learning_rate": [0.03, 0.1]}
CLOCK = "lambdarank"


class BestByFolds(BestLinear):
    """BestLinear that chooses by folds of the training queries, and never sees those that others choose on."""

    chooses = False


OBJECTS = {
    # The grid of "additive", each with at most 64 products, as many as the validation queries say.
    "additive-products": (AdditiveRanker(interactions=64, one_se=False), dict(METHODS["additive"].grid)),
    "best-by-folds": BestByFolds(),
    "lightgbm": (LightGBMRanker(), {**TREES, "max_leaves": [4, 8, 16]}),
    "stumps": (LightGBMRanker(max_leaves=2), TREES),
}


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


def compared(name, seed, n_train, features, rankers, n_processes):
    """The results of rankers on the folds of a seed, from before where they are there."""
    of_size = f"-{n_train}" if n_train else ""
    out = DATA / "quality" / f"{name}{of_size}-{seed}-{features.replace(' ', '-')}"
    with warnings.catch_warnings():
        # What failed is missing in the table.
        warnings.simplefilter("ignore")
        return compare(
            folds_of(name, seed, n_train),
            {ranker: OBJECTS.get(ranker, ranker) for ranker in rankers},
            measures=MEASURE,
            out=out,
            n_processes=n_processes,
            progress=lambda job, result: result and print(f"  {features}: {job.contender.name}, {job.fold.name}"),
            **FEATURES.get(features, {"scaling": "standard"}),
        ).results  # fmt: skip


def processor_seconds(results, ranker):
    """Of a training with what was chosen, in one thread, summed over the folds."""
    total, contender = 0.0, results.plan.contender(ranker)
    for fold, job in zip(results.plan.folds, results.of(ranker), strict=True):
        train, vali = fold.train.load(), fold.vali.load()
        scaling = results.plan.protocol.choice(train, contender.make())
        seen, watched = scaled(train, scaling), scaled(vali, scaling)
        made = made_for(contender, results.plan.protocol, 1, **job.chosen)
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted(ranker, made, seen, watched)
        total += time.process_time() - started
    return total


def measured(name, seeds, n_train, chosen, features, arguments):
    """Of every ranker on every form of the features: each query's mean over the seeds, and seconds of a training."""
    values, seconds = defaultdict(lambda: defaultdict(list)), defaultdict(list)
    by_processor = {}
    for seed in seeds:
        for form in (*features, ITS_OWN):
            rankers = [ranker for ranker in (OWN if form == ITS_OWN else LINEAR) if not chosen or ranker in chosen]
            results = compared(name, seed, n_train, form, rankers, arguments.processes) if rankers else None
            for ranker in results.complete() if results else ():
                jobs = results.of(ranker)
                seconds[form, ranker].append(np.mean([job.seconds for job in jobs]))
                for job in jobs:
                    for qid, value in zip(job.qids, job.per_query[MEASURE], strict=True):
                        values[form, ranker][qid].append(np.nan if value is None else value)
                if arguments.times and seed == 0:
                    by_processor[form, ranker] = processor_seconds(results, ranker)
    means = {
        key: np.array([np.mean(of_query[qid]) for qid in sorted(of_query, key=str)]) for key, of_query in values.items()
    }
    counted = {key: of_queries[~np.isnan(of_queries)] for key, of_queries in means.items()}
    return counted, {key: np.mean(took) for key, took in seconds.items()}, by_processor


def beside_whom(keys, asked):
    """The key that each is held against: the ranker that is asked for, as RANKER or RANKER@FEATURES."""
    ranker, _, form = asked.partition("@")
    found = {}
    for key in keys:
        candidates = [(form or key[0], ranker), (ITS_OWN, ranker)]
        found[key] = next((one for one in candidates if one in keys and one != key), None)
    return {key: other for key, other in found.items() if other is not None}


def table(name, seeds, n_train, means, seconds, by_processor, asked):
    """Print a line for every ranker on every form of the features, the best first."""
    others = beside_whom(means, asked)
    tests = {key: randomisation_test(means[key], means[other]) for key, other in others.items()}
    adjusted = dict(zip(tests, holm([test.p_value for test in tests.values()]), strict=True))
    size = f", {n_train} training queries a fold" if n_train else ""
    print(f"\n{name}{size}: {MEASURE}, {len(next(iter(means.values())))} queries, {len(seeds)} seed(s)\n")
    print(f"| ranker | features | ndcg@10 | 95 % | less {asked}'s | p (Holm) | seconds | of {CLOCK}'s time |")
    print("|---|---|---:|---|---:|---:|---:|---:|")
    for key in sorted(means, key=lambda key: -means[key].mean()):
        low, high = bootstrap_interval(means[key])
        difference = f"{tests[key].difference:+.4f} | {adjusted[key]:.3f}" if key in tests else " | "
        clock = by_processor.get((key[0], CLOCK))
        share = f"{by_processor[key] / clock:.2f}" if clock and key in by_processor else ""
        interval, took = f"{low:.3f} to {high:.3f}", f"{seconds[key]:.3g}"
        print(f"| {key[1]} | {key[0]} | {means[key].mean():.4f} | {interval} | {difference} | {took} | {share} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="*", default=[MSLR])
    parser.add_argument("--queries", default="0", help="numbers of training queries; 0: all")
    parser.add_argument("--only", default="", help=f"rankers, by commas, of {', '.join((*LINEAR, *OWN))}")
    parser.add_argument("--features", default=",".join(FEATURES), help="forms of the features, by commas")
    parser.add_argument(
        "--beside", default="lightgbm", metavar="RANKER[@FEATURES]", help="whom others are held against"
    )
    parser.add_argument("--times", action="store_true", help="processor's time of a training, beside LambdaRank's")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--processes", type=int, default=1)
    arguments = parser.parse_args()
    chosen, forms = [list(filter(None, text.split(","))) for text in (arguments.only, arguments.features)]
    for name in filter(is_here, arguments.data):
        # Folds that are given are not dealt again.
        seeds = range(arguments.seeds if name == MSLR else 1)
        for n_train in map(int, arguments.queries.split(",")):
            found = measured(name, seeds, n_train, chosen, forms, arguments)
            table(name, seeds, n_train, *found, arguments.beside)


if __name__ == "__main__":
    main()
