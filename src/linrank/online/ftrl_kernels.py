"""The sequential part of FTRL-proximal: query after query, each read from memory once.

A query's documents are handled *by label*: position p is its document with the p-th lowest label, `rows[p]` says which
document of the query that is, and the documents with lower labels are the positions before `lower[p]`.
"""

from __future__ import annotations

import numpy as np

from linrank.compiled import kernel, summing_kernel

# What is kept for one query at a time: the rows of `room`, each one number a document and one spare.
(
    _SCORES, _SLOPES, _WANTED, _WEIGHT_SUMS, _PAIR_SUMS, _SORTED_SCORES, _SORTED_WEIGHTS, _SORTED_SLOPES
) = range(8)  # fmt: skip
ROWS_OF_ROOM = 8


@kernel
def order_by_label(labels, query_starts, longest, distinct, counts, levels, rows, lower):  # type: ignore[no-untyped-def]
    """Put each query of at most `longest` documents in order of label, equal labels in the order given.

    O(l k) for l documents with k different labels: for few labels several times quicker than sorting.
    """
    for query in range(len(query_starts) - 1):
        first, n = query_starts[query], query_starts[query + 1] - query_starts[query]
        if n > longest:
            continue
        n_levels = 0
        for i in range(n):
            label = labels[first + i]
            level = n_levels
            # To the end, whether it is found or not: where to stop is a coin toss the processor cannot foresee.
            for known in range(n_levels):
                level = known if distinct[known] == label else level
            if level == n_levels:
                distinct[level] = label
                counts[0, level] = 0
                n_levels += 1
            counts[0, level] += 1
            levels[i] = level
        for level in range(n_levels):
            below = 0
            for other in range(n_levels):
                below += counts[0, other] if distinct[other] < distinct[level] else 0
            counts[1, level] = below
            counts[2, level] = below
        for i in range(n):
            place = first + counts[2, levels[i]]
            counts[2, levels[i]] += 1
            rows[place] = i
            lower[place] = counts[1, levels[i]]


@kernel
def weigh_pairs(document_weights, rows, lower, room):  # type: ignore[no-untyped-def]
    """The sum of d_i d_j over the pairs of one query; `room` gets the running sums that pairs are drawn by."""
    documents, pairs = 0.0, 0.0
    room[_WEIGHT_SUMS, 0] = 0.0
    room[_PAIR_SUMS, 0] = 0.0
    for p in range(len(rows)):
        weight = document_weights[rows[p]]
        pairs += weight * room[_WEIGHT_SUMS, lower[p]]
        documents += weight
        room[_WEIGHT_SUMS, p + 1] = documents
        room[_PAIR_SUMS, p + 1] = pairs
    return pairs


@kernel
def _draw(running, n, share):  # type: ignore[no-untyped-def]
    """The first of n positions whose running sum exceeds a share of the total: each has a chance as its weight."""
    target = share * running[n]
    left, right = 0, n - 1
    while left < right:
        middle = (left + right) // 2
        if running[middle + 1] > target:
            right = middle
        else:
            left = middle + 1
    return left


@kernel
def _draw_pairs(shares, rows, lower, pairs, room):  # type: ignore[no-untyped-def]
    """Draw one pair for each two random shares, with replacement, and mark the documents whose scores are wanted."""
    for i in range(len(rows)):
        room[_WANTED, i] = 0.0
    for drawn in range(len(shares)):
        high = _draw(room[_PAIR_SUMS], len(rows), shares[drawn, 0])
        low = _draw(room[_WEIGHT_SUMS], lower[high], shares[drawn, 1])
        pairs[drawn, 0], pairs[drawn, 1] = rows[high], rows[low]
        room[_WANTED, rows[high]] = 1.0
        room[_WANTED, rows[low]] = 1.0


@kernel
def _prepare(document_weights, rows, lower, shares, pairs, room):  # type: ignore[no-untyped-def]
    """The weight of all pairs of one query, and how many to draw from them: none, for all, where they weigh no more."""
    weight = weigh_pairs(document_weights, rows, lower, room)
    if 0 < len(shares) < weight:
        _draw_pairs(shares, rows, lower, pairs, room)
        return weight, len(shares)
    for i in range(len(rows)):
        room[_WANTED, i] = 1.0
    return weight, 0


