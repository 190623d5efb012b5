"""What pairs weigh so that every query counts alike, and those at the top of the present order the most.

A weighting makes of a block's own weights others, of documents and of queries; a pair weighs the product of its two
documents' and its query's as before, so that every loss over pairs takes them as they are, in the same time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np

from linrank.arrays import Offsets, Vector
from linrank.compiled import kernel
from linrank.dataset.query_blocks import QueryBlock
from linrank.objective import ndcg_kernels
from linrank.objective.ndcg_weighted import discount_table
from linrank.objective.sorted_pairs import Pairs, PairSums, SortedPairs


@dataclass(frozen=True, slots=True)
class WeightsOfBlock:
    """One weight a document and one a query, in the places of a block's own."""

    documents: Vector
    queries: Vector

    def on(self, block: QueryBlock) -> QueryBlock:
        """The block with these weights."""
        return replace(block, document_weights=self.documents, query_weights=self.queries)

    def some(self, chosen: Offsets, sizes: Offsets) -> WeightsOfBlock:
        """Those of the chosen queries, of a block whose queries have these sizes."""
        rows = np.repeat(np.isin(np.arange(len(sizes)), chosen), sizes)
        return WeightsOfBlock(self.documents[rows], self.queries[chosen])

    @classmethod
    def joined(cls, parts: Sequence[WeightsOfBlock]) -> WeightsOfBlock:
        """The weights of several blocks, one after the other."""
        return cls(np.concatenate([part.documents for part in parts]), np.concatenate([part.queries for part in parts]))


class Weighting(Protocol):
    """What documents and queries weigh, by their labels and, where `by_scores`, by an order of the documents."""

    by_scores: ClassVar[bool]

    def of(self, block: QueryBlock, scores: Vector | None) -> WeightsOfBlock: ...


@dataclass(frozen=True)
class EqualQueries:
    """Each query's pairs weigh as much together as the query: pair (i, j) weighs q d_i d_j / sum of d_i d_j."""

    by_scores: ClassVar[bool] = False

    pairs: Pairs = "all"

    def of(self, block: QueryBlock, scores: Vector | None) -> WeightsOfBlock:  # noqa: ARG002
        return _each_alike(block, block.document_weights, self.pairs)


@dataclass(frozen=True)
class NDCGDocuments:
    """The same with d_i a_i in place of d_i, a_i = 2^max(y_i, 0) / log2(1 + rank_i), ranks by given scores.

    So a pair weighs the more, the more its documents may change of NDCG. Of equal scores the lower label is ranked
    first, equal scores with equal labels share the mean of 1 / log2(1 + rank), and a document of weight d takes d
    ranks, as its copies would: the order of the rows decides nothing.
    """

    by_scores: ClassVar[bool] = True

    pairs: Pairs = "all"

    def of(self, block: QueryBlock, scores: Vector | None) -> WeightsOfBlock:
        assert scores is not None, "ranks go by scores"
        documents = SortedPairs.of(scores, block, PairSums())
        heaviest = ndcg_kernels.heaviest_query(block.document_weights, block.query_starts)
        discounts, weights = np.empty(len(scores)), np.empty(len(scores))
        ndcg_kernels.find_discounts(
            documents.scores, documents.levels, documents.weights, block.query_starts, discount_table(heaviest),
            np.zeros(block.most_levels), discounts,
        )  # fmt: skip
        _weigh_documents(documents.rows, documents.weights, discounts, block.labels, block.query_starts, weights)
        return _each_alike(block, weights, self.pairs)


def _each_alike(block: QueryBlock, documents: Vector, pairs: Pairs) -> WeightsOfBlock:
    """Weights of documents, and those of queries for which each query's pairs weigh what the query does."""
    made = WeightsOfBlock(np.empty(block.n_documents), np.empty(block.n_queries))
    _share_queries(
        block.levels, documents, block.query_starts, block.level_counts, block.query_weights, pairs == "adjacent",
        np.empty(block.most_levels), made.documents, made.queries,
    )  # fmt: skip
    return made


# Labels so many below the highest of the query weigh no less: their pairs would otherwise vanish from float64.
_LOWEST = -60.0


@kernel
def _weigh_documents(rows, weights, discounts, labels, query_starts, weighed):  # type: ignore[no-untyped-def]
    """Write weight x 2^max(label, 0) x discount, relative to the power of the query's highest label, by row."""
    for query in range(len(query_starts) - 1):
        top = 0.0
        for row in range(query_starts[query], query_starts[query + 1]):
            top = max(top, labels[row])
        for p in range(query_starts[query], query_starts[query + 1]):
            row = rows[p]
            weighed[row] = weights[p] * 2.0 ** max(max(labels[row], 0.0) - top, _LOWEST) * discounts[p]


@kernel
def _share_queries(  # type: ignore[no-untyped-def]
    levels, weights, query_starts, level_counts, query_weights, adjacent, level_weights, of_documents, of_queries
):
    """Write each weight / the query's largest, and each query's weight / what its pairs then weigh: 0 without any."""
    for query in range(len(query_starts) - 1):
        first, last = query_starts[query], query_starts[query + 1]
        largest = 0.0
        for row in range(first, last):
            largest = max(largest, weights[row])
        for level in range(level_counts[query]):
            level_weights[level] = 0.0
        for row in range(first, last):
            of_documents[row] = weights[row] / largest if largest > 0.0 else 0.0
            level_weights[levels[row]] += of_documents[row]
        total, lower = 0.0, 0.0
        for level in range(level_counts[query]):
            total += lower * level_weights[level]
            lower = level_weights[level] if adjacent else lower + level_weights[level]
        of_queries[query] = query_weights[query] / total if total > 0.0 else 0.0
