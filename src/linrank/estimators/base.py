"""What every ranker shares: taking X, y and qid as scikit-learn does, scoring; and what every linear one adds to it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from linrank.arrays import Vector
from linrank.dataset.features import scores_of
from linrank.dataset.queries import Queries
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError
from linrank.measures import NDCG, Judgements
from linrank.model import LinearModel
from linrank.solvers.solution import Iteration, Solution, Watch


class Ranker(BaseEstimator):  # type: ignore[misc]
    """A ranking function trained from features, labels and queries; a kind of ranker has its own `predict`."""

    # Metadata routing: a GridSearchCV or Pipeline passes `qid` on without being told to.
    __metadata_request__fit = {"qid": True}
    # (A Pipeline always names sample_weight to `score`, so it must be known there, and unused.)
    __metadata_request__score = {"qid": True, "sample_weight": None}

    method: str = ""
    objective: str = ""
    """The formula minimised."""
    history_: tuple[Any, ...]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def score(self, X: Any, y: Any, *, qid: Any = None, group: Any = None) -> float:
        """NDCG@10 (gain 2^y - 1, discount 1 / log2(rank + 1)), the mean over queries.

        Without qid or group it raises, unless the ranker was itself trained on everything as one query.
        """
        scores = self.predict(X)
        if qid is None and group is None:
            if self.fitted_by_query_:
                raise LinrankError(
                    "NDCG needs to know which documents belong together. Pass qid (one value a row) or group."
                )
            group = [len(scores)]
        queries = Queries.from_ids(qid) if group is None else Queries.from_sizes(group, len(scores))
        return (NDCG @ 10).mean(scores, Judgements(np.asarray(y, dtype=np.float64), queries))

    def _dataset(
        self, X: Any, y: Any, qid: Any, group: Any, sample_weight: Any, query_weight: Any, *, first: bool = True
    ) -> RankingDataset:
        """Check what was passed to `fit`, as scikit-learn does, and put it together.

        Data that is not the `first` must have the columns of the first.
        """
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], y_numeric=True, order="C", reset=first
        )
        one_query = qid is None and group is None
        if one_query:
            warnings.warn(
                "no qid was given: all documents are compared with one another, as one query. "
                "Pass qid (one value a row) or group (one size a query).",
                UserWarning,
                stacklevel=3,
            )
            group = [X.shape[0]]
        self.fitted_by_query_ = not one_query
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            if not sample_weight.any():
                raise LinrankError("every sample weight is zero: no pair counts. Give some documents a weight.")
        return RankingDataset.from_arrays(
            X, y, qid=qid, group=group, document_weights=sample_weight, query_weights=query_weight
        )

    def _validation(self, eval_set: Any, eval_qid: Any, eval_group: Any) -> list[RankingDataset]:
        """The sets to watch during training, from LightGBM's arguments: (X, y) pairs, with a qid or group for each."""
        if eval_set is None:
            return []
        pairs: Sequence[Any] = [eval_set] if isinstance(eval_set, tuple) else eval_set
        qids = _one_a_set(eval_qid, len(pairs), "eval_qid")
        groups = _one_a_set(eval_group, len(pairs), "eval_group")
        sets = []
        for (X, y), qid, group in zip(pairs, qids, groups, strict=True):
            X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)  # noqa: PLW2901
            sets.append(RankingDataset.from_arrays(X, y, qid=qid, group=group))
        return sets


class LinearRanker(Ranker):
    """A ranking function that is one weight a feature."""

    def predict(self, X: Any) -> Vector:
        """Score documents: higher is better. The order is that of the rows, and no query ids are needed.

        Parameters
        ----------
        X : array, CSR matrix or DataFrame of shape (n_documents, n_features)

        Returns
        -------
        ndarray of shape (n_documents,)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        return scores_of(X, self.coef_)

    def to_model(self, **extra: Any) -> LinearModel:
        """The trained weights as a `LinearModel`, which can be saved; `extra` overrides its fields."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [str(number + 1) for number in range(self.n_features_in_)]
        fields = {
            "feature_names": tuple(str(name) for name in names),
            "method": self.method,
            "objective": self.objective,
            "parameters": {
                name: value.item() if isinstance(value, np.generic) else value
                for name, value in self.get_params().items()
                if _is_plain(value)
            },
            **extra,
        }
        return LinearModel(self.coef_, **fields)

    def _keep(self, solution: Solution, *, unfinished: str | None) -> None:
        """Set what a trained ranker has; say what the caller should know, `unfinished` if it did not converge."""
        self.solution_ = solution
        self.coef_ = solution.weights
        self.objective_ = solution.value
        self.n_iter_ = solution.iterations
        self.history_ = solution.history
        if np.isfinite(solution.certified_gap):
            self.gap_ = solution.certified_gap
        if solution.interrupted:
            # The last point is kept above; the caller still learns that Ctrl-C was pressed.
            raise KeyboardInterrupt
        if solution.history[0].value == 0.0:
            warnings.warn(
                "no query has two documents with different labels and a weight: every weight is zero.",
                UserWarning,
                stacklevel=3,
            )
        if unfinished is not None and not solution.converged:
            warnings.warn(f"not converged: {solution.message}; {unfinished}", ConvergenceWarning, stacklevel=3)


def _one_a_set(values: Any, n_sets: int, name: str) -> Sequence[Any]:
    if values is None:
        return [None] * n_sets
    if n_sets == 1 and (len(values) != 1 or np.ndim(values[0]) == 0):
        return [values]
    if len(values) != n_sets:
        raise LinrankError(f"{name} has {len(values)} entries, but eval_set has {n_sets}. Pass one for each set.")
    return list(values)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool | np.integer | np.floating)


def check_choice(name: str, value: Any, known: Any) -> None:
    """Refuse a setting that is none of the known ones."""
    if value not in known:
        raise LinrankError(f"{name}={value!r}; use one of {', '.join(repr(word) for word in known)}.")


def check_positive(name: str, value: float, remedy: str) -> None:
    """Refuse a setting that is not a positive number."""
    if not (np.isfinite(value) and value > 0):
        raise LinrankError(f"{name}={value}; use a positive number: {remedy}")


def watcher(progress: Callable[[Iteration], object] | None, watching: Patience | None = None) -> Watch | None:
    """What a solver calls after each iteration: the caller's progress, and the validation measure."""
    if progress is None and (watching is None or not watching.active):
        return None

    def watch(line: Iteration, weights: Vector) -> bool:
        if progress is not None:
            progress(line)
        return watching is not None and watching.active and watching(line, weights)

    return watch


class Patience:
    """Watches a validation measure during training, and says when it has not improved for a while."""

    def __init__(self, sets: list[RankingDataset], measure: Any, patience: int | None) -> None:
        if patience is not None and (not sets or patience < 1):
            raise LinrankError(f"patience={patience} needs an eval_set to be patient on, and to be at least 1.")
        self._sets = sets
        self._measure = measure
        self._patience = patience
        self._since = 0
        self.best = -np.inf
        self.best_weights: Vector | None = None
        self.best_line: Iteration | None = None
        self.values: list[list[float]] = []

    @property
    def active(self) -> bool:
        return bool(self._sets)

    def __call__(self, line: Iteration, weights: Vector) -> bool:
        """Measure every set; the last one decides."""
        self.values.append([self._measure.mean(scores_of(data.features, weights), data) for data in self._sets])
        latest = self.values[-1][-1]
        self._since += 1
        if latest > self.best:
            self.best, self.best_weights, self.best_line, self._since = latest, weights, line, 0
        return self._patience is not None and self._since >= self._patience
