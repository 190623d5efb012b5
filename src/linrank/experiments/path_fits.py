"""The models of a feature path: one for each strength of the penalty, each from the last one."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.dataset.applied_scaling import Scaling
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import scaled
from linrank.errors import LinrankError
from linrank.estimators.conventions import ConvergenceWarning
from linrank.executors.local import Threads
from linrank.objective.concave_penalties import MCP, usual_size
from linrank.objective.objective import EvaluatedPoint, RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import L1, L2, Bounds, WeightPenalty
from linrank.objective.remote_data import Cluster, place
from linrank.solvers.proximal import proximal_solver
from linrank.solvers.proximal_gradient import ProximalGradient
from linrank.solvers.proximal_newton import ProximalNewton, SecantHessian
from linrank.solvers.reweighted_l1 import ReweightedL1
from linrank.solvers.solution import Journal, Solution
from linrank.wanted_weights import bounds_by_name, in_scaled_units


@dataclass(frozen=True)
class PathSettings:
    """What every path of one call is trained with: that of all the data, and those of its folds."""

    shares: Vector
    costs: Vector
    relaxed: bool
    penalty: str
    l1_ratio: float
    tol: float
    max_features: int | None
    bounds: Any
    executor: Threads | Cluster

    @property
    def n_threads(self) -> int:
        """Of this process."""
        return (self.executor if isinstance(self.executor, Threads) else self.executor.here).n_threads

    def fits(self, dataset: RankingDataset, scaling: Scaling | None) -> Iterator[tuple[float, EvaluatedPoint]]:
        """Yield l1 and the solution for each share of the largest l1, until there are too many features."""
        within = self._within(dataset.names, scaling)
        placed = place(scaled(dataset, scaling), self.executor)
        objective = RankingObjective(SquaredHinge(), within, 1.0, placed)
        point = objective.start()
        largest = float((np.abs(point.least_subgradient) / self.costs).max()) / self.l1_ratio
        curvature, refits = SecantHessian(), _Refits(self.tol, within)
        far: list[float] = []
        for share in self.shares:
            l1 = float(share * largest)
            solution, point = self._fit(point, l1, within, curvature)
            if not solution.converged:
                far.append(solution.certified_gap / solution.value)
            chosen = point
            if self.penalty == "mcp" and point.weights.any():
                concave = objective.with_penalty(MCP(l1, usual_size(point.weights) / l1))
                chosen = concave.at(ReweightedL1(10 * self.tol).minimize(concave, point.weights).weights)
            if self.max_features is not None and np.count_nonzero(chosen.weights) > self.max_features:
                break
            yield l1, refits.of(chosen) if self.relaxed else chosen
        if far:
            warnings.warn(
                f"not converged: {len(far)} of {len(self.shares)} steps are known to be within {max(far):.1e} of the "
                f"least objective, not {self.tol:g}. Scale the features, or raise tol or smallest.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _within(self, names: Sequence[str], scaling: Scaling | None) -> WeightPenalty:
        """The bounds of the weights of scaled features, and no penalty."""
        if self.bounds is None:
            return WeightPenalty()
        within = bounds_by_name(in_scaled_units(self.bounds, None, scaling, names)[0], names)
        if np.any(np.asarray(within.lower) > 0.0) or np.any(np.asarray(within.upper) < 0.0):
            raise LinrankError("bounds: a path begins with no features, so every weight must be allowed to be zero.")
        return within

    def _fit(
        self, point: EvaluatedPoint, l1: float, within: WeightPenalty, curvature: SecantHessian
    ) -> tuple[Solution, EvaluatedPoint]:
        """The sparse solution for one l1, from the last one: only the penalty has changed, so nothing is evaluated."""
        penalty = L1(l1 * self.l1_ratio, self.costs) + L2(l1 * (1.0 - self.l1_ratio)) + within
        return _proximal(point, self.tol, curvature).continue_from(point.with_penalty(penalty), Journal())


class _Refits:
    """RankSVM with C = 1 on the features that have a weight: from the last set of features where all are kept."""

    def __init__(self, tol: float, within: WeightPenalty) -> None:
        self._tol = tol
        self._within = within
        self._curvature = SecantHessian()
        self._features: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self._last: EvaluatedPoint | None = None

    def of(self, point: EvaluatedPoint) -> EvaluatedPoint:
        """The solution for the features of a point; nothing is done where they are those of the last one."""
        features = point.weights != 0
        if self._last is None or not np.array_equal(features, self._features):
            start = point if self._last is None or self._last.weights[~features].any() else self._last
            only_these = Bounds(np.where(features, -np.inf, 0.0), np.where(features, np.inf, 0.0))
            solver = _proximal(start, self._tol, self._curvature)
            self._last = solver.continue_from(start.with_penalty(L2() + self._within + only_these), Journal())[1]
            self._features = features
        return self._last


def _proximal(point: EvaluatedPoint, tol: float, curvature: SecantHessian) -> ProximalNewton | ProximalGradient:
    if proximal_solver(point.objective) is ProximalGradient:
        return ProximalGradient(tol)
    return ProximalNewton(tol, curvature=curvature)
