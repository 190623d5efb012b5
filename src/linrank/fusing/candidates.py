"""Candidates: the documents that an engine fuses, for each query the union of what its legs bring at a depth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Indices, Offsets, Vector, offsets_from_sizes
from linrank.dataset.queries import Queries
from linrank.errors import LinrankError
from linrank.fusing.candidate_kernels import mark_rows, number_rows, put_places
from linrank.fusing.query_ranges import over_queries

# Hits that one thread numbers at a time, each time with work space for all documents.
_HITS_AT_A_TIME = 1 << 20


# Engines compute in float32, which holds the squares of so large numbers, and sums of some hundred of them.
LARGEST_SCORE = 1e18


def refuse_too_large(values: Vector, what: Callable[[int], str]) -> None:
    """Refuse numbers that no engine could fuse; `what` says which the number at a place is."""
    # (A NaN is not at most anything.)
    fits = np.abs(values) <= LARGEST_SCORE
    if not fits.all():
        place = int(np.argmin(fits))
        raise LinrankError(
            f"{what(place)} is {values[place]:g}; only finite numbers of at most {LARGEST_SCORE:g} can be fused. "
            "Divide all of them by the same number, or drop it."
        )


@dataclass(frozen=True, eq=False)
class Leg:
    """The hits of one retriever: query q has `starts[q]:starts[q + 1]`, the highest score first.

    Attributes
    ----------
    name : what it is called
    starts : where each query's hits start
    documents : the number of each hit's document
    scores : as the retriever gave them
    """

    name: str
    starts: Offsets
    documents: Indices
    scores: Vector

    @classmethod
    def of(cls, name: str, queries: Any, documents: Any, scores: Any, n_queries: int) -> Leg:
        """From one query, document and score a hit, in any order; hits of equal scores keep theirs."""
        of_query = np.asarray(queries, dtype=np.int64)
        which = np.asarray(documents, dtype=np.int32)
        values = np.asarray(scores, dtype=np.float64)
        falls = (of_query[1:] > of_query[:-1]) | ((of_query[1:] == of_query[:-1]) & (values[1:] <= values[:-1]))
        if not falls.all():
            order = np.lexsort((-values, of_query))
            of_query, which, values = of_query[order], which[order], values[order]
        return cls(name, offsets_from_sizes(np.bincount(of_query, minlength=n_queries)), which, values)

    def cut(self, depth: int) -> Leg:
        """The first `depth` hits of each query."""
        sizes = np.diff(self.starts)
        if sizes.max(initial=0) <= depth:
            return self
        places = np.arange(len(self.scores)) - np.repeat(self.starts[:-1], sizes)
        kept = places < depth
        starts = offsets_from_sizes(np.minimum(sizes, depth))
        return Leg(self.name, starts, self.documents[kept], self.scores[kept])

    def take(self, queries: Offsets) -> Leg:
        """The hits of some queries, in the order given."""
        if np.array_equal(queries, np.arange(len(self.starts) - 1)):
            return self
        sizes = np.diff(self.starts)[queries]
        starts = offsets_from_sizes(sizes)
        hits = np.arange(starts[-1]) + np.repeat(self.starts[queries] - starts[:-1], sizes)
        return Leg(self.name, starts, self.documents[hits], self.scores[hits])


@dataclass(frozen=True, eq=False)
class Candidates:
    """One row a query's document that any leg brings, each query's rows together, by document.

    Attributes
    ----------
    legs : what they bring, at most `depth` hits a query
    query_ids, document_ids : by number
    starts : query q has the rows `starts[q]:starts[q + 1]`
    documents : the number of each row's document
    rows : for each leg, the row of each of its hits, counted from its query's first
    depth : how many hits a leg brings, at most
    signals : numbers that documents have whatever the query: a column each, by name, one number a document
    """

    legs: tuple[Leg, ...]
    query_ids: Sequence[str]
    document_ids: Sequence[str]
    starts: Offsets
    documents: Indices
    rows: tuple[Indices, ...]
    depth: int
    signals: Mapping[str, Vector]

    @classmethod
    def of(
        cls,
        legs: Sequence[Leg],
        query_ids: Sequence[str],
        document_ids: Sequence[str],
        depth: int,
        signals: Mapping[str, Vector] | None = None,
    ) -> Candidates:
        """The union of the legs' first `depth` hits, query by query."""
        if depth < 1:
            raise LinrankError(f"depth={depth}; a leg brings at least one hit. Use 100, or what the engine fetches.")
        cut = tuple(leg.cut(depth) for leg in legs)
        starts, documents, rows = _union(cut, query_ids, document_ids)
        return cls(cut, query_ids, document_ids, starts, documents, rows, depth, dict(signals or {}))

    @property
    def names(self) -> tuple[str, ...]:
        """Of the legs, then of the signals."""
        return (*self.leg_names, *self.signals)

    @property
    def leg_names(self) -> tuple[str, ...]:
        return tuple(leg.name for leg in self.legs)

    @property
    def n_rows(self) -> int:
        return int(self.starts[-1])

    @property
    def n_queries(self) -> int:
        return len(self.query_ids)

    @property
    def queries(self) -> Queries:
        ids = np.empty(self.n_queries, dtype=object)
        ids[:] = list(self.query_ids)
        return Queries(ids, self.starts, None)

    def without(self, leg: int) -> Candidates:
        """As if one of the legs were not asked: what it alone brings is no candidate."""
        legs = [other for place, other in enumerate(self.legs) if place != leg]
        return Candidates.of(legs, self.query_ids, self.document_ids, self.depth, self.signals)

    def brought_by(self, asked: NDArray[np.bool_], first: int, last: int) -> NDArray[np.bool_]:
        """Of each row of the queries from the first to before the last, whether a leg that is asked brings it."""
        starts = self.starts[first : last + 1] - self.starts[first]
        made = np.zeros(starts[-1], dtype=bool)
        for leg, rows, is_asked in zip(self.legs, self.rows, asked, strict=True):
            if is_asked:
                mark_rows(made, starts, leg.starts[first : last + 1], rows)
        return made

    def ranks(self) -> NDArray[np.int32]:
        """The place of each row's document in each leg, from 1 on; 0 where the leg did not bring it."""
        made = np.zeros((self.n_rows, len(self.legs)), dtype=np.int32)

        def fill(first: int, last: int) -> None:
            for column, (leg, rows) in enumerate(zip(self.legs, self.rows, strict=True)):
                put_places(made, column, self.starts[first : last + 1], leg.starts[first : last + 1], rows)

        over_queries(fill, self.starts)
        return made


