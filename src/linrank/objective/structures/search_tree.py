"""What red-black, AVL and AA trees share: nodes in arrays, entering a value, lifting a child, and sums of smaller keys.

Node 0 stands for every missing child, and above the root, which is its right child. A node has one key, the sum of the
values entered with it, and that of its whole subtree (Lee & Lin's size and xv, side by side in a complex number).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.compiled import kernel

# Columns of a node: its children, what its tree balances by (colour, height or level; 1 when new), and its key. In node
# 0 the place of the key says how many nodes there are.
LEFT, RIGHT, RANK, KEY = 0, 1, 2, 3
# Columns of its sums.
_OWN, _ALL = 0, 1
# A red-black tree of 2 ** 31 nodes is at most 62 deep.
_DEEPEST = 64


def room(n_keys: int, dtype: type) -> tuple[NDArray[Any], ...]:
    """Nodes, their sums, and the way down to the last one entered.

    Unsigned, so that no index is looked at for being counted from the end.
    """
    return np.zeros((n_keys + 1, 4), np.uint32), np.zeros((n_keys + 1, 2), dtype), np.empty(_DEEPEST, np.uint32)


@kernel
def clear(nodes):  # type: ignore[no-untyped-def]
    nodes[0, RIGHT] = 0
    nodes[0, KEY] = 0


@kernel
def enter(nodes, sums, path, key, value):  # type: ignore[no-untyped-def]
    """Add the value to the node of the key, and to the sums of all above it.

    Return the depth of a node that was made, to which `path` leads from node 0; 0 where it was there already.
    """
    path[0] = 0
    depth = 0
    side = RIGHT
    node = nodes[0, RIGHT]
    while node != 0:
        sums[node, _ALL] += value
        if nodes[node, KEY] == key:
            sums[node, _OWN] += value
            return 0
        depth += 1
        path[depth] = node
        side = RIGHT if nodes[node, KEY] < key else LEFT
        node = nodes[node, side]
    node = nodes[0, KEY] + 1
    nodes[0, KEY] = node
    nodes[node, LEFT] = 0
    nodes[node, RIGHT] = 0
    nodes[node, RANK] = 1
    nodes[node, KEY] = key
    sums[node, _OWN] = value
    sums[node, _ALL] = value
    nodes[path[depth], side] = node
    path[depth + 1] = node
    return depth + 1


@kernel
def lift(nodes, sums, above, node, side):  # type: ignore[no-untyped-def]
    """Put the child on one side in a node's place below `above`, and the node below the child; return the child."""
    child = nodes[node, side]
    nodes[above, RIGHT if nodes[above, RIGHT] == node else LEFT] = child
    nodes[node, side] = nodes[child, 1 - side]
    nodes[child, 1 - side] = node
    sums[child, _ALL] = sums[node, _ALL]
    sums[node, _ALL] = sums[node, _OWN] + sums[nodes[node, LEFT], _ALL] + sums[nodes[node, RIGHT], _ALL]
    return child


@kernel
def before(nodes, sums, limit):  # type: ignore[no-untyped-def]
    """The sum of everything entered with a smaller key."""
    total = sums[0, _ALL]
    node = nodes[0, RIGHT]
    while node != 0:
        if nodes[node, KEY] < limit:
            total += sums[node, _OWN] + sums[nodes[node, LEFT], _ALL]
            node = nodes[node, RIGHT]
        elif nodes[node, KEY] == limit:
            return total + sums[nodes[node, LEFT], _ALL]
        else:
            node = nodes[node, LEFT]
    return total
