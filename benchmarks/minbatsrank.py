"""MinBatSRank against the clock: a pass over dense data in reads of the matrix, over sparse data in non-zeros a second.

A *read* is the time of one float32 `X @ v` in NumPy, all threads; reads and passes take turns, and ratios are medians.
MinBatSRank itself uses one thread.

    python benchmarks/minbatsrank.py                both parts
    python benchmarks/minbatsrank.py sparse         one of: dense sparse
"""

from __future__ import annotations

import sys

import numpy as np
from made_data import MADE, mslr_like
from measuring import READS, Figures, Row, Turns, reads, seconds_of, seconds_of_a_read

from linrank import make_ranking
from linrank.estimators.min_bat_s_rank import MinBatSRank
from linrank.online.ftrl import FTRL, FTRLState
from linrank.online.queries_by_label import QueriesByLabel

RUNS = 7


def one_pass(data, learning_rate=0.1, **settings):
    state = FTRLState.new(data.n_features, 0)
    method = FTRL(1.0, learning_rate, **settings)
    method.learn(state, QueriesByLabel.of(data), state.random.permutation(data.n_queries))


def part_dense():
    data = mslr_like()
    X, y, qid = data.features, data.labels, data.qid
    print(f"\n## Dense: {data.n_documents:,} x {data.n_features} float32, {data.n_queries:,} queries, 5 levels\n")
    print("| one pass | time | one read | reads |")
    print("|---|---:|---:|---:|")
    for name, work in (
        ("a rate for each feature", lambda: one_pass(data)),
        ("one rate", lambda: one_pass(data, 1e-9, feature_rates=False)),
        ("`batch_pairs=100`", lambda: one_pass(data, batch_pairs=100)),
        ("`fit`, with scikit-learn's checks", lambda: MinBatSRank(passes=1).fit(X, y, qid=qid)),
    ):
        work()
        reads, passes = zip(*((seconds_of_a_read(X), seconds_of(work)) for _ in range(RUNS)), strict=True)
        ratio = np.median(np.divide(passes, reads))
        times = f"{np.median(passes) * 1e3:.0f} ms | {np.median(reads) * 1e3:.1f} ms"
        print(f"| {name} | {times} | **{ratio:.1f}** |", flush=True)


def part_sparse():
    print("\n## Sparse: 200,000 x 1,000,000 CSR, 23 non-zeros a row, one thread, one pass\n")
    print("| queries | levels | time | million non-zeros a second |")
    print("|---:|---:|---:|---:|")
    for n_queries, levels in ((10_000, 2), (2_000, 5), (1, 5_000)):
        data, _ = make_ranking(
            n_queries, 200_000 // n_queries, 1_000_000, density=23e-6, levels=levels, noise=0.5, dtype="float32"
        )
        one_pass(data)
        seconds = np.median([seconds_of(lambda data=data: one_pass(data)) for _ in range(RUNS)])
        rate = data.features.nnz / seconds / 1e6
        print(f"| {n_queries:,} | {levels:,} | {seconds * 1e3:.0f} ms | **{rate:.0f}** |", flush=True)


def row(_):
    data = MADE["mslr"]()
    one_pass(data)
    turns = Turns({"pass": lambda: one_pass(data), "reads": lambda: reads(data.features)})
    return Figures(turns.least("pass"), turns.ratios("pass", "reads", "reads", READS))


ROWS = [Row("MinBatSRank", "MinBatSRank, one pass over 700,029 x 136, one thread", row, "mslr")]
PARTS = {"dense": part_dense, "sparse": part_sparse}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
