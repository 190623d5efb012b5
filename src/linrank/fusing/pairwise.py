"""Exact pairwise training of a few columns, with weights within bounds."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector
from linrank.cached import cached_property
from linrank.fusing.pair_kernels import add_pair_sums, order_by_label, take_scaled
from linrank.threads import number_of_threads

Result = TypeVar("Result")

# Rows that one thread goes through at a time; the sums are added in this order for any number of threads.
_ROWS_AT_A_TIME = 1 << 15
# To start threads takes as long as that.
_RANGES_WITHOUT_THREADS = 8
_ROWS_IN_CACHE = 64
_MOST_STEPS = 100
_TOLERANCE = 1e-10


def over_queries(task: Callable[[int, int], Result], starts: Offsets) -> list[Result]:
    """What a task gives for each range of queries; the ranges do not depend on the threads, nor does their order."""
    step = _ROWS_AT_A_TIME * _RANGES_WITHOUT_THREADS
    cuts = np.searchsorted(starts, np.arange(0, starts[-1], step))
    ranges = list(pairwise(np.unique(np.concatenate(([0], cuts, [len(starts) - 1]))).tolist()))
    if len(ranges) < 2:
        return [task(*bounds) for bounds in ranges]
    with ThreadPoolExecutor(min(number_of_threads(None), len(ranges))) as pool:
        return list(pool.map(lambda bounds: task(*bounds), ranges))


@dataclass(frozen=True, eq=False)
class PairSums:
    """Value, gradient and second derivative of a loss."""

    value: float
    gradient: Vector
    curvature: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows of a few columns, each query's by label, the highest first.

    Attributes
    ----------
    features : one column a leg or signal
    starts : where each query's rows start
    lower : the first row of a lower label, of the same query
    order : which of the rows given each one is
    """

    features: NDArray[Any]
    starts: Offsets
    lower: Offsets
    order: Offsets
    n_pairs: Vector

    @classmethod
    def of(cls, features: NDArray[Any], labels: Vector, starts: Offsets, scales: Vector | None = None) -> LabelledRows:
        """From rows, each query's together; columns are multiplied by their scales."""
        order, lower = np.empty(len(labels), dtype=np.int64), np.empty(len(labels), dtype=np.int64)
        whole = np.ones(features.shape[1]) if scales is None else scales
        taken = np.empty((len(labels), features.shape[1]), dtype=features.dtype)

        def arrange(first: int, last: int) -> None:
            rows = slice(int(starts[first]), int(starts[last]))
            order_by_label(labels, starts[first : last + 1], order, lower)
            take_scaled(features, order[rows], whole, taken[rows])

        over_queries(arrange, starts)
        below = np.append(0, np.cumsum(lower))[starts]
        sizes = np.diff(starts)
        pairs = (starts[1:] * sizes - np.diff(below)).astype(np.float64)
        return cls(taken, starts, lower, order, pairs)

    def even_weights(self) -> Vector:
        """1 / pairs for each query, so that queries count alike; 0 for one without pairs."""
        return np.divide(1.0, self.n_pairs, out=np.zeros_like(self.n_pairs), where=self.n_pairs > 0)

    def sums(self, weights: Vector, query_weights: Vector, ranked: tuple[Vector, Vector] | None = None) -> PairSums:
        """The squared hinge over pairs at these weights; `ranked` has each row's gain and discount, by which pairs
        weigh |change of gain| |change of discount|.
        """
        n_columns = self.features.shape[1]
        size = 1 + n_columns + n_columns * (n_columns + 1) // 2
        none = np.zeros(1)
        gains, discounts = ranked if ranked is not None else (none, none)

        def part(first: int, last: int) -> Vector:
            start, stop = int(self.starts[first]), int(self.starts[last])
            rows = self.features[start:stop]
            widest = int(np.diff(self.starts[first : last + 1]).max(initial=0))
            sums = np.zeros(size)
            add_pair_sums(
                rows,
                weights,
                self.starts[first : last + 1] - start,
                self.lower[start:stop] - start,
                query_weights[first:last],
                gains[start:stop] if ranked is not None else none,
                discounts[start:stop] if ranked is not None else none,
                ranked is not None,
                np.empty(widest),
                np.empty(widest),
                np.empty(widest),
                np.empty(n_columns),
                np.empty(n_columns),
                np.empty((n_columns, _ROWS_IN_CACHE)),
                np.empty((n_columns, _ROWS_IN_CACHE)),
                sums,
            )
            return sums

        ranges = self._ranges
        if len(ranges) <= _RANGES_WITHOUT_THREADS:
            parts = [part(*bounds) for bounds in ranges]
        else:
            with ThreadPoolExecutor(min(number_of_threads(None), len(ranges))) as pool:
                parts = list(pool.map(lambda bounds: part(*bounds), ranges))
        total = np.sum(parts, axis=0)
        curvature = np.zeros((n_columns, n_columns))
        place = 1 + n_columns
        for column in range(n_columns):
            row = total[place : place + n_columns - column]
            curvature[column, column:] = curvature[column:, column] = row
            place += len(row)
        return PairSums(float(total[0]), total[1 : 1 + n_columns], curvature)

    @cached_property
    def _ranges(self) -> list[tuple[int, int]]:
        n_queries = len(self.starts) - 1
        cuts = np.searchsorted(self.starts, np.arange(0, self.starts[-1], _ROWS_AT_A_TIME))
        bounds = np.unique(np.concatenate(([0], cuts, [n_queries]))).tolist()
        return list(pairwise(bounds))


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
