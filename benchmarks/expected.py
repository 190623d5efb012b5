"""How far `expected_` of BestLinear is from what new queries show, beside the best mean and a nested estimate.

python benchmarks/expected.py                60 queries to learn from, 1,500 to see what it is worth, drawn by 40 seeds
python benchmarks/expected.py --seeds 12     fewer

*Best mean* is that of the recipe with the largest, which flatters, as it is the largest of many. `expected_` takes each
fold's recipe by the other folds, whose models were trained on this one. *Nested* trains and chooses anew for each fold
without it, which takes six times as long; what it says of a fold cannot have seen it. All three are of models that were
trained on four fifths of the queries, so that they would be below the truth a little if nothing flattered.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from linrank import BestLinear, make_ranking
from linrank.measures import NDCG

MEASURE = NDCG @ 10
QUERIES, NEW = 60, 1500


def estimates(seed):
    """What is expected, three ways, and what new queries show."""
    both, _ = make_ranking(QUERIES + NEW, 15, 12, noise=3.0, random_state=seed)
    seen, new = both.subset(np.arange(QUERIES)), both.subset(np.arange(QUERIES, QUERIES + NEW))
    best = BestLinear().fit(seen)
    true = MEASURE.mean(best.predict(new), new)
    return [max(tried.mean for tried in best.tried_) - true, best.expected_ - true, nested(seen) - true]


def nested(data):
    """The mean over queries, each by what was chosen and trained without its fold."""
    dealt = data.queries.dealt(BestLinear.cv, BestLinear.random_state)
    values = []
    for fold in range(BestLinear.cv):
        held_out = data.subset(dealt == fold)
        found = BestLinear().fit(data.subset(dealt != fold))
        values += MEASURE.per_query(found.predict(held_out), held_out).tolist()
    return np.nanmean(values)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        off = np.array([estimates(seed) for seed in range(parser.parse_args().seeds)])
    print(f"| less what new queries show, {MEASURE}, {len(off)} seeds | mean | standard error | spread |")
    print("|---|---:|---:|---:|")
    for name, column in zip(("best mean", "`expected_`", "nested"), off.T, strict=True):
        spread = column.std(ddof=1)
        print(f"| {name} | {column.mean():+.4f} | {spread / np.sqrt(len(column)):.4f} | {spread:.4f} |")


if __name__ == "__main__":
    main()
