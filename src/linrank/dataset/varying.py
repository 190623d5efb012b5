"""Which features vary within a query: no other can change the order of any documents."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from linrank.compiled import kernel
from linrank.dataset.features import DenseFeatures
from linrank.dataset.query_blocks import QueryBlock


def varying_features(blocks: Iterable[QueryBlock], n_features: int, *, ties: bool) -> NDArray[np.bool_]:
    """Which features differ between two documents of one query, both with a weight.

    Queries whose labels are all equal count only with `ties`. A feature that is seen to vary is not looked at again, so
    that mostly a few queries are read, and then the columns that are still in question.
    """
    varies = np.zeros(n_features, dtype=np.bool_)
    room = np.full((3, n_features), -1, dtype=np.int64)
    stamp = 0
    for block in blocks:
        counted = (block.query_weights > 0.0) & (ties | (block.level_counts > 1))
        rows = block.query_starts, block.document_weights, counted
        features = block.features.in_memory()
        if isinstance(features, DenseFeatures):
            _mark_dense(features.values, *rows, room[0], varies)
        else:
            _mark_sparse(features.values, features.columns, features.starts, *rows, stamp, *room, varies)
        stamp += block.n_queries
        if varies.all():
            break
    return varies


@kernel
def _mark_dense(values, query_starts, weights, counted, open_ones, varies):  # type: ignore[no-untyped-def]
    """Set `varies` where a feature differs from that of the query's first document; `open_ones` is room."""
    n_open = 0
    for j in range(len(varies)):
        if not varies[j]:
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
                    n_open -= 1
                    open_ones[place] = open_ones[n_open]
                else:
                    place += 1


@kernel
def _mark_sparse(  # type: ignore[no-untyped-def]
    values, columns, starts, query_starts, weights, counted, stamp, queries, counts, entries, varies
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
                if varies[column] or values[entry] == 0.0:
                    continue
                if queries[column] != stamp + query:
                    queries[column] = stamp + query
                    counts[column] = 1
                    entries[column] = entry
                elif values[entry] != values[entries[column]]:
                    varies[column] = True
                else:
                    counts[column] += 1
        for i in range(first, last):
            if weights[i] <= 0.0:
                continue
            for entry in range(starts[i], starts[i + 1]):
                column = columns[entry]
                if not varies[column] and queries[column] == stamp + query and counts[column] < n_documents:
                    varies[column] = True
