"""What a measure must know of a dataset: labels, queries, and document ids for ties broken by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from linrank.arrays import Vector
from linrank.dataset.queries import Queries
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.unretrieved import Unretrieved
from linrank.errors import LinrankError


class Judged(Protocol):
    """Labelled documents of queries, in the order they were given: a RankingDataset, or Judgements without features."""

    @property
    def labels(self) -> Vector: ...
    @property
    def queries(self) -> Queries: ...
    @property
    def docids(self) -> Sequence[str] | None: ...
    @property
    def unretrieved(self) -> Unretrieved | None: ...


@dataclass(frozen=True, eq=False)
class Judgements:
    """Labels and queries without features, for evaluating scores that came from elsewhere.

    Attributes
    ----------
    labels : ndarray of shape (n_documents,)
    queries : Queries
    docids : sequence of str or None
        One a row; only needed where ties are broken by document id.
    unretrieved : Unretrieved or None
        Labels of judged documents that are not among the rows.
    """

    labels: Vector
    queries: Queries
    docids: Sequence[str] | None = None
    unretrieved: Unretrieved | None = None

    @classmethod
    def from_arrays(cls, labels: Any, *, qid: Any = None, group: Any = None, docids: Any = None) -> Judgements:
        """Check arrays as `RankingDataset.from_arrays` does, and keep them.

        Parameters
        ----------
        labels : array of numbers, one a row
        qid : one value a row of any kind, in any order. Exactly one of `qid` and `group` is needed.
        group : number of documents of each query, where queries are consecutive
        docids : one text a row, optional
        """
        shape = np.shape(labels)
        dataset = RankingDataset.from_arrays(np.empty((shape[0] if shape else 0, 0)), labels, qid=qid, group=group)
        if docids is not None and len(docids) != dataset.n_documents:
            raise LinrankError(f"there are {len(docids)} document ids, but {dataset.n_documents} rows. Pass one a row.")
        return cls(dataset.labels, dataset.queries, None if docids is None else [str(docid) for docid in docids])


def judged(dataset: Any, qid: Any = None, group: Any = None, docids: Any = None) -> Judged:
    """What to measure by: a dataset or Judgements as they are, or plain labels with the queries they are of."""
    known: Judged = dataset
    if not hasattr(dataset, "queries"):
        if qid is None and group is None:
            raise LinrankError(
                "a measure is a mean over queries, and labels do not say which they are of. "
                "Pass qid (one value a row) or group (one size a query)."
            )
        known = Judgements.from_arrays(dataset, qid=qid, group=group, docids=docids)
    elif qid is not None or group is not None or docids is not None:
        raise LinrankError("a dataset knows its queries and documents. Leave out qid, group and docids.")
    return known
