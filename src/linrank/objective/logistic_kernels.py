"""Compiled loops over the preference pairs of a query, for the logistic loss: each is visited, none is stored.

Everything is in *level order*: the documents of a query from its lowest label to its highest. The partners with lower
labels of a position are then the first `lower_counts` of its query, one stretch of memory. What is known of the pairs
of one document stands in arrays of one place a document, and is overwritten by the next one's.
"""

from __future__ import annotations

import math

from linrank.compiled import kernel, summing_kernel

# Exponentials of scores this far from the middle of their query, and quotients of two of them, are float64s.
_FARTHEST = 300.0
# log(1 + x) = 2 (z + z^3 / 3 + z^5 / 5 + ...), z = x / (2 + x) <= 1 / 3: with so many terms the rest is below 1e-17.
_TERMS = 16


@kernel
def count_lower(sorted_labels, query_starts, lower_counts):  # type: ignore[no-untyped-def]
    """How many documents of its query have a lower label than each position's."""
    for query in range(len(query_starts) - 1):
        first = query_starts[query]
        for p in range(first, query_starts[query + 1]):
            same = p > first and sorted_labels[p] == sorted_labels[p - 1]
            lower_counts[p] = lower_counts[p - 1] if same else p - first


@kernel
def find_odds(scores, query_starts, odds):  # type: ignore[no-untyped-def]
    """Write e^(score - the middle of the query's scores), or 0 throughout a query whose scores lie too far apart.

    One exponential a document, in place of one a pair: 1 / (1 + e^(s_i - s_j)) = odds_j / (odds_i + odds_j).
    """
    for query in range(len(query_starts) - 1):
        first, last = query_starts[query], query_starts[query + 1]
        lowest, highest = math.inf, -math.inf
        for p in range(first, last):
            lowest, highest = min(lowest, scores[p]), max(highest, scores[p])
        middle = lowest + 0.5 * (highest - lowest)
        near = highest - lowest <= 2.0 * _FARTHEST
        for p in range(first, last):
            odds[p] = math.exp(scores[p] - middle) if near else 0.0


# The loops below run over the first places of arrays that begin where a query does: an index that counts up from 0 is
# known not to be negative, and only then do they run in vector registers.


@kernel
def _find_chances(scores, odds, p, count, chances):  # type: ignore[no-untyped-def]
    """chances_q = 1 / (1 + e^(s_p - s_q)): that the lower document q is put above p, and the loss's slope in s_q."""
    own, score = odds[p], scores[p]
    if own > 0.0:
        for q in range(count):
            chances[q] = odds[q] / (own + odds[q])
        return
    for q in range(count):
        margin = score - scores[q]
        small = math.exp(-abs(margin))
        chances[q] = (small if margin > 0.0 else 1.0) / (1.0 + small)


@kernel
def _weigh_partners(weights, gains, discounts, p, count, loads):  # type: ignore[no-untyped-def]
    """loads_q = weight_q, times |gain_p - gain_q| |discount_p - discount_q| where there are gains."""
    if len(gains) == 0:
        for q in range(count):
            loads[q] = weights[q]
        return
    gain, discount = gains[p], discounts[p]
    for q in range(count):
        loads[q] = weights[q] * abs((gain - gains[q]) * (discount - discounts[q]))


@kernel
def _find_bends(scores, p, count, above, chances, bends):  # type: ignore[no-untyped-def]
    """Multiply `bends` by the second derivative of each pair's loss, or by that of the least parabola above it.

    The loss is log(1 + e^-m). The parabola that touches it at m and at -m has the second derivative
    tanh(m / 2) / (2 m) = (1/2 - chance) / m, at most 1/4, and lies nowhere below the loss (Jaakkola & Jordan, 2000).
    """
    if above:
        score = scores[p]
        for q in range(count):
            margin = score - scores[q]
            # Near 0 the quotient loses its digits, and its limit has more.
            bends[q] *= 0.25 if abs(margin) < 1e-5 else (0.5 - chances[q]) / margin
        return
    for q in range(count):
        bends[q] *= chances[q] * (1.0 - chances[q])


