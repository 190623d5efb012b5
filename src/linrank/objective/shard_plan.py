"""Which blocks make a shard: by the data alone, so that sums have the same bits whoever adds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from linrank.objective.placed_blocks import BlockSize

# Enough shards to keep many threads busy; where there is more data than that, one for each so many bytes.
_MOST_SHARDS = 32
_SHARD_BYTES = 1 << 28
# Of a query that is spread, where the shards are given.
CHUNKS_OF_A_QUERY = _MOST_SHARDS


@dataclass(frozen=True)
class ShardPlan:
    """Which blocks make a shard, by their places; which are queries that are spread over chunks, and how many."""

    whole: list[list[int]]
    spread: list[int]
    n_chunks: int

    @classmethod
    def of(cls, sizes: Sequence[BlockSize], n_features: int) -> ShardPlan:
        n_shards = _number_of_shards(sizes, n_features)
        small = [place for place, size in enumerate(sizes) if not size.is_large]
        spread = [place for place, size in enumerate(sizes) if size.is_large]
        return cls(_runs(small, sizes, n_shards), spread, n_shards)


def _number_of_shards(sizes: Sequence[BlockSize], n_features: int) -> int:
    """Each shard adds into a vector of its own: wide sparse data gets few, so that these stay smaller than the data."""
    n_bytes = sum(size.n_bytes for size in sizes)
    affordable = n_bytes // max(1, 128 * n_features)
    return max(2, min(max(_MOST_SHARDS, n_bytes // _SHARD_BYTES), 1 << max(0, int(affordable).bit_length() - 1)))


def _runs(places: Sequence[int], sizes: Sequence[BlockSize], n_shards: int) -> list[list[int]]:
    """Consecutive blocks in runs of about equal numbers of documents."""
    if not places:
        return []
    documents = np.cumsum([sizes[place].n_documents for place in places])
    shard_of = (documents - 1) * n_shards // documents[-1]
    return [run.tolist() for run in np.split(np.asarray(places), np.flatnonzero(np.diff(shard_of)) + 1)]
