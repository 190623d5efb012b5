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


@kernel
def log_expected_gains(labels, weights, query_starts, wanted):  # type: ignore[no-untyped-def]
    """Write the logarithm of E[(G_i - g_i) / sum_j d_j (G_j - g_j)], up to a constant a query, for g uniform on [0, 1].

    G = 2^max(label, 0), of which the power of the query's highest label is taken out. With A the sum of the G and n how
    many documents there are, 1 / S is the integral of e^(-t S) over t > 0, in which the expectation is a product over
    documents; what is left for all of them is two integrals in one variable: E_i = ((G_i - 1) K + L) / A.
    """
    for query in range(len(query_starts) - 1):
        first, last = query_starts[query], query_starts[query + 1]
        top = max(0.0, _highest(labels, weights, first, last))
        one = 2.0**-top
        count, total = 0.0, 0.0
        for row in range(first, last):
            wanted[row] = 2.0 ** (max(labels[row], 0.0) - top) if weights[row] > 0.0 else 0.0
            count += weights[row]
            total += weights[row] * wanted[row]
        whole, below = _integrals(count, count * one / total) if total > 0.0 else (0.0, 0.0)
        for row in range(first, last):
            gain = (wanted[row] - one) * whole + one * below
            wanted[row] = math.log(gain) if gain > 0.0 else -math.inf


@kernel
def _integrals(count, share):  # type: ignore[no-untyped-def]
    """The integrals over u > 0 of e^(-u) M(h)^n and of the same times 1 - M'(h) / M(h), h = share u / n.

    M(h) = (e^h - 1) / h is what e^(h g) is expected to be. Steps of 0.2 in x, u = exp(x - exp(-x)), leave 1e-15.
    """
    whole, below = 0.0, 0.0
    for number in range(150):
        x = -4.0 + 0.2 * number
        u = math.exp(x - math.exp(-x))
        h = share * u / count
        if h < 1e-2:
            log_mean, left = h * (0.5 + h / 24.0 - h**3 / 2880.0), 0.5 - h / 12.0 + h**3 / 720.0
        elif h < 40.0:
            risen = math.expm1(h)
            log_mean, left = math.log(risen / h), 1.0 / h - 1.0 / risen
        else:
            log_mean, left = h - math.log(h), 1.0 / h
        exponent = count * log_mean - u
        part = 0.2 * math.exp(exponent) * u * (1.0 + math.exp(-x))
        whole += part
        below += part * left
        if u > 1.0 and exponent < -45.0:
            break
    return whole, below
