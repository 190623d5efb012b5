"""Sums over the preference pairs of a query, by two sweeps in order of score; no pair is ever listed.

Everything here is in *sorted order*: position p of a query is its document with the p-th lowest score.
A pair of a higher and a lower document is within a margin m where `score_higher - score_lower < m`. For each position,
the higher documents within the margin stand before a bound, and the lower ones from a bound on; both bounds only move
forward with the position, so each document enters an order-statistic structure, keyed by level, exactly once.
"""

from __future__ import annotations

from linrank.compiled import kernel


@kernel
def find_bounds(sorted_scores, query_starts, margin, ends, begins):  # type: ignore[no-untyped-def]
    """Where the documents within the margin of each position end (seen from a lower document) and begin (a higher).

    `ends[p]` is the first position with `score - score_p >= margin`, `begins[p]` the first with
    `score_p - score < margin`: the same subtraction of the same two numbers decides about a pair from both sides.
    """
    for query in range(len(query_starts) - 1):
        first, last = query_starts[query], query_starts[query + 1]
        end = first
        begin = first
        for p in range(first, last):
            while end < last and sorted_scores[end] - sorted_scores[p] < margin:
                end += 1
            ends[p] = end
            while begin < last and sorted_scores[p] - sorted_scores[begin] >= margin:
                begin += 1
            begins[p] = begin


@kernel
def bring_in_order(order, levels, weights, query_starts, rows, sorted_levels, sorted_weights):  # type: ignore[no-untyped-def]
    """Bring a block's columns into sorted order."""
    for p in range(query_starts[-1]):
        row = order[p]
        rows[p] = row
        sorted_levels[p] = levels[row]
        sorted_weights[p] = weights[row]


@kernel
def centre_scores(sorted_scores, sorted_levels, query_starts, margin, centred):  # type: ignore[no-untyped-def]
    """Measure the scores from the first one of each *island*: positions that no pair within the margin leaves.

    Losses depend on differences within pairs only, so each island may have a zero of its own; and the squares of small
    numbers, which the value is made of, keep the digits that those of large ones lose. An island ends at a gap of at
    least the margin, if nobody beyond it has a lower level than anybody before it.
    """
    for query in range(len(query_starts) - 1):
        first, last = query_starts[query], query_starts[query + 1]
        lowest_after = 2147483647.0
        for p in range(last - 1, first - 1, -1):
            lowest_after = min(lowest_after, float(sorted_levels[p]))
            centred[p] = lowest_after
        highest_before = -1.0
        zero = 0.0
        for p in range(first, last):
            apart = p == first or (sorted_scores[p] - sorted_scores[p - 1] >= margin and centred[p] >= highest_before)
            if apart:
                zero = sorted_scores[p]
            highest_before = max(highest_before, float(sorted_levels[p]))
            centred[p] = sorted_scores[p] - zero


@kernel
def gather_weighted(rows, weights, values, sorted_values):  # type: ignore[no-untyped-def]
    for p in range(len(rows)):
        sorted_values[p] = weights[p] * values[rows[p]]


@kernel
def add_laplacian_of_columns(  # type: ignore[no-untyped-def]
    rows,
    weights,
    levels,
    bounds,
    upward,
    counts,
    values,
    query_starts,
    level_counts,
    query_weights,
    adjacent,
    factor,
    times,
    tree,
    products,
):
    """One sweep of the active pairs' Laplacian times a matrix with one row a document, all its columns at once.

    The structure keyed by level is a Fenwick tree whose nodes are rows: every step is a sum of whole rows. The upward
    sweep takes care of higher partners and of the diagonal, the downward one of lower partners; partners count so many
    `times`.
    """
    n_columns = values.shape[1]
    for query in range(len(query_starts) - 1):
        first, last = query_starts[query], query_starts[query + 1]
        count = level_counts[query]
        scale = factor * query_weights[query]
        for level in range(count + 1):
            for column in range(n_columns):
                tree[level, column] = 0.0
        entered = 0
        for turn in range(last - first):
            p = first + turn if upward else last - 1 - turn
            ready = bounds[p] - first if upward else last - bounds[p]
            while entered < ready:
                other = first + entered if upward else last - 1 - entered
                # Levels count from the far side, so that the partners of a level are those before it.
                node = count - levels[other] if upward else levels[other] + 1
                while node <= count:
                    for column in range(n_columns):
                        tree[node, column] += weights[other] * values[rows[other], column]
                    node += node & -node
                entered += 1
            own = scale * weights[p]
            node = count - 1 - levels[p] if upward else levels[p]
            if upward:
                for column in range(n_columns):
                    products[rows[p], column] += own * counts[p] * values[rows[p], column]
            own *= times
            # Adjacent levels only: what lies before the neighbour is taken off again.
            beyond = max(node - 1, 0) if adjacent else 0
            while node > 0:
                for column in range(n_columns):
                    products[rows[p], column] -= own * tree[node, column]
                node &= node - 1
            while beyond > 0:
                for column in range(n_columns):
                    products[rows[p], column] += own * tree[beyond, column]
                beyond &= beyond - 1


@kernel
def add_squared_hinge(  # type: ignore[no-untyped-def]
    rows, weights, scores, higher, lower, query_starts, query_weights, margin, factor, slopes
):
    """Add factor x the sum of max(0, margin - (s_i - s_j)) ** 2 over the pairs: return the value, add the slopes.

    `higher` and `lower` hold the weight of each document's partners as their real part, and the weighted sum of the
    partners' scores as their imaginary part.
    """
    value = 0.0
    for query in range(len(query_starts) - 1):
        scale = factor * query_weights[query]
        part = 0.0
        for p in range(query_starts[query], query_starts[query + 1]):
            above, below = higher[p].real, lower[p].real
            pull = (above + below) * scores[p] - higher[p].imag - lower[p].imag
            lean = margin * (below - above)
            slopes[rows[p]] += 2.0 * scale * weights[p] * (pull - lean)
            part += weights[p] * (scores[p] * (pull - 2.0 * lean) + margin * margin * below)
        value += scale * part
    return value


@kernel
def add_hinge(rows, weights, scores, higher, lower, query_starts, query_weights, margin, factor, slopes):  # type: ignore[no-untyped-def]
    """Add factor x the sum of max(0, margin - (s_i - s_j)) over the pairs: return the value, add the slopes."""
    value = 0.0
    for query in range(len(query_starts) - 1):
        scale = factor * query_weights[query]
        part = 0.0
        for p in range(query_starts[query], query_starts[query + 1]):
            lean = higher[p].real - lower[p].real
            slopes[rows[p]] += scale * weights[p] * lean
            part += weights[p] * (margin * lower[p].real + lean * scores[p])
        value += scale * part
    return value


@kernel
def add_laplacian(rows, weights, counts, higher, lower, values, query_starts, query_weights, factor, products):  # type: ignore[no-untyped-def]
    """Add factor x weight_i (count_i value_i - the weighted sum over its partners): the active pairs' Laplacian."""
    for query in range(len(query_starts) - 1):
        scale = factor * query_weights[query]
        for p in range(query_starts[query], query_starts[query + 1]):
            row = rows[p]
            products[row] += scale * weights[p] * (counts[p] * values[row] - higher[p] - lower[p])
