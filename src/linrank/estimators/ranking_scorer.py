"""ranking_scorer: a ranking measure in the form scikit-learn takes for `scoring`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _num_samples

from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError
from linrank.estimators.inside_search import ROUTING
from linrank.measures import Measure, parse_measure


def ranking_scorer(measure: str | Measure = "ndcg@10", *, qid: Any = None) -> RankingScorer:
    """Make a scorer of a measure, for `GridSearchCV`, `cross_validate`, `permutation_importance` and their kind.

    Parameters
    ----------
    measure : str or Measure
    qid : one value a row, optional
        With scikit-learn's metadata routing enabled there is no need of it: the search passes the ids of each part of
        the rows on. Otherwise give them here: an array, where all rows are scored at once and in order, as
        `permutation_importance` does; or a pandas Series, from which the ids of any part of a DataFrame are taken by
        its index, which must tell the rows apart.

    Returns
    -------
    RankingScorer
        Called as `scorer(ranker, X, y)`, or `scorer(ranker, X, y, qid=qid)`, or `scorer(ranker, dataset)`.

    Examples
    --------
    >>> from linrank import RankSVM, make_ranking, ranking_scorer
    >>> from sklearn.inspection import permutation_importance
    >>> data, _ = make_ranking(30, 10, 3)
    >>> model = RankSVM().fit(data)
    >>> scorer = ranking_scorer("ndcg@10", qid=data.qid)
    >>> permutation_importance(model, data.features, data.labels, scoring=scorer, random_state=0).importances_mean.shape
    (3,)
    """
    parsed = parse_measure(measure) if isinstance(measure, str) else measure
    return RankingScorer(parsed, qid)


# An estimator only in that it asks for metadata as one: scikit-learn has no public base for scorers of one's own.
class RankingScorer(BaseEstimator):  # type: ignore[misc]
    """The mean of a measure over queries, of what a ranker predicts."""

    __metadata_request__score = {"qid": True}

    def __init__(self, measure: Measure, qid: Any = None) -> None:
        self.measure = measure
        self.qid = qid

    def knows_parts_of(self, X: Any) -> bool:
        """Whether it can tell the queries of any part of the rows by itself: by the index of a frame."""
        return hasattr(self.qid, "loc") and hasattr(X, "index")

    def score(self, ranker: Any, X: Any, y: Any = None, *, qid: Any = None) -> float:
        """The measure of the ranker's predictions for X, by the labels y."""
        scores = ranker.predict(X)
        if isinstance(X, RankingDataset):
            return self.measure.mean(scores, X)
        ids = self.ids_of(X) if qid is None else qid
        return self.measure.mean(scores, y, ids)

    __call__ = score

    def ids_of(self, X: Any) -> Any:
        """The query ids of the rows of X, from those it was made with."""
        if self.qid is None:
            raise LinrankError(
                f"{self!r} was given no query ids. Enable metadata routing, {ROUTING}, or make it with qid=…."
            )
        if self.knows_parts_of(X):
            if not self.qid.index.is_unique:
                raise LinrankError(
                    "the index of qid has an entry twice, and does not tell rows apart. Reset the index."
                )
            absent = X.index.difference(self.qid.index)
            if len(absent):
                first = absent[:1].tolist()[0]
                raise LinrankError(f"qid has no entry {first!r}, which is in the index of X. Use the same index.")
            return self.qid.loc[X.index].to_numpy()
        ids, n_rows = np.asarray(self.qid), _num_samples(X)
        if len(ids) != n_rows:
            raise LinrankError(
                f"{self!r} has the query ids of {len(ids)} rows, and {n_rows} are to be scored: which of them is not "
                f"known. Enable metadata routing, {ROUTING}, or give X as a DataFrame and qid as a Series of its index."
            )
        return ids

    def __repr__(self) -> str:
        return f"ranking_scorer({str(self.measure)!r}{'' if self.qid is None else ', qid=…'})"
