"""Sums from a structure of keys: documents are entered and sums read in one order, which is planned once a point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Indices, Offsets
from linrank.compiled import Function, kernel
from linrank.objective.structures import (
    aa_tree,
    avl_tree,
    fenwick_tree,
    red_black_tree,
    search_tree,
    selection_tree,
)
from linrank.objective.structures.structure import HoldsAny

if TYPE_CHECKING:
    from linrank.objective.sorted_pairs import SortedPairs

Key: TypeAlias = Literal["y", "wTx"]
Tree: TypeAlias = Literal["selection", "fenwick", "red-black", "avl", "aa"]

# The compiled loop of each, and what it is kept in for so many keys and a type of values.
_TREES: dict[str, tuple[Function, Callable[[int, type], tuple[NDArray[Any], ...]]]] = {
    "selection": (selection_tree.sum_events, selection_tree.room),
    "fenwick": (fenwick_tree.sum_events, fenwick_tree.room),
    "red-black": (red_black_tree.sum_events, search_tree.room),
    "avl": (avl_tree.sum_events, search_tree.room),
    "aa": (aa_tree.sum_events, search_tree.room),
}


@dataclass(frozen=True, slots=True)
class KeyedSums(HoldsAny):
    """Sums over pairs from a structure that adds up the values of smaller keys (Lee & Lin, sections 2.3 and 2.4).

    Keyed by label ("y"), a query is swept in order of score and the structure has as many keys as labels; keyed by
    score ("wTx"), it is swept in order of label and has a key for every document. The structure goes by its name, so
    that no code travels with a loss to another process.
    """

    key: Key
    tree: Tree

    def sweeps(self, documents: SortedPairs, ends: Indices, begins: Indices) -> _Sweeps:
        block = documents.block
        counts = block.level_counts if self.key == "y" else np.diff(block.query_starts)
        return _Sweeps(
            self, documents, counts, *(self._plan(documents, *way) for way in ((ends, True), (begins, False)))
        )

    def _plan(self, documents: SortedPairs, bounds: Indices, upward: bool) -> _Plan:
        block, n = documents.block, len(bounds)
        events, keys = np.empty(2 * n, np.int32), np.empty(n, np.int32)
        if self.key == "y":
            plan_by_label(documents.levels, bounds, upward, block.query_starts, block.level_counts, events, keys)
            return events, keys, keys
        limits, places = np.empty(n, np.int32), np.empty(n, np.int32)
        starts, filled = np.empty(block.most_levels + 1, np.int64), np.empty(block.most_levels, np.int64)
        plan_by_score(
            documents.rows, documents.levels, bounds, upward, block.query_starts, block.level_counts, places, starts,
            filled, events, keys, limits,
        )  # fmt: skip
        return events, keys, limits


_Plan: TypeAlias = tuple[Indices, Indices, Indices]
"""Events (a position that is entered, or ~position of one whose sum is read), keys of positions, and their limits."""


@dataclass(frozen=True, slots=True)
class _Sweeps:
    structure: KeyedSums
    documents: SortedPairs
    key_counts: Offsets
    upward: _Plan
    downward: _Plan

    def higher(self, values: NDArray[Any]) -> NDArray[Any]:
        return self._sweep(self.upward, values)

    def lower(self, values: NDArray[Any]) -> NDArray[Any]:
        return self._sweep(self.downward, values)

    def _sweep(self, plan: _Plan, values: NDArray[Any]) -> NDArray[Any]:
        sums = np.empty_like(values)
        sum_events, make_room = _TREES[self.structure.tree]
        room = make_room(int(self.key_counts.max(initial=1)), values.dtype.type)
        sum_events(*plan, values, self.documents.block.query_starts, self.key_counts, *room, sums)
        return sums


@kernel
def plan_by_label(levels, bounds, upward, query_starts, level_counts, events, keys):  # type: ignore[no-untyped-def]
    """Up the scores or down: enter what has come within the margin, then read. A key is a level, from the far side."""
    for query in range(len(query_starts) - 1):
        first, last = query_starts[query], query_starts[query + 1]
        highest = level_counts[query] - 1
        event = 2 * first
        entered = 0
        # One turn more, without a reader, for those that no margin reaches.
        for turn in range(last - first + 1):
            p = first + turn if upward else last - 1 - turn
            ready = last - first
            if turn < last - first:
                ready = bounds[p] - first if upward else last - bounds[p]
                keys[p] = highest - levels[p] if upward else levels[p]
            while entered < ready:
                events[event] = first + entered if upward else last - 1 - entered
                event += 1
                entered += 1
            if turn < last - first:
                events[event] = ~p
                event += 1


@kernel
def plan_by_score(  # type: ignore[no-untyped-def]
    rows, levels, bounds, upward, query_starts, level_counts, places, starts, filled, events, keys, limits
):
    """Level by level: read the sums of a level's documents, then enter them. A key is a place in order of score.

    Documents of one level come in the order of their rows, as a sort of labels has them.
    """
    for query in range(len(query_starts) - 1):
        first, last = query_starts[query], query_starts[query + 1]
        count = level_counts[query]
        for level in range(count):
            starts[level + 1] = 0
            filled[level] = 0
        for p in range(first, last):
            places[rows[p]] = p
            keys[p] = p - first if upward else last - 1 - p
            limits[p] = bounds[p] - first if upward else last - bounds[p]
            starts[(count - levels[p]) if upward else levels[p] + 1] += 1
        starts[0] = 0
        for level in range(count):
            starts[level + 1] += starts[level]
        for row in range(first, last):
            p = places[row]
            level = count - 1 - levels[p] if upward else levels[p]
            event = 2 * (first + starts[level]) + filled[level]
            filled[level] += 1
            events[event] = ~p
            events[event + starts[level + 1] - starts[level]] = p
