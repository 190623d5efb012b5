"""Exact pairwise training of a few columns, with weights within bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector, offsets_from_sizes
from linrank.fusing.pair_kernels import add_pair_sums, list_above
from linrank.fusing.query_ranges import over_queries

# Of a query, so many rows are gone through at a time, column by column.
_ROWS_IN_CACHE = 128
_MOST_STEPS = 100
_TOLERANCE = 1e-10


@dataclass(frozen=True, eq=False)
class PairSums:
    """Value, gradient and second derivative of a loss."""

    value: float
    gradient: Vector
    curvature: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows of a few columns, each query's together, and which of them are above others.

    Attributes
    ----------
    features : one column a leg or signal
    labels : of the rows; NaN for one that is in no pair
    starts : where each query's rows start
    scales : what columns are multiplied by
    above, above_starts : the rows that have more than their query's least label, query after query
    n_pairs : of different labels, of each query
    """

    features: NDArray[Any]
    labels: Vector
    starts: Offsets
    scales: Vector
    above: Offsets
    above_starts: Offsets
    n_pairs: Vector

    @classmethod
    def of(cls, features: NDArray[Any], labels: Vector, starts: Offsets, scales: Vector | None = None) -> LabelledRows:
        """From rows, each query's together; columns are multiplied by their scales."""
        n_above, n_pairs = np.zeros(len(starts) - 1, dtype=np.int64), np.zeros(len(starts) - 1)

        def listed(first: int, last: int) -> Offsets:
            above = np.empty(int(starts[last] - starts[first]), dtype=np.int64)
            list_above(labels, starts[first : last + 1], above, n_above[first:last], n_pairs[first:last])
            return above[: int(n_above[first:last].sum())].copy()

        above = np.concatenate([np.zeros(0, dtype=np.int64), *over_queries(listed, starts)])
        whole = np.ones(features.shape[1]) if scales is None else scales
        return cls(features, labels, starts, whole, above, offsets_from_sizes(n_above), n_pairs)

    def even_weights(self) -> Vector:
        """1 / pairs for each query, so that queries count alike; 0 for one without pairs."""
        return np.divide(1.0, self.n_pairs, out=np.zeros_like(self.n_pairs), where=self.n_pairs > 0)

    def sums(self, weights: Vector, query_weights: Vector, ranked: tuple[Vector, Vector] | None = None) -> PairSums:
        """The squared hinge over pairs at these weights; `ranked` has each row's gain and discount, by which pairs
        weigh |change of gain| |change of discount|.
        """
        n_columns = self.features.shape[1]
        gains, discounts = ranked if ranked is not None else (np.zeros(1), np.zeros(1))
        # The columns are left as they are: their scales are those of the weights and of the derivatives.
        scaled = weights * self.scales
        weighing = np.flatnonzero((query_weights != 0.0) & (self.n_pairs > 0))
        n_above = np.diff(self.above_starts)[weighing]

        def part(first: int, last: int) -> Vector:
            sums, most_above = np.zeros(1 + n_columns * (n_columns + 1)), int(n_above[first:last].max(initial=0))
            add_pair_sums(
                self.features,
                self.labels,
                scaled,
                weighing[first:last],
                self.starts,
                self.above,
                self.above_starts,
                query_weights,
                gains,
                discounts,
                ranked is not None,
                np.empty((n_columns, _ROWS_IN_CACHE)),
                np.empty((5, _ROWS_IN_CACHE)),
                np.empty((most_above, n_columns)),
                np.empty((most_above, 4)),
                sums,
            )
            return sums

        # Added in the order of the queries, for any number of threads.
        parts = over_queries(part, offsets_from_sizes(np.diff(self.starts)[weighing]))
        total = np.sum(parts or [part(0, 0)], axis=0)
        curvature = self.scales[:, None] * total[1 + n_columns :].reshape(n_columns, n_columns) * self.scales
        return PairSums(float(total[0]), self.scales * total[1 : 1 + n_columns], curvature)


@dataclass(frozen=True, eq=False)
class PairwiseProblem:
    """Minimise |u - prior|² / 2 + C sum over queries of query_weight x their squared hinge, lower <= u <= upper."""

    rows: LabelledRows
    query_weights: Vector
    C: float
    prior: Vector
    lower: Vector
    upper: Vector
    ranked: tuple[Vector, Vector] | None = None

    def at(self, weights: Vector) -> PairSums:
        """The objective and its derivatives."""
        loss = self.rows.sums(weights, self.query_weights, self.ranked)
        away = weights - self.prior
        return PairSums(
            0.5 * float(away @ away) + self.C * loss.value,
            away + self.C * loss.gradient,
            np.eye(len(weights)) + self.C * loss.curvature,
        )

    def solve(self, start: Vector | None = None) -> Vector:
        """The minimum, by Newton's method: each step is to the minimum of the model within the bounds, halved until the
        objective falls by a tenth of what was promised.
        """
        weights = np.clip(self.prior if start is None else start, self.lower, self.upper)
        point = self.at(weights)
        for _ in range(_MOST_STEPS):
            step = _to_model_minimum(point, weights, self.lower, self.upper)
            promised = -float(point.gradient @ step) - 0.5 * float(step @ point.curvature @ step)
            if promised <= _TOLERANCE * abs(point.value):
                break
            share = 1.0
            while share > 1e-8:
                reached = np.clip(weights + share * step, self.lower, self.upper)
                tried = self.at(reached)
                if tried.value <= point.value - 0.1 * share * promised:
                    break
                share *= 0.5
            else:
                break
            weights, point = reached, tried
        return weights


def _to_model_minimum(point: PairSums, weights: Vector, lower: Vector, upper: Vector) -> Vector:
    """The step to the minimum of g.d + d.H d / 2 within the bounds: solved on the weights that are free, letting go and
    fixing one at a time until the signs of the gradient are right.
    """
    gradient, curvature = point.gradient, point.curvature
    low, high = lower - weights, upper - weights
    step = np.zeros_like(weights)
    free = ~(((step <= low) & (gradient > 0.0)) | ((step >= high) & (gradient < 0.0)))
    for _ in range(20 * len(weights) + 20):
        target = step.copy()
        if free.any():
            fixed = gradient[free] + curvature[np.ix_(free, ~free)] @ step[~free]
            target[free] = -np.linalg.solve(curvature[np.ix_(free, free)], fixed)
        outside = free & ((target < low) | (target > high))
        if outside.any():
            # As far as the first bound on the way, which then holds.
            way = target - step
            bound = np.where(target < low, low, high)
            shares = np.full(len(step), np.inf)
            shares[outside] = (bound[outside] - step[outside]) / way[outside]
            first = int(np.argmin(shares))
            step = step + max(0.0, float(shares[first])) * way
            step[first] = bound[first]
            free[first] = False
            continue
        step = target
        slope = gradient + curvature @ step
        pull = np.where(free, 0.0, np.where(step <= low, -slope, slope))
        pull[(low == high)] = 0.0
        worst = int(np.argmax(pull))
        if pull[worst] <= 1e-14 * (1.0 + float(np.abs(gradient).max())):
            return step
        free[worst] = True
    return step
