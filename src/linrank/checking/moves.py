"""What moves when scores change: queries by a measure, documents by their ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linrank.arrays import Offsets, Vector, for_kernels
from linrank.dataset.queries import Queries
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.ordering import order_descending

TOP = 10
"""What a user of a search engine sees."""


@dataclass(frozen=True)
class QueryMove:
    """A query, and its measure before and after."""

    query: Any
    before: float
    after: float

    @property
    def difference(self) -> float:
        return self.after - self.before


@dataclass(frozen=True)
class DocumentMove:
    """A document, and its rank in its query before and after, from 1.

    `document` is its id, or where the data has none its row, from 0.
    """

    query: Any
    document: str
    label: float
    before: int
    after: int


@dataclass(frozen=True)
class Ranks:
    """The rank of each document in its query, from 1, before and after; each query's documents together."""

    before: Offsets
    after: Offsets
    queries: Queries

    @classmethod
    def of(cls, before: Vector, after: Vector, queries: Queries) -> Ranks:
        return cls(_ranks(before, queries), _ranks(after, queries), queries)

    def n_changed(self, top: int) -> int:
        """In how many queries other documents are among the first `top`."""
        enters_or_leaves = (self.before <= top) != (self.after <= top)
        return int(np.logical_or.reduceat(enters_or_leaves, self.queries.starts[:-1]).sum())

    def largest_moves(self, data: RankingDataset, most: int) -> tuple[DocumentMove, ...]:
        """The documents that gain or lose most of 1 / log2(rank + 1) among the first ten, 0 below: NDCG@10's weight."""
        change = np.abs(_seen(self.after) - _seen(self.before))
        # Stable, so that equal ones keep the order of the data.
        chosen = [int(place) for place in np.argsort(-change, kind="stable")[:most] if change[place] > 0.0]
        of_query = np.searchsorted(self.queries.starts, chosen, side="right") - 1
        docids, queries = data.docids if chosen else None, self.queries.ids.tolist()
        labels = data.require_labels()
        moves = []
        for place, query in zip(chosen, of_query.tolist(), strict=True):
            row = place if self.queries.order is None else int(self.queries.order[place])
            document = str(row) if docids is None else docids[row]
            ranks = int(self.before[place]), int(self.after[place])
            moves.append(DocumentMove(queries[query], document, float(labels[row]), *ranks))
        return tuple(moves)


def _ranks(scores: Vector, queries: Queries) -> Offsets:
    grouped = for_kernels(queries.grouped(np.ascontiguousarray(scores, dtype=np.float64)))
    order, descending = np.empty(len(grouped), dtype=np.int64), np.empty(len(grouped))
    order_descending(grouped, queries.starts, order, descending)
    ranks = np.empty_like(order)
    ranks[order] = np.arange(1, len(order) + 1) - np.repeat(queries.starts[:-1], queries.sizes)
    return ranks


def _seen(ranks: Offsets) -> Vector:
    return np.where(ranks <= TOP, 1.0 / np.log2(ranks + 1.0), 0.0)