def _union(
    legs: Sequence[Leg], query_ids: Sequence[str], document_ids: Sequence[str]
) -> tuple[Offsets, Indices, tuple[Indices, ...]]:
    """Where each query's rows start, the document of each row, and the row of each hit of each leg."""
    rows_of_legs = tuple(np.empty(len(leg.scores), dtype=np.int32) for leg in legs)
    n_documents = len(document_ids)

    def number(first: int, last: int) -> tuple[Offsets, Indices]:
        starts = np.array([leg.starts[first : last + 1] - leg.starts[first] for leg in legs])
        sizes = starts[:, -1]
        leg_starts = offsets_from_sizes(sizes)
        hits = [slice(int(leg.starts[first]), int(leg.starts[last])) for leg in legs]
        documents = np.concatenate([leg.documents[its] for leg, its in zip(legs, hits, strict=True)])
        rows, found = np.empty_like(documents), np.empty_like(documents)
        row_starts = np.zeros(last - first + 1, dtype=np.int64)
        longest = int(np.diff(starts.sum(axis=0)).max(initial=0))
        marks, marked = (np.zeros((n_documents >> bits) + 1, dtype=np.int64) for bits in (5, 10))
        slots, brought_by = np.empty(n_documents, dtype=np.int32), np.empty(longest, dtype=np.int32)
        twice = number_rows(starts, leg_starts, documents, marks, marked, slots, brought_by, rows, found, row_starts)
        if twice >= 0:
            leg = int(np.searchsorted(leg_starts, twice, side="right")) - 1
            query = first + int(np.searchsorted(starts[leg], twice - leg_starts[leg], side="right")) - 1
            raise LinrankError(
                f"leg {legs[leg].name!r} brings document {str(document_ids[int(documents[twice])])!r} twice for query "
                f"{str(query_ids[query])!r}; each is brought once. Drop one of its hits."
            )
        for place, its in enumerate(hits):
            rows_of_legs[place][its] = rows[leg_starts[place] : leg_starts[place + 1]]
        return row_starts, found[: row_starts[-1]].copy()

    parts = over_queries(number, np.sum([leg.starts for leg in legs], axis=0), _HITS_AT_A_TIME)
    if not parts:
        return np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32), rows_of_legs
    sizes = np.concatenate([np.diff(starts) for starts, _ in parts])
    return offsets_from_sizes(sizes), np.concatenate([found for _, found in parts]), rows_of_legs
