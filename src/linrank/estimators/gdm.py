"""GDM and EGDM: pairwise least squares by gradient descent with momentum."""

from __future__ import annotations

from collections.abc import Callable

from linrank.arrays import Vector
from linrank.errors import LinrankError
from linrank.estimators.pairwise_ridge import LeastSquaresRanker
from linrank.estimators.settings import check_count, check_positive
from linrank.objective.objective import RankingObjective
from linrank.solvers.heavy_ball import HeavyBall, HeavyBallSolution
from linrank.solvers.solution import Iteration, Solution, Watch


class GDM(LeastSquaresRanker):
    """Pairwise least squares by gradient descent with a fixed learning rate and momentum.

    Minimises `sum |L_q (X_q w - y_q)|^2 / 2 + gamma w.w / 2` over the weights w; the sum is over queries, and L_q takes
    off a query's mean. That is half the sum of `((w.x_i - w.x_j) - (y_i - y_j))^2` over all pairs of documents of one
    query, divided by the query's number of documents. A step is
    `w_next = w - (1 - momentum) learning_rate gradient + momentum (w - w_last)`, one pass over the data. It is the
    method that `EGDM` is compared with; `PairwiseRidge` is exact.

    Parameters
    ----------
    gamma : float, default=1.0
        Strength of the penalty, beside a sum over documents: it grows with the data.
    learning_rate : float, default=None
        The paper's eta. One with which the objective rises above its first value is lowered. Unless given, it is the
        longest with which it cannot: (1 + sqrt(momentum)) / ((1 - sqrt(momentum)) kappa_1), with kappa_1 the largest
        eigenvalue of the Hessian, estimated by `power_iterations`.
    momentum : float, default=0.9
        The paper's mu, from 0 to below 1.
    pair_weight : {"document", "pair"}, default="document"
        Whether the pairs of a query are divided by its number of documents, or all pairs count alike.
    tol : float, default=1e-6
        Stop where |gradient|^2 / (2 gamma), a bound on what is left, is at most this times the objective.
    max_iter : int, default=10000
    power_iterations : int, default=20
    warm_start : bool, default=False
        Start from the last `coef_`.
    random_state : int, default=0
        Seed of the first vectors of the power iterations.
    n_threads : int, default=None
        All processors. The result is the same to the last bit for any number.
    progress : callable, default=None
        Called with an `Iteration` (prints as one line) after each iteration.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    objective_ : float
    gap_ : float
        A certified bound on `objective_` minus the least value there is.
    learning_rate_, momentum_ : float
        Of the last steps.
    n_iter_ : int
    history_ : tuple of Iteration
    solution_ : Solution

    Examples
    --------
    >>> from linrank import make_ranking
    >>> from linrank.estimators.gdm import GDM
    >>> data, _ = make_ranking(100, 20, 10, skew=False)
    >>> model = GDM(gamma=10.0, momentum=0.5).fit(data.features, data.labels, qid=data.qid)
    >>> model.momentum_
    0.5
    """

    method = "gdm"

    def __init__(
        self,
        gamma: float = 1.0,
        learning_rate: float | None = None,
        momentum: float = 0.9,
        *,
        pair_weight: str = "document",
        tol: float = 1e-6,
        max_iter: int = 10_000,
        power_iterations: int = 20,
        warm_start: bool = False,
        random_state: int = 0,
        n_threads: int | None = None,
        progress: Callable[[Iteration], object] | None = None,
    ) -> None:
        self.gamma = gamma
        self.learning_rate = learning_rate
        self.momentum = momentum
        self.pair_weight = pair_weight
        self.tol = tol
        self.max_iter = max_iter
        self.power_iterations = power_iterations
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_threads = n_threads
        self.progress = progress

    def _check(self) -> None:
        super()._check()
        if self.learning_rate is not None:
            check_positive("learning_rate", self.learning_rate, "or None for a safe one.")
        if not 0 <= self.momentum < 1:
            raise LinrankError(f"momentum={self.momentum}; use from 0 (none) to below 1.")
        check_count("power_iterations", self.power_iterations)

    def _solve(self, objective: RankingObjective, start: Vector | None, watch: Watch | None) -> Solution:
        solver = HeavyBall(
            self.momentum,
            self.learning_rate,
            **self._limits(),
            power_iterations=self.power_iterations,
            seed=self.random_state,
        )
        return solver.minimize(objective, start, watch=watch)

    def _finish(self, solution: Solution) -> None:
        assert isinstance(solution, HeavyBallSolution)
        self.learning_rate_, self.momentum_ = solution.rates.learning_rate, solution.rates.momentum
        super()._finish(solution)
