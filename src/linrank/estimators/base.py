"""What every ranker shares: one `fit`, and scoring."""

from __future__ import annotations

import os
import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self, cast

import numpy as np

from linrank.arrays import Vector
from linrank.dataset.features import refuse_missing
from linrank.dataset.frames import about_columns, check_columns
from linrank.dataset.missing_rule import rule_to_remember
from linrank.dataset.queries import Queries
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import difference_of_units
from linrank.dataset.sound_rows import refuse_unsound
from linrank.dataset.stored_dataset import StoredDataset
from linrank.errors import LinrankError
from linrank.estimators.catalogue import METHODS
from linrank.estimators.conventions import PlainEstimator, check_trained
from linrank.estimators.habits import answering, in_our_words, refuse_in_fit
from linrank.estimators.inside_search import ROUTING, check_search
from linrank.estimators.pickling import of_this_version, with_version
from linrank.estimators.settings import check_kinds
from linrank.executors.pieces import scores_by_chunks
from linrank.loaded import subclass_once_loaded
from linrank.maps import refuse_cut_maps
from linrank.measures import NDCG, Judgements, evaluate
from linrank.named_weights import numbers_as_names
from linrank.reading.partitions import PartitionedDataset
from linrank.reading.scan import is_dask_frame, scan


@subclass_once_loaded("sklearn.base", "BaseEstimator")
class Ranker(PlainEstimator, metaclass=ABCMeta):
    """A ranking function trained from features, labels and queries; a kind of ranker has its own `predict`.

    Parameters
    ----------
    n_threads : int
        All processors. The result is the same to the last bit for any number.
    """

    # Metadata routing: a GridSearchCV or Pipeline passes `qid` on without being told to.
    __metadata_request__fit = {"qid": True}
    # (A Pipeline always names sample_weight to `score`, so it must be known there, and unused.)
    __metadata_request__score = {"qid": True, "sample_weight": None}

    method: str = ""
    watches: bool = False
    """Whether an `eval_set` is of any use to it."""
    chooses: bool = False
    """Whether it chooses settings of its own on an `eval_set`, or by folds without one."""
    weighs_documents: bool = True
    """Whether documents may have weights."""
    reads_files: bool = False
    """Whether it trains on a `StoredDataset` without loading it."""
    history_: tuple[Any, ...]

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if "__init__" in cls.__dict__:
            cls.__init__ = answering(cls.__init__)  # type: ignore[method-assign]

    def set_params(self, **settings: Any) -> Self:
        """Change settings by name, as scikit-learn does; one that there is not is answered by ours."""
        own = {name: value for name, value in settings.items() if "__" not in name}
        nested = {name: value for name, value in settings.items() if "__" in name}
        changed: Self = super().set_params(**in_our_words(type(self).__name__, own, list(self.get_params())), **nested)
        return changed

    def __getstate__(self) -> dict[str, Any]:
        return with_version(super().__getstate__())

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(of_this_version(self, state))

    @property
    def shapes_features(self) -> bool:
        """Whether it does with features what suits it, and so is given them as they are."""
        return False

    @property
    def objective(self) -> str:
        """The formula minimised, by the settings."""
        return METHODS[self.method].formula if self.method in METHODS else ""

    @property
    def feature_importances_(self) -> Any:
        """Not there: weights and trees have measures of their own, which the error names."""
        raise AttributeError(f"{type(self).__name__} has no feature_importances_; {self._importances()}")

    def _importances(self) -> str:
        return "the trees are in model_, with what their library knows of its features."

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        group: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        eval_group: Any = None,
        **others: Any,
    ) -> Self:
        """Train on documents X with labels y, or on a `RankingDataset`.

        Parameters
        ----------
        X : array, CSR matrix or DataFrame of shape (n_documents, n_features); or a RankingDataset, what `linrank.scan`
            returns or the path of a .linrank file, and nothing beside it; or a Dask DataFrame, or the path of a Parquet
            file or a folder of them, with the names of columns in place of labels, query ids and weights where they
            are not called "label" and "qid"
        y : labels, any finite numbers; higher is better
        qid : one value a row of any kind, in any order; without it, everything is one query
        group : sizes of consecutive queries, in place of qid
        sample_weight : one weight a document; a pair weighs the product of its two, unless the class says otherwise
        query_weight : one weight a query, in order of first appearance
        eval_set : list of (X, y), with `eval_qid` or `eval_group` for each, or of RankingDatasets: what a ranker that
            can watches after each iteration
        """
        refuse_in_fit(self, others)
        check_kinds(self)
        check_search(qid)
        self._check()
        dataset = self._dataset(X, y, qid, group, sample_weight, query_weight)
        dataset, validation = self._prepared(dataset, self._validation(eval_set, eval_qid, eval_group))
        if self._compares_weights() and (difference := difference_of_units(dataset)):
            warnings.warn(
                f"the penalty compares weights, and {difference}: features in large units are chosen first. "
                "Scale them, as StandardScaler, linrank train and feature_path do.",
                UserWarning,
                stacklevel=2,
            )
        self._train(dataset, validation)
        return self

    @abstractmethod
    def predict(self, X: Any, *, executor: Any = None) -> Vector:
        """Score documents: higher is better."""

    @abstractmethod
    def _check(self) -> None:
        """Refuse settings that cannot work, before any work."""

    def _prepared(
        self, dataset: RankingDataset, validation: list[RankingDataset]
    ) -> tuple[RankingDataset, list[RankingDataset]]:
        """The data as it is learnt from, and that which is watched in the same way."""
        return dataset, validation

    def _compares_weights(self) -> bool:
        """Whether which features have a weight at all depends on their units."""
        return False

    @abstractmethod
    def _train(self, dataset: RankingDataset, validation: list[RankingDataset]) -> None:
        """Learn from data that is checked, and set what a trained ranker has."""

    def score(self, X: Any, y: Any = None, *, qid: Any = None, group: Any = None) -> float:
        """NDCG@10 (gain 2^y - 1, discount 1 / log2(rank + 1)), the mean over queries.

        Without qid or group it raises, unless the ranker was itself trained on everything as one query. A
        `RankingDataset`, what `linrank.scan` returns or the path of a .linrank file in place of X brings all of them.
        """
        X = scanned(X)
        if isinstance(X, RankingDataset | StoredDataset | PartitionedDataset):
            return evaluate(self, X, NDCG @ 10).mean[NDCG @ 10]
        scores = self.predict(X)
        if qid is None and group is None:
            if self.fitted_by_query_:
                raise LinrankError(
                    "NDCG needs to know which documents belong together. Pass qid (one value a row) or group; in a "
                    f"search or cross-validation of scikit-learn, {ROUTING} passes it on."
                )
            group = [len(scores)]
        queries = Queries.from_ids(qid) if group is None else Queries.from_sizes(group, len(scores))
        return (NDCG @ 10).mean(scores, Judgements(np.asarray(y, dtype=np.float64), queries))

    def _scores_by_chunks(
        self, X: Any, score: Callable[[Any], Vector], executor: Any = None, *, by_query: bool = False
    ) -> Vector:
        """What `score` makes of data; of a file, of each chunk of whole queries, by this process or an executor's."""
        X = scanned(X)
        if executor is not None or isinstance(X, StoredDataset | PartitionedDataset):
            return scores_by_chunks(self, X, executor, by_query=by_query)
        return score(X)

    @property
    def _names(self) -> tuple[str, ...]:
        """The names of the columns it was trained on, or their numbers from 1 where they have none."""
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return numbers_as_names(self.n_features_in_)
        return tuple(str(name) for name in names)

    def _rows(self, X: Any) -> Any:
        """The features of documents to be scored or watched, checked against those it was trained on."""
        check_trained(self)
        if isinstance(X, RankingDataset):
            return self._of_known_columns(X).features
        from sklearn.utils.validation import validate_data

        refuse_unsound(X)
        refuse_cut_maps(X)
        check_columns(X)
        try:
            rows = validate_data(
                self, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False, reset=False
            )
        except ValueError as error:
            raise about_columns(error, X, self._names, type(self).__name__) from None
        refuse_missing(rows, self._names)
        return rows

    def _of_known_columns(self, dataset: RankingDataset) -> RankingDataset:
        """Data with the columns of the first, complete."""
        if hasattr(self, "feature_names_in_") or dataset.feature_names is None:
            dataset = dataset.with_columns(self._names)
        elif dataset.n_features != self.n_features_in_:
            raise LinrankError(
                f"the data has {dataset.n_features} features, but {type(self).__name__} was trained on "
                f"{self.n_features_in_} without names. Use the same columns."
            )
        refuse_missing(dataset.features, self._names)
        return dataset

    def _dataset(
        self, X: Any, y: Any, qid: Any, group: Any, sample_weight: Any, query_weight: Any, *, first: bool = True
    ) -> RankingDataset:
        """Check what was passed to `fit`, as scikit-learn does, and put it together.

        Data that is not the `first` must have the columns of the first.
        """
        if is_elsewhere(X):
            given = {"label": y, "qid": qid, "weight": sample_weight, "query_weight": query_weight}
            names = {role: name for role, name in given.items() if name is not None}
            if group is not None or not all(isinstance(name, str) for name in names.values()):
                raise LinrankError(
                    "data that is not loaded brings its own labels, queries and weights: pass nothing beside it but "
                    "names of columns of Parquet or of a Dask DataFrame, such as y='label', qid='qid'."
                )
            X = scan(X, **names)
            y = qid = sample_weight = query_weight = None
        if isinstance(X, RankingDataset | StoredDataset | PartitionedDataset):
            if any(given is not None for given in (y, qid, group, sample_weight, query_weight)):
                raise LinrankError(
                    f"a {type(X).__name__} brings its own labels, queries and weights: pass nothing beside it."
                )
            self.fitted_by_query_ = True
            if not isinstance(X, RankingDataset):
                return self._from_file(X, first=first)
            dataset = self._adopted(X) if first else self._of_known_columns(X)
        else:
            dataset = self._put_together(X, y, qid, group, sample_weight, query_weight, first=first)
        if first:
            self.missing_rule_ = rule_to_remember(dataset.missing)
        weights = dataset.document_weights
        if weights is not None and not self.weighs_documents:
            raise LinrankError(f"{type(self).__name__} takes no weights of documents (sample_weight). Leave them out.")
        if weights is not None and not weights.any():
            raise LinrankError("every sample weight is zero: no pair counts. Give some documents a weight.")
        # What features become that go through something first is looked at where it is cut into blocks.
        dataset.check_trainable(shaped=self.shapes_features)
        return dataset

    def _from_file(self, dataset: StoredDataset | PartitionedDataset, *, first: bool) -> RankingDataset:
        """Data that is read block after block, and checked as it is read."""
        if not self.reads_files or not first:
            raise LinrankError(
                f"{type(self).__name__} needs all of its data in memory. Load it: linrank.read({dataset.source!r})"
            )
        if not self.weighs_documents and dataset.weighs_documents:
            raise LinrankError(f"{type(self).__name__} takes no weights of documents, which {dataset.source} has.")
        self.missing_rule_ = rule_to_remember(dataset.missing)
        # It has the face of one, but for the arrays of all rows, which nobody who reads files asks for.
        return self._adopted(cast(RankingDataset, dataset))

    def _adopted(self, dataset: RankingDataset) -> RankingDataset:
        """The first data, whose columns are kept in mind as scikit-learn does."""
        if dataset.n_documents == 0 or dataset.n_features == 0:
            raise LinrankError(f"{dataset!r}: there is nothing to learn from. Check how it was read.")
        dataset.require_labels()
        self.n_features_in_ = dataset.n_features
        self.__dict__.pop("feature_names_in_", None)
        if dataset.feature_names is not None:
            self.feature_names_in_ = np.array(dataset.feature_names, dtype=object)
        return dataset

    def _put_together(
        self, X: Any, y: Any, qid: Any, group: Any, sample_weight: Any, query_weight: Any, *, first: bool
    ) -> RankingDataset:
        from sklearn.utils.validation import _check_sample_weight, validate_data

        refuse_unsound(X)
        refuse_cut_maps(X)
        check_columns(X)
        # (It looks for infinities in a sum of labels, which may be none where they are not.)
        with np.errstate(invalid="ignore"):
            X, y = validate_data(
                self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], y_numeric=True, order="C",
                ensure_all_finite=False, reset=first,
            )  # fmt: skip
        one_query = qid is None and group is None
        if one_query:
            warnings.warn(
                "no qid was given: all documents are compared with one another, as one query. "
                "Pass qid (one value a row) or group (one size a query).",
                UserWarning,
                stacklevel=4,
            )
            group = [X.shape[0]]
        self.fitted_by_query_ = not one_query
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        names = self._names if hasattr(self, "feature_names_in_") else None
        return RankingDataset.from_arrays(
            X, y, qid=qid, group=group, feature_names=names, document_weights=sample_weight, query_weights=query_weight
        )

    def _validation(self, eval_set: Any, eval_qid: Any, eval_group: Any) -> list[RankingDataset]:
        """The sets to watch during training: datasets, or LightGBM's (X, y) pairs with a qid or group for each."""
        if eval_set is None:
            for name, value in (("eval_qid", eval_qid), ("eval_group", eval_group)):
                if value is not None:
                    raise LinrankError(f"{name} is given without the eval_set it belongs to. Pass both, or neither.")
            return []
        if not isinstance(eval_set, tuple | list | RankingDataset):
            raise LinrankError(f"eval_set is {type(eval_set).__name__}; pass a RankingDataset, or a list of (X, y).")
        if not self.watches:
            raise LinrankError(f"{type(self).__name__} watches no eval_set while it learns. Leave it out.")
        sets: Sequence[Any] = [eval_set] if isinstance(eval_set, tuple | RankingDataset) else eval_set
        qids = _one_a_set(eval_qid, len(sets), "eval_qid")
        groups = _one_a_set(eval_group, len(sets), "eval_group")
        made = []
        for given, qid, group in zip(sets, qids, groups, strict=True):
            if isinstance(given, RankingDataset):
                made.append(self._of_known_columns(given))
            else:
                made.append(RankingDataset.from_arrays(self._rows(given[0]), given[1], qid=qid, group=group))
        return made


