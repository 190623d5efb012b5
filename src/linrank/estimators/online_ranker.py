"""What rankers that learn from a stream share: `partial_fit`."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any, Self

from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.stored_dataset import StoredDataset
from linrank.errors import LinrankError
from linrank.estimators.base import scanned
from linrank.estimators.linear_ranker import LinearRanker
from linrank.estimators.settings import check_kinds
from linrank.reading.partitions import PartitionedDataset


class OnlineRanker(LinearRanker, metaclass=ABCMeta):
    """A linear ranker that goes on learning from whole queries as they come."""

    __metadata_request__partial_fit = {"qid": True}

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        group: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
    ) -> Self:
        """Learn once from some whole queries, in the order given; the arguments are those of `fit`.

        After `fit` it goes on from there, and what comes twice counts twice. The class says what a step is. A file, as
        `linrank.scan` returns it or by its path, is gone through once, chunk after chunk: each is a call of its own,
        and so is each file of a folder of Parquet.
        """
        X = scanned(X)
        if isinstance(X, StoredDataset | PartitionedDataset):
            if any(given is not None for given in (y, qid, group, sample_weight, query_weight)):
                raise LinrankError(
                    "a StoredDataset brings its own labels, queries and weights: pass nothing beside it."
                )
            X.require_labels()
            for chunk in X.chunks():
                self.partial_fit(chunk)
            return self
        check_kinds(self)
        self._check()
        known = hasattr(self, "coef_")
        dataset = self._dataset(X, y, qid, group, sample_weight, query_weight, first=not known)
        self._learn_more(dataset)
        return self

    @abstractmethod
    def _learn_more(self, dataset: RankingDataset) -> None:
        """Learn from data that is checked, from where it is, or from the beginning."""
