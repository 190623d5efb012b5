"""Compiled loops over whole lists: the softmax of a query's scores beside that of its labels. O(l)."""

from __future__ import annotations

import math

from linrank.compiled import kernel


@kernel
def cross_entropy(scores, labels, weights, query_starts, query_weights, chances, slopes):  # type: ignore[no-untyped-def]
    """Return the sum over queries of the cross entropy, and the least it can be; write the slopes in the scores.

    `chances` is filled with each row's chance of standing first: weight x e^score, divided by the query's sum of them.
    A query whose weights are all zero has no chances and no loss.
    """
    value, least = 0.0, 0.0
    for query in range(len(query_starts) - 1):
        first, last = query_starts[query], query_starts[query + 1]
        top, wanted_top = _highest(scores, weights, first, last), _highest(labels, weights, first, last)
        total = _softmax(scores, weights, first, last, top, chances)
        wanted_total = _softmax(labels, weights, first, last, wanted_top, slopes)
        if total == 0.0:
            continue
        expected, wanted_expected = 0.0, 0.0
        for row in range(first, last):
            wanted = slopes[row]
            if wanted > 0.0:
                expected += wanted * (scores[row] - top)
                wanted_expected += wanted * (labels[row] - wanted_top)
            slopes[row] = query_weights[query] * (chances[row] - wanted)
        value += query_weights[query] * (math.log(total) - expected)
        least += query_weights[query] * (math.log(wanted_total) - wanted_expected)
    return value, least


@kernel
def _softmax(values, weights, first, last, top, chances):  # type: ignore[no-untyped-def]
    """Write weight x e^(value - top), divided by their sum, which is returned; all 0 without weights."""
    total = 0.0
    for row in range(first, last):
        chances[row] = weights[row] * math.exp(values[row] - top) if weights[row] > 0.0 else 0.0
        total += chances[row]
    if total > 0.0:
        for row in range(first, last):
            chances[row] /= total
    return total


@kernel
def _highest(values, weights, first, last):  # type: ignore[no-untyped-def]
    """The highest value of a row that has a weight: no other may decide what is too small to count."""
    top = -math.inf
    for row in range(first, last):
        if weights[row] > 0.0:
            top = max(top, values[row])
    return top


@kernel
def centre_columns(chances, values, query_starts, query_weights, means, products):  # type: ignore[no-untyped-def]
    """products_i = query weight x chance_i (values_i - their mean by chance): (diag(p) - p p') times each column."""
    n_columns = values.shape[1]
    for query in range(len(query_starts) - 1):
        first, last = query_starts[query], query_starts[query + 1]
        for column in range(n_columns):
            means[column] = 0.0
        for row in range(first, last):
            for column in range(n_columns):
                means[column] += chances[row] * values[row, column]
        for row in range(first, last):
            scale = query_weights[query] * chances[row]
            for column in range(n_columns):
                products[row, column] = scale * (values[row, column] - means[column])