@kernel
def _open_query(  # type: ignore[no-untyped-def]
    query, document_weights, query_weights, query_starts, rows, lower, shares, pairs, room
):
    """A query's first row and the one after its last, its weight (0 if its pairs have none), and how many are drawn."""
    first, last, scale = query_starts[query], query_starts[query + 1], query_weights[query]
    weight, n_drawn = _prepare(document_weights[first:last], rows[first:last], lower[first:last], shares, pairs, room)
    return first, last, scale if scale * weight != 0.0 else 0.0, n_drawn


@summing_kernel
def _slopes_of_all(document_weights, rows, lower, scale, room):  # type: ignore[no-untyped-def]
    """Scale x the sum of d_i d_j max(0, 1 - (s_i - s_j)) ** 2 over all pairs of one query; its slopes go to `room`.

    Every pair is visited, a vector register of them at a time: up to a thousand documents that is quicker than
    sorting by score.
    """
    scores, weights, slopes = room[_SORTED_SCORES], room[_SORTED_WEIGHTS], room[_SORTED_SLOPES]
    n = len(rows)
    for p in range(n):
        scores[p] = room[_SCORES, rows[p]]
        weights[p] = document_weights[rows[p]]
        slopes[p] = 0.0
    loss = 0.0
    for p in range(n):
        goal, weight = scores[p] - 1.0, weights[p]
        pull, part = 0.0, 0.0
        for q in range(lower[p]):
            lack = max(0.0, scores[q] - goal)
            push = weights[q] * lack
            pull += push
            part += push * lack
        for q in range(lower[p]):
            slopes[q] += weight * max(0.0, scores[q] - goal)
        slopes[p] -= pull
        loss += weight * part
    for p in range(n):
        room[_SLOPES, rows[p]] = 2.0 * scale * weights[p] * slopes[p]
    return scale * loss


@kernel
def _slopes_of_drawn(pairs, n, scale, room):  # type: ignore[no-untyped-def]
    """Scale x the sum of max(0, 1 - (s_i - s_j)) ** 2 over the pairs drawn; its slopes go to `room`."""
    for i in range(n):
        room[_SLOPES, i] = 0.0
    loss = 0.0
    for drawn in range(len(pairs)):
        high, low = pairs[drawn, 0], pairs[drawn, 1]
        lack = max(0.0, 1.0 - (room[_SCORES, high] - room[_SCORES, low]))
        loss += lack * lack
        room[_SLOPES, high] -= 2.0 * scale * lack
        room[_SLOPES, low] += 2.0 * scale * lack
    return scale * loss


@kernel
def _move(j, g, settings, batch, z, squares, weights):  # type: ignore[no-untyped-def]
    """One feature's step of FTRL-proximal, as written in `linrank.online.ftrl`.

    With one rate for all, `squares` holds the batch of the feature's last step: while its gradient is zero its weight
    stands still, so the steps it missed add up to one.
    """
    l1, rate, rho, one_rate = settings[0], settings[1], settings[2], settings[3] != 0.0
    before = squares[j]
    after = batch if one_rate else before + g * g
    steepness = np.sqrt(rho + after)
    moved = z[j] + g - (steepness - np.sqrt(rho + before)) / rate * weights[j]
    beyond = moved - l1 if moved > 0.0 else moved + l1
    squares[j] = after
    z[j] = moved
    weights[j] = -rate / steepness * beyond if abs(moved) > l1 else 0.0


@kernel
def move_all(gradient, settings, clock, z, squares, weights):  # type: ignore[no-untyped-def]
    """Move every feature by the gradient of one batch, and clear it."""
    clock[0] += 1
    batch = float(clock[0])
    for j in range(len(weights)):
        _move(j, gradient[j], settings, batch, z, squares, weights)
        gradient[j] = 0.0


