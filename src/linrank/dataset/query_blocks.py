"""QueryBlock: whole queries whose features fit in cache, the unit in which everything is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from linrank.arrays import Indices, Offsets, Vector, for_kernels, offsets_from_sizes
from linrank.compiled import kernel
from linrank.dataset.features import Features
from linrank.dataset.queries import draws_of
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.ordering import order_ascending

# The block's features stay in a core's cache, or its share of the last level, between the product with the weights and
# the transposed product with the slopes. Smaller blocks cost more in calls than they save in memory.
BLOCK_BYTES = 1 << 21


@dataclass(frozen=True, slots=True)
class QueryBlock:
    """Consecutive whole queries; query q has the rows `query_starts[q]:query_starts[q + 1]` of the block.

    `levels` numbers the distinct labels of each query in ascending order from 0, and `level_counts` says how many there
    are. `first_row` says where the block stands in the grouped order of its dataset. `draws` decide which queries are
    sampled; a block that nobody samples does without.
    """

    features: Features
    labels: Vector
    levels: Indices
    level_counts: Offsets
    query_starts: Offsets
    document_weights: Vector
    query_weights: Vector
    first_row: int
    draws: Vector | None = None
    most_levels: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # Once: every sum over pairs asks for it.
        object.__setattr__(self, "most_levels", int(self.level_counts.max(initial=1)))

    @property
    def n_documents(self) -> int:
        return len(self.labels)

    @property
    def n_queries(self) -> int:
        return len(self.query_starts) - 1

    @classmethod
    def of(
        cls,
        features: Features,
        labels: Vector,
        query_starts: Offsets,
        document_weights: Vector,
        query_weights: Vector,
        first_row: int = 0,
        draws: Vector | None = None,
    ) -> QueryBlock:
        """A block with its levels found."""
        order = np.empty(len(labels), dtype=np.int64)
        sorted_labels = np.empty(len(labels))
        order_ascending(labels, query_starts, order, sorted_labels)
        levels = np.empty(len(labels), dtype=np.int32)
        level_counts = np.empty(len(query_starts) - 1, dtype=np.int64)
        _find_levels(order, sorted_labels, query_starts, levels, level_counts)
        return cls(
            features, labels, levels, level_counts, query_starts, document_weights, query_weights, first_row, draws
        )

    def run(self, first: int, stop: int) -> QueryBlock:
        """The queries from `first` up to `stop`, as a view."""
        start, end = int(self.query_starts[first]), int(self.query_starts[stop])
        return QueryBlock(
            self.features.rows(start, end),
            self.labels[start:end],
            self.levels[start:end],
            self.level_counts[first:stop],
            self.query_starts[first : stop + 1] - start,
            self.document_weights[start:end],
            self.query_weights[first:stop],
            self.first_row + start,
            None if self.draws is None else self.draws[first:stop],
        )

    def some(self, chosen: Offsets) -> QueryBlock:
        """A copy of the chosen queries, whose numbers ascend; where these are all, the block itself."""
        if len(chosen) == self.n_queries:
            return self
        sizes = np.diff(self.query_starts)[chosen]
        starts = offsets_from_sizes(sizes)
        rows = np.repeat(self.query_starts[chosen] - starts[:-1], sizes) + np.arange(starts[-1])
        return QueryBlock(
            self.features.take(rows),
            self.labels[rows],
            self.levels[rows],
            self.level_counts[chosen],
            starts,
            self.document_weights[rows],
            self.query_weights[chosen],
            self.first_row,
            None if self.draws is None else self.draws[chosen],
        )

    def joined(self, others: Sequence[QueryBlock]) -> QueryBlock:
        """Its queries and, after them, those of the others."""
        if not others:
            return self
        blocks = [self, *others]
        return QueryBlock(
            self.features.in_memory().joined([block.features.in_memory() for block in others]),
            np.concatenate([block.labels for block in blocks]),
            np.concatenate([block.levels for block in blocks]),
            np.concatenate([block.level_counts for block in blocks]),
            offsets_from_sizes(np.concatenate([np.diff(block.query_starts) for block in blocks])),
            np.concatenate([block.document_weights for block in blocks]),
            np.concatenate([block.query_weights for block in blocks]),
            self.first_row,
            None if self.draws is None else np.concatenate([block.draws for block in blocks]),
        )


def cut_into_blocks(
    dataset: RankingDataset, block_bytes: int = BLOCK_BYTES, features: Features | None = None
) -> list[QueryBlock]:
    """Cut a dataset into blocks of at most `block_bytes` of features; a larger query is a block of its own.

    The blocks are views where each query's rows stand together already, and follow one another in grouped order. Data
    that no method can train on is refused. Other `features` of the same rows may stand in the place of the dataset's.
    """
    dataset.check_trainable(shaped=features is not None)
    queries = dataset.queries
    if features is None:
        features = dataset.grouped_features()
    elif queries.order is not None:
        features = features.take(queries.order)
    labels = for_kernels(queries.grouped(dataset.require_labels()))
    document_weights = None if dataset.document_weights is None else queries.grouped(dataset.document_weights)
    draws = draws_of(queries.ids)
    bounds = block_bounds(queries.starts, features.n_bytes, block_bytes)
    # Without weights every block reads the same ones: no memory a document.
    ones = np.ones(max((int(queries.starts[b] - queries.starts[a]) for a, b in bounds), default=0))
    blocks = []
    for first_query, stop_query in bounds:
        start, stop = int(queries.starts[first_query]), int(queries.starts[stop_query])
        blocks.append(
            QueryBlock.of(
                features.rows(start, stop),
                labels[start:stop],
                queries.starts[first_query : stop_query + 1] - start,
                ones[: stop - start] if document_weights is None else document_weights[start:stop],
                np.ones(stop_query - first_query)
                if dataset.query_weights is None
                else dataset.query_weights[first_query:stop_query],
                start,
                draws[first_query:stop_query],
            )
        )
    return blocks


def block_bounds(starts: Offsets, n_bytes: int, block_bytes: int = BLOCK_BYTES) -> Sequence[tuple[int, int]]:
    """Ranges of queries, each as long as fits; `n_bytes` are those of all features."""
    n_queries = len(starts) - 1
    rows_a_block = block_bytes / max(1.0, n_bytes / max(1, int(starts[-1])))
    bounds = []
    first = 0
    while first < n_queries:
        stop = int(np.searchsorted(starts, starts[first] + rows_a_block, side="right")) - 1
        stop = max(stop, first + 1)
        bounds.append((first, stop))
        first = stop
    return bounds


@kernel
def _find_levels(order, sorted_labels, query_starts, levels, level_counts):  # type: ignore[no-untyped-def]
    """Number the distinct labels of each query in ascending order from 0; `order` sorts each query by label."""
    for query in range(len(query_starts) - 1):
        level = -1
        for p in range(query_starts[query], query_starts[query + 1]):
            if p == query_starts[query] or sorted_labels[p] != sorted_labels[p - 1]:
                level += 1
            levels[order[p]] = level
        level_counts[query] = level + 1


@kernel
def subtract_first_rows(values, query_starts, differences):  # type: ignore[no-untyped-def]
    """Each row in float64 minus the first one of its query."""
    for query in range(len(query_starts) - 1):
        first = query_starts[query]
        for i in range(first, query_starts[query + 1]):
            for j in range(values.shape[1]):
                differences[i, j] = np.float64(values[i, j]) - np.float64(values[first, j])
