"""A dataset as online learners read it: each query's documents also in order of label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linrank.arrays import Indices, Offsets, Vector, for_kernels
from linrank.dataset.features import Features
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.online import ftrl_kernels as kernels
from linrank.ordering import order_ascending

# In longer queries the pairs are so many that sorting by score is quicker than visiting them all: measured, from 1,000
# documents on where all labels differ, and from 2,000 where few do.
LONGEST_VISITED = 1024


@dataclass(frozen=True, eq=False)
class QueriesByLabel:
    """A dataset's queries, with the documents of each also in order of label."""

    features: Features
    labels: Vector
    query_starts: Offsets
    document_weights: Vector
    query_weights: Vector
    rows: Indices
    """Position by position, the document of its query with that place among the labels."""
    lower: Indices
    """How many documents of the query have a lower label than the one at the position."""

    @classmethod
    def of(cls, dataset: RankingDataset) -> QueriesByLabel:
        queries, n = dataset.queries, dataset.n_documents
        labels = for_kernels(queries.grouped(dataset.require_labels()))
        weights = np.ones(n) if dataset.document_weights is None else queries.grouped(dataset.document_weights)
        query_weights = np.ones(queries.n_queries) if dataset.query_weights is None else dataset.query_weights
        rows, lower = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        room = (
            np.empty(LONGEST_VISITED),
            np.empty((3, LONGEST_VISITED), np.int64),
            np.empty(LONGEST_VISITED, np.int64),
        )
        kernels.order_by_label(labels, queries.starts, LONGEST_VISITED, *room, rows, lower)
        for query in np.flatnonzero(queries.sizes > LONGEST_VISITED):
            part = slice(queries.starts[query], queries.starts[query + 1])
            order, in_order = np.empty(queries.sizes[query], np.int64), np.empty(queries.sizes[query])
            order_ascending(labels[part], np.array([0, len(order)]), order, in_order)
            rows[part], lower[part] = order, np.searchsorted(in_order, in_order)
        return cls(
            dataset.grouped_features(),
            labels,
            queries.starts,
            for_kernels(weights),
            for_kernels(query_weights),
            rows,
            lower,
        )

    @property
    def sizes(self) -> Offsets:
        return np.diff(self.query_starts)
