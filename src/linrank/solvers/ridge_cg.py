"""Conjugate gradients on pairwise least squares with many features: products only, nothing of features x features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linrank.arrays import Vector
from linrank.objective.least_squares import Centring
from linrank.objective.objective import EvaluatedPoint, RankingObjective
from linrank.objective.placed_blocks import PlacedBlock, Shard
from linrank.solvers.heavy_ball import certified_gap, wants_least_squares
from linrank.solvers.solution import Journal, Solution
from linrank.solvers.solver import Solver

# A diagonal entry below this share of the sum of squares it is the centred part of is rounding.
_LEAST_SHARE = 1e-9
# A run ends where the squared residual has fallen by this much: what is left is rounding, and is looked at anew.
_RUN_OUT = 1e-26


@dataclass(frozen=True)
class RidgeCG(Solver):
    """Stops where |gradient|² / (2 gamma), which is never less than F - min F, is at most `tolerance` x F.

    Preconditioned with the diagonal of the Hessian. The gradient is updated step by step, and computed anew at the end;
    where rounding has parted the two, it goes on from there.
    """

    tolerance: float = 1e-6
    max_iterations: int = 10_000
    max_seconds: float = np.inf

    def refuses(self, objective: RankingObjective) -> str | None:
        return wants_least_squares(objective)

    def _run(self, objective: RankingObjective, start: Vector | None, journal: Journal) -> Solution:
        return self._descend(objective.start(start), hessian_diagonal(objective), journal)

    def _descend(self, point: EvaluatedPoint, diagonal: Vector, journal: Journal) -> Solution:
        stop, lowest, left = None, np.inf, self.max_iterations
        while True:
            gap, norm = certified_gap(point), float(np.linalg.norm(point.gradient))
            stop = journal.note(point.weights, point.value, norm, gap=gap, certified_gap=gap, inner=0, step=1.0) or stop
            if gap <= self.tolerance * point.value:
                return journal.solution("the certified gap is below the tolerance", converged=True)
            if stop is None and left == 0:
                stop = f"out of iterations (max_iter={self.max_iterations})"
            if stop is None and not gap < 0.5 * lowest:
                stop = "the gradient is zero but for the rounding of float64"
            if stop:
                return journal.solution(stop)
            lowest = gap
            weights, steps, stop = self._conjugate_gradients(point, diagonal, journal, left)
            left -= steps
            point = point.objective.at(weights)

    def _conjugate_gradients(
        self, point: EvaluatedPoint, diagonal: Vector, journal: Journal, most: int
    ) -> tuple[Vector, int, str | None]:
        """Conjugate gradients from a point: weights, steps taken, and why to stop beside convergence."""
        gamma, weights, value = point.objective.weight_penalty.strength, point.weights, point.value
        residual = -point.gradient
        conditioned = residual / diagonal
        direction = conditioned.copy()
        rest = float(residual @ conditioned)
        run_out = _RUN_OUT * rest
        for step in range(1, most + 1):
            curved = point.hessian_product(direction)
            length = rest / float(direction @ curved)
            weights = weights + length * direction
            # In place: with a million features, memory that is new to the process costs more than the arithmetic.
            curved *= length
            residual -= curved
            value -= 0.5 * length * rest
            gap = float(residual @ residual) / (2.0 * gamma)
            stop = journal.note(
                weights, value, float(np.linalg.norm(residual)), gap=gap, certified_gap=gap, inner=1, step=1.0
            )
            np.divide(residual, diagonal, out=conditioned)
            before, rest = rest, float(residual @ conditioned)
            # The value has lost its digits where almost all of it was gained: then the residual decides.
            if stop or gap <= self.tolerance * value or rest <= run_out:
                return weights, step, stop
            direction *= rest / before
            direction += conditioned
        return weights, most, None


def hessian_diagonal(objective: RankingObjective) -> Vector:
    """The diagonal of the Hessian, gamma + sum of c d_i (x_i - mean x) ** 2; it need only be nearly right."""
    by_pair = objective.loss.pair_weight == "pair"  # type: ignore[attr-defined]
    total: Vector = objective.data.total(_diagonal_of_shard, by_pair=by_pair)
    return objective.weight_penalty.strength + objective.C * total


def _diagonal_of_shard(shard: Shard, *, by_pair: bool) -> Vector:
    total = np.zeros(shard.n_features)
    for placed in shard:
        curvature = Centring(placed.block, by_pair)
        total += _diagonal_by_products(placed, curvature) if placed.is_spread else curvature.hessian_diagonal()
    return total


def _diagonal_by_products(placed: PlacedBlock, curvature: Centring) -> Vector:
    """The diagonal of one query whose rows cannot be centred: they are not in one place."""
    mass, scale = float(curvature.masses()[0]), float(curvature.scales()[0])
    squares, sums = np.zeros((2, placed.block.features.n_features))
    placed.add_squares(placed.block.document_weights, squares)
    placed.add_transposed(placed.block.document_weights, sums)
    return scale * np.maximum(squares - sums * sums / (mass or 1.0), _LEAST_SHARE * squares)
