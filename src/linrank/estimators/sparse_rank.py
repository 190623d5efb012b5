"""SparseRank: the squared hinge on all preference pairs with an L1 penalty; and what the batch sparse rankers share."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import Any

from linrank.arrays import Vector
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.estimators.minimizing_ranker import MinimizingRanker
from linrank.estimators.settings import check_limits, check_positive
from linrank.executors.local import Threads
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import L1, Penalty
from linrank.objective.placement import PlacedData
from linrank.solvers.proximal_gradient import ProximalGradient
from linrank.solvers.solution import Iteration, Solution, Watch


class BatchSparseRanker(MinimizingRanker, metaclass=ABCMeta):
    """A ranker that minimises the squared hinge over all pairs with something that makes weights zero."""

    tol: float

    def _check(self) -> None:
        check_limits(self)

    def _compares_weights(self) -> bool:
        return True

    def _objective(self, dataset: RankingDataset, executor: Threads) -> RankingObjective:
        return RankingObjective(SquaredHinge(), self._penalty(), 1.0, PlacedData.of(dataset, executor))

    @abstractmethod
    def _penalty(self) -> Penalty:
        """What makes weights zero."""

    def _remedy(self, solution: Solution) -> str:
        return f"{solution.history[-1].gap:.1e} was reached and tol={self.tol:g} asked for. Raise max_iter, or tol."


class SparseRank(BatchSparseRanker):
    """The squared hinge with an L1 penalty, by accelerated proximal gradient (Lai et al., SparseRank).

    Minimises `sum max(0, 1 - w.(x_i - x_j)) ** 2 + l1 * |w|_1` over the weights w; the sum is over the pairs of
    documents of one query of which the first has the higher label. Weights that do not pay for their penalty are
    exactly zero.

    Parameters
    ----------
    l1 : float, default=1.0
        Strength of the penalty (the papers' lambda), beside a sum over pairs: it grows with the data. From
        `largest_l1` (see `linrank.solvers.proximal_gradient`) upwards every weight is zero.
    bounds : default=None
        What each weight may be, as for `RankSVM`.
    tol : float, default=1e-4
        The duality gap to stop at, relative to the objective.
    max_iter : int, default=10000
    n_threads : int, default=None
        All processors. The result is the same to the last bit for any number.
    progress : callable, default=None
        Called with an `Iteration` (prints as one line) after each iteration.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        With exact zeros.
    objective_ : float
        The value of the objective.
    gap_ : float
        The duality gap: a certified bound on `objective_` minus the least value there is.
    n_iter_ : int
    history_ : tuple of Iteration
    solution_ : Solution

    Examples
    --------
    >>> from linrank import make_ranking
    >>> from linrank.estimators.sparse_rank import SparseRank
    >>> data, _ = make_ranking(100, 20, 10)
    >>> model = SparseRank(l1=1e9).fit(data.features, data.labels, qid=data.qid)
    >>> int((model.coef_ != 0).sum())
    0
    """

    method = "sparserank"
    objective = "sum over pairs of max(0, 1 - w.(x_i - x_j))^2 + l1 * sum over j of |w_j|"

    def __init__(
        self,
        l1: float = 1.0,
        *,
        bounds: Any = None,
        tol: float = 1e-4,
        max_iter: int = 10_000,
        n_threads: int | None = None,
        progress: Callable[[Iteration], object] | None = None,
    ) -> None:
        self.l1 = l1
        self.bounds = bounds
        self.tol = tol
        self.max_iter = max_iter
        self.n_threads = n_threads
        self.progress = progress

    def _check(self) -> None:
        super()._check()
        check_positive("l1", self.l1, "for weights without zeros there is RankSVM.")

    def _solve(self, objective: RankingObjective, start: Vector | None, watch: Watch | None) -> Solution:
        return ProximalGradient(**self._limits()).minimize(objective, start, watch=watch)

    def _penalty(self) -> Penalty:
        return self._with_wanted(L1(self.l1))
