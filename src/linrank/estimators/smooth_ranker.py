"""What ListNet, RankNet and LambdaRank share: a loss that is smooth in the scores, its weight C, and a penalty."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError
from linrank.estimators.base import LinearRanker, Patience, check_choice, watcher
from linrank.executors.local import Threads
from linrank.measures import parse_measure
from linrank.objective.objective import EvaluatedPoint, RankingObjective
from linrank.objective.pair_losses import PairLoss
from linrank.objective.penalties import L1, L2
from linrank.objective.placement import PlacedData
from linrank.solvers.lambda_gradient import LambdaGradient
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.proximal_newton import ProximalNewton
from linrank.solvers.solution import Iteration, Solution

SmoothSolver = NewtonCG | ProximalNewton | LambdaGradient

_PENALTIES = {"l2": "w.w / 2", "l1": "|w|_1"}


class SmoothRanker(LinearRanker, metaclass=ABCMeta):
    """Minimises `penalty(w) + C loss(X w)` for a convex loss, smooth in the scores, whose least value is known."""

    loss_sum: str
    """The loss, as a formula."""

    def __init__(
        self,
        C: float = 1.0,
        *,
        penalty: str = "l2",
        tol: float = 1e-6,
        max_iter: int = 100,
        max_seconds: float | None = None,
        patience: int | None = None,
        eval_measure: str = "ndcg@10",
        warm_start: bool = False,
        n_threads: int | None = None,
        progress: Callable[[Iteration], object] | None = None,
    ) -> None:
        self.C = C
        self.penalty = penalty
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.patience = patience
        self.eval_measure = eval_measure
        self.warm_start = warm_start
        self.n_threads = n_threads
        self.progress = progress

    @property
    def objective(self) -> str:  # type: ignore[override]
        return f"{_PENALTIES[self.penalty]} + C * {self.loss_sum}"

    @abstractmethod
    def _loss(self) -> PairLoss: ...

    def fit(
        self,
        X: Any,
        y: Any,
        qid: Any = None,
        *,
        group: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        eval_group: Any = None,
    ) -> Self:
        """Train on documents X with labels y.

        Parameters
        ----------
        X : array, CSR matrix or DataFrame of shape (n_documents, n_features)
        y : labels, any finite numbers; higher is better
        qid : one value a row of any kind, in any order; without it, everything is one query
        group : sizes of consecutive queries, in place of qid
        sample_weight : how often each document stands in its query
        query_weight : one weight a query, in order of first appearance
        eval_set : list of (X, y) to measure after each iteration, with `eval_qid` or `eval_group` for each
        """
        self._check()
        dataset = self._dataset(X, y, qid, group, sample_weight, query_weight)
        watching = Patience(
            self._validation(eval_set, eval_qid, eval_group), parse_measure(self.eval_measure), self.patience
        )
        start = self.coef_ if self.warm_start and hasattr(self, "coef_") else None
        with Threads(self.n_threads) as executor:
            solution = self._solver().minimize(
                self._objective(dataset, executor), start, watch=watcher(self.progress, watching)
            )
        self._finish(solution, watching)
        return self

    def _check(self) -> None:
        """Everything that cannot work is refused here, before any work."""
        if not (np.isfinite(self.C) and self.C > 0):
            raise LinrankError(f"C={self.C}; the weight of the loss must be a positive number.")
        check_choice("penalty", self.penalty, _PENALTIES)
        if not self.tol > 0:
            raise LinrankError(f"tol={self.tol}; use a positive number, such as 1e-6.")
        if self.max_iter < 1:
            raise LinrankError(f"max_iter={self.max_iter}; use at least 1.")

    def _objective(self, dataset: RankingDataset, executor: Threads) -> RankingObjective:
        smooth_penalty = L2(1.0 if self.penalty == "l2" else 0.0)
        return RankingObjective(self._loss(), smooth_penalty, self.C, PlacedData.of(dataset, executor))

    def _solver(self) -> SmoothSolver:
        return _ConvexProximalNewton(L1(1.0), **self._limits()) if self.penalty == "l1" else NewtonCG(**self._limits())

    def _limits(self) -> dict[str, Any]:
        return {
            "tolerance": self.tol,
            "max_iterations": self.max_iter,
            "max_seconds": np.inf if self.max_seconds is None else self.max_seconds,
        }

    def _finish(self, solution: Solution, watching: Patience) -> None:
        """Keep the solution, or the best point on the validation set, with what is known of it."""
        if self._keeps_best(watching) and watching.best_line is not None and watching.best_weights is not None:
            line = watching.best_line
            solution = replace(
                solution,
                weights=watching.best_weights,
                value=line.value,
                gradient_norm=line.gradient_norm,
                certified_gap=self._certified_gap(line),
                estimated_gap=line.gap * line.value,
            )
        self.eval_history_ = watching.values
        to_be_said = self.patience is None and self.max_seconds is None
        self._keep(solution, unfinished=self._remedy(solution) if to_be_said else None)

    def _keeps_best(self, watching: Patience) -> bool:  # noqa: ARG002
        return self.patience is not None

    def _certified_gap(self, line: Iteration) -> float:
        return line.gap * line.value if self.penalty == "l1" else 0.5 * line.gradient_norm**2

    def _remedy(self, solution: Solution) -> str:
        return f"f - min f is about {solution.estimated_gap:.1e} of {solution.value:.6e}. Raise max_iter, or tol."


def dual_bound(point: EvaluatedPoint, penalty: L1) -> float:
    """A value that C loss(X w) + sum t_j |w_j| never goes below, for a convex loss whose least value is `totals[0]`.

    With loss* the conjugate, the dual is: maximise -C loss*(a) over slopes a, one a document, with |C X'a|_j <= t_j.
    The slopes at a point, times the largest share up to 1 that keeps within the thresholds, are such an a. -loss* is
    concave, -loss*(0) is the least value of the loss, and at the slopes themselves it is the loss - slopes . scores.
    """
    C = point.objective.C
    pull = np.abs(C * point.loss_gradient)
    share = float((penalty.thresholds / np.maximum(pull, penalty.thresholds)).min(initial=1.0))
    full = point.loss_value - float(point.loss_gradient @ point.weights)
    return C * (share * full + (1.0 - share) * point.totals[0])


@dataclass(frozen=True)
class _ConvexProximalNewton(ProximalNewton):
    """`ProximalNewton` with the duality gap of any convex loss in place of the squared hinge's."""

    def _dual_value(self, point: EvaluatedPoint) -> float:
        return dual_bound(point, self.penalty)
