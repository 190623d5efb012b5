"""What ListNet, RankNet and LambdaRank share: a loss that is smooth in the scores, its weight C, and a penalty."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import Any

from linrank.dataset.ranking_dataset import RankingDataset
from linrank.estimators.minimizing_ranker import MinimizingRanker
from linrank.estimators.settings import check_choice, check_limits, check_positive
from linrank.executors.local import Threads
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import PairLoss
from linrank.objective.penalties import ElasticNet
from linrank.objective.placement import PlacedData
from linrank.solvers.choice import SOLVERS
from linrank.solvers.solution import Iteration

_PENALTIES = {"l2": "w.w / 2", "l1": "|w|_1"}


class SmoothRanker(MinimizingRanker, metaclass=ABCMeta):
    """Minimises `penalty(w) + C loss(X w)` for a convex loss, smooth in the scores, whose least value is known."""

    watches = True
    loss_sum: str
    """The loss, as a formula."""

    def __init__(
        self,
        C: float = 1.0,
        *,
        penalty: str = "l2",
        solver: str | None = None,
        bounds: Any = None,
        prior: Any = None,
        tol: float = 1e-6,
        max_iter: int | None = None,
        max_seconds: float | None = None,
        patience: int | None = None,
        measure: str = "ndcg@10",
        warm_start: bool = False,
        n_threads: int | None = None,
        progress: Callable[[Iteration], object] | None = None,
    ) -> None:
        self.C = C
        self.penalty = penalty
        self.solver = solver
        self.bounds = bounds
        self.prior = prior
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.patience = patience
        self.measure = measure
        self.warm_start = warm_start
        self.n_threads = n_threads
        self.progress = progress

    @property
    def objective(self) -> str:  # type: ignore[override]
        return f"{_PENALTIES[self.penalty]} + C * {self.loss_sum}{self._said_of_weights()}"

    @abstractmethod
    def _loss(self) -> PairLoss: ...

    def _check(self) -> None:
        check_positive("C", self.C, "it is the weight of the loss.")
        check_choice("penalty", self.penalty, _PENALTIES)
        check_choice("solver", self.solver, (None, *SOLVERS))
        check_limits(self)

    def _compares_weights(self) -> bool:
        return self.penalty == "l1"

    def _objective(self, dataset: RankingDataset, executor: Threads) -> RankingObjective:
        penalty = self._with_wanted(ElasticNet(1.0 if self.penalty == "l1" else 0.0))
        return RankingObjective(self._loss(), penalty, self.C, PlacedData.of(dataset, executor))
