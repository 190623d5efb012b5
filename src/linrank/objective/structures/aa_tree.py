"""The AA tree (Andersson, 1993): a node may be level with its right child, but with no other of those below it."""

from __future__ import annotations

from linrank.compiled import kernel
from linrank.objective.structures.search_tree import LEFT, RANK, RIGHT, before, clear, enter, lift


@kernel
def sum_events(events, keys, limits, values, query_starts, _key_counts, nodes, sums_of_nodes, path, sums):  # type: ignore[no-untyped-def]
    """Enter and read in the order of the events: sums_p = sum of what was entered by then with a key below limits_p."""
    for query in range(len(query_starts) - 1):
        clear(nodes)
        for turn in range(2 * query_starts[query], 2 * query_starts[query + 1]):
            p = events[turn]
            if p >= 0:
                _balance(nodes, sums_of_nodes, path, enter(nodes, sums_of_nodes, path, keys[p], values[p]))
            else:
                sums[~p] = before(nodes, sums_of_nodes, limits[~p])


@kernel
def _balance(nodes, sums, path, depth):  # type: ignore[no-untyped-def]
    """Above a new node, up to the root: lift a left child that is level, then the middle one of three that are."""
    for place in range(depth - 1, 0, -1):
        node, above = path[place], path[place - 1]
        if nodes[nodes[node, LEFT], RANK] == nodes[node, RANK]:
            node = lift(nodes, sums, above, node, LEFT)
        level, right = nodes[node, RANK], nodes[node, RIGHT]
        if nodes[right, RANK] == level and nodes[nodes[right, RIGHT], RANK] == level:
            nodes[lift(nodes, sums, above, node, RIGHT), RANK] += 1
