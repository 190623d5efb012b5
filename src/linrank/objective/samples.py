"""Which documents stand for all: queries by what their ids draw, and rows of those too large to be taken whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from linrank.dataset.query_blocks import QueryBlock
from linrank.objective.placed_blocks import BlockSize, Choice, draws_of_block

# A sample has at least so many queries.
_FEWEST_QUERIES = 8

Choices = Sequence[Choice | None]
"""Of each shard a part, or nothing."""


@dataclass(frozen=True, eq=False)
class Sample:
    """A share of the data in memory, as blocks whose loss is multiplied by a number to stand for the whole.

    `is_part` says that the blocks are queries as they are in the data, so that their loss is a part of its sum.
    """

    blocks: Sequence[tuple[QueryBlock, float]]
    is_part: bool

    @property
    def n_documents(self) -> int:
        return sum(block.n_documents for block, _ in self.blocks)

    def alone(self) -> Sample:
        """The same blocks, each standing for itself."""
        return Sample([(block, 1.0) for block, _ in self.blocks], self.is_part)

    @property
    def scale(self) -> float:
        """How many times as much the whole is, where it is a part."""
        return max((scale for _, scale in self.blocks), default=1.0)


def choose(
    sizes: Sequence[Sequence[BlockSize]],
    share: float,
    below: float,
    taken: Callable[[Choices], Sequence[tuple[int, int]]],
    *,
    thin: bool = True,
    from_: float = 0.0,
) -> Choices:
    """About a share of the documents: whole queries, by their draws, and with `thin` some rows of each spread query.

    All draws are below a number; `taken` says how many queries and documents choices take of each shard. Queries are
    taken from a share of that number on, as long as there are enough.
    """
    thinned = [thin and of_shard[0].is_spread for of_shard in sizes]
    whole = [size for of_shard, is_thinned in zip(sizes, thinned, strict=True) if not is_thinned for size in of_shard]
    fewest = min(_FEWEST_QUERIES, sum(size.n_queries for size in whole))
    wanted, first = share * below, from_ * below
    while True:
        chosen = [
            Choice(
                first + wanted,
                n_documents=max(2, round(share * of_shard[0].n_documents)) if is_thinned else None,
                from_=first,
            )
            for of_shard, is_thinned in zip(sizes, thinned, strict=True)
        ]
        counts = taken(chosen)
        of_whole = [count for count, is_thinned in zip(counts, thinned, strict=True) if not is_thinned]
        if sum(n_queries for n_queries, _ in of_whole) >= fewest:
            break
        first = first if first + 2.0 * wanted <= below else 0.0
        wanted = min(2.0 * wanted, below)
    scale = sum(size.n_documents for size in whole) / max(1, sum(n_documents for _, n_documents in of_whole))
    return [
        None if n_queries == 0 else one if is_thinned else replace(one, scale=scale)
        for one, (n_queries, _), is_thinned in zip(chosen, counts, thinned, strict=True)
    ]


def below_of(chosen: Choices) -> float:
    """What all draws are below of the queries that are chosen."""
    return max(choice.below for choice in chosen if choice)


def runs_below(block: QueryBlock, below: float) -> Iterator[QueryBlock]:
    """The queries that are taken, as views, for a loss that knows documents by their place."""
    chosen = np.flatnonzero(draws_of_block(block) < below)
    for run in np.split(chosen, np.flatnonzero(np.diff(chosen) > 1) + 1):
        if len(run):
            yield block.run(int(run[0]), int(run[-1]) + 1)
