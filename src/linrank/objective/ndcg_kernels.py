"""Compiled sweeps for pairs weighted by what their swap would change of NDCG; no pair is ever listed.

Everything is in *sorted order*, as in `pair_kernels`: position p of a query is its document with the p-th lowest score.
The weight of a pair is a product of differences, (gain_i - gain_j) (discount_i - discount_j), up to its sign, and the
loss is a polynomial of the difference of scores in pieces: so sums over a document's partners are sums of {1, discount}
x {1, s, s^2} over ranges of the sorted query, one set of them a level, each level having one gain. O(l k).
"""

from __future__ import annotations

from linrank.compiled import kernel


@kernel
def heaviest_query(weights, query_starts):  # type: ignore[no-untyped-def]
    """The largest sum of weights of a query: the last rank that is needed."""
    heaviest = 0.0
    for query in range(len(query_starts) - 1):
        total = 0.0
        for row in range(query_starts[query], query_starts[query + 1]):
            total += weights[row]
        heaviest = max(heaviest, total)
    return heaviest


@kernel
def _discount_of(discounts, start, weight):  # type: ignore[no-untyped-def]
    """The mean of the discounts of the ranks from `start` to `start + weight`, counted from 0, parts of ranks in part.

    A document of weight 2 has the mean discount of its two ranks, as two copies of it have together.
    """
    rank = int(start)
    if weight <= 0.0:
        return discounts[rank]
    if weight == 1.0 and start == rank:
        return discounts[rank]
    stop = start + weight
    total = 0.0
    while rank < stop:
        total += discounts[rank] * (min(stop, rank + 1.0) - max(start, float(rank)))
        rank += 1
    return total / weight


@kernel
def find_gains(labels, levels, weights, query_starts, level_counts, discounts, level_labels, level_weights, gains):  # type: ignore[no-untyped-def]
    """Write each row's gain max(0, 2^y - 1) divided by its query's ideal DCG; 0 where that is 0.

    Gains are taken relative to the power of the query's highest label, so that no label is too large.
    """
    for query in range(len(query_starts) - 1):
        first, last = query_starts[query], query_starts[query + 1]
        count = level_counts[query]
        for level in range(count):
            level_weights[level] = 0.0
        for row in range(first, last):
            level_labels[levels[row]] = labels[row]
            level_weights[levels[row]] += weights[row]
        top = level_labels[count - 1]
        ideal, rank = 0.0, 0.0
        for level in range(count - 1, -1, -1):
            gain = 2.0 ** (level_labels[level] - top) - 2.0 ** (-top) if level_labels[level] > 0.0 else 0.0
            ideal += gain * level_weights[level] * _discount_of(discounts, rank, level_weights[level])
            rank += level_weights[level]
            level_labels[level] = gain
        for row in range(first, last):
            gains[row] = level_labels[levels[row]] / ideal if ideal > 0.0 else 0.0


@kernel
def find_discounts(scores, levels, weights, query_starts, discounts, level_weights, found):  # type: ignore[no-untyped-def]
    """Write the discount of each position: 1 / log2(1 + rank), ranks from the highest score down.

    Of equal scores the lower label is ranked first: a tie is wrong. Documents of the same score and label share the
    mean of their discounts. So the order of the rows decides nothing. `level_weights` must be zero, and is so again.
    """
    for query in range(len(query_starts) - 1):
        first, p = query_starts[query], query_starts[query + 1] - 1
        rank = 0.0
        while p >= first:
            tied = p
            while tied > first and scores[tied - 1] == scores[p]:
                tied -= 1
            if tied == p:
                found[p] = _discount_of(discounts, rank, weights[p])
                rank += weights[p]
            else:
                rank = _share_discounts(levels, weights, tied, p + 1, rank, discounts, level_weights, found)
            p = tied - 1


@kernel
def _share_discounts(levels, weights, start, stop, rank, discounts, level_weights, found):  # type: ignore[no-untyped-def]
    """Write the discounts of positions of equal score, the first of which has the given rank; return the next rank."""
    lowest, highest = levels[start], levels[start]
    for p in range(start, stop):
        level_weights[levels[p]] += weights[p]
        lowest, highest = min(lowest, levels[p]), max(highest, levels[p])
    for level in range(lowest, highest + 1):
        weight = level_weights[level]
        level_weights[level] = _discount_of(discounts, rank, weight)
        rank += weight
    for p in range(start, stop):
        found[p] = level_weights[levels[p]]
    for level in range(lowest, highest + 1):
        level_weights[level] = 0.0
    return rank


