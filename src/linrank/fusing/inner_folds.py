"""Holding out some of the queries that are learnt from, to choose what the loss itself cannot say."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.fusing.problem import FusionProblem

INNER_FOLDS = 3


def inner_folds(problem: FusionProblem, counts: Vector) -> NDArray[np.int64]:
    """The fold that each query that counts is dealt into, -1 for the others."""
    parts = np.full(problem.n_queries, -1)
    drawn = problem.candidates.queries.drawn(1)
    drawn = drawn[counts[drawn] > 0]
    parts[drawn] = np.arange(len(drawn)) * INNER_FOLDS // max(1, len(drawn))
    return parts


def mean(values: Vector, counts: Vector) -> float:
    """The mean over queries that count so often; those that the measure skips do not."""
    there = (counts > 0.0) & ~np.isnan(values)
    return float((values[there] * counts[there]).sum() / counts[there].sum()) if there.any() else float("-inf")
