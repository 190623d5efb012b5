"""PRSVM+ (Chapelle & Keerthi, 2010): for each level, a problem of two labels, it and all above it; O(l k)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Indices
from linrank.compiled import kernel
from linrank.objective.structures.structure import HoldsAny

if TYPE_CHECKING:
    from linrank.objective.sorted_pairs import SortedPairs


@dataclass(frozen=True, slots=True)
class TwoLevels(HoldsAny):
    """Each pair counts where its lower document's level is the lower one of two: one running sum, a sweep a level."""

    def sweeps(self, documents: SortedPairs, ends: Indices, begins: Indices) -> _Sweeps:
        return _Sweeps(documents, ends, begins)


@dataclass(frozen=True, slots=True)
class _Sweeps:
    documents: SortedPairs
    ends: Indices
    begins: Indices

    def higher(self, values: NDArray[Any]) -> NDArray[Any]:
        return self._sweep(values, self.ends, True)

    def lower(self, values: NDArray[Any]) -> NDArray[Any]:
        return self._sweep(values, self.begins, False)

    def _sweep(self, values: NDArray[Any], bounds: Indices, upward: bool) -> NDArray[Any]:
        sums, block = np.zeros_like(values), self.documents.block
        left = np.empty(int(np.diff(block.query_starts).max(initial=0)), np.int32)
        add_two_levels(
            values, self.documents.levels, bounds, upward, block.query_starts, block.level_counts, left, sums
        )  # fmt: skip
        return sums


@kernel
def add_two_levels(values, levels, bounds, upward, query_starts, level_counts, left, sums):  # type: ignore[no-untyped-def]
    """Add to sums_p the values of p's higher partners, going up the scores, or of its lower ones, going down.

    `left` has the documents of the levels that are left, in the order of the sweep.
    """
    for query in range(len(query_starts) - 1):
        first, last = query_starts[query], query_starts[query + 1]
        n_left = last - first
        for turn in range(n_left):
            left[turn] = first + turn if upward else last - 1 - turn
        for level in range(level_counts[query] - 1):
            total = values[first] * 0.0
            entered = 0
            for turn in range(n_left):
                p = left[turn]
                if (levels[p] == level) != upward:
                    continue
                while entered < n_left and (left[entered] < bounds[p] if upward else left[entered] >= bounds[p]):
                    if (levels[left[entered]] > level) == upward:
                        total += values[left[entered]]
                    entered += 1
                sums[p] += total
            kept = 0
            for turn in range(n_left):
                if levels[left[turn]] > level:
                    left[kept] = left[turn]
                    kept += 1
            n_left = kept
