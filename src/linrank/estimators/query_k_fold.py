"""QueryKFold: cross-validation that never cuts a query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator

from linrank.arrays import Offsets
from linrank.dataset.queries import Queries, check_folds
from linrank.errors import LinrankError


class QueryKFold(BaseCrossValidator):  # type: ignore[misc]
    """Split documents into folds of whole queries, at random: by a hash of the seed and the query's id.

    So a query is in the same fold in whatever order the rows are, and in every program.

    For `GridSearchCV(..., cv=QueryKFold(5)).fit(X, y, qid=qid)`, with scikit-learn's metadata routing enabled: only
    then do the rankers get their folds' query ids too.

    Parameters
    ----------
    n_splits : int, default=5
    random_state : int, default=0
        The same seed gives the same folds.
    """

    __metadata_request__split = {"qid": True, "groups": None}

    def __init__(self, n_splits: int = 5, *, random_state: int = 0) -> None:
        self.n_splits = n_splits
        self.random_state = random_state

    def split(
        self,
        X: Any,  # noqa: ARG002 - scikit-learn's signature
        y: Any = None,  # noqa: ARG002
        groups: Any = None,
        *,
        qid: Any = None,
    ) -> Iterator[tuple[Offsets, Offsets]]:
        """Yield the rows to train on and the rows to test on, fold by fold."""
        ids = groups if qid is None else qid
        if ids is None:
            raise LinrankError("QueryKFold needs to know the queries. Pass qid, or groups.")
        queries = Queries.from_ids(ids)
        check_folds(f"n_splits={self.n_splits}", self.n_splits, queries.n_queries)
        fold_of_rows = queries.dealt(self.n_splits, self.random_state)[queries.of_rows()]
        for fold in range(self.n_splits):
            yield np.flatnonzero(fold_of_rows != fold), np.flatnonzero(fold_of_rows == fold)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None, *, qid: Any = None) -> int:  # noqa: ARG002
        """The number of folds."""
        return self.n_splits
