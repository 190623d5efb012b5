"""The sequential part of the factored dual: query after query, each read from memory once.

Document i has a vector u_i in [0, 1]^K, a row of `factors`, and the pair (i, j) a multiplier
scale d_i d_j <u_i, u_j>.
Sums over pairs come from *tables*, which have a row for each level of the query and one more: at first row m is the sum
of some vectors over all documents below level m, and the last row the sum over all.
"""

from __future__ import annotations

from linrank.compiled import kernel, summing_kernel

# What is kept for one query at a time. Rows of `columns`, one number a document:
_SCORES, _WEIGHTED_SCORES, _FIRST_SHARES, _SECOND_SHARES = range(4)
ROWS_OF_COLUMNS = 4
# tables, of the vectors u, of u times the score, and of the direction in which u moves;
_VECTORS, _SCORED_VECTORS, _MOVES = range(3)
TABLES = 3
# and what all visits of a call add up to.
DECREASE, SQUARED_GRADIENT, STEPS, VISITS = range(4)
ROWS_OF_TALLY = 4

# Halvings of the range of a step: enough for one of 1e-12 of the longest to have half of its digits.
_HALVINGS = 60
# A rate is at most so many times what moves the steepest coordinate from end to end: beyond, nothing changes.
_LONGEST = 1e6


@summing_kernel
def _sum_by_level(vectors, weights, levels, n_levels, table):  # type: ignore[no-untyped-def]
    """Make the table of weight x vector of one query's documents; return the sum over pairs of d_i d_j <v_i, v_j>."""
    n, rank = vectors.shape
    for level in range(n_levels + 1):
        for k in range(rank):
            table[level, k] = 0.0
    for i in range(n):
        above, weight = levels[i] + 1, weights[i]
        for k in range(rank):
            table[above, k] += weight * vectors[i, k]
    total = 0.0
    for level in range(n_levels):
        for k in range(rank):
            total += table[level, k] * table[level + 1, k]
        for k in range(rank):
            table[level + 1, k] += table[level, k]
    return total


@kernel
def _subtract_higher(table, n_levels):  # type: ignore[no-untyped-def]
    """Turn row m into the sum over the levels below m minus that over the levels above it."""
    for level in range(n_levels):
        for k in range(table.shape[1]):
            table[level, k] += table[level + 1, k] - table[n_levels, k]


@summing_kernel
def shares_of_all(  # type: ignore[no-untyped-def]
    factors, document_weights, query_weights, query_starts, levels, level_counts, scale, tables, shares
):
    """Shares c with w = sum_i c_i x_i, for all queries; returns the sum of the multipliers of all pairs."""
    total = 0.0
    table = tables[_VECTORS]
    for query in range(len(query_starts) - 1):
        first, last = query_starts[query], query_starts[query + 1]
        of_query = scale * query_weights[query]
        total += of_query * _sum_by_level(
            factors[first:last], document_weights[first:last], levels[first:last], level_counts[query], table
        )
        _subtract_higher(table, level_counts[query])
        for i in range(first, last):
            share = 0.0
            for k in range(factors.shape[1]):
                share += factors[i, k] * table[levels[i], k]
            shares[i] = of_query * document_weights[i] * share
    return total


@summing_kernel
def gradient_of_query(factors, weights, levels, n_levels, columns, tables, gradient):  # type: ignore[no-untyped-def]
    """Row i is sum over lower j of d_j u_j (s_i - s_j - 1) + over higher j of d_j u_j (s_j - s_i - 1).

    Times scale d_i it is the derivative of the objective by u_i. The table of the vectors is left with higher levels
    subtracted. Returns the largest entry of a document with a weight.
    """
    n, rank = factors.shape
    # Only differences of scores count: measured from their mean, they keep their digits.
    mean = 0.0
    for i in range(n):
        mean += columns[_SCORES, i] / n
    for i in range(n):
        columns[_SCORES, i] -= mean
        columns[_WEIGHTED_SCORES, i] = weights[i] * columns[_SCORES, i]
    table, rest = tables[_VECTORS], tables[_SCORED_VECTORS]
    _sum_by_level(factors, weights, levels, n_levels, table)
    _sum_by_level(factors, columns[_WEIGHTED_SCORES], levels, n_levels, rest)
    _subtract_higher(rest, n_levels)
    for level in range(n_levels):
        for k in range(rank):
            rest[level, k] += table[level, k] + table[n_levels, k] - table[level + 1, k]
    _subtract_higher(table, n_levels)
    steepest = 0.0
    for i in range(n):
        level, score = levels[i], columns[_SCORES, i]
        largest = 0.0
        for k in range(rank):
            slope = score * table[level, k] - rest[level, k]
            gradient[i, k] = slope
            largest = max(largest, abs(slope))
        if weights[i] > 0.0:
            steepest = max(steepest, largest)
    return steepest


