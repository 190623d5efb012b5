"""The red-black tree (Bayer, 1972): no red node has a red child, and every way down meets as many black nodes."""

from __future__ import annotations

from linrank.compiled import kernel
from linrank.objective.structures.search_tree import LEFT, RANK, RIGHT, before, clear, enter, lift

_BLACK, _RED = 0, 1


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
    """Mend what a new red node at the end of the path has broken."""
    while depth > 0 and nodes[path[depth - 1], RANK] == _RED:
        parent, above = path[depth - 1], path[depth - 2]
        side = RIGHT if nodes[above, RIGHT] == parent else LEFT
        uncle = nodes[above, 1 - side]
        if nodes[uncle, RANK] == _RED:
            nodes[parent, RANK] = _BLACK
            nodes[uncle, RANK] = _BLACK
            nodes[above, RANK] = _RED
            depth -= 2
        else:
            if nodes[parent, side] != path[depth]:
                parent = lift(nodes, sums, above, parent, 1 - side)
            lift(nodes, sums, path[depth - 3], above, side)
            nodes[parent, RANK] = _BLACK
            nodes[above, RANK] = _RED
            depth = 0
    nodes[nodes[0, RIGHT], RANK] = _BLACK
