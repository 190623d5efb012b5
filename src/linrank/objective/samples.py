"""Which documents stand for all: queries from all over the data, and rows of those too large to be taken whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from linrank.dataset.query_blocks import QueryBlock
from linrank.objective.placed_blocks import BlockSize, Choice

# A sample comes from at least so many places.
_FEWEST_BLOCKS = 8

Choices = list[list[Choice]]
"""Parts of blocks, shard by shard."""


@dataclass(frozen=True, eq=False)
class Sample:
    """A share of the data in memory, as blocks whose loss is multiplied by a number to stand for the whole."""

    blocks: Sequence[tuple[QueryBlock, float]]

    @property
    def n_documents(self) -> int:
        return sum(block.n_documents for block, _ in self.blocks)


def choose(sizes: Sequence[Sequence[BlockSize]], n_documents: int, *, thin: bool = True) -> Choices:
    """About so many documents: the first queries of some blocks, and with `thin` some rows of each that is spread."""
    chosen: Choices = [[] for _ in sizes]
    blocks = [(shard, place, size) for shard, of_shard in enumerate(sizes) for place, size in enumerate(of_shard)]
    share = min(1.0, n_documents / max(1, sum(size.n_documents for _, _, size in blocks)))
    small = [block for block in blocks if not (thin and block[2].is_spread)]
    if small:
        count = min(len(small), max(_FEWEST_BLOCKS, round(share * len(small))))
        of_each = share * len(small) / count
        for number in np.linspace(0, len(small) - 1, count).round().astype(int):
            shard, place, size = small[number]
            chosen[shard].append(Choice(place, min(size.n_queries, max(1, round(of_each * size.n_queries)))))
    for shard, place, size in blocks:
        if thin and size.is_spread:
            chosen[shard].append(Choice(place, 1, n_documents=max(2, round(share * size.n_documents))))
    return chosen


def standing_for_all(
    chosen: Choices, sizes: Sequence[Sequence[BlockSize]], taken: Sequence[Sequence[BlockSize]]
) -> Choices:
    """The same choices, with the scale by which the queries taken whole stand for all that are not thinned."""
    there = sum(size.n_documents for of_shard in sizes for size in of_shard)
    kept = 0
    for of_shard, sizes_of_shard, taken_of_shard in zip(chosen, sizes, taken, strict=True):
        for one, size in zip(of_shard, taken_of_shard, strict=True):
            if one.is_thinned:
                there -= sizes_of_shard[one.place].n_documents
            else:
                kept += size.n_documents
    return [[one if one.is_thinned else replace(one, scale=there / kept) for one in of_shard] for of_shard in chosen]
