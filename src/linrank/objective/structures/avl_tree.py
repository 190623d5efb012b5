"""The AVL tree (Adelson-Velsky & Landis, 1962): the subtrees of a node differ by one in height at most."""

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
    """Measure the nodes above a new one again, up to where a height is as before, or one is put right."""
    for place in range(depth - 1, 0, -1):
        node = path[place]
        left, right = nodes[nodes[node, LEFT], RANK], nodes[nodes[node, RIGHT], RANK]
        if left > right + 1 or right > left + 1:
            side = LEFT if left > right else RIGHT
            child = nodes[node, side]
            if nodes[nodes[child, 1 - side], RANK] > nodes[nodes[child, side], RANK]:
                lift(nodes, sums, node, child, 1 - side)
                _measure(nodes, child)
            top = lift(nodes, sums, path[place - 1], node, side)
            _measure(nodes, node)
            _measure(nodes, top)
            return
        height = nodes[node, RANK]
        _measure(nodes, node)
        if nodes[node, RANK] == height:
            return


@kernel
def _measure(nodes, node):  # type: ignore[no-untyped-def]
    nodes[node, RANK] = 1 + max(nodes[nodes[node, LEFT], RANK], nodes[nodes[node, RIGHT], RANK])
