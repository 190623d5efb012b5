"""Normalisers' loops: every number is of the scores' own type, and sums are in the order of the hits."""

from __future__ import annotations

import math

import numpy as np

from linrank.compiled import kernel


@kernel
def over_span(scores, starts, closeness, floor, normalised):  # type: ignore[no-untyped-def]
    """(s - least) / (most - least), `floor` for 0; 1 where the two are equal."""
    for query in range(len(starts) - 1):
        first, last = starts[query], starts[query + 1]
        if first == last:
            continue
        least = scores[first]
        most = scores[first]
        for hit in range(first + 1, last):
            least = min(least, scores[hit])
            most = max(most, scores[hit])
        span = most - least
        equal = span == 0.0 or span < closeness
        for hit in range(first, last):
            if equal:
                normalised[hit] = 1.0
            else:
                share = (scores[hit] - least) / span
                normalised[hit] = floor if share == 0.0 else share


@kernel
def over_length(scores, starts, in_double, shortest, normalised):  # type: ignore[no-untyped-def]
    """S / sqrt(sum of s²), squares in the scores' own type, their sum too unless `in_double`.

    Where that is 0, so is what is normalised; in double, lengths below `shortest` leave scores as they are.
    """
    for query in range(len(starts) - 1):
        first, last = starts[query], starts[query + 1]
        if first == last:
            continue
        own = scores[first] * scores[first]
        total = np.float64(own)
        for hit in range(first + 1, last):
            square = scores[hit] * scores[hit]
            own = own + square
            total += np.float64(square)
        # Kept in the type of the scores.
        kept = normalised[first : first + 1]
        kept[0] = math.sqrt(own)
        length = kept[0]
        exact = math.sqrt(total)
        for hit in range(first, last):
            if in_double:
                normalised[hit] = scores[hit] if exact < shortest else np.float64(scores[hit]) / exact
            else:
                normalised[hit] = 0.0 if length == 0.0 else scores[hit] / length


@kernel
def over_spread(scores, starts, floor, normalised):  # type: ignore[no-untyped-def]
    """(s - mean) / sd, not below `floor`; the most where s is the mean, the least where all are equal."""
    for query in range(len(starts) - 1):
        first, last = starts[query], starts[query + 1]
        if first == last:
            continue
        n = last - first
        total = 0.0
        least, most = scores[first], scores[first]
        for hit in range(first, last):
            total += np.float64(scores[hit])
            least = min(least, scores[hit])
            most = max(most, scores[hit])
        exact = total / n
        slip = 0.0
        for hit in range(first, last):
            slip += np.float64(scores[hit]) - exact
        # The mean in two passes, and the deviation about it with its own correction.
        exact += slip / n
        squares, slip = 0.0, 0.0
        for hit in range(first, last):
            away = np.float64(scores[hit]) - exact
            squares += away * away
            slip += away
        squares -= slip * slip / n
        spread = math.sqrt(squares / (n - 1)) if n > 1 else 0.0
        # The mean and the deviation are kept in the type of the scores.
        kept = normalised[first : first + 1]
        kept[0] = exact
        mean = kept[0]
        kept[0] = spread
        deviation = kept[0]
        for hit in range(first, last):
            if scores[hit] == mean:
                normalised[hit] = most
            elif deviation == 0.0:
                normalised[hit] = least
            else:
                z = (scores[hit] - mean) / deviation
                normalised[hit] = floor if z <= 0.0 else z
