"""From how many queries on curves and products pay, and where trees win: NDCG@10 on shaped data.

python benchmarks/additive.py                      # the learning curves; docs/additive.md has a part of them
python benchmarks/additive.py --queries 100 400 --products 0 --seeds 1
python benchmarks/additive.py --mslr ~/letor       # the MSLR sample: 97 queries, dealt into five folds

The data is that of `make_shaped_ranking`. All settings are chosen on the same 200 validation queries, and each ranker
then sees 400 test queries once. *Raw* is RankSVM on standardised features, *lines* AdditiveRanker without shapes, which
is RankSVM after rank-gauss, *curves* AdditiveRanker with shapes or without, and *products* AdditiveRanker with the
smoothing of *curves*, a C of its own and at most 64 products, or none: all by the validation queries alone.
*Recovered* is (curves - raw) / (LightGBM - raw), and the same of products.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import pairwise, product
from pathlib import Path

import lightgbm
import numpy as np

import linrank
from linrank import AdditiveRanker, RankSVM, make_shaped_ranking
from linrank.dataset.scaling import fit_scaling, scaled
from linrank.measures import NDCG

VALIDATION, TEST = 200, 400
SHARES = {"line": 0.3, "saturating": 0.25, "threshold": 0.2, "u": 0.25}
# Times the number of pairs that a ranker is trained on, so that they mean the same for any number of queries.
STRENGTHS = (1.0, 10.0, 100.0, 1000.0, 10000.0)
SMOOTHINGS = (0.1, 1.0, 10.0, 100.0)
LEAVES, MIN_LEAF = (4, 8, 16, 31), (20, 100)
MOST_PRODUCTS = 64
MEASURE = NDCG @ 10


def pairs_of(data):
    from linrank.dataset.summary import count_pairs

    return float(count_pairs(data).sum())


def best_of(fits, vali):
    """The ranker whose scores of the validation queries are best, and its settings."""
    ranked = [(MEASURE.mean(score(vali), vali), number, said, score) for number, (said, score) in enumerate(fits)]
    _, _, said, score = max(ranked, key=lambda one: (one[0], -one[1]))
    return said, score


def raw(train):
    scaling = fit_scaling("standard", train)
    for strength in STRENGTHS:
        ranker = RankSVM(strength / pairs_of(train)).fit(scaled(train, scaling))
        yield f"C={strength:g}", lambda data, ranker=ranker: ranker.predict(scaled(data, scaling).features)


def additive(train, smoothings):
    for strength, smoothing in product(STRENGTHS, smoothings):
        ranker = AdditiveRanker(strength / pairs_of(train), smoothing=smoothing).fit(train)
        yield f"C={strength:g}, {smoothing}", lambda data, ranker=ranker: ranker.predict(data.features)


def with_products(train, vali, smoothing):
    for strength in STRENGTHS:
        ranker = AdditiveRanker(
            strength / pairs_of(train), smoothing=smoothing, interactions=MOST_PRODUCTS, one_se=False
        ).fit(train, eval_set=vali)
        said = f"C={strength:g}, {ranker.choices_['interactions']} products"
        yield said, lambda data, ranker=ranker: ranker.predict(data.features)


def trees(train, vali):
    for leaves, min_leaf in product(LEAVES, MIN_LEAF):
        ranker = lightgbm.LGBMRanker(
            num_leaves=leaves, min_child_samples=min_leaf, learning_rate=0.1, n_estimators=500, verbosity=-1, n_jobs=1,
            label_gain=[2**label - 1 for label in range(5)], random_state=0, deterministic=True,
        )  # fmt: skip
        ranker.fit(
            train.features, train.labels.astype(int), group=train.queries.sizes,
            eval_set=[(vali.features, vali.labels.astype(int))], eval_group=[vali.queries.sizes], eval_at=[10],
            callbacks=[lightgbm.early_stopping(30, verbose=False)],
        )  # fmt: skip
        said = f"{leaves} leaves of {min_leaf}, {ranker.best_iteration_} trees"
        yield said, lambda data, ranker=ranker: ranker.predict(data.features)


def measured(train, vali, test):
    """NDCG@10 of each test query by each ranker, and the settings that were chosen."""
    fits = {
        "raw": lambda: raw(train),
        "lines": lambda: additive(train, ("line",)),
        "curves": lambda: additive(train, ("line", *SMOOTHINGS)),
        "products": lambda: with_products(train, vali, settings["curves"].rpartition(", ")[2]),
        "LightGBM": lambda: trees(train, vali),
    }
    found, settings = {}, {}
    for name, made in fits.items():
        settings[name], score = best_of(made(), vali)
        found[name] = MEASURE.per_query(score(test), test)
    return found, settings


NAMES = ("raw", "lines", "curves", "products", "LightGBM")
OURS = ("curves", "products")


def row(title, found, settings):
    means = {name: np.nanmean(values) for name, values in found.items()}
    cells = [f"{means[name]:.4f}" for name in NAMES]
    for name in OURS:
        ahead = found[name] - found["LightGBM"]
        error = np.nanstd(ahead) / np.sqrt(np.count_nonzero(~np.isnan(ahead)))
        recovered = (means[name] - means["raw"]) / (means["LightGBM"] - means["raw"])
        cells += [f"{np.nanmean(ahead):+.4f} ± {error:.4f}", f"{recovered:.0%}"]
    cells += [settings[name] for name in (*OURS, "LightGBM")]
    print(f"| {title} | " + " | ".join(cells) + " |", flush=True)


def head(first):
    beside = (column for name in OURS for column in (f"{name} - LightGBM", "recovered"))
    names = (first, *NAMES, *beside, *(f"chosen for {name}" for name in (*OURS, "LightGBM")))
    print("| " + " | ".join(names) + " |\n" + "|---" * len(names) + "|", flush=True)


def shaped(arguments):
    for share in arguments.products:
        head(f"queries, {share:.0%} products")
        for n_queries in arguments.queries:
            parts = [_of_seed(share, n_queries, seed) for seed in range(arguments.seeds)]
            found = {name: np.concatenate([part[name] for part, _ in parts]) for name in parts[0][0]}
            row(n_queries, found, parts[0][1])


def _of_seed(share, n_queries, seed):
    shares = {**{kind: (1.0 - share) * of for kind, of in SHARES.items()}, "product": share}
    n_all = n_queries + VALIDATION + TEST
    data = make_shaped_ranking(n_all, 40, 40, shares=shares, random_state=seed).data
    bounds = np.cumsum([0, n_queries, VALIDATION, TEST])
    return measured(*(data.subset(np.arange(a, b)) for a, b in pairwise(bounds)))


def mslr(folder, seeds):
    """Five folds of all queries of the sample, each with a fifth for validation, for some seeds."""
    files = sorted(Path(folder).glob("MSLR-WEB10K-sample/Fold1/*.txt"))
    data = linrank.RankingDataset.joined([linrank.read(file) for file in files])
    head("MSLR sample")
    for seed in range(seeds):
        parts = []
        for rest, test in data.folds(5, seed):
            train, vali = rest.split(0.75, 0.25, random_state=seed)
            parts.append(measured(train, vali, test))
        found = {name: np.concatenate([part[name] for part, _ in parts]) for name in parts[0][0]}
        row(f"{data.n_queries} queries, seed {seed}", found, parts[0][1])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, nargs="+", default=[25, 50, 100, 200, 400, 800, 1600])
    parser.add_argument("--products", type=float, nargs="+", default=[0.0, 0.1, 0.3])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--mslr", metavar="FOLDER", help="the folder that has MSLR-WEB10K-sample/Fold1")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.mslr:
        mslr(given.mslr, given.seeds)
    else:
        shaped(given)
