"""What each feature is worth as the only one: NDCG@10 of the order it gives, for all features in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector, for_kernels
from linrank.compiled import kernel
from linrank.dataset.features import DenseFeatures
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.executors.local import Threads
from linrank.measures.measure_kernels import STANDARD_DISCOUNT, fill_discounts, fill_gains
from linrank.measures.measures import DCG

_DEPTH = 10
# Ranges of queries, or of columns, that are worked on side by side.
_TASKS = 32


@dataclass(frozen=True, eq=False)
class SingleFeatureNDCG:
    """NDCG@10 of ranking by one feature, in its better direction; ties averaged over, missing values last.

    Attributes
    ----------
    values : ndarray of shape (n_features,)
        The mean over queries.
    directions : ndarray of shape (n_features,)
        1 where higher values rank first, -1 where lower ones do.
    any_order : float
        The mean over queries of what their documents get in random order.
    varies : ndarray of shape (n_features,)
        Whether any query has documents that differ in the feature.
    """

    values: Vector
    directions: Vector
    any_order: float
    varies: NDArray[np.bool_]


def single_feature_ndcg(dataset: RankingDataset, *, n_threads: int | None = None) -> SingleFeatureNDCG:
    """Measure every feature as the only one; nothing is sorted, since only the first ten ranks count."""
    queries = dataset.queries
    labels = for_kernels(queries.grouped(np.ascontiguousarray(dataset.require_labels(), dtype=np.float64)))
    ideal = (DCG @ _DEPTH).per_query(dataset.require_labels(), dataset, n_threads=n_threads)
    gains, discounts = np.empty_like(labels), np.empty((2, _DEPTH))
    fill_gains(labels, True, gains)
    fill_discounts(STANDARD_DISCOUNT, *discounts)
    # What the first n ranks weigh together.
    reach = np.concatenate(([0.0], np.cumsum(discounts[0] / discounts[1])))
    # A query without a relevant document counts 0, as in NDCG itself.
    share = np.divide(1.0, ideal, out=np.zeros_like(ideal), where=ideal > 0)
    query_gains = np.add.reduceat(gains, queries.starts[:-1])
    any_order = query_gains / queries.sizes * reach[np.minimum(queries.sizes, _DEPTH)] * share
    features = dataset.grouped_features()
    with Threads(n_threads) as executor:
        if isinstance(features, DenseFeatures):
            common = {"gains": gains, "starts": queries.starts, "share": share, "reach": reach}
            totals = executor.total(_dense_totals, _ranges(dataset.n_queries), values=features.values, **common)
        else:
            matrix = features.to_csr().tocsc()
            columns = for_kernels(matrix.data), matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
            query_of = np.repeat(np.arange(dataset.n_queries), queries.sizes)
            of_all = gains, queries.starts, query_of, query_gains, share, reach, any_order
            parts = executor.map(_sparse_totals, _ranges(dataset.n_features), columns=columns, of_all=of_all)
            totals = np.concatenate([np.zeros((3, 0)), *parts], axis=1)
            totals[:2] += any_order.sum()
    higher, lower, varying = totals
    values = np.maximum(higher, lower) / dataset.n_queries
    return SingleFeatureNDCG(values, np.where(lower > higher, -1.0, 1.0), float(any_order.mean()), varying > 0)


def _ranges(n: int) -> list[tuple[int, int]]:
    bounds = np.unique(np.linspace(0, n, _TASKS + 1).round().astype(np.int64)).tolist()
    return list(pairwise(bounds))


def _dense_totals(
    part: tuple[int, int], values: NDArray[Any], gains: Vector, starts: Offsets, share: Vector, reach: Vector
) -> Vector:
    totals = np.zeros((3, values.shape[1]))
    _measure_dense(values, gains, starts, share, reach, *part, *_room(starts), totals)
    return totals


def _sparse_totals(part: tuple[int, int], columns: tuple[Any, ...], of_all: tuple[Any, ...]) -> Vector:
    totals = np.zeros((3, part[1] - part[0]))
    _, starts, *_ = of_all
    _measure_sparse(*columns, *of_all, *part, *_room(starts), totals)
    return totals


def _room(starts: Offsets) -> tuple[Vector, Vector, Offsets]:
    return np.empty(int(np.diff(starts).max(initial=0))), np.empty(_DEPTH), np.empty(_DEPTH, dtype=np.int64)


# `top` holds the highest values seen so far, the highest first, and `held` the number of the document of each: as many
# as there are ranks that count. Of documents that tie for the last of these ranks only some are held, so they are
# looked for again at the end.


@kernel
def _measure_dense(  # type: ignore[no-untyped-def]
    values, gains, starts, share, reach, first, last, column, top, held, totals
):
    for query in range(first, last):
        start, size = starts[query], starts[query + 1] - starts[query]
        for j in range(values.shape[1]):
            for i in range(size):
                column[i] = values[start + i, j]
            totals[2, j] += _varies(column[:size], 0)
            for direction in range(2):
                dcg = _ranked_gains(column[:size], gains[start : start + size], 0, 0.0, reach, top, held)
                totals[direction, j] += share[query] * dcg
                for i in range(size):
                    column[i] = -column[i]


@kernel
def _measure_sparse(  # type: ignore[no-untyped-def]
    values,
    rows,
    column_starts,
    gains,
    starts,
    query_of,
    query_gains,
    share,
    reach,
    any_order,
    first,
    last,
    column,
    top,
    held,
    totals,
):
    """What each column adds to documents in any order, in the queries where it has values at all."""
    gained = np.empty_like(column)
    for j in range(first, last):
        begin = column_starts[j]
        while begin < column_starts[j + 1]:
            query = query_of[rows[begin]]
            end = begin
            while end < column_starts[j + 1] and rows[end] < starts[query + 1]:
                column[end - begin] = values[end]
                gained[end - begin] = gains[rows[end]]
                end += 1
            size = end - begin
            absent = starts[query + 1] - starts[query] - size
            absent_gain = query_gains[query] - np.sum(gained[:size])
            totals[2, j - first] += _varies(column[:size], absent)
            for direction in range(2):
                dcg = _ranked_gains(column[:size], gained[:size], absent, absent_gain, reach, top, held)
                totals[direction, j - first] += share[query] * dcg - any_order[query]
                for i in range(size):
                    column[i] = -column[i]
            begin = end


@kernel
def _varies(values, n_zeros):  # type: ignore[no-untyped-def]
    for i in range(len(values)):
        if (n_zeros > 0 and values[i] != 0.0) or (
            values[i] != values[0] and not (np.isnan(values[i]) and np.isnan(values[0]))
        ):
            return 1.0
    return 0.0


@kernel
def _ranked_gains(values, gains, n_zeros, zeros_gain, reach, top, held):  # type: ignore[no-untyped-def]
    """The discounted gains of documents in descending order of value; those of one value share the ranks they fill.

    Beside the documents given there are `n_zeros` more with the value 0; those with NaN come last.
    """
    n = 0
    depth = len(top)
    for i in range(len(values)):
        value = values[i]
        if (n < depth or value > top[n - 1]) and not np.isnan(value):
            n = _insert(value, i, top, held, n)
    rank, total, place = 0, 0.0, 0
    zeros_left = n_zeros > 0
    while rank < depth and (place < n or zeros_left):
        value = top[place] if place < n else 0.0
        if zeros_left and (place == n or value < 0.0):
            value = 0.0
        count, gain = 0, 0.0
        while place < n and top[place] == value:
            count += 1
            gain += gains[held[place]]
            place += 1
        if place == n == depth:
            # The last value held: other documents may have it too.
            count, gain = 0, 0.0
            for i in range(len(values)):
                if values[i] == value:
                    count += 1
                    gain += gains[i]
        if zeros_left and value == 0.0:
            count += n_zeros
            gain += zeros_gain
            zeros_left = False
        end = min(rank + count, depth)
        total += gain / count * (reach[end] - reach[rank])
        rank = end
    if rank < depth:
        count, gain = 0, 0.0
        for i in range(len(values)):
            if np.isnan(values[i]):
                count += 1
                gain += gains[i]
        if count > 0:
            total += gain / count * (reach[min(rank + count, depth)] - reach[rank])
    return total


@kernel
def _insert(value, document, top, held, n):  # type: ignore[no-untyped-def]
    """Put a document in its place among those held; returns how many are held now."""
    if n < len(top):
        n += 1
    place = n - 1
    while place > 0 and top[place - 1] < value:
        top[place] = top[place - 1]
        held[place] = held[place - 1]
        place -= 1
    top[place] = value
    held[place] = document
    return n
