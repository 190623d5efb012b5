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
from linrank.fusing.fusers import Fuser, Scorer
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
    labels : of the rows; 0 where nobody judged
    is_judged : of the rows
    unretrieved : labels of judged documents that no leg brought
    """

    judged: JudgedDocuments
    measure: Measure
    unjudged: str
    labels: Vector
    is_judged: NDArray[np.bool_]
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
        return cls(engine, candidates, judged, measure, unjudged, *_labels(candidates, judged))

    @property
    def n_queries(self) -> int:
        return self.candidates.n_queries

    @cached_property
    def training(self) -> LabelledRows:
        """The rows that are trained on, in units of the columns' spreads."""
        labels = self.labels if self.unjudged == "irrelevant" else np.where(self.is_judged, self.labels, np.nan)
        return LabelledRows.of(self.matrix, labels, self.candidates.starts, 1.0 / self.spreads)

    def measured(self, score: Scorer) -> Vector:
        """The measure of each query by what gives candidates their scores; NaN where a query is skipped."""
        starts = self.candidates.starts

        def part(first: int, last: int) -> tuple[Offsets, Vector, Offsets, Offsets]:
            """The rows that the measure may see, their scores, how many a query has, and judged rows that are gone."""
            rows, scores = self.rows_of(first, last), score(first, last)
            own_starts = starts[first : last + 1] - rows.start
            kept = self._seen(scores, rows, own_starts)
            gone = np.flatnonzero(self.is_judged[rows] & np.isneginf(scores))
            sizes = np.diff(np.append(0, np.cumsum(kept))[own_starts])
            return np.flatnonzero(kept) + rows.start, scores[kept], sizes, gone + rows.start

        parts = over_queries(part, starts)
        kept, scores, sizes, gone = (np.concatenate(each) for each in zip(*parts, strict=True))
        docids = None
        if self.measure.ties == "docid":
            docids = [self.candidates.document_ids[number] for number in self.candidates.documents[kept].tolist()]
        queries = Queries(self.candidates.queries.ids, offsets_from_sizes(sizes), None)
        judged = Judgements(self.labels[kept], queries, docids, self._unretrieved_with(gone))
        threads = 1 if len(kept) <= _ROWS_WITHOUT_THREADS else None
        return evaluate(scores, judged, [self.measure], n_threads=threads).per_query[self.measure]

    def _unretrieved_with(self, gone: Offsets) -> Unretrieved | None:
        """The labels of judged documents that no leg brought, and those of rows that are gone."""
        if len(gone) == 0:
            return self.unretrieved
        queries, labels = np.searchsorted(self.candidates.starts, gone, side="right") - 1, self.labels[gone]
        if self.unretrieved is not None:
            before = np.repeat(np.arange(self.n_queries), np.diff(self.unretrieved.starts))
            queries, labels = np.append(before, queries), np.append(self.unretrieved.labels, labels)
        return _by_query(queries, labels, self.n_queries)

    def _seen(self, scores: Vector, rows: slice, starts: Offsets) -> NDArray[np.bool_]:
        """The rows that the measure may see: all that are there, or the first of each query and those with labels."""
        measure, there = self.measure, ~np.isneginf(scores)
        if self.unjudged == "condensed":
            return there & self.is_judged[rows]
        deep = measure.cutoff is None or measure.cutoff > _DEEPEST
        # Ties by document are those of single precision, and a label of 0 may be relevant.
        if deep or measure.ties == "docid" or (measure.rel is not None and measure.rel <= 0):
            return there
        select_deep(scores, self.labels[rows], starts, np.empty(measure.cutoff), there)
        return there

    def per_query(self, fuser: Fuser) -> Vector:
        """The measure of each query by a fuser; found out once for each."""
        if fuser not in self._known:
            self._known[fuser] = self.measured(fuser.scorer(self))
        return self._known[fuser]

    def without(self, leg: int) -> FusionProblem | None:
        """That of all legs but one; None where the engine does not fuse the others."""
        engine, fewer = self.engine.without(leg), self.candidates.without(leg)
        if engine.refuses(fewer) is not None:
            return None
        return FusionProblem.of(engine, fewer, self.judged, self.measure, self.unjudged)


def _labels(candidates: Candidates, judged: JudgedDocuments) -> tuple[Vector, NDArray[np.bool_], Unretrieved | None]:
    """The label of each row, whether it has one, and the labels of judged documents that are no row."""
    rows = np.empty(len(judged.documents), dtype=np.int64)
    find_rows(candidates.starts, candidates.documents, judged.queries, judged.documents, rows)
    found = rows >= 0
    labels, is_judged = np.zeros(candidates.n_rows), np.zeros(candidates.n_rows, dtype=bool)
    labels[rows[found]] = judged.labels[found]
    is_judged[rows[found]] = True
    if found.all():
        return labels, is_judged, None
    missed = _by_query(judged.queries[~found], judged.labels[~found], candidates.n_queries)
    return labels, is_judged, missed


def _by_query(queries: Offsets, labels: Vector, n_queries: int) -> Unretrieved:
    """Labels of queries in any order, query after query."""
    sizes = np.bincount(queries, minlength=n_queries)
    return Unretrieved(labels[np.argsort(queries, kind="stable")], offsets_from_sizes(sizes))
