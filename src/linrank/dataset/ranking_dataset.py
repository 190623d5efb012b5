"""RankingDataset: features, labels and queries that belong together, checked once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.cached import cached_property
from linrank.dataset.checked_arrays import checked_features, checked_labels, checked_names, checked_weights
from linrank.dataset.features import Features, as_features, refuse_missing
from linrank.dataset.fingerprint import fingerprint_of
from linrank.dataset.frames import column_names
from linrank.dataset.missing_rule import MissingRule
from linrank.dataset.queries import Queries, check_folds
from linrank.dataset.text_column import TextColumn
from linrank.dataset.trainable import fault_beside_features, training_fault
from linrank.dataset.unretrieved import Unretrieved
from linrank.dataset.width import check_room
from linrank.errors import LinrankError, UnusableNumberError
from linrank.loaded import is_sparse
from linrank.maps import refuse_cut_maps
from linrank.named_weights import numbers_as_names

if TYPE_CHECKING:
    from linrank.dataset.summary import DatasetSummary

# ASCII: an id may hold any other kind of space, as it may in TREC files.
_DOCID = re.compile(r"docid\s*=\s*(\S+)", re.IGNORECASE | re.ASCII)

UNJUDGED = (
    "the data has no labels: its documents can be scored and explained, but not trained on or measured. "
    "Say which labels they have: label='column' (--label) for a table, y for arrays."
)


@dataclass(frozen=True, eq=False)
class RankingDataset:
    """Documents in the order they were given, each with features, a label and a query.

    Attributes
    ----------
    features : ndarray or csr_array of shape (n_documents, n_features)
        float32 or float64. May hold NaN for a missing value, which no method trains on: fill them when reading.
    labels : ndarray of shape (n_documents,), or None
        Any finite numbers; a higher one is better. None where nobody has judged the documents: they can be scored, and
        whatever needs labels refuses them.
    queries : Queries
        Which rows belong to which query; queries may be interleaved.
    feature_names : tuple of str or None
    comments : TextColumn or None
        What stood behind each row, such as `docid = GX004-93-7097963 inc = 1`.
    document_weights : ndarray of shape (n_documents,) or None
        A pair (i, j) counts as much as the product of its documents' weights.
    query_weights : ndarray of shape (n_queries,) or None
        In order of the queries' first appearance.
    unretrieved : Unretrieved or None
        The labels of judged documents that are not among the rows, as `read_trec` finds them in its qrels; nothing is
        trained on them, and measures count them as missed.
    missing : "error", "keep", "query_min" or a number
        The rule by which missing values were filled when the data was read; a model trained on it remembers the rule.
    """

    features: Any
    # Vector | None; who needs them asks `require_labels`.
    labels: Any
    queries: Queries
    feature_names: tuple[str, ...] | None = None
    comments: TextColumn | None = None
    document_weights: Vector | None = None
    query_weights: Vector | None = None
    unretrieved: Unretrieved | None = None
    missing: MissingRule = "error"

    def __post_init__(self) -> None:
        check_room(self.n_features)

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        group: Any = None,
        feature_names: Sequence[str] | None = None,
        comments: TextColumn | Sequence[str] | None = None,
        document_weights: Any = None,
        query_weights: Any = None,
    ) -> RankingDataset:
        """Make a dataset of arrays in memory; nothing that is already in the right form is copied.

        Parameters
        ----------
        X : array, scipy sparse matrix or DataFrame, one document a row
        y : array of labels, one a row; None for documents that nobody has judged
        qid : one value a row of any kind, in any order. Exactly one of `qid` and `group` is needed.
        group : number of documents of each query, where queries are consecutive
        feature_names : one name a column; a DataFrame brings its own
        comments : one text a row, such as document ids
        document_weights, query_weights : non-negative numbers, one a row and one a query
        """
        if feature_names is None:
            feature_names = column_names(X)
        features = checked_features(X)
        n_rows = int(features.shape[0])
        if (qid is None) == (group is None):
            raise LinrankError("pass either qid (one value a row) or group (one size a query).")
        queries = Queries.from_ids(qid) if group is None else Queries.from_sizes(group, n_rows)
        if queries.n_documents != n_rows:
            raise LinrankError(f"qid has {queries.n_documents} values, but there are {n_rows} rows. Pass one a row.")
        if comments is not None and not isinstance(comments, TextColumn):
            comments = TextColumn.from_texts(comments)
        if comments is not None and len(comments) != n_rows:
            raise LinrankError(f"there are {len(comments)} comments, but {n_rows} rows. Pass one a row.")
        return cls(
            features,
            checked_labels(y, n_rows),
            queries,
            checked_names(feature_names, int(features.shape[1])),
            comments,
            checked_weights(document_weights, n_rows, "document_weights", "row"),
            checked_weights(query_weights, queries.n_queries, "query_weights", "query"),
        )

    @classmethod
    def joined(cls, parts: Sequence[RankingDataset]) -> RankingDataset:
        """The documents of several datasets with the same columns, one after the other; where only some have weights,
        the others' are 1.
        """
        first = parts[0]
        others = [part.with_columns(first.names) for part in parts[1:]]
        rows = [part.features for part in (first, *others)]
        comments = [part.comments for part in (first, *others) if part.comments is not None]
        joined = cls.from_arrays(
            scipy.sparse.vstack(rows, format="csr") if first.is_sparse else np.concatenate(rows),
            np.concatenate([part.require_labels() for part in parts]) if any(p.is_judged for p in parts) else None,
            qid=np.concatenate([part.qid for part in parts]),
            feature_names=first.feature_names,
            comments=TextColumn.joined(comments) if len(comments) == len(parts) else None,
            document_weights=_joined_weights([(part.document_weights, part.n_documents) for part in parts]),
            query_weights=_joined_weights([(part.query_weights, part.n_queries) for part in parts]),
        )
        return replace(joined, unretrieved=_joined_unretrieved(parts, joined.queries))

    @property
    def n_documents(self) -> int:
        return int(self.features.shape[0])

    @property
    def n_queries(self) -> int:
        return self.queries.n_queries

    @property
    def n_features(self) -> int:
        return int(self.features.shape[1])

    @property
    def is_sparse(self) -> bool:
        return is_sparse(self.features)

    @property
    def is_judged(self) -> bool:
        """Whether the documents have labels."""
        return self.labels is not None

    def require_labels(self) -> Vector:
        """The labels, for whoever cannot do without; data that has none is refused."""
        if self.labels is None:
            raise LinrankError(UNJUDGED)
        labels: Vector = self.labels
        return labels

    @property
    def qid(self) -> NDArray[Any]:
        """The query id of each row."""
        return self.queries.ids[self.queries.of_rows()]

    @property
    def docids(self) -> list[str] | None:
        """The document id in each comment: what follows `docid =`, or else the comment's first word."""
        if self.comments is None:
            return None
        return [_docid(comment) for comment in self.comments]

    @property
    def names(self) -> tuple[str, ...]:
        """The feature names, or their numbers from 1 where they have none."""
        return self.feature_names or numbers_as_names(self.n_features)

    def check_trainable(self, *, shaped: bool = False) -> None:
        """Refuse numbers that are not finite, or so large that sums of their products are not; they are read once.

        Features that are `shaped` before anything is learnt from them may be as large as they are.
        """
        self.check_complete()
        if self._training_fault and (fault := fault_beside_features(self) if shaped else self._training_fault):
            raise UnusableNumberError(fault)

    def check_complete(self) -> None:
        """Refuse features that are missing or infinite."""
        if not self.is_trainable:
            refuse_missing(self.features, self.names)

    @property
    def is_trainable(self) -> bool:
        """Whether every number is finite and not too large to train on: asked by many, and found out once."""
        return self._training_fault is None

    @cached_property
    def _training_fault(self) -> str | None:
        return training_fault(self)

    def grouped_features(self) -> Features:
        """The features with each query's rows together: a view where they stand so already."""
        features = as_features(self.features)
        return features if self.queries.order is None else features.take(self.queries.order)

    def with_columns(
        self, names: Sequence[str], source: str = "the data", *, needed: NDArray[np.bool_] | None = None
    ) -> RankingDataset:
        """The same documents with the columns of other data, or of a model; `source` is named where they cannot be had.

        Named columns are put in order by name. Without names, zeros stand for the last features: svmlight text ends at
        the largest id that occurs in it, which may be less than another file's. Where `needed` says that a column is
        not, because its weight is 0, zeros stand for it too.
        """
        if self.feature_names is not None:
            if self.feature_names == tuple(names):
                return self
            place = {name: column for column, name in enumerate(self.feature_names)}
            there = np.array([name in place for name in names], dtype=bool)
            absent = np.flatnonzero(~there if needed is None else ~there & needed).tolist()
            if absent:
                raise LinrankError(
                    f"{source}: there is no column {names[absent[0]]!r}, which the model or the training data has; "
                    f"there are {', '.join(self.feature_names[:8])}{', …' if self.n_features > 8 else ''}."
                )
            chosen = self.features[:, [place[name] for name in names if name in place]]
            return replace(self, features=_spread_columns(chosen, there), feature_names=tuple(names))
        n_features = len(names)
        missing = n_features - self.n_features
        if missing < 0:
            raise LinrankError(
                f"{source}: has {self.n_features} features, but the model or the training data has {n_features}. "
                "Use files with the same columns; for svmlight text, n_features says how many there are."
            )
        if missing == 0:
            return self
        if self.is_sparse:
            matrix = self.features
            parts = (matrix.data, matrix.indices, matrix.indptr)
            return replace(self, features=scipy.sparse.csr_array(parts, shape=(self.n_documents, n_features)))
        return replace(self, features=np.pad(self.features, ((0, 0), (0, missing))))

    def subset(self, queries: Any) -> RankingDataset:
        """The dataset of the chosen queries only, given by their numbers or by a mask over queries."""
        chosen = np.asarray(queries)
        if chosen.dtype == bool:
            if chosen.shape != (self.n_queries,):
                raise LinrankError(f"a mask of {chosen.shape} over {self.n_queries} queries; pass one value a query.")
            chosen = np.flatnonzero(chosen)
        chosen = np.unique(chosen.astype(np.int64))
        if len(chosen) and not 0 <= chosen[0] <= chosen[-1] < self.n_queries:
            raise LinrankError(f"queries are numbered from 0 to {self.n_queries - 1}; {chosen[[0, -1]]} is asked for.")
        refuse_cut_maps(self.features)
        # Rows keep the order in which they were given.
        rows = np.sort(self.queries.rows_of(chosen))
        part = Queries.from_ids(self.queries.of_rows()[rows])
        return replace(
            self,
            features=self.features[rows],
            labels=None if self.labels is None else self.labels[rows],
            queries=replace(part, ids=self.queries.ids[part.ids]),
            comments=None if self.comments is None else self.comments.take(rows),
            document_weights=None if self.document_weights is None else self.document_weights[rows],
            query_weights=None if self.query_weights is None else self.query_weights[part.ids],
            unretrieved=None if self.unretrieved is None else self.unretrieved.take(part.ids),
        )

    def split(self, *shares: float, random_state: int = 0) -> tuple[RankingDataset, ...]:
        """Split at random by query into parts of the given shares, never cutting a query: `split(0.8, 0.2)`.

        Which queries are in which part is drawn by the seed and the queries' ids, not by their order.
        """
        total = sum(shares)
        if not shares or min(shares) <= 0 or not np.isfinite(total):
            raise LinrankError(f"shares {shares} must be positive numbers, such as split(0.8, 0.2).")
        if len(shares) > self.n_queries:
            if self.n_queries == 1:
                raise LinrankError("one query cannot be split: queries are never cut. Use data with more of them.")
            raise LinrankError(f"{self.n_queries} queries cannot be split into {len(shares)} parts; use fewer parts.")
        shuffled = self.queries.drawn(random_state)
        bounds = np.round(np.cumsum((0.0, *shares)) / total * self.n_queries).astype(np.int64)
        return tuple(self.subset(np.sort(shuffled[a:b])) for a, b in pairwise(bounds))

    def folds(self, n_folds: int, random_state: int = 0) -> Iterator[tuple[RankingDataset, RankingDataset]]:
        """Yield (train, test) for each of `n_folds` parts of the queries, dealt by the seed and the queries' ids."""
        check_folds(str(n_folds), n_folds, self.n_queries)
        part = self.queries.dealt(n_folds, random_state)
        for fold in range(n_folds):
            yield self.subset(part != fold), self.subset(part == fold)

    def describe(self) -> DatasetSummary:
        """Count what is in the data: queries, documents, pairs, levels, and features that are no use."""
        from linrank.dataset.summary import summarise

        return summarise(self)

    def fingerprint(self) -> str:
        """A hash of the features, labels, queries and weights: the same for the same data, on any machine."""
        refuse_cut_maps(self.features)
        matrix = self.features
        columns = [matrix.data, matrix.indices, matrix.indptr] if self.is_sparse else [matrix]
        columns += [self.labels, self.queries.of_rows(), self.document_weights, self.query_weights]
        if self.unretrieved is not None:
            columns += [self.unretrieved.labels, self.unretrieved.starts]
        about = f"{matrix.shape} {matrix.dtype} {self.is_sparse}"
        return fingerprint_of(about, (column for column in columns if column is not None), self.queries.ids.tolist())

    def __len__(self) -> int:
        """The number of documents, one a row."""
        return self.n_documents

    def to_frame(self, *, label: str = "label", qid: str = "qid", docid: str = "docid", weight: str = "weight") -> Any:
        """The dataset as a pandas DataFrame, one row a document; `linrank.read` makes a dataset of it again.

        Parameters
        ----------
        label, qid, docid, weight : what the columns beside the features are called
        """
        from linrank.dataset.dataset_frame import to_frame

        return to_frame(self, label=label, qid=qid, docid=docid, weight=weight)

    def _repr_html_(self) -> str:
        from linrank.dataset.dataset_frame import first_rows_html

        return first_rows_html(self)

    def __repr__(self) -> str:
        kind = "sparse" if self.is_sparse else "dense"
        return (
            f"RankingDataset({self.n_queries} queries, {self.n_documents} documents, "
            f"{self.n_features} {kind} {self.features.dtype} features)"
        )


