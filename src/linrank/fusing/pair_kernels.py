"""Sums over the preference pairs of a few columns: value, gradient and second derivative at once, pair by pair.

A fusion has few columns, and few of a query's candidates are relevant: to go through pairs takes less than to sort.
"""

from __future__ import annotations

from linrank.compiled import kernel


@kernel
def add_pair_sums(  # type: ignore[no-untyped-def]
    features, weights, starts, lower, query_weights, gains, discounts, by_rank, scores, slopes, bends, near, sums
):
    """Sum over queries of query_weight x sum over pairs (i above j) of omega max(0, 1 - s_i + s_j)²; its derivatives.

    Each query's rows stand by label, the highest first; `lower[i]` is the first row of a lower label than i's, the
    query's end where there is none. omega is 1, or |gain_i - gain_j| |discount_i - discount_j| if `by_rank`.
    `sums` is (value, gradient, upper triangle of the second derivative); `scores`,
    `slopes`, `bends` and `near` are work space.
    """
    n_columns = features.shape[1]
    for query in range(len(starts) - 1):
        weight = query_weights[query]
        first, last = starts[query], starts[query + 1]
        if weight == 0.0 or first == last or lower[first] == last:
            continue
        for row in range(first, last):
            slopes[row - first] = 0.0
            bends[row - first] = 0.0
            score = 0.0
            for column in range(n_columns):
                score += weights[column] * features[row, column]
            scores[row - first] = score
        for i in range(first, last):
            if lower[i] == last:
                break
            pulled, bent = 0.0, 0.0
            for column in range(n_columns):
                near[column] = 0.0
            margin = 1.0 - scores[i - first]
            for j in range(lower[i], last):
                short = margin + scores[j - first]
                if short <= 0.0:
                    continue
                omega = weight
                if by_rank:
                    omega *= abs(gains[i] - gains[j]) * abs(discounts[i] - discounts[j])
                sums[0] += omega * short * short
                pulled += omega * short
                bent += omega
                slopes[j - first] += omega * short
                bends[j - first] += omega
                for column in range(n_columns):
                    near[column] += omega * features[j, column]
            slopes[i - first] -= pulled
            bends[i - first] += bent
            place = 1 + n_columns
            for column in range(n_columns):
                for other in range(column, n_columns):
                    sums[place] -= 2.0 * (features[i, column] * near[other] + near[column] * features[i, other])
                    place += 1
        for row in range(first, last):
            slope, bend = 2.0 * slopes[row - first], 2.0 * bends[row - first]
            if bend == 0.0:
                continue
            place = 1 + n_columns
            for column in range(n_columns):
                sums[1 + column] += slope * features[row, column]
                for other in range(column, n_columns):
                    sums[place] += bend * features[row, column] * features[row, other]
                    place += 1


@kernel
def find_lower(labels, starts, lower):  # type: ignore[no-untyped-def]
    """Of rows that stand by label, the highest first: the first row of the same query with a lower label."""
    for query in range(len(starts) - 1):
        first, last = starts[query], starts[query + 1]
        below = last
        for row in range(last - 1, first - 1, -1):
            if row + 1 < last and labels[row] > labels[row + 1]:
                below = row + 1
            lower[row] = below


@kernel
def add_squares_within(features, starts, means, sums):  # type: ignore[no-untyped-def]
    """For each column the sum over queries of sum of (x - the query's mean)²."""
    n_columns = features.shape[1]
    for query in range(len(starts) - 1):
        first, last = starts[query], starts[query + 1]
        if first == last:
            continue
        for column in range(n_columns):
            means[column] = 0.0
        for row in range(first, last):
            for column in range(n_columns):
                means[column] += features[row, column]
        for column in range(n_columns):
            means[column] /= last - first
        for row in range(first, last):
            for column in range(n_columns):
                away = features[row, column] - means[column]
                sums[column] += away * away
