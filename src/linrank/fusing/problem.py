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
from linrank.fusing.candidates import Candidates
from linrank.fusing.engine import FusionEngine
from linrank.fusing.fusers import Fuser
from linrank.fusing.pair_kernels import add_squares_within
from linrank.fusing.pairwise import LabelledRows, over_queries
from linrank.measures import Judgements, Measure, evaluate

# To start threads takes as long as to sort so many.
_ROWS_WITHOUT_THREADS = 1 << 18

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

    def take(self, queries: Offsets) -> JudgedDocuments:
        """Of some queries, numbered in the order given."""
        number = np.full(int(max(self.queries.max(initial=-1), queries.max(initial=-1))) + 1, -1)
        number[queries] = np.arange(len(queries))
        kept = number[self.queries] >= 0
        return JudgedDocuments(number[self.queries[kept]], self.documents[kept], self.labels[kept])


@dataclass(frozen=True, eq=False)
class FusionProblem:
    """Candidates of judged queries, and what an engine makes of them.

    Attributes
    ----------
    engine : by whose rules
    candidates : one row each
    judged : what people said of documents
    measure : what decides
    unjudged : "irrelevant", "left-out" or "condensed"
    labels : of the rows; NaN where nobody judged
    unretrieved : labels of judged documents that no leg brought
    strengths : how strongly training trusts its queries, for counts of them for which that was found out
    """

    engine: FusionEngine
    candidates: Candidates
    judged: JudgedDocuments
    measure: Measure
    unjudged: str
    labels: Vector
    unretrieved: Unretrieved | None
    strengths: dict[bytes, float] = field(default_factory=dict)
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
    def matrix(self) -> NDArray[Any]:
        """What is weighed, one column a leg or signal."""
        return self.engine.matrix(self.candidates)

    @cached_property
    def ranks(self) -> NDArray[np.int32]:
        """The place of each row in each leg, 0 where it is not."""
        return self.candidates.ranks()

    @cached_property
    def spreads(self) -> Vector:
        """Of each column, its standard deviation about the queries' means; 1 for a constant."""
        starts, matrix = self.candidates.starts, self.matrix

        def squares(first: int, last: int) -> Vector:
            sums = np.zeros(matrix.shape[1])
            add_squares_within(matrix, starts[first : last + 1], np.empty_like(sums), sums)
            return sums

        # Added in the order of the queries, for any number of threads.
        made: Vector = np.sqrt(np.sum(over_queries(squares, starts), axis=0) / max(1, self.candidates.n_rows))
        made[made == 0.0] = 1.0
        return made

    @cached_property
    def equal_weights(self) -> Vector:
        """Those by which legs count alike: 1 each, or 1 / spread where scores are raw; signals 0."""
        n_legs = len(self.candidates.legs)
        made = np.zeros(self.matrix.shape[1])
        made[:n_legs] = 1.0 / self.spreads[:n_legs] if self.engine.is_raw else 1.0
        return made

    @cached_property
    def training(self) -> LabelledRows:
        """The rows that are trained on, in units of the columns' spreads."""
        rows: Any = slice(None)
        starts, labels = self.candidates.starts, np.nan_to_num(self.labels, nan=0.0)
        if self.unjudged != "irrelevant":
            known = ~np.isnan(self.labels)
            rows, starts = known, _starts_of(known, starts)
        return LabelledRows.of(self.matrix[rows], labels[rows], starts, 1.0 / self.spreads)

    @cached_property
    def _measured(self) -> tuple[Any, Judgements]:
        """The rows that are measured, and their labels."""
        kept: Any = ~np.isnan(self.labels) if self.unjudged == "condensed" else slice(None)
        candidates = self.candidates
        starts = _starts_of(kept, candidates.starts) if self.unjudged == "condensed" else candidates.starts
        docids = None
        if self.measure.ties == "docid":
            docids = [candidates.document_ids[number] for number in candidates.documents[kept].tolist()]
        labels = np.nan_to_num(self.labels, nan=0.0)[kept]
        return kept, Judgements(labels, Queries(candidates.queries.ids, starts, None), docids, self.unretrieved)

    def measured(self, scores: Vector) -> Vector:
        """The measure of each query, for one score a candidate; NaN where it is skipped."""
        kept, judged = self._measured
        threads = 1 if self.candidates.n_rows <= _ROWS_WITHOUT_THREADS else None
        found = evaluate(np.ascontiguousarray(scores[kept]), judged, [self.measure], n_threads=threads)
        return found.per_query[self.measure]

    def per_query(self, fuser: Fuser) -> Vector:
        """The measure of each query by a fuser; found out once for each."""
        if fuser not in self._known:
            self._known[fuser] = self.measured(fuser.scores(self))
        return self._known[fuser]

    def subset(self, queries: Offsets) -> FusionProblem:
        """That of some queries."""
        return FusionProblem.of(
            self.engine, self.candidates.take(queries), self.judged.take(queries), self.measure, self.unjudged
        )

    def without(self, leg: int) -> FusionProblem:
        """That of all legs but one."""
        engine, fewer = self.engine.without(leg), self.candidates.without(leg)
        return FusionProblem.of(engine, fewer, self.judged, self.measure, self.unjudged)


def _labels(candidates: Candidates, judged: JudgedDocuments) -> tuple[Vector, Unretrieved | None]:
    """The label of each row, NaN where there is none, and those of judged documents that are no row."""
    n_documents = len(candidates.document_ids) + 1
    of_query = np.repeat(np.arange(candidates.n_queries), np.diff(candidates.starts))
    # Rows stand by query and document, so their keys ascend.
    keys = of_query * n_documents + candidates.documents
    wanted = judged.queries * n_documents + judged.documents
    places = np.searchsorted(keys, wanted)
    found = (places < len(keys)) & (judged.documents >= 0)
    found[found] = keys[places[found]] == wanted[found]
    labels = np.full(len(keys), np.nan)
    labels[places[found]] = judged.labels[found]
    if found.all():
        return labels, None
    order = np.argsort(judged.queries[~found], kind="stable")
    sizes = np.bincount(judged.queries[~found], minlength=candidates.n_queries)
    return labels, Unretrieved(judged.labels[~found][order], offsets_from_sizes(sizes))


def _starts_of(kept: NDArray[np.bool_], starts: Offsets) -> Offsets:
    """Where each query starts among the rows that are kept."""
    return np.append(0, np.cumsum(kept))[starts].astype(np.int64)
