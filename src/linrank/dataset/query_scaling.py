"""Features scaled within each of many queries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from linrank.compiled import kernel
from linrank.dataset.features import SparseFeatures, as_features
from linrank.dataset.queries import Queries


def scaled_queries(X: Any, queries: Queries) -> Any:
    """(x - least) / (most - least) within each query; of sparse features x / (most - least); 0 where all are equal."""
    features = as_features(X)
    grouped = features if queries.order is None else features.take(queries.order)
    if isinstance(grouped, SparseFeatures):
        values = grouped.values.copy()
        _scale_sparse_queries(
            values, grouped.columns, grouped.starts, queries.starts, *np.zeros((3, grouped.n_features))
        )
        matrix = replace(grouped, values=values).to_csr()
        return matrix if queries.order is None else matrix[np.argsort(queries.order)]
    scaled = grouped.values.copy()
    _scale_dense_queries(scaled, queries.starts, *np.zeros((2, grouped.n_features)))
    return queries.ungrouped(scaled)


@kernel
def half_of(least, most):  # type: ignore[no-untyped-def]
    """0.5 where the width leaves float64, by which both ends are multiplied: halves of such numbers are exact."""
    return 0.5 if most - least == np.inf else 1.0


@kernel
def _scale_dense_queries(values, starts, least, most):  # type: ignore[no-untyped-def]
    n_features = values.shape[1]
    for query in range(len(starts) - 1):
        for j in range(n_features):
            least[j] = np.inf
            most[j] = -np.inf
        for i in range(starts[query], starts[query + 1]):
            for j in range(n_features):
                least[j] = min(least[j], values[i, j])
                most[j] = max(most[j], values[i, j])
        for i in range(starts[query], starts[query + 1]):
            for j in range(n_features):
                half = half_of(least[j], most[j])
                width = half * most[j] - half * least[j]
                values[i, j] = (half * values[i, j] - half * least[j]) / width if width > 0.0 else 0.0


@kernel
def _scale_sparse_queries(values, columns, row_starts, starts, least, most, present):  # type: ignore[no-untyped-def]
    for query in range(len(starts) - 1):
        n_rows = starts[query + 1] - starts[query]
        first, last = row_starts[starts[query]], row_starts[starts[query + 1]]
        # Only the columns the query has are touched, and reset afterwards.
        for entry in range(first, last):
            column = columns[entry]
            if present[column] == 0.0:
                least[column] = values[entry]
                most[column] = values[entry]
            present[column] += 1.0
            least[column] = min(least[column], values[entry])
            most[column] = max(most[column], values[entry])
        for entry in range(first, last):
            column = columns[entry]
            if 0.0 < present[column] < n_rows:
                least[column] = min(least[column], 0.0)
                most[column] = max(most[column], 0.0)
        for entry in range(first, last):
            column = columns[entry]
            half = half_of(least[column], most[column])
            width = half * most[column] - half * least[column]
            values[entry] = half * values[entry] / width if width > 0.0 else 0.0
        for entry in range(first, last):
            present[columns[entry]] = 0.0
