"""Unretrieved: the labels of judged documents that are not among the rows, which a measure must know all the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from linrank.arrays import Offsets, Vector, offsets_from_sizes


@dataclass(frozen=True, slots=True, eq=False)
class Unretrieved:
    """Labels of documents that were judged for a query and that nothing retrieved: they are relevant, and missed.

    Query q, in the order of the dataset's queries, has `labels[starts[q]:starts[q + 1]]`.
    """

    labels: Vector
    starts: Offsets

    @classmethod
    def of(cls, labels_of_queries: Sequence[Sequence[float]]) -> Unretrieved:
        """From the labels of each query."""
        labels = np.array(list(chain.from_iterable(labels_of_queries)), dtype=np.float64)
        return cls(labels, offsets_from_sizes(np.array([len(labels) for labels in labels_of_queries], dtype=np.int64)))

    def take(self, queries: Offsets) -> Unretrieved:
        """Of the given queries, in the given order."""
        return Unretrieved.of([self.labels[self.starts[q] : self.starts[q + 1]].tolist() for q in queries.tolist()])

    def between(self, first: int, last: int) -> Unretrieved:
        """Of the consecutive queries from `first` up to, not including, `last`: a view."""
        start, stop = self.starts[first], self.starts[last]
        return Unretrieved(self.labels[start:stop], self.starts[first : last + 1] - start)