@kernel
def move_some(columns, first, last, gradient, settings, clock, z, squares, weights):  # type: ignore[no-untyped-def]
    """Move the features of some entries by the gradient of one batch, and clear it: each moves where first met."""
    clock[0] += 1
    batch = float(clock[0])
    for entry in range(first, last):
        j = columns[entry]
        if gradient[j] != 0.0:
            _move(j, gradient[j], settings, batch, z, squares, weights)
            gradient[j] = 0.0


@kernel
def _slopes(document_weights, rows, lower, scale, pairs, n_drawn, tally, room):  # type: ignore[no-untyped-def]
    """The slopes of a batch whose scores are known; `tally` gets its loss and the weight of its pairs."""
    if n_drawn > 0:
        tally[0] += _slopes_of_drawn(pairs, len(rows), scale, room)
        tally[1] += scale * n_drawn
    else:
        tally[0] += _slopes_of_all(document_weights, rows, lower, scale, room)
        tally[1] += scale * room[_PAIR_SUMS, len(rows)]


@summing_kernel
def learn_dense(  # type: ignore[no-untyped-def]
    values, document_weights, query_weights, query_starts, rows, lower, chosen, shares, settings, clock, z, squares,
    weights, pairs, room, gradient, tally,
):  # fmt: skip
    """Learn from the chosen queries, one after the other; `tally` gets their loss and the weight of their pairs."""
    n_features = values.shape[1]
    for turn in range(len(chosen)):
        first, last, scale, n_drawn = _open_query(
            chosen[turn], document_weights, query_weights, query_starts, rows, lower, shares[turn], pairs, room
        )
        if scale == 0.0:
            continue
        for i in range(last - first):
            if room[_WANTED, i] != 0.0:
                score = 0.0
                for j in range(n_features):
                    score += values[first + i, j] * weights[j]
                room[_SCORES, i] = score
        _slopes(document_weights[first:last], rows[first:last], lower[first:last], scale, pairs, n_drawn, tally, room)
        # Four rows at a time: they are in cache now, and the gradient is read and written a quarter as often.
        whole = (last - first) // 4 * 4
        for i in range(0, whole, 4):
            a, b, c, d = room[_SLOPES, i], room[_SLOPES, i + 1], room[_SLOPES, i + 2], room[_SLOPES, i + 3]
            if a == 0.0 and b == 0.0 and c == 0.0 and d == 0.0:
                continue
            row = first + i
            for j in range(n_features):
                gradient[j] += (a * values[row, j] + b * values[row + 1, j]) + (
                    c * values[row + 2, j] + d * values[row + 3, j]
                )
        for i in range(whole, last - first):
            for j in range(n_features):
                gradient[j] += room[_SLOPES, i] * values[first + i, j]
        move_all(gradient, settings, clock, z, squares, weights)


@kernel
def learn_sparse(  # type: ignore[no-untyped-def]
    values, columns, starts, document_weights, query_weights, query_starts, rows, lower, chosen, shares, settings,
    clock, z, squares, weights, pairs, room, gradient, tally,
):  # fmt: skip
    """`learn_dense` for compressed rows: only the features of a query's rows are read or moved."""
    for turn in range(len(chosen)):
        first, last, scale, n_drawn = _open_query(
            chosen[turn], document_weights, query_weights, query_starts, rows, lower, shares[turn], pairs, room
        )
        if scale == 0.0:
            continue
        for i in range(last - first):
            if room[_WANTED, i] != 0.0:
                score = 0.0
                for entry in range(starts[first + i], starts[first + i + 1]):
                    score += values[entry] * weights[columns[entry]]
                room[_SCORES, i] = score
        _slopes(document_weights[first:last], rows[first:last], lower[first:last], scale, pairs, n_drawn, tally, room)
        for i in range(last - first):
            slope = room[_SLOPES, i]
            if slope != 0.0:
                for entry in range(starts[first + i], starts[first + i + 1]):
                    gradient[columns[entry]] += slope * values[entry]
        move_some(columns, starts[first], starts[last], gradient, settings, clock, z, squares, weights)
