"""Features taken less what one document of their query has: for losses that compare documents nothing changes.

A column that is far from zero and hardly varies within queries, such as the time of a visit, would cost a solver most
of its digits: scores and slopes would be small differences of large numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets
from linrank.dataset.features import DenseFeatures, Features, SparseFeatures
from linrank.dataset.query_blocks import QueryBlock


@dataclass(frozen=True, eq=False)
class QueryOffsets:
    """What is taken off some columns, which ascend: one row a query."""

    columns: Offsets
    taken: NDArray[np.float64]

    @classmethod
    def of(cls, block: QueryBlock, columns: Offsets) -> QueryOffsets:
        """Those of the first document of each query that has a weight, and 0 where some document has 0.

        So a sparse row keeps its entries.
        """
        rows, starts = np.asarray(block.features.to_dense(columns), dtype=np.float64), block.query_starts[:-1]
        weighs = np.flatnonzero(block.document_weights > 0.0)
        # The next document with a weight, or where there is none in the query the first without.
        first = np.append(weighs, block.n_documents)[np.searchsorted(weighs, starts)]
        first = np.where(first < block.query_starts[1:], first, starts)
        whole = np.logical_and.reduceat(rows != 0.0, starts)
        return cls(columns, np.where(whole, rows[first], 0.0))

    def off(self, features: Features, query_starts: Offsets) -> Features:
        """A copy of the rows of the queries without them.

        The differences of numbers that hardly differ are held by their type: nothing is rounded.
        """
        features = features.in_memory()
        query_of_row = np.repeat(np.arange(len(self.taken)), np.diff(query_starts))
        if isinstance(features, SparseFeatures):
            return self._off_sparse(features, query_of_row)
        values = features.values.copy()
        values[:, self.columns] = np.subtract(values[:, self.columns], self.taken[query_of_row], dtype=np.float64)
        return DenseFeatures(values)

    def _off_sparse(self, features: SparseFeatures, query_of_row: Offsets) -> SparseFeatures:
        first, last = int(features.starts[0]), int(features.starts[-1])
        values, columns = features.values[first:last].copy(), features.columns[first:last]
        places = np.minimum(np.searchsorted(self.columns, columns), len(self.columns) - 1)
        entries = np.flatnonzero(self.columns[places] == columns)
        row_of_entry = np.repeat(query_of_row, np.diff(features.starts))[entries]
        values[entries] = np.subtract(values[entries], self.taken[row_of_entry, places[entries]], dtype=np.float64)
        return SparseFeatures(values, columns, features.starts - first, features.n_features)


def without_offsets(block: QueryBlock, columns: Offsets) -> QueryBlock:
    """The block with the columns less what one document of the query has."""
    offsets = QueryOffsets.of(block, columns)
    return replace(block, features=offsets.off(block.features, block.query_starts))
