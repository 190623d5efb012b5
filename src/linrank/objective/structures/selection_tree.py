"""The binary selection tree (Knuth, 1973), Lee & Lin's choice: keys are leaves, and no node needs a pointer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.compiled import kernel


def room(n_keys: int, dtype: type) -> tuple[NDArray[Any], ...]:
    """The nodes, of which 2 m and 2 m + 1 are the children of m; node 1 is the root."""
    return (np.empty(2 * int(_leaves(n_keys)), dtype),)


@kernel
def _leaves(count):  # type: ignore[no-untyped-def]
    leaves = 1
    while leaves < count:
        leaves *= 2
    return leaves


@kernel
def sum_events(events, keys, limits, values, query_starts, key_counts, tree, sums):  # type: ignore[no-untyped-def]
    """Enter and read in the order of the events: sums_p = sum of what was entered by then with a key below limits_p.

    Every limit is a key too.
    """
    for query in range(len(query_starts) - 1):
        leaves = _leaves(key_counts[query])
        for node in range(2 * leaves):
            tree[node] = 0.0
        for turn in range(2 * query_starts[query], 2 * query_starts[query + 1]):
            p = events[turn]
            if p >= 0:
                node, value = leaves + keys[p], values[p]
                while node > 0:
                    tree[node] += value
                    node >>= 1
            else:
                node = leaves + limits[~p]
                # Node 0 has no place in the tree, and holds zero.
                total = tree[0]
                while node > 1:
                    if node & 1:
                        total += tree[node - 1]
                    node >>= 1
                sums[~p] = total
