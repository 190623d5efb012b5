"""What sums over pairs cost in each structure: one product with the curvature, times that of the default, one thread.

python benchmarks/structures.py

The structures take turns, and the least of several times counts.
"""

from __future__ import annotations

import time

import numpy as np

from linrank import make_ranking
from linrank.dataset.query_blocks import cut_into_blocks
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.sorted_pairs import PairSums
from linrank.objective.structures.by_name import STRUCTURES

SHAPES = {"3 labels": (300, 100, 3), "5 labels": (300, 100, 5), "30 labels": (30, 1_000, 30),
          "1,000 labels": (30, 1_000, None)}  # fmt: skip


def seconds(n_queries, size, levels):
    data, weights = make_ranking(n_queries, size, 8, levels=levels)
    (block,) = cut_into_blocks(data, block_bytes=1 << 40)
    scores = np.asarray(block.features.product(weights, np.empty(block.n_documents)))
    values = np.random.default_rng(0).standard_normal(block.n_documents)
    curvatures = {
        name: SquaredHinge(PairSums("all", structure)).at(scores, block).curvature
        for name, structure in STRUCTURES.items()
    }
    best = dict.fromkeys(STRUCTURES, np.inf)
    for _ in range(9):
        for name, curvature in curvatures.items():
            started = time.thread_time()
            curvature.product(values)
            best[name] = min(best[name], time.thread_time() - started)
    return best


if __name__ == "__main__":
    columns = {shape: seconds(*of) for shape, of in SHAPES.items()}
    print(f"| sums | {' | '.join(columns)} |")
    print("|---|" + "---:|" * len(columns))
    for name in STRUCTURES:
        ratios = (f"{times[name] / times['auto']:.1f}" for times in columns.values())
        print(f"| {name} | {' | '.join(ratios)} |", flush=True)
