"""Direct count and the eight-way tree: what is used unless told, by whichever is quicker for a query's labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Indices
from linrank.compiled import kernel
from linrank.objective.structures.structure import HoldsAny

if TYPE_CHECKING:
    from linrank.objective.sorted_pairs import SortedPairs

# Running sums that are added to all at once, in one or two of the processor's registers: no branch to foresee.
_LANES = 8
# Up to this many levels one running sum a level is quicker than the tree; measured by benchmarks/levels.py.
DIRECT_UP_TO = _LANES

# Children of a node of the tree: a node is eight running sums side by side, one line of the processor's cache.
_FAN_OUT_BITS = 3
_FAN_OUT = 1 << _FAN_OUT_BITS


@dataclass(frozen=True, slots=True)
class EightWayTree(HoldsAny):
    """Queries of at most `direct_up_to` levels are summed by direct count, others by a tree over levels.

    The only one that knows pairs of neighbouring levels: they need one running sum a level and nothing else.
    """

    direct_up_to: int = DIRECT_UP_TO
    leaves_out: ClassVar[bool] = True

    def sweeps(self, documents: SortedPairs, ends: Indices, begins: Indices) -> _Sweeps:
        return _Sweeps(documents, ends, begins, self.direct_up_to)


@dataclass(frozen=True, slots=True)
class _Sweeps:
    documents: SortedPairs
    ends: Indices
    begins: Indices
    direct_up_to: int

    def higher(self, values: NDArray[Any]) -> NDArray[Any]:
        sums = np.empty_like(values)
        sum_higher(*self._inputs(values, self.ends), sums)
        return sums

    def lower(self, values: NDArray[Any]) -> NDArray[Any]:
        sums = np.empty_like(values)
        sum_lower(*self._inputs(values, self.begins), sums)
        return sums

    def _inputs(self, values: NDArray[Any], bounds: Indices) -> tuple[Any, ...]:
        block = self.documents.block
        return (
            values, self.documents.levels, bounds, block.query_starts, block.level_counts,
            self.documents.over.pairs == "adjacent", self.direct_up_to,
            *room_for_levels(block.most_levels, values.dtype.type),
        )  # fmt: skip


@kernel
def sum_higher(values, levels, ends, query_starts, level_counts, adjacent, direct_up_to, direct, tree, sums):  # type: ignore[no-untyped-def]
    """sums_p = sum of values over the positions before `ends[p]` with a higher level than p's.

    With `adjacent`, over the next higher level only. Queries of at most `direct_up_to` levels keep one running sum a
    level (Lee & Lin's direct count, O(l k)), others a tree whose leaves are the levels (their selection tree, with
    eight children a node in place of two: O(l log k)). Values may be complex: two sums for little more than one.
    """
    for query in range(len(query_starts) - 1):
        first, last = query_starts[query], query_starts[query + 1]
        count = level_counts[query]
        entered = first
        _clear(direct, tree, count, not adjacent and count > direct_up_to)
        if adjacent:
            for p in range(first, last):
                while entered < ends[p]:
                    direct[levels[entered]] += values[entered]
                    entered += 1
                sums[p] = direct[levels[p] + 1]
        elif count <= min(direct_up_to, _LANES):
            for p in range(first, last):
                while entered < ends[p]:
                    value, own = values[entered], levels[entered]
                    for level in range(_LANES):
                        direct[level] += value if level < own else 0.0
                    entered += 1
                sums[p] = direct[levels[p]]
        elif count <= direct_up_to:
            for p in range(first, last):
                while entered < ends[p]:
                    # Read once: the compiler cannot know that the two arrays do not overlap.
                    value = values[entered]
                    for level in range(levels[entered]):
                        direct[level] += value
                    entered += 1
                sums[p] = direct[levels[p]]
        else:
            for p in range(first, last):
                while entered < ends[p]:
                    _enter(tree, levels[entered], count, values[entered])
                    entered += 1
                sums[p] = _beyond(tree, levels[p], count)


@kernel
def sum_lower(values, levels, begins, query_starts, level_counts, adjacent, direct_up_to, direct, tree, sums):  # type: ignore[no-untyped-def]
    """sums_p = sum of values over the positions from `begins[p]` on with a lower level: `sum_higher` mirrored."""
    for query in range(len(query_starts) - 1):
        first, last = query_starts[query], query_starts[query + 1]
        count = level_counts[query]
        entered = last
        _clear(direct, tree, count, not adjacent and count > direct_up_to)
        if adjacent:
            # One place further up: below the lowest level there is nothing, and it is read too.
            for p in range(last - 1, first - 1, -1):
                while entered > begins[p]:
                    entered -= 1
                    direct[levels[entered] + 1] += values[entered]
                sums[p] = direct[levels[p]]
        elif count <= min(direct_up_to, _LANES):
            for p in range(last - 1, first - 1, -1):
                while entered > begins[p]:
                    entered -= 1
                    value, own = values[entered], levels[entered]
                    for level in range(_LANES):
                        direct[level] += value if level > own else 0.0
                sums[p] = direct[levels[p]]
        elif count <= direct_up_to:
            for p in range(last - 1, first - 1, -1):
                while entered > begins[p]:
                    entered -= 1
                    value = values[entered]
                    for level in range(levels[entered] + 1, count):
                        direct[level] += value
                sums[p] = direct[levels[p]]
        else:
            for p in range(last - 1, first - 1, -1):
                while entered > begins[p]:
                    entered -= 1
                    _enter(tree, count - 1 - levels[entered], count, values[entered])
                sums[p] = _beyond(tree, count - 1 - levels[p], count)


def room_for_levels(most_levels: int, dtype: type) -> tuple[NDArray[Any], NDArray[Any]]:
    """What the sweeps keep their running sums in: one a level and a spare, and the nodes of a tree over the levels.

    Made here and not in the kernels, where it would have to be compiled.
    """
    return np.empty(max(most_levels + 1, _LANES), dtype), np.empty((_nodes(most_levels), _FAN_OUT), dtype)


@kernel
def _clear(direct, tree, count, in_tree):  # type: ignore[no-untyped-def]
    if in_tree:
        for node in range(_nodes(count)):
            for child in range(_FAN_OUT):
                tree[node, child] = 0.0
    else:
        for level in range(max(count + 1, _LANES)):
            direct[level] = 0.0


@kernel
def _nodes(count):  # type: ignore[no-untyped-def]
    """How many nodes a tree over so many levels has, at all depths."""
    total = 0
    while True:
        count = max(1, (count + _FAN_OUT - 1) >> _FAN_OUT_BITS)
        total += count
        if count == 1:
            return total


@kernel
def _enter(tree, level, count, value):  # type: ignore[no-untyped-def]
    """Add the value to the sums of every lower level: at each depth, of the earlier children of the same node."""
    first = 0
    while True:
        count = (count + _FAN_OUT - 1) >> _FAN_OUT_BITS
        node = first + (level >> _FAN_OUT_BITS)
        for child in range(level & (_FAN_OUT - 1)):
            tree[node, child] += value
        if count == 1:
            return
        first += count
        level >>= _FAN_OUT_BITS


@kernel
def _beyond(tree, level, count):  # type: ignore[no-untyped-def]
    """The sum of everything entered with a higher level."""
    total = tree[0, 0] * 0.0
    first = 0
    while True:
        count = (count + _FAN_OUT - 1) >> _FAN_OUT_BITS
        total += tree[first + (level >> _FAN_OUT_BITS), level & (_FAN_OUT - 1)]
        if count == 1:
            return total
        first += count
        level >>= _FAN_OUT_BITS
