"""LambdaMART behind the same face as every other ranker: boosted trees by LightGBM and by XGBoost."""

from __future__ import annotations

from abc import ABCMeta
from dataclasses import KW_ONLY
from importlib import import_module
from typing import Any

import numpy as np
from scipy import sparse

from linrank.arrays import Vector
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError, MissingDependencyError
from linrank.estimators.base import UnweightedRanker
from linrank.estimators.declaring import with_settings
from linrank.estimators.tree_rankers import TreeRanker, written_out
from linrank.threads import number_of_threads

# LightGBM refuses longer queries.
_MOST_DOCUMENTS_A_QUERY = 10_000
# The gain of a label in NDCG is 2 ** label - 1, which the libraries keep in 32 bits.
_HIGHEST_LABEL = 31


class LambdaMART(TreeRanker, UnweightedRanker, metaclass=ABCMeta):
    """Boosted trees whose steps follow pairs weighed by their change of NDCG."""

    library: str

    def _check(self) -> None:
        super()._check()
        self._library()

    def _train(self, dataset: RankingDataset, validation: list[RankingDataset]) -> None:
        highest = float(dataset.labels.max())
        if highest > _HIGHEST_LABEL:
            raise LinrankError(
                f"the highest label is {highest:g}; {self.library} takes labels up to {_HIGHEST_LABEL}, since the gain "
                "of NDCG is 2^label. Map the grades to smaller numbers, such as 0 to 4."
            )
        super()._train(dataset, validation)

    def _library(self) -> Any:
        try:
            return import_module(self.library)
        except ImportError:
            raise MissingDependencyError(self.library, self.library, type(self).__name__) from None


@with_settings
class LightGBMRanker(LambdaMART):
    """LambdaMART by LightGBM: boosted trees that follow pairs weighed by their change of NDCG.

    Needs `pip install linrank[lightgbm]`. Labels, up to 31, are numbered and their gains 2^y - 1 told to LightGBM, so
    that they need not be whole numbers. Queries of more than 10,000 documents are refused, as LightGBM does.

    Attributes
    ----------
    model_ : lightgbm.Booster
    """

    method = "lightgbm"
    library = "lightgbm"

    _: KW_ONLY
    learning_rate: float = 0.05
    max_leaves: int = 15
    min_leaf: int = 50

    def _grown(self, dataset: RankingDataset) -> Any:
        queries, weights = dataset.queries, dataset.query_weights
        longest = int(queries.sizes.max())
        if longest > _MOST_DOCUMENTS_A_QUERY:
            raise LinrankError(
                f"a query has {longest} documents; LightGBM takes {_MOST_DOCUMENTS_A_QUERY}. "
                "Pass qid, keep the first documents of each query only, or use XGBoostRanker."
            )
        levels, numbers = np.unique(dataset.labels, return_inverse=True)
        settings = {
            "objective": "lambdarank",
            "label_gain": _gains(levels).tolist(),
            "learning_rate": self.learning_rate,
            "num_leaves": self.max_leaves,
            "min_data_in_leaf": self.min_leaf,
            "num_threads": number_of_threads(self.n_threads),
            "deterministic": True,
            "force_row_wise": True,
            "verbosity": -1,
        }
        data = self._library().Dataset(
            _as_matrix(queries.grouped(dataset.features)),
            queries.grouped(numbers),
            group=queries.sizes,
            weight=None if weights is None else np.repeat(weights, queries.sizes),
        )
        return self._library().train(settings, data, self.n_trees)

    def _columns_used(self) -> set[int]:
        return set(np.flatnonzero(self.model_.feature_importance("split")).tolist())

    def _scores(self, X: Any) -> Any:
        return self.model_.predict(_as_matrix(X), num_threads=number_of_threads(self.n_threads))


@with_settings
class XGBoostRanker(LambdaMART):
    """LambdaMART by XGBoost: boosted trees that follow pairs weighed by their change of NDCG.

    Needs `pip install linrank[xgboost]`. The gains 2^y - 1 of the labels, up to 31, are told to XGBoost in their place,
    so that they need not be whole numbers. Sparse rows are written out in full, since XGBoost would take a value that
    is not stored for a missing one, and not for 0.

    Parameters
    ----------
    max_depth : int
        Of a tree.
    min_child_weight : float
        The least sum of second derivatives in a leaf.

    Attributes
    ----------
    model_ : xgboost.Booster
    """

    method = "xgboost"
    library = "xgboost"

    _: KW_ONLY
    learning_rate: float = 0.05
    max_depth: int = 4
    min_child_weight: float = 1.0

    def _check(self) -> None:
        super()._check()
        if not self.min_child_weight >= 0:
            raise LinrankError(f"min_child_weight={self.min_child_weight}; use 0 or more.")

    def _grown(self, dataset: RankingDataset) -> Any:
        settings = {
            "objective": "rank:ndcg",
            "ndcg_exp_gain": False,
            "learning_rate": self.learning_rate,
            "max_depth": self.max_depth,
            "min_child_weight": self.min_child_weight,
            "nthread": number_of_threads(self.n_threads),
            "seed": 0,
            "verbosity": 0,
        }
        queries = dataset.queries
        data = self._matrix(
            queries.grouped(dataset.features),
            label=_gains(queries.grouped(dataset.labels)),
            group=queries.sizes,
            weight=dataset.query_weights,
        )
        library = self._library()
        try:
            return library.train(settings, data, self.n_trees)
        except library.core.XGBoostError as error:
            said = str(error).strip().splitlines()[0]
            raise LinrankError(
                f"XGBoost refuses its settings: {said}. Change learning_rate or min_child_weight."
            ) from None

    def _columns_used(self) -> set[int]:
        # Columns without names are called f0, f1, …
        return {int(name[1:]) for name in self.model_.get_score(importance_type="weight")}

    def _scores(self, X: Any) -> Any:
        return self.model_.predict(self._matrix(X))

    def _matrix(self, rows: Any, **columns: Any) -> Any:
        return self._library().DMatrix(written_out(rows), nthread=number_of_threads(self.n_threads), **columns)


def _as_matrix(rows: Any) -> Any:
    """Sparse rows in the older of SciPy's two forms, the only one LightGBM knows; nothing is copied."""
    return sparse.csr_matrix(rows) if sparse.issparse(rows) else rows


def _gains(labels: Vector) -> Vector:
    """NDCG's gains: 2^y - 1, and 0 for labels below 0."""
    return np.exp2(np.maximum(labels, 0.0)) - 1.0