@summing_kernel
def _sum_losses(scores, p, count, chances, loads):  # type: ignore[no-untyped-def]
    """Sum over q of load_q log(1 + e^-(s_p - s_q))."""
    total = 0.0
    score = scores[p]
    for q in range(count):
        # log(1 + e^-m) is max(0, -m) + log(1 + x), x = e^-|m|; and z = c / (2 - c), c being the smaller chance.
        smaller = min(chances[q], 1.0 - chances[q])
        z = smaller / (2.0 - smaller)
        series = 0.0
        for term in range(_TERMS):
            series = series * (z * z) + 1.0 / (2 * (_TERMS - term) - 1)
        total += loads[q] * (max(0.0, scores[q] - score) + 2.0 * z * series)
    return total


@summing_kernel
def _add_forces(own, count, chances, loads, slopes):  # type: ignore[no-untyped-def]
    """Push each lower document down by own x load x chance; return what they push up together."""
    total = 0.0
    for q in range(count):
        total += own * loads[q] * chances[q]
    for q in range(count):
        slopes[q] += own * loads[q] * chances[q]
    return total


@kernel
def add_losses(  # type: ignore[no-untyped-def]
    scores, odds, weights, gains, discounts, lower_counts, query_starts, query_weights, chances, loads, slopes
):
    """Return the sum over pairs of weight x log(1 + e^-(s_i - s_j)), and add its slopes."""
    value = 0.0
    for query in range(len(query_starts) - 1):
        a, b = query_starts[query], query_starts[query + 1]
        s, o, w, g, d, pushed = scores[a:b], odds[a:b], weights[a:b], gains[a:b], discounts[a:b], slopes[a:b]
        of_query = 0.0
        for p in range(b - a):
            count, own = lower_counts[a + p], query_weights[query] * w[p]
            _find_chances(s, o, p, count, chances)
            _weigh_partners(w, g, d, p, count, loads)
            pushed[p] -= _add_forces(own, count, chances, loads, pushed)
            of_query += own * _sum_losses(s, p, count, chances, loads)
        value += of_query
    return value


@summing_kernel
def _add_bends(own, values, p, count, across, bends, products):  # type: ignore[no-untyped-def]
    """Add own x bend_q (value_q - across x value_p) to each lower document; return the same the other way round."""
    total = 0.0
    value = values[p]
    for q in range(count):
        total += own * bends[q] * (value - across * values[q])
    for q in range(count):
        products[q] += own * bends[q] * (values[q] - across * value)
    return total


@kernel
def add_curvature(  # type: ignore[no-untyped-def]
    scores, odds, weights, gains, discounts, lower_counts, query_starts, query_weights, above, across, values, chances,
    bends, products,
):  # fmt: skip
    """Add sum_q bend_pq (value_p - across x value_q): the curvature's product, or its diagonal with `across` 0."""
    for query in range(len(query_starts) - 1):
        a, b = query_starts[query], query_starts[query + 1]
        s, o, w, g, d = scores[a:b], odds[a:b], weights[a:b], gains[a:b], discounts[a:b]
        v, bent = values[a:b], products[a:b]
        for p in range(b - a):
            count, own = lower_counts[a + p], query_weights[query] * w[p]
            _find_chances(s, o, p, count, chances)
            _weigh_partners(w, g, d, p, count, bends)
            _find_bends(s, p, count, above, chances, bends)
            bent[p] += _add_bends(own, v, p, count, across, bends, bent)


@kernel
def add_curvature_of_columns(  # type: ignore[no-untyped-def]
    rows, scores, odds, weights, gains, discounts, lower_counts, query_starts, query_weights, above, values, chances,
    bends, products,
):  # fmt: skip
    """Add the curvature's product with every column of `values`; its rows and those of `products` are the block's."""
    n_columns = values.shape[1]
    for query in range(len(query_starts) - 1):
        a, b = query_starts[query], query_starts[query + 1]
        s, o, w, g, d = scores[a:b], odds[a:b], weights[a:b], gains[a:b], discounts[a:b]
        for p in range(b - a):
            count, own = lower_counts[a + p], query_weights[query] * w[p]
            _find_chances(s, o, p, count, chances)
            _weigh_partners(w, g, d, p, count, bends)
            _find_bends(s, p, count, above, chances, bends)
            row = rows[a + p]
            for q in range(count):
                bend, other = own * bends[q], rows[a + q]
                for column in range(n_columns):
                    change = bend * (values[row, column] - values[other, column])
                    products[row, column] += change
                    products[other, column] -= change
