"""A ranker that is the minimum of an objective: it declares the objective and who minimises it, and is trained here."""

from __future__ import annotations

import warnings
from abc import ABCMeta
from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, ClassVar

from linrank.arrays import Vector
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.transform_choice import AskedTransform
from linrank.estimators.declaring import fixed, with_settings
from linrank.estimators.linear_ranker import LinearRanker, who_computes
from linrank.estimators.settings import check_choice, check_limits
from linrank.estimators.watching import Patience, watcher
from linrank.executors.local import Threads
from linrank.measures import parse_measure
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import PairLoss
from linrank.objective.penalties import Penalty, WeightPenalty
from linrank.objective.placement import PlacedData
from linrank.objective.remote_data import place
from linrank.showing import above_minimum
from linrank.solvers.choice import first_that_can, solver_for
from linrank.solvers.registry import SOLVERS
from linrank.solvers.solution import Iteration, Solution, Watch
from linrank.wanted_weights import with_wanted

NO_WEIGHTS = (
    "every weight is zero: with any others the objective is lower by less than the tolerance. Scale the features, as "
    "StandardScaler does, or weaken the penalty."
)


@with_settings
class MinimizingRanker(LinearRanker, metaclass=ABCMeta):
    """Weights that minimise an objective.

    Parameters
    ----------
    bounds : text, tuple or dict
        What each weight may be: "non-negative", "non-positive", `(lower, upper)`, or `{feature: sign or interval}` with
        features by name or number and signs "+" and "-". The minimum within the bounds is exact and certified.
    prior : LinearModel, dict or array
        Weights to keep near to: the penalty is `|w - prior|^2 / 2`, so they change only as the data demands.
    transforms : {"rank-gauss", "signed-log", "auto"}
        Each feature through a monotone curve first, fitted on the training data and kept in `to_model()`: its rank as a
        normal score ("rank-gauss:32" by at most 32 knots, otherwise 64), or its signed logarithm, standardised. "auto":
        ranks where many features have long tails. `coef_`, `bounds` and `prior` are then of what comes out.
    solver : str
        Any by name, as RankSVM lists them, that can minimise the objective; one that cannot says why, and who can.
        None: the one that suits it.
    tol : float
        Stop where what is left of f, by the solver's estimate, is at most this share of it.
    max_iter : int
        Iterations at most.
    max_seconds : float
        Stop after this time, at the last point.
    patience : int
        With an `eval_set`: stop after this many iterations without a better `measure` on the last set, and keep the
        best weights.
    measure : str
        Of `eval_set`, such as "map" or "ndcg@5".
    warm_start : bool
        Start from the last `coef_`.
    progress : callable
        Called with an `Iteration` (prints as one line) after each iteration.
    executor : DaskExecutor
        Who computes: threads of this process unless told. The weights are the same to the last bit.

    Attributes
    ----------
    objective_ : float
        The value of the objective.
    gap_ : float
        A certified bound on `objective_` minus the least value there is; only where the objective is convex.
    history_ : tuple of Iteration
    solution_ : Solution
    transform_ : FeatureShapes, SignedLog or None
        What features go through, by `transforms`.
    """

    reads_files = True
    at_no_tolerance: ClassVar[str] = ""
    """What `tol=0` means, where it means something."""

    _: KW_ONLY
    tol: float | None = None
    max_iter: int | None = None
    transforms: str | None = None
    n_threads: int | None = None
    progress: Callable[[Iteration], object] | None = None
    executor: Any = None
    # Settings of some.
    max_seconds: float | None = fixed(None)
    patience: int | None = fixed(None)
    measure: str = fixed("ndcg@10")
    warm_start: bool = fixed(False)
    solver: str | None = fixed(None)
    bounds: Any = fixed(None)
    prior: Any = fixed(None)

    def _loss(self) -> PairLoss:
        """What its scores cost."""
        raise NotImplementedError

    def _loss_weight(self) -> float:
        return 1.0

    def _penalty(self) -> Penalty:
        """What its weights cost."""
        raise NotImplementedError

    def _objective(self, dataset: RankingDataset, executor: Threads) -> Any:
        """What is minimised, on this data."""
        return RankingObjective(self._loss(), self._penalty(), self._loss_weight(), self._placed(dataset, executor))

    def _placed(self, dataset: RankingDataset, executor: Threads) -> PlacedData:
        """The data where it is computed with."""
        return place(dataset, executor)

    def _executor(self) -> Any:
        """Who computes, while it is entered."""
        return who_computes(self, self.n_threads)

    def _solver(self, objective: Any) -> Any:
        """Who minimises it."""
        return solver_for(objective, self.solver or first_that_can(self._usual(objective), objective), **self._limits())

    def _usual(self, objective: Any) -> tuple[str, ...]:  # noqa: ARG002
        """The solvers that the method is known by, where they can; else the default of the objective."""
        return ()

    def _check(self) -> None:
        check_choice("solver", self.solver, (None, *SOLVERS))
        AskedTransform.named(self.transforms)
        check_limits(self, all_iterations=self.at_no_tolerance)

    def _solve(self, objective: Any, start: Vector | None, watch: Watch | None) -> Any:
        """Minimise it, from given weights or from none, and return the solution."""
        return self._solver(objective).minimize(objective, start, watch=watch)

    def _solve_watched(self, objective: Any, start: Vector | None, watching: Patience) -> Any:
        """The same with the validation sets watched."""
        return self._solve(objective, start, watcher(self.progress, watching))

    def _with_wanted(self, penalty: WeightPenalty) -> WeightPenalty:
        """The penalty with the bounds and the prior that are asked for."""
        return with_wanted(penalty, self.bounds, self.prior, self._names)

    @property
    def objective(self) -> str:
        toward = ", w meaning w - prior in the penalty" if self.prior is not None else ""
        return super().objective + toward + (", within bounds" if self.bounds is not None else "")

    def _train(self, dataset: RankingDataset, validation: list[RankingDataset]) -> None:
        watching = Patience(validation, parse_measure(self.measure), self.patience)
        start = self.coef_ if self.warm_start and hasattr(self, "coef_") else None
        with self._executor() as executor:
            objective = self._objective(dataset, executor)
            solution = self._solve_watched(objective, start, watching)
        say_if_no_weights(objective, solution)
        if self.watches:
            self.eval_history_ = watching.values
        if self._keeps_best(watching) and watching.best_line is not None and watching.best_weights is not None:
            solution = self._at_best(solution, watching.best_line, watching.best_weights, objective)
        self._finish(solution)

    def _keeps_best(self, watching: Patience) -> bool:  # noqa: ARG002
        """Whether the best point on the validation set is kept, and not the last."""
        return self.patience is not None

    def _at_best(self, solution: Solution, line: Iteration, weights: Vector, objective: Any) -> Solution:  # noqa: ARG002
        return solution.at(line, weights)

    def _finish(self, solution: Solution) -> None:
        """Keep the solution; say that it is unfinished unless the user asked for an early end."""
        as_asked = self.patience is not None or self.max_seconds is not None or self.tol == 0
        self._keep(solution, unfinished=None if as_asked else self._remedy(solution))

    def _remedy(self, solution: Solution) -> str:
        """What is known of an unfinished solution, and what to do."""
        return f"{how_far(solution)}. Raise max_iter, or tol."

    def _limits(self) -> dict[str, Any]:
        """When a solver gives up, and what it stops at where that was said."""
        limits: dict[str, Any] = {}
        if self.max_iter is not None:
            limits["max_iterations"] = self.max_iter
        if self.max_seconds is not None:
            limits["max_seconds"] = self.max_seconds
        if self.tol is not None:
            limits["tolerance"] = self.tol
        return limits


def say_if_no_weights(objective: Any, solution: Solution) -> None:
    """Say, to who called `fit`, that no weight came of a training although some would be better than none."""
    if solution.converged and not solution.weights.any() and _slopes_away_from_zero(objective, solution):
        warnings.warn(NO_WEIGHTS, UserWarning, stacklevel=4)


def _slopes_away_from_zero(objective: Any, solution: Solution) -> bool:
    """Whether some weights are better than none, of which the tolerance alone knows nothing."""
    is_smooth = getattr(getattr(objective, "penalty", None), "is_smooth", False)
    return bool(is_smooth and getattr(solution.history[0], "gradient_norm", 0.0) > 0.0)


def how_far(solution: Solution) -> str:
    """What is known of an objective that is not at its minimum."""
    for known, gap in (("", solution.certified_gap), (" by the solver's estimate", solution.estimated_gap)):
        above = above_minimum(solution.value, gap)
        if above is not None:
            return f"the objective is {above}{known}"
    return "how far the objective is from its minimum is not known"
