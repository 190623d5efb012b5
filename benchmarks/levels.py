"""Where the tree over labels overtakes one running sum a label: nanoseconds a document, one thread.

python benchmarks/levels.py
"""

from __future__ import annotations

import time

import numpy as np

from linrank.objective import pair_kernels as kernels
from linrank.objective.structures.eight_way_tree import room_for_levels, sum_higher, sum_lower

DIRECT, TREE = 2**62, 0


def nanoseconds(n_levels, size, direct_up_to):
    rng = np.random.default_rng(0)
    n_queries = max(1, 200_000 // size)
    starts = np.arange(0, (n_queries + 1) * size, size, dtype=np.int64)
    scores = np.sort(rng.standard_normal((n_queries, size)), axis=1).ravel()
    levels = rng.integers(0, n_levels, size=len(scores)).astype(np.int32)
    counts = np.full(n_queries, n_levels, dtype=np.int64)
    ends, begins = np.empty(len(scores), np.int32), np.empty(len(scores), np.int32)
    kernels.find_bounds(scores, starts, 1.0, ends, begins)
    sums, room = np.empty(len(scores)), room_for_levels(n_levels, np.float64)
    best = np.inf
    for _ in range(9):
        started = time.thread_time()
        sum_higher(scores, levels, ends, starts, counts, False, direct_up_to, *room, sums)
        sum_lower(scores, levels, begins, starts, counts, False, direct_up_to, *room, sums)
        best = min(best, time.thread_time() - started)
    return best / len(scores) * 1e9


if __name__ == "__main__":
    print("| levels | documents a query | direct count | tree |")
    print("|---:|---:|---:|---:|")
    for size in (100, 1000):
        for n_levels in (2, 5, 8, 12, 16, 24, 32, 48, 64, 100):
            direct, tree = (nanoseconds(n_levels, size, how) for how in (DIRECT, TREE))
            print(f"| {n_levels} | {size} | {direct:.1f} ns | {tree:.1f} ns |", flush=True)