@kernel
def sum_over_partners(  # type: ignore[no-untyped-def]
    scores, values, levels, weights, gains, discounts, query_starts, level_counts, upward, margin, shift, room, sums
):
    """For each position p the slope and the value, as real and imaginary part, of its pairs with lower documents.

    With `shift` = `margin` = 1 and values = scores: of sum_q weight_q omega_pq phi(s_p - s_q), the modified Huber loss
    phi. With an endless margin and no shift: of sum_q weight_q omega_pq (value_p - value_q)^2. `upward` takes the
    partners with higher labels instead: the same with everything mirrored, and the slope is that in -value_p.

    With omega+ = (gain_p - gain_q) (discount_p - discount_q), which is omega for p above q and -omega below, and with
    v = s_p - s_q, the pair's loss is the sum of
        omega+ (1 - v)^2 where v < 1,   -2 omega+ (1 - v)^2 where v <= 0,   omega+ (1 + v)^2 where v < -1.
    These three sets of partners only grow as s_p falls; `room` has the sum over them of the coefficients of s_p^2, s_p
    and 1, for each level of partners, and the same multiplied by the partner's discount.
    """
    sign = -1.0 if upward else 1.0
    for query in range(len(query_starts) - 1):
        first, last = query_starts[query], query_starts[query + 1]
        count = level_counts[query]
        for level in range(count):
            for place in range(7):
                room[level, place] = 0.0
        # Position `start + step * turn` is taken in the given turn, scores falling (rising, and mirrored, if upward).
        start, step = (first, 1) if upward else (last - 1, -1)
        near, level_with, beyond = start, start, start
        end = last if upward else first - 1
        p = start
        while p != end:
            score, value = sign * scores[p], sign * values[p]
            while near != end and score - sign * scores[near] < margin:
                _enter(room, near, 1.0, shift + sign * values[near], levels, weights, gains, discounts, count, upward)
                near += step
            while level_with != end and score - sign * scores[level_with] <= 0.0:
                _enter(
                    room, level_with, -2.0, shift + sign * values[level_with], levels, weights, gains, discounts,
                    count, upward,
                )  # fmt: skip
                level_with += step
            while beyond != end and score - sign * scores[beyond] < -margin:
                _enter(
                    room, beyond, 1.0, sign * values[beyond] - shift, levels, weights, gains, discounts, count, upward
                )
                beyond += step
            squares, lines, constants, d_squares, d_lines, d_constants = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for level in range(count - 1 - levels[p] if upward else levels[p]):
                rise = gains[p] - room[level, 6]
                squares += rise * room[level, 0]
                lines += rise * room[level, 1]
                constants += rise * room[level, 2]
                d_squares += rise * room[level, 3]
                d_lines += rise * room[level, 4]
                d_constants += rise * room[level, 5]
            own = discounts[p]
            squares = own * squares - d_squares
            lines = own * lines - d_lines
            constants = own * constants - d_constants
            sums[p] = complex(2.0 * value * squares + lines, value * (value * squares + lines) + constants)
            p += step


@kernel
def _enter(room, q, times, root, levels, weights, gains, discounts, count, upward):  # type: ignore[no-untyped-def]
    """Add times x weight_q (s - root)^2, as a polynomial of s, to the sums of the level of q."""
    level = count - 1 - levels[q] if upward else levels[q]
    weight = times * weights[q]
    discount = discounts[q]
    line = -2.0 * root * weight
    constant = root * root * weight
    room[level, 0] += weight
    room[level, 1] += line
    room[level, 2] += constant
    room[level, 3] += discount * weight
    room[level, 4] += discount * line
    room[level, 5] += discount * constant
    room[level, 6] = gains[q]


@kernel
def add_sums(rows, weights, lower, higher, query_starts, query_weights, slopes):  # type: ignore[no-untyped-def]
    """Write each row's slope, from its lower and higher partners, and return the value: each pair was met twice."""
    value = 0.0
    for query in range(len(query_starts) - 1):
        part = 0.0
        for p in range(query_starts[query], query_starts[query + 1]):
            slopes[rows[p]] = query_weights[query] * weights[p] * (lower[p].real - higher[p].real)
            part += weights[p] * (lower[p].imag + higher[p].imag)
        value += 0.5 * query_weights[query] * part
    return value
