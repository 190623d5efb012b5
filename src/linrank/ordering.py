"""Sorting within queries: the one compiled sort that training and evaluation share."""

from __future__ import annotations

import numpy as np

from linrank.compiled import kernel

# Runs this short are put in order by comparing all their pairs, without a branch: quicker than merging them.
_SHORT_RUN = 8


@kernel
def order_ascending(scores, query_starts, order, sorted_scores):  # type: ignore[no-untyped-def]
    """Write the rows of each query in ascending order of score, equal scores in the order given, and their scores.

    `query_starts`, `order` and `sorted_scores` index into `scores`. NaN comes last. O(l log l) for a query of l
    documents, O(l) where it is in order already.
    """
    for row in range(query_starts[0], query_starts[-1]):
        sorted_scores[row] = scores[row]
        order[row] = row
    _sort_queries(sorted_scores, order, query_starts)


@kernel
def order_descending(scores, query_starts, order, sorted_scores):  # type: ignore[no-untyped-def]
    """Like `order_ascending`, from the highest score to the lowest; equal scores in the order given, NaN last, too."""
    for row in range(query_starts[0], query_starts[-1]):
        sorted_scores[row] = -scores[row]
        order[row] = row
    _sort_queries(sorted_scores, order, query_starts)
    for row in range(query_starts[0], query_starts[-1]):
        sorted_scores[row] = -sorted_scores[row]


@kernel
def _sort_queries(keys, rows, query_starts):  # type: ignore[no-untyped-def]
    longest = 0
    for q in range(len(query_starts) - 1):
        longest = max(longest, query_starts[q + 1] - query_starts[q])
    other_keys = np.empty(longest, dtype=np.float64)
    other_rows = np.empty(longest, dtype=np.int64)
    for q in range(len(query_starts) - 1):
        start, stop = query_starts[q], query_starts[q + 1]
        _sort(keys[start:stop], rows[start:stop], other_keys, other_rows)


@kernel
def _sort(keys, rows, other_keys, other_rows):  # type: ignore[no-untyped-def]
    """Sort `keys` ascending and stably, carrying `rows` along: short runs first, then merging them in pairs."""
    n = len(keys)
    in_order = 1
    while in_order < n and keys[in_order - 1] <= keys[in_order]:
        in_order += 1
    if in_order >= n:
        return
    # What follows counts on an order in which any two keys compare.
    n = _put_nan_last(keys, rows, other_keys, other_rows)
    whole = n - n % _SHORT_RUN
    for start in range(0, whole, _SHORT_RUN):
        _sort_short(keys, rows, start, _SHORT_RUN, other_keys, other_rows)
    _sort_short(keys, rows, whole, n - whole, other_keys, other_rows)
    from_keys, from_rows, to_keys, to_rows = other_keys, other_rows, keys, rows
    in_place = False
    width = _SHORT_RUN
    while width < n:
        for start in range(0, n, 2 * width):
            middle = min(start + width, n)
            _merge(from_keys, from_rows, start, middle, min(start + 2 * width, n), to_keys, to_rows)
        from_keys, from_rows, to_keys, to_rows = to_keys, to_rows, from_keys, from_rows
        in_place = not in_place
        width *= 2
    if not in_place:
        for i in range(n):
            keys[i] = other_keys[i]
            rows[i] = other_rows[i]


@kernel
def _put_nan_last(keys, rows, other_keys, other_rows):  # type: ignore[no-untyped-def]
    """Move the keys that are NaN behind the others, each kind in the order given; return how many others there are."""
    n = len(keys)
    n_nan = 0
    for i in range(n):
        n_nan += int(keys[i] != keys[i])
    if n_nan == 0:
        return n
    ahead, behind = 0, n - n_nan
    for i in range(n):
        is_nan = int(keys[i] != keys[i])
        place = behind if is_nan else ahead
        other_keys[place] = keys[i]
        other_rows[place] = rows[i]
        behind += is_nan
        ahead += 1 - is_nan
    for i in range(n):
        keys[i] = other_keys[i]
        rows[i] = other_rows[i]
    return n - n_nan


@kernel
def _sort_short(keys, rows, start, n, to_keys, to_rows):  # type: ignore[no-untyped-def]
    """Write each of n keys where as many come before it as are smaller, or equal and to its left."""
    for i in range(n):
        key = keys[start + i]
        place = start
        for j in range(n):
            place += int(keys[start + j] <= key) if j < i else int(keys[start + j] < key)
        to_keys[place] = key
        to_rows[place] = rows[start + i]


@kernel
def _merge(keys, rows, start, middle, stop, to_keys, to_rows):  # type: ignore[no-untyped-def]
    """Merge the sorted runs start..middle and middle..stop; of equal keys the left one comes first."""
    left, right, out = start, middle, start
    while left < middle and right < stop:
        left_key, right_key = keys[left], keys[right]
        # Arithmetic in place of a branch: which side comes next is a coin toss the processor cannot foresee.
        from_right = int(right_key < left_key)
        to_keys[out] = right_key if from_right else left_key
        to_rows[out] = rows[left + from_right * (right - left)]
        right += from_right
        left += 1 - from_right
        out += 1
    while left < middle:
        to_keys[out] = keys[left]
        to_rows[out] = rows[left]
        left += 1
        out += 1
    while right < stop:
        to_keys[out] = keys[right]
        to_rows[out] = rows[right]
        right += 1
        out += 1
