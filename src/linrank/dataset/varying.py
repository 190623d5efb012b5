"""How features vary within queries: not at all, little against how far from zero they are, or as features mostly do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets
from linrank.compiled import kernel
from linrank.dataset.binned_features import BinnedFeatures
from linrank.dataset.features import DenseFeatures
from linrank.dataset.query_blocks import QueryBlock
from linrank.dataset.with_products import WithProducts

# Numbers that differ by no more than this share of them are far from zero. What is computed from them loses as many
# digits, since products of rows and weights cancel; and their squares, by which solvers judge how far to go, say
# nothing of how they vary. Years are not far, times in seconds may be.
_FAR = 2.0**-8


@dataclass(frozen=True, slots=True)
class Variation:
    """Which features differ between two documents of some query, and which do so widely: for what they are, by much."""

    varies: NDArray[np.bool_]
    widely: NDArray[np.bool_]

    @property
    def idle(self) -> Offsets:
        """The features that are the same in all documents of each query: no other can change an order."""
        return np.flatnonzero(~self.varies)

    @property
    def far(self) -> Offsets:
        """The features that vary, but in no query by much against how far from zero they are there."""
        return np.flatnonzero(self.varies & ~self.widely)


def variation_of(blocks: Iterable[QueryBlock], n_features: int, *, ties: bool) -> Variation:
    """How features differ between documents of one query that have a weight.

    Queries whose labels are all equal count only with `ties`. A feature that is seen to vary widely is not looked at
    again, so that mostly a few queries are read, and then the columns that are still in question.
    """
    found = Variation(*np.zeros((2, n_features), dtype=np.bool_))
    room = np.full((3, n_features), -1, dtype=np.int64)
    stamp = 0
    for block in blocks:
        counted = (block.query_weights > 0.0) & (ties | (block.level_counts > 1))
        rows = block.query_starts, block.document_weights, counted
        features = block.features.in_memory()
        if isinstance(features, DenseFeatures):
            _mark_dense(features.values, *rows, room[0], found.varies, found.widely)
        elif isinstance(features, BinnedFeatures | WithProducts):
            _mark_binned(features, rows, found)
        else:
            parts = features.values, features.columns, features.starts
            _mark_sparse(*parts, *rows, stamp, *room, found.varies, found.widely)
        stamp += block.n_queries
        if found.widely.all():
            break
    return found


def _mark_binned(features: BinnedFeatures | WithProducts, rows: Any, found: Variation) -> None:
    """Columns of bins have mean 0 and are never far from it, nor are products of two: those that vary do so widely."""
    asked = np.flatnonzero(~found.varies)
    varies, widely = np.zeros((2, len(asked)), dtype=np.bool_)
    _mark_dense(features.to_dense(asked), *rows, np.empty(len(asked), dtype=np.int64), varies, widely)
    found.varies[asked] = found.widely[asked] = varies


@kernel
def _is_wide(one, other):  # type: ignore[no-untyped-def]
    one, other = np.float64(one), np.float64(other)
    return abs(one - other) > _FAR * max(abs(one), abs(other))


@kernel
def _mark_dense(values, query_starts, weights, counted, open_ones, varies, widely):  # type: ignore[no-untyped-def]
    """Set `varies` where a feature differs from that of the query's first document; `open_ones` is room."""
    n_open = 0
    for j in range(len(widely)):
        if not widely[j]:
            open_ones[n_open] = j
            n_open += 1
    for query in range(len(counted)):
        if n_open == 0:
            return
        if not counted[query]:
            continue
        first = -1
        for i in range(query_starts[query], query_starts[query + 1]):
            if weights[i] <= 0.0:
                continue
            if first < 0:
                first = i
                continue
            place = 0
            while place < n_open:
                j = open_ones[place]
                if values[i, j] != values[first, j]:
                    varies[j] = True
                    widely[j] = _is_wide(values[i, j], values[first, j])
                if widely[j]:
                    n_open -= 1
                    open_ones[place] = open_ones[n_open]
                else:
                    place += 1


@kernel
def _mark_sparse(  # type: ignore[no-untyped-def]
    values, columns, starts, query_starts, weights, counted, stamp, queries, counts, entries, varies, widely
):
    """Set `varies` where a feature has two values in a query, or stands in some of its documents only.

    `queries`, `counts` and `entries` are room for each feature's last query, how often it stood there and where first.
    """
    for query in range(len(counted)):
        if not counted[query]:
            continue
        first, last = query_starts[query], query_starts[query + 1]
        n_documents = 0
        for i in range(first, last):
            if weights[i] <= 0.0:
                continue
            n_documents += 1
            for entry in range(starts[i], starts[i + 1]):
                column = columns[entry]
                if widely[column] or values[entry] == 0.0:
                    continue
                if queries[column] != stamp + query:
                    queries[column] = stamp + query
                    counts[column] = 1
                    entries[column] = entry
                    continue
                counts[column] += 1
                if values[entry] != values[entries[column]]:
                    varies[column] = True
                    widely[column] = _is_wide(values[entry], values[entries[column]])
        for i in range(first, last):
            if weights[i] <= 0.0:
                continue
            for entry in range(starts[i], starts[i + 1]):
                column = columns[entry]
                if not widely[column] and queries[column] == stamp + query and counts[column] < n_documents:
                    varies[column] = True
                    widely[column] = True
