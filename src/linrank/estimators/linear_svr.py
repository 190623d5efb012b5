"""LinearSVRRanker: the label of each document predicted by a linear function, whose values then rank."""

from __future__ import annotations

from dataclasses import KW_ONLY, field, replace
from typing import Any

import numpy as np

from linrank.arrays import Vector
from linrank.dataset.query_blocks import cut_into_blocks
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.with_constant import WithConstant
from linrank.errors import LinrankError
from linrank.estimators.declaring import with_settings
from linrank.estimators.minimizing_ranker import MinimizingRanker
from linrank.estimators.settings import check_choice, check_not_negative, check_positive
from linrank.executors.local import Threads
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import PairLoss
from linrank.objective.penalties import L2, Penalty
from linrank.objective.placement import PlacedData
from linrank.objective.pointwise_losses import EpsilonInsensitive, SquaredEpsilonInsensitive
from linrank.solvers.solution import Solution, Watch


@with_settings
class LinearSVRRanker(MinimizingRanker):
    """Linear support vector regression on the labels, document by document: the queries play no part in it.

    Minimises {formula} (or without the square) over the weights w and the intercept b. Adding a constant to all labels
    changes nothing but b. With 0 for the mean label it is LIBLINEAR's. The intercept is the same for all documents, so
    it is no part of the ranking, nor of `predict`.

    Parameters
    ----------
    C : float
        Weight of the loss, which is a sum over documents, as in LIBLINEAR.
    loss : {"l2", "l1"}
        With the square, or without.
    epsilon : float
        Labels may be missed by this much at no cost. Labels that all lie within it of their mean are refused.
    tol : float
        For "l2" (1e-6): the estimate of (f - min f) / f by the Newton decrement. For "l1" (1e-3): the duality gap
        relative to f.
    warm_start : bool
        Start from the last `coef_` and `intercept_`.

    Attributes
    ----------
    intercept_ : float
        b: w.x + b estimates the label.

    Examples
    --------
    >>> from linrank import LinearSVRRanker, make_ranking
    >>> data, _ = make_ranking(100, 20, 10)
    >>> model = LinearSVRRanker(C=0.01).fit(data.features, data.labels, qid=data.qid)
    >>> model.coef_.shape
    (10,)
    """

    method = "svr"
    reads_files = False

    C: float = 1.0
    _: KW_ONLY
    loss: str = "l2"
    epsilon: float = 0.1
    solver: str | None = None
    bounds: Any = None
    prior: Any = None
    tol: float | None = None
    max_iter: int = 100
    warm_start: bool = False
    intercept_: float = field(init=False)

    @property
    def objective(self) -> str:
        return super().objective if self.loss == "l2" else super().objective.replace("epsilon)^2", "epsilon)")

    def _check(self) -> None:
        check_choice("loss", self.loss, ("l2", "l1"))
        check_positive("C", self.C, "it is the weight of the loss.")
        check_not_negative("epsilon", self.epsilon, "it is how much a label may be missed by.")
        super()._check()

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
        return RankingObjective(self._loss(), self._penalty(), self.C, data)

    def _solve(self, objective: RankingObjective, start: Vector | None, watch: Watch | None) -> Any:
        if start is not None:
            start = np.append(start, self.intercept_ - self._centre)
        return super()._solve(objective, start, watch)

    def _finish(self, solution: Solution) -> None:
        self.intercept_ = float(solution.weights[-1]) + self._centre
        super()._finish(replace(solution, weights=solution.weights[:-1]))

    def _penalty(self) -> Penalty:
        """Of the weights, and of the intercept as the last of them."""
        wanted, n_features = self._with_wanted(L2()), self.n_features_in_
        if self.bounds is None and self.prior is None:
            return wanted

        def with_intercept(values: Any, of_intercept: float) -> Vector:
            return np.append(np.broadcast_to(values, n_features), of_intercept)

        return replace(
            wanted,
            centres=with_intercept(wanted.centres, 0.0),
            lower=with_intercept(wanted.lower, -np.inf),
            upper=with_intercept(wanted.upper, np.inf),
        )

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
    # By the name of its query it is sampled, or not.
    named = replace(alone.queries, ids=queries.ids[queries.of_rows()])
    return replace(alone, queries=named), centre