@summing_kernel
def _direct(factors, weights, rate, moves):  # type: ignore[no-untyped-def]
    """Turn the gradient in `moves` into the way to the projected gradient step, u + move in [0, 1].

    Returns the slope of the objective along it, and the squared length of the projected gradient; both without scale.
    """
    slope, squares = 0.0, 0.0
    for i in range(len(factors)):
        of_document, squares_of_document = 0.0, 0.0
        for k in range(factors.shape[1]):
            here, gradient = factors[i, k], moves[i, k]
            move = min(1.0, max(0.0, here - rate * gradient)) - here
            # Where the box lets nothing move, the projected gradient is zero.
            squares_of_document += gradient * gradient if move != 0.0 else 0.0
            of_document += gradient * move
        for k in range(factors.shape[1]):
            moves[i, k] = min(1.0, max(0.0, factors[i, k] - rate * moves[i, k])) - factors[i, k]
        slope += weights[i] * of_document
        squares += weights[i] * squares_of_document
    return slope, squares


@kernel
def best_step(slope, second, third, fourth):  # type: ignore[no-untyped-def]
    """Where on (0, 1] slope t + second t^2 + third t^3 + fourth t^4 falls no more: 1, or where it turns.

    Its value there is below 0, or the step is 0.
    """
    low, high, step = 0.0, 1.0, 1.0
    for _ in range(_HALVINGS):
        value = slope + step * (second + step * (third + step * fourth))
        derivative = slope + step * (2.0 * second + step * (3.0 * third + step * 4.0 * fourth))
        if value < 0.0 and derivative <= 0.0:
            low = step
            if step == 1.0:
                break
        else:
            high = step
        step = 0.5 * (low + high)
    return low


@summing_kernel
def _plan(factors, weights, levels, n_levels, scale, rates, query, columns, tables, moves, tally):  # type: ignore[no-untyped-def]
    """From the scores of a query: where its vectors move, and how the documents' shares change along the way.

    After a part t of the way they have changed by t x first shares + t^2 x second shares. Returns the slope of the
    objective along the way, and what the scores and the multipliers add to its second coefficient.
    """
    steepest = gradient_of_query(factors, weights, levels, n_levels, columns, tables, moves)
    if not steepest > 0.0:
        return 0.0, 0.0
    rates[query] = min(rates[query] if rates[query] > 0.0 else 1.0 / steepest, _LONGEST / steepest)
    slope, squares = _direct(factors, weights, rates[query], moves)
    tally[SQUARED_GRADIENT] += scale * squares
    tally[VISITS] += 1.0
    by_vectors, by_moves = tables[_VECTORS], tables[_MOVES]
    bend = -_sum_by_level(moves, weights, levels, n_levels, by_moves)
    _subtract_higher(by_moves, n_levels)
    for i in range(len(factors)):
        level, first, second = levels[i], 0.0, 0.0
        for k in range(factors.shape[1]):
            first += moves[i, k] * by_vectors[level, k] + factors[i, k] * by_moves[level, k]
            second += moves[i, k] * by_moves[level, k]
        columns[_FIRST_SHARES, i] = scale * weights[i] * first
        columns[_SECOND_SHARES, i] = scale * weights[i] * second
        bend += weights[i] * second * columns[_SCORES, i]
    return scale * slope, scale * bend


@kernel
def _take(step, factors, rates, query, moves, tally):  # type: ignore[no-untyped-def]
    """Move a query's vectors a part of the way; the next way shall be such that half of it is best."""
    for i in range(len(factors)):
        for k in range(factors.shape[1]):
            factors[i, k] = min(1.0, max(0.0, factors[i, k] + step * moves[i, k]))
    rates[query] *= 2.0 * step
    tally[STEPS] += step


