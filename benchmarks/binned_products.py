"""What curves cost beside weights: products of binned features and of float32 ones, in turns, as medians of ratios.

python benchmarks/binned_products.py               # 200,000 x 136 and 12 knots, one thread
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

from linrank import make_shaped_ranking
from linrank.dataset.binned_features import BinnedFeatures
from linrank.dataset.features import DenseFeatures
from linrank.dataset.query_blocks import cut_into_blocks
from linrank.dataset.shape_basis import ShapeBasis
from linrank.executors.local import Threads
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData

TURNS = 15


def objective(data, features, executor):
    blocks = cut_into_blocks(data, features=features)
    return RankingObjective(SquaredHinge(), L2(), 1e-6, PlacedData.of_blocks(blocks, features.n_features, executor))


def work_of(data, features, executor):
    """What is timed, by name: products of all rows, and what a solver asks of an objective."""
    rng = np.random.default_rng(0)
    weights, slopes = rng.standard_normal(features.n_features), rng.standard_normal(features.n_rows)
    made = objective(data, features, executor)
    point = made.at(1e-3 * weights)
    return {
        "product": lambda: features.product(weights, np.empty(features.n_rows)),
        "transposed product": lambda: features.transposed_product(slopes, np.zeros(features.n_features)),
        "value and gradient": lambda: made.at(1e-3 * weights).gradient,
        "Hessian product": lambda: point.hessian_product(weights),
    }


def main(n_rows, n_features, n_knots):
    data = make_shaped_ranking(n_rows // 100, 100, n_features).data
    basis, codes = ShapeBasis.fitted(data.features, None, n_knots, np.zeros(n_features))
    dense, binned = DenseFeatures(data.features), BinnedFeatures(codes, *basis.columns(1.0))
    print(f"{n_rows} x {n_features} float32, {n_knots} knots: {binned.n_features} columns\n")
    print("| | float32 | binned | ratio |\n|---|---:|---:|---:|")
    sizes = dense.n_bytes / 1e6, binned.n_bytes / 1e6
    print(f"| bytes | {sizes[0]:.0f} MB | {sizes[1]:.0f} MB | {sizes[1] / sizes[0]:.2f} |")
    with Threads(1) as executor:
        one, other = (work_of(data, features, executor) for features in (dense, binned))
        for name in one:
            seconds = {"float32": [], "binned": []}
            for turn in range(TURNS + 2):
                for kind, work in (("float32", one[name]), ("binned", other[name])):
                    # Of the processor: what others do on the machine is not counted.
                    started = time.process_time()
                    work()
                    if turn >= 2:
                        seconds[kind].append(time.process_time() - started)
            medians = {kind: statistics.median(values) for kind, values in seconds.items()}
            ratio = statistics.median(b / a for a, b in zip(seconds["float32"], seconds["binned"], strict=True))
            print(f"| {name} | {medians['float32']:.4f} s | {medians['binned']:.4f} s | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=136)
    parser.add_argument("--knots", type=int, default=12)
    given = parser.parse_args()
    main(given.rows, given.features, given.knots)
