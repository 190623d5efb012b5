"""RSRank's loss and slopes on queries of many documents: our sweeps beside listed pairs, one thread.

python benchmarks/rsrank.py
"""

from __future__ import annotations

import time

import numba
import numpy as np

from linrank import RankingDataset
from linrank.dataset.query_blocks import cut_into_blocks
from linrank.objective.ndcg_weighted import NDCGWeightedHuber


def ours(scores, block):
    at = NDCGWeightedHuber().at(scores, block)
    return at.value, at.slopes


def ranked(scores, labels):
    """Discounts and gains over the ideal DCG; the scores here have no ties."""
    by_rank = 1.0 / np.log2(2.0 + np.arange(len(scores)))
    discounts = np.empty(len(scores))
    discounts[np.argsort(-scores)] = by_rank
    gains = 2.0**labels - 1.0
    return gains / (np.sort(gains)[::-1] @ by_rank), discounts


def numpy_pairs(scores, block):
    """All pairs of a query as matrices."""
    value, slopes = 0.0, np.empty(len(scores))
    for start, stop in zip(block.query_starts[:-1], block.query_starts[1:], strict=True):
        s, labels = scores[start:stop], block.labels[start:stop]
        gains, discounts = ranked(s, labels)
        rise = gains[:, None] - gains
        omega = np.where(rise > 0.0, rise * np.abs(discounts[:, None] - discounts), 0.0)
        margins = s[:, None] - s
        short = np.maximum(0.0, 1.0 - margins)
        far = margins < -1.0
        value += (omega * np.where(far, -4.0 * margins, short * short)).sum()
        pull = omega * np.where(far, -4.0, -2.0 * short)
        slopes[start:stop] = pull.sum(axis=1) - pull.sum(axis=0)
    return value, slopes


def compiled_pairs(scores, block):
    """A compiled loop over the pairs of a query."""
    value, slopes = 0.0, np.zeros(len(scores))
    for start, stop in zip(block.query_starts[:-1], block.query_starts[1:], strict=True):
        s, labels = scores[start:stop], block.labels[start:stop]
        value += visit_pairs(s, labels, *ranked(s, labels), slopes[start:stop])
    return value, slopes


@numba.njit(error_model="numpy")
def visit_pairs(scores, labels, gains, discounts, slopes):
    value = 0.0
    for i in range(len(scores)):
        slope = 0.0
        for j in range(len(scores)):
            if labels[i] > labels[j]:
                omega = (gains[i] - gains[j]) * abs(discounts[i] - discounts[j])
                margin = scores[i] - scores[j]
                if margin < -1.0:
                    value -= 4.0 * omega * margin
                    pull = -4.0 * omega
                else:
                    short = max(0.0, 1.0 - margin)
                    value += omega * short * short
                    pull = -2.0 * omega * short
                slope += pull
                slopes[j] -= pull
        slopes[i] += slope
    return value


def seconds(way, scores, block, repeats):
    best = np.inf
    for _ in range(repeats):
        started = time.thread_time()
        way(scores, block)
        best = min(best, time.thread_time() - started)
    return best


def measured(size, n_levels, spread):
    rng = np.random.default_rng(0)
    n_queries = max(1, 10_000 // size)
    labels = rng.integers(0, n_levels, size=n_queries * size).astype(np.float64)
    data = RankingDataset.from_arrays(np.zeros((len(labels), 1)), labels, group=[size] * n_queries)
    (block,) = cut_into_blocks(data)
    scores = spread * rng.standard_normal(len(labels))
    value, slopes = ours(scores, block)
    for way in (numpy_pairs, compiled_pairs):
        other_value, other_slopes = way(scores, block)
        np.testing.assert_allclose(value, other_value, rtol=1e-9)
        np.testing.assert_allclose(slopes, other_slopes, rtol=1e-7, atol=1e-9)
    ways = ((ours, 15), (numpy_pairs, 3), (compiled_pairs, 3))
    return [1e3 * seconds(way, scores, block, repeats) / n_queries for way, repeats in ways]


if __name__ == "__main__":
    print("| documents a query | labels | spread of scores | ours | compiled pairs | NumPy pairs | faster by |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for size, n_levels, spread in (
        (100, 5, 1.0), (1000, 2, 1.0), (1000, 5, 0.1), (1000, 5, 1.0), (1000, 5, 10.0), (5000, 5, 1.0),
    ):  # fmt: skip
        own, matrices, loop = measured(size, n_levels, spread)
        print(
            f"| {size} | {n_levels} | {spread:g} | {own:.3f} ms | {loop:.2f} ms | {matrices:.1f} ms "
            f"| {loop / own:.0f}, {matrices / own:.0f} times |",
            flush=True,
        )