@summing_kernel
def descend_dense(  # type: ignore[no-untyped-def]
    values, document_weights, query_weights, query_starts, levels, level_counts, chosen, scale, factors, weights, rates,
    columns, tables, moves, along, tally,
):  # fmt: skip
    """Move the vectors of the chosen queries, one query after the other, and the weights with them."""
    n_features = values.shape[1]
    for turn in range(len(chosen)):
        query = chosen[turn]
        first, last = query_starts[query], query_starts[query + 1]
        of_query = scale * query_weights[query]
        if level_counts[query] < 2 or of_query == 0.0:
            continue
        for row in range(first, last):
            score = 0.0
            for j in range(n_features):
                score += values[row, j] * weights[j]
            columns[_SCORES, row - first] = score
        vectors, documents, level = factors[first:last], document_weights[first:last], levels[first:last]
        slope, bend = _plan(
            vectors, documents, level, level_counts[query], of_query, rates, query, columns, tables,
            moves[: last - first], tally,
        )  # fmt: skip
        if not slope < 0.0:
            continue
        for j in range(n_features):
            along[0, j] = 0.0
            along[1, j] = 0.0
        for row in range(first, last):
            a, b = columns[_FIRST_SHARES, row - first], columns[_SECOND_SHARES, row - first]
            if a != 0.0 or b != 0.0:
                for j in range(n_features):
                    along[0, j] += a * values[row, j]
                    along[1, j] += b * values[row, j]
        squares, crossed, second_squares = 0.0, 0.0, 0.0
        for j in range(n_features):
            squares += along[0, j] * along[0, j]
            crossed += along[0, j] * along[1, j]
            second_squares += along[1, j] * along[1, j]
        second, fourth = bend + 0.5 * squares, 0.5 * second_squares
        step = best_step(slope, second, crossed, fourth)
        if step > 0.0:
            _take(step, vectors, rates, query, moves, tally)
            tally[DECREASE] -= step * (slope + step * (second + step * (crossed + step * fourth)))
            for j in range(n_features):
                weights[j] += step * (along[0, j] + step * along[1, j])


@kernel
def descend_sparse(  # type: ignore[no-untyped-def]
    values, entries, starts, document_weights, query_weights, query_starts, levels, level_counts, chosen, scale,
    factors, weights, rates, columns, tables, moves, along, tally,
):  # fmt: skip
    """`descend_dense` for compressed rows, whose features are `entries`: only those are read or moved.

    `along` has a row for each feature: its two numbers come from memory together.
    """
    for turn in range(len(chosen)):
        query = chosen[turn]
        first, last = query_starts[query], query_starts[query + 1]
        of_query = scale * query_weights[query]
        if level_counts[query] < 2 or of_query == 0.0:
            continue
        for row in range(first, last):
            score = 0.0
            for entry in range(starts[row], starts[row + 1]):
                score += values[entry] * weights[entries[entry]]
            columns[_SCORES, row - first] = score
        vectors, documents, level = factors[first:last], document_weights[first:last], levels[first:last]
        slope, bend = _plan(
            vectors, documents, level, level_counts[query], of_query, rates, query, columns, tables,
            moves[: last - first], tally,
        )  # fmt: skip
        if not slope < 0.0:
            continue
        for row in range(first, last):
            a, b = columns[_FIRST_SHARES, row - first], columns[_SECOND_SHARES, row - first]
            for entry in range(starts[row], starts[row + 1]):
                along[entries[entry], 0] += a * values[entry]
                along[entries[entry], 1] += b * values[entry]
        # |X' c|^2 = sum_i c_i x_i.(X' c): so no feature that several rows have is counted twice.
        squares, crossed, second_squares = 0.0, 0.0, 0.0
        for row in range(first, last):
            a, b = columns[_FIRST_SHARES, row - first], columns[_SECOND_SHARES, row - first]
            for entry in range(starts[row], starts[row + 1]):
                squares += a * values[entry] * along[entries[entry], 0]
                crossed += a * values[entry] * along[entries[entry], 1]
                second_squares += b * values[entry] * along[entries[entry], 1]
        second, fourth = bend + 0.5 * squares, 0.5 * second_squares
        step = best_step(slope, second, crossed, fourth)
        if step > 0.0:
            _take(step, vectors, rates, query, moves, tally)
            tally[DECREASE] -= step * (slope + step * (second + step * (crossed + step * fourth)))
        for entry in range(starts[first], starts[last]):
            j = entries[entry]
            weights[j] += step * (along[j, 0] + step * along[j, 1])
            along[j, 0] = 0.0
            along[j, 1] = 0.0
