"""The Fenwick tree: entry m holds the sum of the keys from m - (its lowest bit) up to m - 1."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.compiled import kernel


def room(n_keys: int, dtype: type) -> tuple[NDArray[Any], ...]:
    return (np.empty(n_keys + 1, dtype),)


@kernel
def sum_events(events, keys, limits, values, query_starts, key_counts, tree, sums):  # type: ignore[no-untyped-def]
    """Enter and read in the order of the events: sums_p = sum of what was entered by then with a key below limits_p."""
    for query in range(len(query_starts) - 1):
        count = key_counts[query]
        for entry in range(count + 1):
            tree[entry] = 0.0
        for turn in range(2 * query_starts[query], 2 * query_starts[query + 1]):
            p = events[turn]
            if p >= 0:
                entry, value = keys[p] + 1, values[p]
                while entry <= count:
                    tree[entry] += value
                    entry += entry & -entry
            else:
                entry = limits[~p]
                total = tree[0]
                while entry > 0:
                    total += tree[entry]
                    entry &= entry - 1
                sums[~p] = total
