"""LinearSVRRanker: the label of each document predicted by a linear function, whose values then rank."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from linrank.arrays import Vector
from linrank.dataset.query_blocks import cut_into_blocks
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.with_constant import WithConstant
from linrank.errors import LinrankError
from linrank.estimators.minimizing_ranker import MinimizingRanker
from linrank.estimators.settings import check_choice, check_limits, check_not_negative, check_positive
from linrank.executors.local import Threads
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import PairLoss
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.objective.pointwise_losses import EpsilonInsensitive, SquaredEpsilonInsensitive
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.smoothed_newton import SmoothedNewton
from linrank.solvers.solution import Iteration, Solution, Watch

_FORMULAS = {
    "l2": "max(0, |y_i - w.x_i - b| - epsilon)^2",
    "l1": "max(0, |y_i - w.x_i - b| - epsilon)",
}


class LinearSVRRanker(MinimizingRanker):
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

    def _check(self) -> None:
        check_choice("loss", self.loss, _FORMULAS)
        check_positive("C", self.C, "it is the weight of the loss.")
        check_not_negative("epsilon", self.epsilon, "it is how much a label may be missed by.")
        check_limits(self)

    def _train(self, dataset: RankingDataset, validation: list[RankingDataset]) -> None:
        documents, self._centre = _documents_alone(dataset)
        spread = float(np.abs(documents.labels).max())
        if 0.0 < spread <= self.epsilon:
            raise LinrankError(
                f"epsilon={self.epsilon}; every label is within {spread:g} of the mean label {self._centre:g}, so none "
                "would count. Use a smaller epsilon."
            )
        super()._train(documents, validation)

    def _objective(self, dataset: RankingDataset, executor: Threads) -> RankingObjective:
        blocks = [
            replace(block, features=WithConstant(block.features))  # type: ignore[arg-type]
            for block in cut_into_blocks(dataset)
        ]
        data = PlacedData.of_blocks(blocks, dataset.n_features + 1, executor)
        return RankingObjective(self._loss(), L2(), self.C, data)

    def _solve(self, objective: RankingObjective, start: Vector | None, watch: Watch | None) -> Solution:
        if start is not None:
            start = np.append(start, self.intercept_ - self._centre)
        solver = NewtonCG if self.loss == "l2" else SmoothedNewton
        return solver(**self._limits()).minimize(objective, start, watch=watch)

    def _finish(self, solution: Solution) -> None:
        self.intercept_ = float(solution.weights[-1]) + self._centre
        super()._finish(replace(solution, weights=solution.weights[:-1]))

    def _loss(self) -> PairLoss:
        made = SquaredEpsilonInsensitive if self.loss == "l2" else EpsilonInsensitive
        return made(float(self.epsilon))


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
