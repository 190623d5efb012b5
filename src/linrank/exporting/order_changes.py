"""What a target's arithmetic does to the order of documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from linrank.arrays import Vector

if TYPE_CHECKING:
    from linrank.dataset.queries import Queries


@dataclass(frozen=True)
class OrderChanges:
    """Of the pairs of documents of one query that a model orders: how many another scoring reverses, or ties."""

    pairs: int
    reversed: int
    tied: int

    def __str__(self) -> str:
        changes = f"{self.reversed:,} change order, {self.tied:,} become ties"
        return f"of {self.pairs:,} pairs of documents of one query, {changes}"


def order_changes(before: Vector, after: Any, queries: Queries) -> OrderChanges:
    """Count the pairs that two scorings order differently, in O(l log l)."""
    from linrank.measures.ranked_queries import RankedQueries

    after, before = (queries.grouped(np.asarray(scores, dtype=np.float64)) for scores in (after, before))
    # The first scoring takes the place of the labels: what it puts apart is a pair.
    counts = RankedQueries(after, before, queries.starts).pair_counts(None)
    pairs, concordant, tied = (int(count.sum()) for count in counts[:3])
    return OrderChanges(pairs, pairs - concordant - tied, tied)
