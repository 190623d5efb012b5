"""SparseRank: the squared hinge on all preference pairs with an L1 penalty; and what the batch sparse rankers share."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import Any, Self

from linrank.errors import LinrankError
from linrank.estimators.base import LinearRanker, check_positive, watcher
from linrank.executors.local import Threads
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import L1, L2
from linrank.objective.placement import PlacedData
from linrank.solvers.proximal_gradient import ProximalGradient
from linrank.solvers.solution import Iteration, Solution, Watch


class BatchSparseRanker(LinearRanker, metaclass=ABCMeta):
    """A ranker that minimises the squared hinge over all pairs with something that makes weights zero."""

    tol: float
    max_iter: int
    n_threads: int | None
    progress: Callable[[Iteration], object] | None

    @abstractmethod
    def _check(self) -> None:
        """Refuse settings that cannot work, before any work."""

    @abstractmethod
    def _solve(self, objective: RankingObjective, watch: Watch | None) -> Solution:
        """Minimise, given the sum of the squared hinge over all pairs."""

    def fit(
        self, X: Any, y: Any, qid: Any = None, *, group: Any = None, sample_weight: Any = None, query_weight: Any = None
    ) -> Self:
        """Train on documents X with labels y.

        Parameters
        ----------
        X : array, CSR matrix or DataFrame of shape (n_documents, n_features)
        y : labels, any finite numbers; higher is better
        qid : one value a row of any kind, in any order; without it, everything is one query
        group : sizes of consecutive queries, in place of qid
        sample_weight : one weight a document; a pair weighs the product of its two
        query_weight : one weight a query, in order of first appearance
        """
        check_positive("tol", self.tol, "it is what is left of the objective's value, or of its slope.")
        if self.max_iter < 1:
            raise LinrankError(f"max_iter={self.max_iter}; use at least 1.")
        self._check()
        dataset = self._dataset(X, y, qid, group, sample_weight, query_weight)
        with Threads(self.n_threads) as executor:
            objective = RankingObjective(SquaredHinge(), L2(0.0), 1.0, PlacedData.of(dataset, executor))
            solution = self._solve(objective, watcher(self.progress))
        reached = f"{solution.history[-1].gap:.1e} was reached and tol={self.tol:g} asked for. Raise max_iter, or tol."
        self._keep(solution, unfinished=reached)
        return self


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
        tol: float = 1e-4,
        max_iter: int = 10_000,
        n_threads: int | None = None,
        progress: Callable[[Iteration], object] | None = None,
    ) -> None:
        self.l1 = l1
        self.tol = tol
        self.max_iter = max_iter
        self.n_threads = n_threads
        self.progress = progress

    def _check(self) -> None:
        check_positive("l1", self.l1, "for weights without zeros there is RankSVM.")

    def _solve(self, objective: RankingObjective, watch: Watch | None) -> Solution:
        return ProximalGradient(L1(self.l1), self.tol, max_iterations=self.max_iter).minimize(objective, watch=watch)
