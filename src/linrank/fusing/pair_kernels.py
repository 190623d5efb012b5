"""Sums over the preference pairs of a few columns: value, gradient and second derivative at once, pair by pair.

A fusion has few columns, and few of a query's candidates are relevant: to go through pairs takes less than to sort.
"""

from __future__ import annotations

from linrank.compiled import kernel, summing_kernel


@summing_kernel
def _add_alike(features, i, first, last, lower, weight, scores, slopes, bends, totals, near, sums):  # type: ignore[no-untyped-def]
    """One row above all of lower labels, pairs weighing alike; `near` becomes the sum of those within the margin.

    That is counted from what is less: those within, or all without those that are not.
    """
    margin = 1.0 - scores[i - first]
    value, pulled, within = 0.0, 0.0, 0.0
    for j in range(lower[i] - first, last - first):
        short = max(margin + scores[j], 0.0)
        is_within = 1.0 if short > 0.0 else 0.0
        value += short * short
        pulled += short
        within += is_within
        slopes[j] += weight * short
        bends[j] += weight * is_within
    sums[0] += weight * value
    slopes[i - first] -= weight * pulled
    bends[i - first] += weight * within
    most = 2.0 * within > last - lower[i]
    n_columns = features.shape[1]
    for column in range(n_columns):
        near[column] = weight * totals[column] if most else 0.0
    if most and within == last - lower[i]:
        return
    share = -weight if most else weight
    for j in range(lower[i], last):
        if (margin + scores[j - first] > 0.0) != most:
            for column in range(n_columns):
                near[column] += share * features[j, column]


@kernel
def _add_by_rank(features, i, first, last, lower, weight, gains, discounts, scores, slopes, bends, near, sums):  # type: ignore[no-untyped-def]
    """One row above all of lower labels, pairs weighing |change of gain| |change of discount|."""
    n_columns = features.shape[1]
    for column in range(n_columns):
        near[column] = 0.0
    margin = 1.0 - scores[i - first]
    for j in range(lower[i], last):
        short = margin + scores[j - first]
        if short <= 0.0:
            continue
        omega = weight * abs(gains[i] - gains[j]) * abs(discounts[i] - discounts[j])
        sums[0] += omega * short * short
        slopes[i - first] -= omega * short
        bends[i - first] += omega
        slopes[j - first] += omega * short
        bends[j - first] += omega
        for column in range(n_columns):
            near[column] += omega * features[j, column]


@summing_kernel
def _add_rows(features, first, last, slopes, bends, columns, bent, sums):  # type: ignore[no-untyped-def]
    """The gradient and second derivative from each row's slope and bend, some rows at a time, column by column."""
    n_columns, at_a_time = columns.shape
    for start in range(first, last, at_a_time):
        n = min(at_a_time, last - start)
        for row in range(n):
            bend = 2.0 * bends[start - first + row]
            for column in range(n_columns):
                columns[column, row] = features[start + row, column]
                bent[column, row] = bend * columns[column, row]
        place = 1 + n_columns
        for column in range(n_columns):
            slope = 0.0
            for row in range(n):
                slope += slopes[start - first + row] * columns[column, row]
            sums[1 + column] += 2.0 * slope
            for other in range(column, n_columns):
                product = 0.0
                for row in range(n):
                    product += bent[column, row] * columns[other, row]
                sums[place] += product
                place += 1


@kernel
def add_pair_sums(  # type: ignore[no-untyped-def]
    features,
    weights,
    starts,
    lower,
    query_weights,
    gains,
    discounts,
    by_rank,
    scores,
    slopes,
    bends,
    totals,
    near,
    columns,
    bent,
    sums,
):
    """Sum over queries of query_weight x sum over pairs (i above j) of omega max(0, 1 - s_i + s_j)²; its derivatives.

    Each query's rows stand by label, the highest first; `lower[i]` is the first row of a lower label than i's, the
    query's end where there is none. omega is 1, or |gain_i - gain_j| |discount_i - discount_j| if `by_rank`.
    `sums` is (value, gradient, upper triangle of the second derivative); `scores`,
    `slopes`, `bends`, `totals`, `near`, `columns` and `bent` are work space.
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
        below = -1
        for i in range(first, last):
            if lower[i] == last:
                break
            if lower[i] != below:
                below = lower[i]
                for column in range(n_columns):
                    totals[column] = 0.0
                for j in range(below, last):
                    for column in range(n_columns):
                        totals[column] += features[j, column]
            if by_rank:
                _add_by_rank(
                    features, i, first, last, lower, weight, gains, discounts, scores, slopes, bends, near, sums
                )
            else:
                _add_alike(features, i, first, last, lower, weight, scores, slopes, bends, totals, near, sums)
            place = 1 + n_columns
            for column in range(n_columns):
                for other in range(column, n_columns):
                    sums[place] -= 2.0 * (features[i, column] * near[other] + near[column] * features[i, other])
                    place += 1
        _add_rows(features, first, last, slopes, bends, columns, bent, sums)


@kernel
def order_by_label(labels, starts, order, lower):  # type: ignore[no-untyped-def]
    """Put each query's rows by label, the highest first, equal ones as they stand; `lower` as in `add_pair_sums`.

    Few rows have more than the least label: these are inserted where they belong, and the others follow.
    """
    for query in range(len(starts) - 1):
        first, last = starts[query], starts[query + 1]
        if first == last:
            continue
        least = labels[first]
        for row in range(first + 1, last):
            least = min(least, labels[row])
        n_above = 0
        for row in range(first, last):
            if labels[row] > least:
                place = first + n_above
                while place > first and labels[order[place - 1]] < labels[row]:
                    order[place] = order[place - 1]
                    place -= 1
                order[place] = row
                n_above += 1
        place = first + n_above
        for row in range(first, last):
            if labels[row] == least:
                order[place] = row
                place += 1
        below = last
        for place in range(last - 1, first - 1, -1):
            if place + 1 < last and labels[order[place]] > labels[order[place + 1]]:
                below = place + 1
            lower[place] = below


@kernel
def take_scaled(features, order, scales, taken):  # type: ignore[no-untyped-def]
    """Rows in another order, each column times its scale."""
    for row in range(len(order)):
        for column in range(features.shape[1]):
            taken[row, column] = features[order[row], column] * scales[column]


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
