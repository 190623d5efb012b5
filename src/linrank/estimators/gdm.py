"""GDM: pairwise least squares by gradient descent with a fixed rate and momentum; and what EGDM shares with it."""

from __future__ import annotations

from abc import ABCMeta
from dataclasses import KW_ONLY
from typing import Any

from linrank.errors import LinrankError
from linrank.estimators.declaring import fixed, with_settings
from linrank.estimators.pairwise_ridge import LeastSquaresRanker
from linrank.estimators.settings import check_count, check_positive
from linrank.objective.objective import RankingObjective
from linrank.solvers.heavy_ball import HeavyBall, HeavyBallSolution
from linrank.solvers.solution import Solution


@with_settings
class HeavyBallRanker(LeastSquaresRanker, metaclass=ABCMeta):
    """Pairwise least squares by gradient descent with momentum.

    Parameters
    ----------
    power_iterations : int
        For the eigenvalues of the Hessian; each is two passes over the data.
    random_state : int
        Seed of the first vectors of the power iterations.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Of the last step where it converged, and otherwise of the lowest `objective_` met: momentum overshoots.
    n_iter_ : int
        Steps, those after the lowest point too.
    learning_rate_, momentum_ : float
        Of the last steps.
    """

    _: KW_ONLY
    learning_rate: float | None = fixed(None)
    momentum: float | None = fixed(None)
    prior: Any = None
    power_iterations: int = 20
    random_state: int = 0

    def _check(self) -> None:
        super()._check()
        check_count("power_iterations", self.power_iterations)

    def _solver(self, objective: RankingObjective) -> HeavyBall:  # noqa: ARG002
        return HeavyBall(
            self.momentum,
            self.learning_rate,
            **self._limits(),
            power_iterations=self.power_iterations,
            seed=self.random_state,
        )

    def _finish(self, solution: Solution) -> None:
        assert isinstance(solution, HeavyBallSolution)
        self.learning_rate_, self.momentum_ = solution.rates.learning_rate, solution.rates.momentum
        super()._finish(solution)


@with_settings
class GDM(HeavyBallRanker):
    """Pairwise least squares by gradient descent with a fixed learning rate and momentum.

    Minimises {formula}. A step is `w_next = w - (1 - momentum) learning_rate gradient + momentum (w - w_last)`, one
    pass over the data. It is the method that `EGDM` is compared with; `PairwiseRidge` is exact.

    Parameters
    ----------
    learning_rate : float
        The paper's eta. One with which the objective rises above its first value is lowered. Unless given, it is the
        longest with which it cannot: (1 + sqrt(momentum)) / ((1 - sqrt(momentum)) kappa_1), with kappa_1 the largest
        eigenvalue of the Hessian, estimated by `power_iterations`.
    momentum : float
        The paper's mu, from 0 to below 1.

    Examples
    --------
    >>> from linrank import GDM, make_ranking
    >>> data, _ = make_ranking(100, 20, 10, skew=False)
    >>> model = GDM(gamma=10.0, momentum=0.5).fit(data.features, data.labels, qid=data.qid)
    >>> model.momentum_
    0.5
    """

    method = "gdm"

    learning_rate: float | None = None
    momentum: float = 0.9

    def _check(self) -> None:
        super()._check()
        if self.learning_rate is not None:
            check_positive("learning_rate", self.learning_rate, "or None for a safe one.")
        if not 0 <= self.momentum < 1:
            raise LinrankError(f"momentum={self.momentum}; use from 0 (none) to below 1.")
