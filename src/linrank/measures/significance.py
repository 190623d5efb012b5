"""How far a mean over queries can be trusted, and whether two rankers differ by more than chance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linrank.arrays import Vector
from linrank.errors import LinrankError

SIGNIFICANT = 0.05
"""The largest p-value that counts as a difference."""

# Random numbers drawn at once: bounds the memory, and is part of what a random_state means.
_DRAWS = 1 << 20


@dataclass(frozen=True, slots=True)
class PairedTest:
    """The outcome of a two-sided test of two rankers on the same queries.

    Attributes
    ----------
    difference : float
        Mean over queries of the first ranker's value minus the second's.
    p_value : float
        The chance of a difference at least as large if the rankers were equally good.
    n_queries : int
        The queries that count: those not skipped.
    statistic : float
        What was tested: Student's t, or the difference itself.
    """

    difference: float
    p_value: float
    n_queries: int
    statistic: float


def bootstrap_interval(
    values: Any, *, weights: Any = None, level: float = 0.95, n_resamples: int = 2000, random_state: int = 0
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of a mean: the middle `level` of the means of resampled queries.

    Parameters
    ----------
    values : array of shape (n_queries,)
        One value a query, as of `Measure.per_query`; NaN is left out.
    weights : array of shape (n_queries,), optional
        How much each query counts in the mean, such as its number of pairs.
    level : float
        Between 0 and 1.
    n_resamples : int
        How often as many queries as there are are drawn, with replacement.
    random_state : int
        The same gives the same interval.
    """
    if not 0 < level < 1:
        raise LinrankError(f"level is {level}; it must lie between 0 and 1, such as 0.95.")
    _check_resamples(n_resamples)
    observed = _as_values(values, "values")
    there = ~np.isnan(observed)
    observed = observed[there]
    if len(observed) == 0:
        raise LinrankError("there are no values to draw from: every query is skipped.")
    counts = None if weights is None else _as_values(weights, "weights")[there]
    rng = np.random.default_rng(random_state)
    means = [_resampled_means(observed, counts, size, rng) for size in _batches(n_resamples, len(observed))]
    low, high = np.quantile(np.concatenate(means), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _resampled_means(values: Vector, weights: Vector | None, size: int, rng: np.random.Generator) -> Vector:
    drawn = rng.integers(len(values), size=(size, len(values)))
    if weights is None:
        means: Vector = values[drawn].mean(axis=1)
        return means
    totals: Vector = weights[drawn].sum(axis=1)
    sums: Vector = (values * weights)[drawn].sum(axis=1)
    # A resample of nothing but queries without weight says nothing.
    return sums[totals > 0] / totals[totals > 0]


def paired_t_test(first: Any, second: Any) -> PairedTest:
    """Student's t-test of the differences d between two rankers: t = mean(d) / (std(d) / sqrt(n)), two-sided.

    Parameters
    ----------
    first, second : arrays of shape (n_queries,)
        The same measure of the same queries; a query that is NaN in both is left out.
    """
    differences = _differences(first, second)
    n = len(differences)
    if n < 2:
        raise LinrankError(f"a t-test needs at least two queries that are not skipped; there is {n}.")
    difference = float(differences.mean())
    error = float(differences.std(ddof=1)) / math.sqrt(n)
    if error > 0.0:
        from scipy.special import stdtr

        statistic = difference / error
        p_value = float(2 * stdtr(n - 1, -abs(statistic)))
    else:
        # All queries differ by the same: by nothing, or by something that no spread explains.
        statistic = math.copysign(math.inf, difference) if difference else 0.0
        p_value = 0.0 if difference else 1.0
    return PairedTest(difference, p_value, n, statistic)


def randomisation_test(first: Any, second: Any, *, n_resamples: int = 10_000, random_state: int = 0) -> PairedTest:
    """Fisher's test: how often is |mean difference| as large when each query's two values are swapped by a coin toss?

    All 2^n ways are gone through where they are no more than `n_resamples`, counting only queries that differ;
    otherwise p = (as large ones + 1) / (n_resamples + 1), which never is 0.

    Parameters
    ----------
    first, second : arrays of shape (n_queries,)
        The same measure of the same queries; a query that is NaN in both is left out.
    n_resamples : int
    random_state : int
        The same gives the same p-value.
    """
    _check_resamples(n_resamples)
    differences = _differences(first, second)
    if len(differences) == 0:
        raise LinrankError("there is nothing to test: every query is skipped.")
    difference = float(differences.mean())
    # Swapping two equal values changes nothing.
    changing = differences[differences != 0]
    n = len(changing)
    # Sums that are equal but for rounding count as equal.
    threshold = abs(changing.sum()) - 1e-12 * np.abs(changing).sum()
    exact = n <= 62 and 2**n <= n_resamples
    swaps = _all_swaps(n) if exact else _random_swaps(n, n_resamples, random_state)
    as_large = sum(int((np.abs(changing.sum() - 2 * (swap @ changing)) >= threshold).sum()) for swap in swaps)
    p_value = as_large / 2**n if exact else (as_large + 1) / (n_resamples + 1)
    return PairedTest(difference, p_value, len(differences), difference)


def _all_swaps(n: int) -> Iterator[Vector]:
    for size_before in range(0, 2**n, _DRAWS):
        numbers = np.arange(size_before, min(size_before + _DRAWS, 2**n))
        yield (numbers[:, None] >> np.arange(n) & 1).astype(np.float64)


def _random_swaps(n: int, n_resamples: int, random_state: int) -> Iterator[Vector]:
    rng = np.random.default_rng(random_state)
    for size in _batches(n_resamples, n):
        yield rng.integers(2, size=(size, n), dtype=np.int8).astype(np.float64)


def holm(p_values: Any) -> Vector:
    """Holm's adjustment for m tests at once: the i-th smallest p times m - i + 1, at most 1, and never descending.

    Parameters
    ----------
    p_values : sequence of float
        Between 0 and 1.

    Returns
    -------
    ndarray
        The adjusted p-values in the order given: reject where they are at most the level wanted for all tests together.
    """
    given = _as_values(p_values, "p_values")
    if not ((given >= 0) & (given <= 1)).all():
        raise LinrankError(f"p-values lie between 0 and 1; there are {given.tolist()}.")
    order = np.argsort(given, kind="stable")
    adjusted = np.empty_like(given)
    adjusted[order] = np.minimum(np.maximum.accumulate(given[order] * np.arange(len(given), 0, -1)), 1.0)
    return adjusted


def within_one_standard_error(values: Any, best: Any) -> bool:
    """Whether `values` is behind `best` by no more than one standard error of their mean difference d.

    That is mean(d) <= std(d) / sqrt(n), d the differences query by query: what is measured on the same queries rises
    and falls together, so the error of the difference counts, and not that of either mean. With a single query the
    error is taken as 0.

    Parameters
    ----------
    values, best : arrays of shape (n_queries,)
        The same measure of the same queries; a query that is NaN in both is left out.
    """
    behind = _differences(best, values)
    if len(behind) == 0:
        return True
    error = float(behind.std(ddof=1)) / math.sqrt(len(behind)) if len(behind) > 1 else 0.0
    return float(behind.mean()) <= error


def _batches(n_resamples: int, n_values: int) -> Iterator[int]:
    batch = max(1, _DRAWS // max(n_values, 1))
    for done in range(0, n_resamples, batch):
        yield min(batch, n_resamples - done)


def _differences(first: Any, second: Any) -> Vector:
    a, b = _as_values(first, "first"), _as_values(second, "second")
    if len(a) != len(b):
        raise LinrankError(f"there are {len(a)} and {len(b)} values; pass the same queries of both rankers.")
    skipped = np.isnan(a)
    if not np.array_equal(skipped, np.isnan(b)):
        query = int(np.flatnonzero(skipped != np.isnan(b))[0])
        raise LinrankError(f"query {query} is skipped for one ranker only; pass the same measure of the same queries.")
    return (a - b)[~skipped]


def _as_values(values: Sequence[float] | Any, name: str) -> Vector:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise LinrankError(f"{name} has shape {array.shape}; it must have one number a query.")
    return array


def _check_resamples(n_resamples: int) -> None:
    if n_resamples < 1:
        raise LinrankError(f"n_resamples is {n_resamples}; it must be at least 1.")
