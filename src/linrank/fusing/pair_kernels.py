"""Sums over the preference pairs of a few columns: value, gradient and second derivative at once, pair by pair.

A fusion has few columns, and few of a query's candidates are relevant: to go through pairs takes less than to sort.
"""

from __future__ import annotations

import math

from linrank.compiled import kernel, summing_kernel


@summing_kernel
def _pair_up(  # type: ignore[no-untyped-def]
    i, first, n, labels, weight, gains, discounts, by_rank, margin, block_scores, within, slopes, bends, of_row
):
    """One row above those of a block that have lower labels; what the pairs within the margin weigh together."""
    label, value, pulled, bent = labels[i], 0.0, 0.0, 0.0
    for row in range(n):
        short = max(margin + block_scores[row], 0.0)
        # A label that is NaN is below none.
        omega = weight if short > 0.0 and labels[first + row] < label else 0.0
        if by_rank:
            omega *= abs(gains[i] - gains[first + row]) * abs(discounts[i] - discounts[first + row])
        within[row] = omega
        slopes[row] += omega * short
        bends[row] += omega
    for row in range(n):
        short = max(margin + block_scores[row], 0.0)
        value += within[row] * short * short
        pulled += within[row] * short
        bent += within[row]
    of_row[0] += value
    of_row[1] += pulled
    of_row[2] += bent
    return bent


@summing_kernel
def _add_weighted(columns, n, row_weights, sums):  # type: ignore[no-untyped-def]
    """Add to each column's sum that of its rows, weighed."""
    for column in range(len(columns)):
        total = 0.0
        for row in range(n):
            total += row_weights[row] * columns[column, row]
        sums[column] += total


@summing_kernel
def _add_block(columns, bent, n, slopes, bends, sums):  # type: ignore[no-untyped-def]
    """The rows' part of the gradient and of the second derivative, column by column."""
    n_columns = len(columns)
    for column in range(n_columns):
        slope = 0.0
        for row in range(n):
            slope += slopes[row] * columns[column, row]
        for row in range(n):
            bent[row] = bends[row] * columns[column, row]
        sums[1 + column] += 2.0 * slope
        for other in range(column, n_columns):
            product = 0.0
            for row in range(n):
                product += bent[row] * columns[other, row]
            sums[1 + (1 + column) * n_columns + other] += 2.0 * product


@summing_kernel
def _add_above(features, i, of_row, near, sums):  # type: ignore[no-untyped-def]
    """The part of a row above others, which is the same for all of them."""
    n_columns = features.shape[1]
    sums[0] += of_row[0]
    for column in range(n_columns):
        x = features[i, column]
        sums[1 + column] -= 2.0 * of_row[1] * x
        for other in range(column, n_columns):
            y = features[i, other]
            bend = of_row[2] * x * y - x * near[other] - near[column] * y
            sums[1 + (1 + column) * n_columns + other] += 2.0 * bend


@summing_kernel
def add_pair_sums(  # type: ignore[no-untyped-def]
    features, labels, weights, queries, starts, above, above_starts, query_weights, gains, discounts, by_rank, columns,
    work, near, of_rows, sums,
):  # fmt: skip
    """Sum over `queries` of query_weight x sum over pairs (i above j) of omega max(0, 1 - s_i + s_j)²; its derivatives.

    `above` has each query's rows whose label is more than its least. omega is 1, or |gain_i - gain_j|
    |discount_i - discount_j| if `by_rank`. `sums` is (value, gradient, second derivative row by row), 0 before.
    Work space, a few rows of a query at a time: `columns` has their columns one after the other, `work` five numbers a
    row; for each of `above`, `near` has the sum of rows within its margin, `of_rows` value, slope, bend and margin.
    """
    n_columns, at_a_time = columns.shape
    scores, slopes, bends, within, bent = work[0], work[1], work[2], work[3], work[4]
    for query in queries:
        weight, first_above = query_weights[query], above_starts[query]
        n_above = above_starts[query + 1] - first_above
        for number in range(n_above):
            score = 0.0
            for column in range(n_columns):
                score += weights[column] * features[above[first_above + number], column]
            for column in range(n_columns):
                near[number, column] = 0.0
            for place in range(3):
                of_rows[number, place] = 0.0
            of_rows[number, 3] = 1.0 - score
        for first in range(starts[query], starts[query + 1], at_a_time):
            n = min(at_a_time, starts[query + 1] - first)
            for row in range(n):
                scores[row] = 0.0
                slopes[row] = 0.0
                bends[row] = 0.0
                for column in range(n_columns):
                    columns[column, row] = features[first + row, column]
            for column in range(n_columns):
                for row in range(n):
                    scores[row] += weights[column] * columns[column, row]
            weight_within = 0.0
            for number in range(n_above):
                of_pairs = _pair_up(
                    above[first_above + number], first, n, labels, weight, gains, discounts, by_rank,
                    of_rows[number, 3], scores, within, slopes, bends, of_rows[number],
                )  # fmt: skip
                if of_pairs > 0.0:
                    _add_weighted(columns, n, within, near[number])
                    weight_within += of_pairs
            if weight_within > 0.0:
                _add_block(columns, bent, n, slopes, bends, sums)
        for number in range(n_above):
            _add_above(features, above[first_above + number], of_rows[number], near[number], sums)
    for column in range(n_columns):
        for other in range(column):
            sums[1 + (1 + column) * n_columns + other] = sums[1 + (1 + other) * n_columns + column]


@kernel
def list_above(labels, starts, above, n_above, n_pairs):  # type: ignore[no-untyped-def]
    """List the rows of each query whose label is more than its least; count them, and the pairs of different labels.

    Rows whose label is NaN are in no pair.
    """
    end = 0
    for query in range(len(starts) - 1):
        least, n_least, begin = 0.0, 0, end
        for row in range(starts[query], starts[query + 1]):
            label = labels[row]
            if label < least or (n_least == 0 and not math.isnan(label)):
                least, n_least = label, 0
            n_least += int(label == least)
        for row in range(starts[query], starts[query + 1]):
            if labels[row] > least:
                above[end] = row
                end += 1
        n_above[query] = end - begin
        pairs = n_least * (end - begin)
        for place in range(begin, end):
            for other in range(begin, place):
                pairs += int(labels[above[place]] != labels[above[other]])
        n_pairs[query] = pairs


@kernel
def add_squares_within(features, starts, means, sums, largest):  # type: ignore[no-untyped-def]
    """For each column the sum over queries of sum of (x - the query's mean)², and the largest |x|."""
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
                largest[column] = max(largest[column], abs(features[row, column]))
        for column in range(n_columns):
            means[column] /= last - first
        for row in range(first, last):
            for column in range(n_columns):
                away = features[row, column] - means[column]
                sums[column] += away * away


@kernel
def select_deep(scores, labels, starts, best, kept):  # type: ignore[no-untyped-def]
    """Mark the rows whose score is one of the query's highest or equal to the last of these, or whose label is not 0,
    but none whose score is -inf. `best` is work space, as long as there are highest ones.
    """
    depth = len(best)
    for query in range(len(starts) - 1):
        first, last = starts[query], starts[query + 1]
        n_best = 0
        for row in range(first, last):
            score = scores[row]
            if n_best == depth and score <= best[depth - 1]:
                continue
            place = n_best if n_best < depth else depth - 1
            while place > 0 and best[place - 1] < score:
                best[place] = best[place - 1]
                place -= 1
            best[place] = score
            n_best = min(n_best + 1, depth)
        for row in range(first, last):
            there = scores[row] > -math.inf
            kept[row] = there and (scores[row] >= best[n_best - 1] or labels[row] != 0.0)