class UnweightedRanker(Ranker, metaclass=ABCMeta):
    """A ranker for which documents have no weights."""

    weighs_documents = False

    # Without sample_weight, which scikit-learn would otherwise take to be supported.
    def fit(
        self, X: Any, y: Any = None, qid: Any = None, *, group: Any = None, query_weight: Any = None, **others: Any
    ) -> Self:
        """Train on documents X with labels y, or on a `RankingDataset`.

        Parameters
        ----------
        X : array, CSR matrix or DataFrame of shape (n_documents, n_features); or a RankingDataset and nothing beside it
        y : labels, any finite numbers; higher is better, and 0 or less gains nothing in NDCG
        qid : one value a row of any kind, in any order; without it, everything is one query
        group : sizes of consecutive queries, in place of qid
        query_weight : one weight a query, in order of first appearance
        """
        return super().fit(X, y, qid, group=group, query_weight=query_weight, **others)


def scanned(X: Any) -> Any:
    """The data behind a path or a Dask DataFrame, which is not loaded; anything else as it is."""
    return scan(X) if is_elsewhere(X) else X


def is_elsewhere(X: Any) -> bool:
    """Whether data is a path, or a Dask DataFrame."""
    return isinstance(X, str | os.PathLike) or is_dask_frame(X)


def _one_a_set(values: Any, n_sets: int, name: str) -> Sequence[Any]:
    if values is None:
        return [None] * n_sets
    if n_sets == 1 and (len(values) != 1 or np.ndim(values[0]) == 0):
        return [values]
    if len(values) != n_sets:
        raise LinrankError(f"{name} has {len(values)} entries, but eval_set has {n_sets}. Pass one for each set.")
    return list(values)
