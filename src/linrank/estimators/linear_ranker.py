"""What every ranker adds that is one weight a feature: its scores, its weights by name, and the model made of them."""

from __future__ import annotations

import warnings
from abc import ABCMeta
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.cached import cached_property
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import one_after_the_other, scaled
from linrank.dataset.shaped_rows import ShapedRows
from linrank.dataset.transform_choice import choose_transform
from linrank.errors import LinrankError
from linrank.estimators.base import Ranker
from linrank.estimators.conventions import ConvergenceWarning, check_trained
from linrank.executors.local import Threads
from linrank.executors.pieces import through
from linrank.linear_scores import LinearScores
from linrank.memory import has_room
from linrank.model import LinearModel, utc_now
from linrank.named_weights import NamedWeights
from linrank.solvers.solution import Solution

NO_PAIRS = "no query has two documents with different labels and a weight: every weight is zero."


class LinearRanker(Ranker, metaclass=ABCMeta):
    """A ranking function that is one weight a feature.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    n_iter_ : int
    """

    transforms: str | None = None
    """What features go through before they have weights; a setting of those that minimise an objective."""
    transform_: Any = None
    products_: Any = None
    """What is added beside one weight a feature: `FeatureProducts`; only AdditiveRanker has some, if asked."""

    def predict(self, X: Any, *, executor: Any = None) -> Vector:
        """Score documents: higher is better. The order is that of the rows, and no query ids are needed.

        Parameters
        ----------
        X : array, CSR matrix or DataFrame of shape (n_documents, n_features), or a RankingDataset; or what
            `linrank.scan` returns or the path of a .linrank file, which is read chunk by chunk
        executor : DaskExecutor
            Who reads and scores the chunks of a file: this process unless told. The scores are the same.

        Returns
        -------
        ndarray of shape (n_documents,)
        """
        return self._scores_by_chunks(X, self._scores_of, executor)

    def _scores_of(self, X: Any) -> Vector:
        rows = self._rows(X)
        return self._linear_scores.of(rows, X.queries if isinstance(X, RankingDataset) else None)

    @property
    def _linear_scores(self) -> LinearScores:
        return LinearScores(self.coef_, self.transform_, self.products_, self._names)

    @property
    def shapes_features(self) -> bool:
        return self.transforms is not None

    def on_shaped(self, parameters: Mapping[str, Any]) -> Any:  # noqa: ARG002 - one signature for all
        """The ranker of a model with these parameters, not trained, for features that went through its transform."""
        return type(self)(**{**self.get_params(), "transforms": None}) if self.shapes_features else self

    def _prepared(
        self, dataset: RankingDataset, validation: list[RankingDataset]
    ) -> tuple[RankingDataset, list[RankingDataset]]:
        self.transform_ = None
        if self.transforms is None:
            return dataset, validation
        executor = getattr(self, "executor", None)
        by = one_after_the_other if executor is None else through(executor)
        if self.transforms == "auto" and validation:
            from linrank.estimators.auto_transform import choose_on_validation

            measure = getattr(self, "measure", "ndcg@10")
            choice = choose_on_validation(scaling_after, dataset, validation[-1], measure, executor)
        else:
            choice = choose_transform(self.transforms, scaling_after(self.transforms), dataset, by)
        self.transform_, self.transform_reason_ = choice.scaling, str(choice)
        # Who learns from files goes through blocks one by one, and needs no copy of all rows where there is no room.
        held = executor is not None or not self.reads_files or has_room(getattr(dataset.features, "nbytes", 0))
        shaped = scaled(dataset, self.transform_, held=held)
        if isinstance(shaped.features, ShapedRows):
            self.transform_reason_ += "; rows go through it each time they are used, for want of memory for a copy"
        return shaped, [scaled(watched, self.transform_) for watched in validation]

    def _importances(self) -> str:
        return (
            "a linear ranker has weights: weights_ by name, coef_ in order; linrank.weight_intervals(ranker, data) has "
            "them in units that features share."
        )

    # Cached, so that a ranker that has one sets it.
    @cached_property
    def intercept_(self) -> float:
        """0: a constant changes no order. For tools that read linear models, such as SHAP's `LinearExplainer`."""
        check_trained(self)
        return 0.0

    @property
    def used_(self) -> NDArray[np.bool_]:
        """Which features scores depend on: those with a weight, and those that are in a product."""
        check_trained(self)
        return self._linear_scores.used

    @property
    def weights_(self) -> NamedWeights:
        """The weights by name, the largest first; prints as a table, `weights_.to_series()` is a pandas Series.

        With `transforms`, they are on the features after these.
        """
        check_trained(self)
        return NamedWeights(self._names, self.coef_)

    def to_model(self, **extra: Any) -> LinearModel:
        """The trained weights as a `LinearModel`, which can be saved; `extra` overrides its fields."""
        check_trained(self)
        fields = {
            "feature_names": self._names,
            "method": self.method,
            "objective": self.objective,
            "parameters": plain_settings(self),
            "missing": self.missing_rule_,
            "trained_at": utc_now(),
            **extra,
        }
        if self.transform_ is not None:
            if fields.get("scaling") is not None:
                raise LinrankError(
                    f"the features went through {self.transform_.kind} in the ranker, and a model has no place for "
                    "another scaling. Train it on features as they are."
                )
            fields["scaling"] = self.transform_
        return LinearModel(self.coef_, products=self.products_, **fields)

    def _learnt(self, solution: Solution) -> None:
        """Set what every trained ranker has; Ctrl-C, which ended the training, is then heard by the caller."""
        self.coef_ = solution.weights
        self.objective_ = solution.value
        self.n_iter_ = solution.iterations
        self.history_ = solution.history
        if solution.interrupted:
            raise KeyboardInterrupt

    def _keep(self, solution: Solution, *, unfinished: str | None) -> None:
        """Keep what a solver found; say what the caller should know, `unfinished` if it did not converge."""
        self.solution_ = solution
        if np.isfinite(solution.certified_gap):
            self.gap_ = solution.certified_gap
        self._learnt(solution)
        if solution.history[0].value == 0.0:
            warnings.warn(NO_PAIRS, UserWarning, stacklevel=4)
        if unfinished is not None and not solution.converged:
            warnings.warn(f"not converged: {solution.message}; {unfinished}", ConvergenceWarning, stacklevel=4)


def scaling_after(transform: str) -> str:
    """What follows a transform unless a user says so: ranks are comparable as they are, logarithms once scaled."""
    return "auto" if transform == "signed-log" else "none"


def who_computes(ranker: Any, n_threads: int | None = None) -> Any:
    """The executor it was given, which is told what is trained, as it may keep a log of it; or threads."""
    if ranker.executor is None:
        return Threads(n_threads)
    ranker.executor.about = {"method": ranker.method, "settings": plain_settings(ranker)}
    return ranker.executor


def plain_settings(ranker: Ranker) -> dict[str, Any]:
    """The settings that are numbers, text or None."""
    return {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in ranker.get_params().items()
        if _is_plain(value)
    }


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool | np.integer | np.floating)
