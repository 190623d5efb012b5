"""LinearSVRRanker: the label of each document predicted by a linear function, whose values then rank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np

from linrank.dataset.query_blocks import cut_into_blocks
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError
from linrank.estimators.base import LinearRanker, check_choice, check_positive, watcher
from linrank.executors.local import Threads
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import PairLoss
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.objective.pointwise_losses import EpsilonInsensitive, SquaredEpsilonInsensitive, WithConstant
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.smoothed_newton import SmoothedNewton
from linrank.solvers.solution import Iteration

_FORMULAS = {
    "l2": "max(0, |y_i - w.x_i - b| - epsilon)^2",
    "l1": "max(0, |y_i - w.x_i - b| - epsilon)",
}


class LinearSVRRanker(LinearRanker):
    """Linear support vector regression on the labels, document by document: the queries play no part in it.

    Minimises `(w.w + (b - m)^2) / 2 + C sum max(0, |y_i - w.x_i - b| - epsilon) ** 2` (or without the square) over the
    weights w and the intercept b; the sum is over documents, and m is the mean label, so that adding a constant to all
    labels changes nothing but b. With m = 0 it is LIBLINEAR's. The intercept is the same for all documents, so it is no
    part of the ranking, nor of `predict`.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss, which is a sum over documents, as in LIBLINEAR.
    loss : {"l2", "l1"}, default="l2"
        With the square, or without.
    epsilon : float, default=0.1
        Labels may be missed by this much at no cost. Labels that all lie within it of their mean are refused.
    tol : float, default=None
        For "l2" (1e-6): the estimate of (f - min f) / f by the Newton decrement. For "l1" (1e-3): the duality gap
        relative to f.
    max_iter : int, default=100
    warm_start : bool, default=False
        Start from the last `coef_` and `intercept_`.
    n_threads : int, default=None
        All processors. The result is the same to the last bit for any number.
    progress : callable, default=None
        Called with an `Iteration` (prints as one line) after each iteration.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
        b: w.x + b estimates the label.
    objective_ : float
        The value of the objective.
    gap_ : float
        A certified bound on `objective_` minus the least value there is.
    n_iter_ : int
    history_ : tuple of Iteration
    solution_ : Solution

    Examples
    --------
    >>> from linrank import make_ranking
    >>> from linrank.estimators.linear_svr import LinearSVRRanker
    >>> data, _ = make_ranking(100, 20, 10)
    >>> model = LinearSVRRanker(C=0.01).fit(data.features, data.labels, qid=data.qid)
    >>> model.coef_.shape
    (10,)
    """

    method = "svr"
    intercept_: float

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "l2",
        epsilon: float = 0.1,
        tol: float | None = None,
        max_iter: int = 100,
        warm_start: bool = False,
        n_threads: int | None = None,
        progress: Callable[[Iteration], object] | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.epsilon = epsilon
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.n_threads = n_threads
        self.progress = progress

    @property
    def objective(self) -> str:  # type: ignore[override]
        return f"(w.w + (b - mean label)^2) / 2 + C * sum over documents of {_FORMULAS[self.loss]}"

    def fit(
        self, X: Any, y: Any, qid: Any = None, *, group: Any = None, sample_weight: Any = None, query_weight: Any = None
    ) -> Self:
        """Train on documents X with labels y.

        Parameters
        ----------
        X : array, CSR matrix or DataFrame of shape (n_documents, n_features)
        y : labels, any finite numbers; higher is better
        qid : one value a row of any kind, in any order; the weights do not depend on it
        group : sizes of consecutive queries, in place of qid
        sample_weight : one weight a document
        query_weight : one weight a query, in order of first appearance; multiplies those of its documents
        """
        solver = self._solver()
        dataset = self._dataset(X, y, qid, group, sample_weight, query_weight)
        documents, centre = _documents_alone(dataset)
        spread = float(np.abs(documents.labels).max())
        if 0.0 < spread <= self.epsilon:
            raise LinrankError(
                f"epsilon={self.epsilon}; every label is within {spread:g} of the mean label {centre:g}, so none would "
                "count. Use a smaller epsilon."
            )
        start = None
        if self.warm_start and hasattr(self, "coef_"):
            start = np.append(self.coef_, self.intercept_ - centre)
        with Threads(self.n_threads) as executor:
            blocks = [
                replace(block, features=WithConstant(block.features))  # type: ignore[arg-type]
                for block in cut_into_blocks(documents)
            ]
            data = PlacedData.of_blocks(blocks, dataset.n_features + 1, executor)
            objective = RankingObjective(self._loss(), L2(), self.C, data)
            solution = solver.minimize(objective, start, watch=watcher(self.progress))
        self.intercept_ = float(solution.weights[-1]) + centre
        remedy = f"f - min f is about {solution.estimated_gap:.1e} of {solution.value:.6e}. Raise max_iter, or tol."
        self._keep(replace(solution, weights=solution.weights[:-1]), unfinished=remedy)
        return self

    def _loss(self) -> PairLoss:
        made = SquaredEpsilonInsensitive if self.loss == "l2" else EpsilonInsensitive
        return made(float(self.epsilon))

    def _solver(self) -> NewtonCG | SmoothedNewton:
        """Everything that cannot work is refused here, before any work."""
        check_choice("loss", self.loss, _FORMULAS)
        check_positive("C", self.C, "it is the weight of the loss.")
        if not (np.isfinite(self.epsilon) and self.epsilon >= 0):
            raise LinrankError(f"epsilon={self.epsilon}; use 0, or how much a label may be missed by.")
        if self.tol is not None and not self.tol > 0:
            raise LinrankError(f"tol={self.tol}; use a positive number, or None for the solver's own.")
        if self.max_iter < 1:
            raise LinrankError(f"max_iter={self.max_iter}; use at least 1.")
        tolerance: dict[str, Any] = {} if self.tol is None else {"tolerance": self.tol}
        made = NewtonCG if self.loss == "l2" else SmoothedNewton
        return made(max_iterations=self.max_iter, **tolerance)


def _documents_alone(dataset: RankingDataset) -> tuple[RankingDataset, float]:
    """Every document as a query of its own, its label measured from the mean label, and that mean."""
    queries = dataset.queries
    weights = np.ones(dataset.n_documents) if dataset.document_weights is None else dataset.document_weights
    if dataset.query_weights is not None:
        weights = weights * dataset.query_weights[queries.of_rows()]
    total = float(np.sum(weights))
    if total == 0.0:
        raise LinrankError("every query weight is zero: no document counts. Give some queries a weight.")
    centre = float(np.sum(weights * dataset.labels)) / total
    alone = RankingDataset.from_arrays(
        dataset.features,
        dataset.labels - centre,
        group=np.ones(dataset.n_documents, dtype=np.int64),
        document_weights=weights,
    )
    return alone, centre
