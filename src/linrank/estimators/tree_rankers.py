"""Rankers made of decision trees: what they share, and those of scikit-learn that predict the labels."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from contextlib import nullcontext
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from linrank.arrays import Vector
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError
from linrank.estimators.base import Ranker
from linrank.estimators.declaring import with_settings
from linrank.estimators.settings import check_count, check_positive
from linrank.threads import number_of_threads

# Sparse rows that are written out in full may take this many bytes.
_MOST_DENSE_BYTES = 1 << 33


@with_settings
class TreeRanker(Ranker, metaclass=ABCMeta):
    """A sum of decision trees; what was trained is `model_`, an object of the library it came from.

    Parameters
    ----------
    n_trees : int
        How many.
    learning_rate : float
        The share of each tree that is added.
    max_leaves : int
        Of a tree.
    min_leaf : int
        Documents in a leaf.
    n_threads : int
        All processors.

    Attributes
    ----------
    feature_count_ : int
        How many features some split looks at.
    n_iter_ : int
        Trees.
    """

    n_trees: int = 100
    _: KW_ONLY
    n_threads: int | None = None

    @abstractmethod
    def _grown(self, dataset: RankingDataset) -> Any:
        """Train, and return what the library made."""

    @abstractmethod
    def _columns_used(self) -> set[int]:
        """The columns that some split looks at."""

    @abstractmethod
    def _scores(self, X: Any) -> Any:
        """Score rows."""

    def predict(self, X: Any, *, executor: Any = None) -> Vector:
        """Score documents: higher is better. The order is that of the rows, and no query ids are needed.

        Parameters
        ----------
        X : array, CSR matrix or DataFrame of shape (n_documents, n_features), or a RankingDataset; or what
            `linrank.scan` returns or the path of a .linrank file, which is read chunk by chunk

        Returns
        -------
        ndarray of shape (n_documents,)
        """
        return self._scores_by_chunks(
            X, lambda rows: np.asarray(self._scores(self._rows(rows)), dtype=np.float64), executor
        )

    def _train(self, dataset: RankingDataset, validation: list[RankingDataset]) -> None:  # noqa: ARG002
        self.model_ = self._grown(dataset)
        self.feature_count_ = len(self._columns_used())
        self.n_iter_ = int(self.n_trees)
        self.history_ = ()

    def _check(self) -> None:
        for name in ("n_trees", "max_leaves", "min_leaf", "max_depth"):
            least = 2 if name == "max_leaves" else 1
            check_count(name, getattr(self, name, least), least)
        if hasattr(self, "learning_rate"):
            check_positive("learning_rate", self.learning_rate, "it is the share of each tree that is added.")
        number_of_threads(self.n_threads)


class PointwiseTrees(TreeRanker, metaclass=ABCMeta):
    """Trees that predict the label of each document, by least squares."""

    def _grown(self, dataset: RankingDataset) -> Any:
        weights = dataset.document_weights
        if dataset.query_weights is not None:
            of_documents = dataset.query_weights[dataset.queries.of_rows()]
            weights = of_documents if weights is None else weights * of_documents
        return self._regress(dataset.features, dataset.labels, weights)

    @abstractmethod
    def _regress(self, rows: Any, labels: Vector, weights: Vector | None) -> Any:
        """Fit a regression of the library."""


@with_settings
class GradientBoostedTrees(PointwiseTrees):
    """Gradient boosted regression trees on the labels, by scikit-learn's HistGradientBoostingRegressor.

    Lowers `sum over documents of (y_i - f(x_i)) ** 2`, f being a sum of trees, each fitted to what is left by those
    before it. The queries play no part in it. Sparse rows are written out in full.

    Parameters
    ----------
    random_state : int
        Chooses the documents that bins are made from, where there are more than 200,000.

    Attributes
    ----------
    model_ : HistGradientBoostingRegressor

    Examples
    --------
    >>> from linrank import GradientBoostedTrees, make_ranking
    >>> data, _ = make_ranking(100, 20, 10)
    >>> model = GradientBoostedTrees(n_trees=10).fit(data.features, data.labels, qid=data.qid)
    >>> model.predict(data.features).shape
    (2000,)
    """

    method = "gbt"

    _: KW_ONLY
    learning_rate: float = 0.05
    max_leaves: int = 15
    min_leaf: int = 50
    random_state: Any = 0

    def _regress(self, rows: Any, labels: Vector, weights: Vector | None) -> Any:
        from sklearn.ensemble import HistGradientBoostingRegressor

        trees = HistGradientBoostingRegressor(
            max_iter=self.n_trees,
            learning_rate=self.learning_rate,
            max_leaf_nodes=self.max_leaves,
            min_samples_leaf=self.min_leaf,
            early_stopping=False,
            random_state=self.random_state,
        )
        with self._threads():
            return trees.fit(written_out(rows), labels, sample_weight=weights)

    def _columns_used(self) -> set[int]:
        # scikit-learn has no public word for it; a test says whether this one still holds.
        nodes = [tree.nodes for (tree,) in self.model_._predictors]  # noqa: SLF001
        return {int(column) for tree in nodes for column in tree["feature_idx"][tree["is_leaf"] == 0]}

    def _scores(self, X: Any) -> Any:
        with self._threads():
            return self.model_.predict(written_out(X))

    def _threads(self) -> Any:
        return nullcontext() if self.n_threads is None else threadpool_limits(self.n_threads, user_api="openmp")


@with_settings
class RandomForest(PointwiseTrees):
    """A random forest of regression trees on the labels, by scikit-learn's RandomForestRegressor.

    Each tree lowers `sum over documents of (y_i - f(x_i)) ** 2` on documents drawn with replacement, seeing a random
    choice of features at each split; the forest is their mean. The queries play no part in it.

    Parameters
    ----------
    max_features : str, int, float or None
        Looked at for each split, as scikit-learn has it: the square root of their number, so many, a share, or all.
    random_state : int, RandomState or None
        Seeds the drawing of documents and of features.
    n_threads : int
        All processors, for training. The result is the same to the last bit for any number.

    Attributes
    ----------
    model_ : RandomForestRegressor

    Examples
    --------
    >>> from linrank import RandomForest, make_ranking
    >>> data, _ = make_ranking(100, 20, 10)
    >>> RandomForest(n_trees=10).fit(data.features, data.labels, qid=data.qid).n_iter_
    10
    """

    method = "random-forest"

    _: KW_ONLY
    max_features: Any = "sqrt"
    min_leaf: int = 20
    random_state: Any = 0

    def _regress(self, rows: Any, labels: Vector, weights: Vector | None) -> Any:
        from sklearn.ensemble import RandomForestRegressor

        trees = RandomForestRegressor(
            n_estimators=self.n_trees,
            max_features=self.max_features,
            min_samples_leaf=self.min_leaf,
            random_state=self.random_state,
            n_jobs=number_of_threads(self.n_threads),
        )
        trees.fit(_with_int32_offsets(rows), labels, sample_weight=weights)
        # Several threads add up the trees' scores as they finish, one in their order: always the same bits.
        return trees.set_params(n_jobs=1)

    def _columns_used(self) -> set[int]:
        return {int(column) for tree in self.model_.estimators_ for column in tree.tree_.feature if column >= 0}

    def _scores(self, X: Any) -> Any:
        return self.model_.predict(_with_int32_offsets(X))


def _with_int32_offsets(rows: Any) -> Any:
    """Sparse rows as scikit-learn's trees take them: it knows no offsets of 64 bits, which all rows read here have."""
    if not sparse.issparse(rows) or rows.indptr.dtype == np.int32:
        return rows
    if rows.nnz > np.iinfo(np.int32).max:
        raise LinrankError(
            f"scikit-learn's trees take up to 2,147,483,647 non-zero features, and these rows have {rows.nnz:,}. "
            "Use LightGBMRanker, or fewer rows."
        )
    parts = rows.data, rows.indices.astype(np.int32, copy=False), rows.indptr.astype(np.int32)
    return sparse.csr_array(parts, shape=rows.shape)


def written_out(rows: Any) -> Any:
    """Sparse rows as an array, for libraries that take no others."""
    if not sparse.issparse(rows):
        return rows
    size = rows.shape[0] * rows.shape[1] * rows.dtype.itemsize
    if size > _MOST_DENSE_BYTES:
        raise LinrankError(
            f"{rows.shape[0]} x {rows.shape[1]} sparse features written out in full take {size / 1e9:.0f} GB. "
            "Use LightGBMRanker or RandomForest, which take them as they are, or fewer features."
        )
    return rows.toarray()
