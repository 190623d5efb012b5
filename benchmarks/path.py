"""The L1 path against the clock, and the two solvers of the same L1 problem against one another.

python benchmarks/path.py
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
from ranksvm import mslr_like

from linrank import RankSVM, SparseRank, feature_path, read

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def seconds_of(work):
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def small():
    train = read(SHARED / "MQ2008" / "Fold1" / "train.txt")
    feature_path(train, None, n_steps=5)
    for relaxed in (False, True):
        seconds, path = seconds_of(lambda relaxed=relaxed: feature_path(train, None, relaxed=relaxed))
        what = "with a refit of each set of features" if relaxed else "the path alone"
        print(f"- MQ2008 Fold1, {len(path.steps)} values, {what}: {seconds:.2f} s", flush=True)
    print("\n| l1 | RankSVM(penalty='l1') | SparseRank | ratio | difference of the objectives |")
    print("|---:|---:|---:|---:|---:|")
    for l1 in (3000.0, 300.0, 30.0):
        newton, first = seconds_of(
            lambda l1=l1: RankSVM(1 / l1, penalty="l1", tol=1e-9).fit(train.features, train.labels, qid=train.qid)
        )
        gradient, second = seconds_of(
            lambda l1=l1: SparseRank(l1, tol=1e-9, max_iter=10**6).fit(train.features, train.labels, qid=train.qid)
        )
        difference = abs(first.objective_ * l1 - second.objective_) / second.objective_
        print(
            f"| {l1:g} | {newton:.3f} s | {gradient:.3f} s | {gradient / newton:.1f} | {difference:.1e} |", flush=True
        )


def large():
    data = mslr_like()
    rows = {"X": data.features, "y": data.labels, "group": data.queries.sizes}
    RankSVM().fit(**rows)
    one, _ = seconds_of(lambda: RankSVM().fit(**rows))
    whole, path = seconds_of(lambda: feature_path(data, None, relaxed=False))
    sizes = [step.n_features for step in path.steps]
    print(
        f"\n- 716,770 x 136: one RankSVM fit {one:.2f} s; a path of {len(sizes)} values up to {max(sizes)} features, "
        f"with NDCG@10 of each: {whole:.2f} s, ratio **{whole / one:.1f}**"
    )
    assert np.count_nonzero(path.steps[0].weights) == 0


if __name__ == "__main__":
    if SHARED.is_dir():
        small()
    large()