def _joined_unretrieved(parts: Sequence[RankingDataset], queries: Queries) -> Unretrieved | None:
    if all(part.unretrieved is None for part in parts):
        return None
    if sum(part.n_queries for part in parts) > queries.n_queries:
        raise LinrankError(
            "a query is in several of the parts, and which of its judged documents are in none of them is not known. "
            "Read all of its runs at once, with read_trec."
        )
    # No query is in two parts, so the queries of the whole are those of the parts one after the other.
    labels_of_queries: list[list[float]] = []
    for part in parts:
        missed = part.unretrieved or Unretrieved.of([[]] * part.n_queries)
        labels_of_queries += [missed.between(q, q + 1).labels.tolist() for q in range(part.n_queries)]
    return Unretrieved.of(labels_of_queries)


def _spread_columns(features: Any, there: NDArray[np.bool_]) -> Any:
    """The columns in the places that are `there`, and zeros in the others."""
    if there.all():
        return features
    shape = int(features.shape[0]), len(there)
    places = np.flatnonzero(there)
    if is_sparse(features):
        matrix = features.tocsr()
        return scipy.sparse.csr_array((matrix.data, places[matrix.indices], matrix.indptr), shape=shape)
    spread = np.zeros(shape, dtype=features.dtype)
    spread[:, places] = features
    return spread


def _joined_weights(parts: Sequence[tuple[Vector | None, int]]) -> Vector | None:
    if all(weights is None for weights, _ in parts):
        return None
    return np.concatenate([np.ones(n) if weights is None else weights for weights, n in parts])


def _docid(comment: str) -> str:
    found = _DOCID.search(comment)
    if found:
        return found[1]
    words = comment.split(maxsplit=1)
    return words[0] if words else ""
