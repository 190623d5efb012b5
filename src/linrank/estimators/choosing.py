"""The best of several strengths by a measure of held-out queries."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.measures import within_one_standard_error


@dataclass(frozen=True, eq=False)
class Choice:
    """The number of the strength chosen, and the mean and standard error of the measure for each."""

    number: int
    means: Vector
    errors: Vector


def best_strength(
    strengths: Vector, measures: NDArray[np.float64], *, one_se: bool, plainest_last: bool = False
) -> Choice:
    """The strength with the largest mean of its row of `measures`, queries without a value left out.

    With `one_se` it is the plainest one, which is nearest to the first strength or to the last, within one standard
    error of the best, as everywhere: by the differences over the same queries. Where nothing was measured, it is the
    strength nearest to 1.
    """
    values = measures[:, ~np.isnan(measures[0])]
    n_queries = values.shape[1]
    if n_queries == 0:
        unknown = np.full(len(strengths), np.nan)
        return Choice(int(np.argmin(np.abs(np.log(strengths)))), unknown, unknown)
    # Summed exactly, so that the order of the queries makes no difference.
    means = np.array([math.fsum(row) / n_queries for row in values.tolist()])
    errors = values.std(axis=1) / np.sqrt(max(1, n_queries - 1))
    best = int(np.argmax(means))
    if one_se:
        near = [number for number, row in enumerate(values) if within_one_standard_error(row, values[best])]
        best = near[-1 if plainest_last else 0]
    return Choice(best, means, errors)
