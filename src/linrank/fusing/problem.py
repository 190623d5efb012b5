"""FusionProblem: judged candidates as an engine sees them, what is trained on, and what is measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector, offsets_from_sizes
from linrank.cached import cached_property
from linrank.dataset.queries import Queries
from linrank.dataset.unretrieved import Unretrieved
from linrank.errors import LinrankError
from linrank.fusing.candidate_kernels import find_rows
from linrank.fusing.candidates import Candidates
from linrank.fusing.engine import FusionEngine
from linrank.fusing.fusers import Fuser
from linrank.fusing.pair_kernels import select_deep
from linrank.fusing.pairwise import LabelledRows
from linrank.fusing.query_ranges import over_queries
from linrank.fusing.scored import EngineCandidates
from linrank.measures import Judgements, Measure, evaluate

# To start threads takes as long as to sort so many.
_ROWS_WITHOUT_THREADS = 1 << 18
# A measure of no more documents does not want a whole order.
_DEEPEST = 200

UNJUDGED = {
    "irrelevant": "documents that nobody judged count as irrelevant, in training and in the measure",
    "left-out": "documents that nobody judged are not trained on; the measure counts them as irrelevant",
    "condensed": "documents that nobody judged are not trained on, and are taken out of the lists that are measured",
}


@dataclass(frozen=True, eq=False)
class JudgedDocuments:
    """Judgements by number, query after query: the query, the document (-1 for one that no leg knows) and the label."""

    queries: Offsets
    documents: Offsets
    labels: Vector

    @classmethod
    def of(cls, labels: Mapping[str, Mapping[str, float]], query_ids: Any, document_ids: Any) -> JudgedDocuments:
        place = {name: number for number, name in enumerate(document_ids)}
        queries, documents, values = [], [], []
        for number, query in enumerate(query_ids):
            for document, label in labels.get(query, {}).items():
                queries.append(number)
                documents.append(place.get(document, -1))
                values.append(label)
        whole = (np.array(queries, dtype=np.int64), np.array(documents, dtype=np.int64))
        return cls(*whole, np.array(values, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class FusionProblem(EngineCandidates):
    """Candidates of judged queries, as an engine sees them.

    Attributes
    ----------
    judged : what people said of documents
    measure : what decides
    unjudged : "irrelevant", "left-out" or "condensed"
    labels : of the rows; NaN where nobody judged
    unretrieved : labels of judged documents that no leg brought
    """

    judged: JudgedDocuments
    measure: Measure
    unjudged: str
    labels: Vector
    unretrieved: Unretrieved | None
    _known: dict[Fuser, Vector] = field(default_factory=dict)

    @classmethod
    def of(
        cls, engine: FusionEngine, candidates: Candidates, judged: JudgedDocuments, measure: Measure, unjudged: str
    ) -> FusionProblem:
        if unjudged not in UNJUDGED:
            raise LinrankError(f"unjudged={unjudged!r}; use {', '.join(map(repr, UNJUDGED))}.")
        reason = engine.refuses(candidates)
        if reason is not None:
            raise LinrankError(reason)
        labels, unretrieved = _labels(candidates, judged)
        return cls(engine, candidates, judged, measure, unjudged, labels, unretrieved)

    @property
    def n_queries(self) -> int:
        return self.candidates.n_queries

    @cached_property
    def _counted(self) -> Vector:
        """The labels, 0 where nobody judged."""
        return np.where(np.isnan(self.labels), 0.0, self.labels)

    @cached_property
    def training(self) -> LabelledRows:
        """The rows that are trained on, in units of the columns' spreads."""
        labels = self._counted if self.unjudged == "irrelevant" else self.labels
        return LabelledRows.of(self.matrix, labels, self.candidates.starts, 1.0 / self.spreads)

    def measured(self, scores: Vector) -> Vector:
        """The measure of each query, for one score a candidate, -inf for one that is not in the list; NaN where a query
        is skipped.
        """
        kept, starts = self._measured_rows(scores)
        candidates, unretrieved = self.candidates, self.unretrieved
        gone = np.isneginf(scores)
        if gone.any():
            there = np.zeros(len(scores), dtype=bool)
            there[kept] = True
            kept = there & ~gone
            starts, unretrieved = _starts_of(kept, candidates.starts), self._unretrieved_with(gone)
        docids = None
        if self.measure.ties == "docid":
            docids = [candidates.document_ids[number] for number in candidates.documents[kept].tolist()]
        judged = Judgements(self._counted[kept], Queries(candidates.queries.ids, starts, None), docids, unretrieved)
        threads = 1 if starts[-1] <= _ROWS_WITHOUT_THREADS else None
        found = evaluate(np.ascontiguousarray(scores[kept]), judged, [self.measure], n_threads=threads)
        return found.per_query[self.measure]

    def _unretrieved_with(self, gone: NDArray[np.bool_]) -> Unretrieved:
        """The labels of judged documents that no leg brought or that are `gone`."""
        missed = np.flatnonzero(gone & ~np.isnan(self.labels))
        queries, labels = np.searchsorted(self.candidates.starts, missed, side="right") - 1, self.labels[missed]
        if self.unretrieved is not None:
            before = np.repeat(np.arange(self.n_queries), np.diff(self.unretrieved.starts))
            queries, labels = np.append(before, queries), np.append(self.unretrieved.labels, labels)
        return _by_query(queries, labels, self.n_queries)

    def _measured_rows(self, scores: Vector) -> tuple[Any, Offsets]:
        """The rows that the measure may see, and where each query's start: all, or the first and those with labels."""
        measure, starts = self.measure, self.candidates.starts
        if self.unjudged == "condensed":
            known = ~np.isnan(self.labels)
            return known, _starts_of(known, starts)
        deep = measure.cutoff is None or measure.cutoff > _DEEPEST
        # Ties by document are those of single precision, and a label of 0 may be relevant.
        if deep or measure.ties == "docid" or (measure.rel is not None and measure.rel <= 0):
            return slice(None), starts
        depth, labels = measure.cutoff, self._counted
        kept, sizes = np.empty(len(scores), dtype=bool), np.zeros(self.n_queries, dtype=np.int64)

        def select(first: int, last: int) -> None:
            select_deep(scores, labels, starts[first : last + 1], depth, np.empty(depth), kept, sizes[first:last])

        over_queries(select, starts)
        return kept, offsets_from_sizes(sizes)

    def per_query(self, fuser: Fuser) -> Vector:
        """The measure of each query by a fuser; found out once for each."""
        if fuser not in self._known:
            self._known[fuser] = self.measured(fuser.scores(self))
        return self._known[fuser]

    def without(self, leg: int) -> FusionProblem | None:
        """That of all legs but one; None where the engine does not fuse the others."""
        engine, fewer = self.engine.without(leg), self.candidates.without(leg)
        if engine.refuses(fewer) is not None:
            return None
        return FusionProblem.of(engine, fewer, self.judged, self.measure, self.unjudged)


def _labels(candidates: Candidates, judged: JudgedDocuments) -> tuple[Vector, Unretrieved | None]:
    """The label of each row, NaN where there is none, and those of judged documents that are no row."""
    rows = np.empty(len(judged.documents), dtype=np.int64)
    find_rows(candidates.starts, candidates.documents, judged.queries, judged.documents, rows)
    found = rows >= 0
    labels = np.full(candidates.n_rows, np.nan)
    labels[rows[found]] = judged.labels[found]
    if found.all():
        return labels, None
    return labels, _by_query(judged.queries[~found], judged.labels[~found], candidates.n_queries)


def _by_query(queries: Offsets, labels: Vector, n_queries: int) -> Unretrieved:
    """Labels of queries in any order, query after query."""
    sizes = np.bincount(queries, minlength=n_queries)
    return Unretrieved(labels[np.argsort(queries, kind="stable")], offsets_from_sizes(sizes))


def _starts_of(kept: NDArray[np.bool_], starts: Offsets) -> Offsets:
    """Where each query starts among the rows that are kept."""
    return np.append(0, np.cumsum(kept))[starts].astype(np.int64)
