"""PRSVM (Chapelle & Keerthi, 2010): the pairs within the margin as a list, and each sum a loop over it; O(p)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Indices
from linrank.compiled import kernel
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.stored_dataset import StoredDataset
from linrank.dataset.summary import count_pairs as count_pairs_of_queries
from linrank.memory import memory_bytes

if TYPE_CHECKING:
    from linrank.objective.sorted_pairs import SortedPairs

# Two positions of four bytes, for the point a step is taken from and the one it leads to.
_BYTES_A_PAIR = 16


@dataclass(frozen=True, slots=True)
class ListedPairs:
    """A row of Lee & Lin's matrix A for every pair that counts, as the positions of its 1 and its -1."""

    leaves_out: ClassVar[bool] = False

    def sweeps(self, documents: SortedPairs, ends: Indices, begins: Indices) -> _Sweeps:  # noqa: ARG002
        block = documents.block
        counts = np.zeros(len(ends), np.int64)
        count_pairs(documents.levels, ends, block.query_starts, counts)
        starts = np.cumsum(counts) - counts
        higher, lower = (np.empty(int(counts.sum()), np.int32) for _ in range(2))
        list_pairs(documents.levels, ends, block.query_starts, starts, higher, lower)
        return _Sweeps(higher, lower)

    def refuses(self, dataset: RankingDataset | StoredDataset) -> str | None:
        if isinstance(dataset, StoredDataset):
            return (
                "the data stays on disk, and a list of its pairs would be in memory. Use sums='auto', which lists none."
            )
        n_pairs = int(count_pairs_of_queries(dataset).sum())
        n_bytes = _BYTES_A_PAIR * n_pairs
        if n_bytes <= memory_bytes():
            return None
        return (
            f"{n_pairs:,} pairs take {n_bytes / 1e9:.1f} GB as a list, and there are "
            f"{memory_bytes() / 1e9:.1f} GB of memory. Use sums='auto', which lists none and has the same result."
        )


@dataclass(frozen=True, slots=True)
class _Sweeps:
    of_higher: Indices
    of_lower: Indices

    def higher(self, values: NDArray[Any]) -> NDArray[Any]:
        return _summed(self.of_lower, self.of_higher, values)

    def lower(self, values: NDArray[Any]) -> NDArray[Any]:
        return _summed(self.of_higher, self.of_lower, values)


def _summed(positions: Indices, partners: Indices, values: NDArray[Any]) -> NDArray[Any]:
    sums = np.zeros_like(values)
    add_listed(positions, partners, values, sums)
    return sums


@kernel
def count_pairs(levels, ends, query_starts, counts):  # type: ignore[no-untyped-def]
    """How many higher partners each position has."""
    for query in range(len(query_starts) - 1):
        for p in range(query_starts[query], query_starts[query + 1]):
            for other in range(query_starts[query], ends[p]):
                counts[p] += levels[other] > levels[p]


@kernel
def list_pairs(levels, ends, query_starts, starts, higher, lower):  # type: ignore[no-untyped-def]
    """Write the pairs of each position with its higher partners from `starts[p]` on."""
    for query in range(len(query_starts) - 1):
        for p in range(query_starts[query], query_starts[query + 1]):
            pair = starts[p]
            for other in range(query_starts[query], ends[p]):
                if levels[other] > levels[p]:
                    higher[pair] = other
                    lower[pair] = p
                    pair += 1


@kernel
def add_listed(positions, partners, values, sums):  # type: ignore[no-untyped-def]
    for pair in range(len(positions)):
        sums[positions[pair]] += values[partners[pair]]
