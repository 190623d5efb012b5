"""Work on whole queries, some of them at a time, by as many threads as there are."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TypeVar

import numpy as np

from linrank.arrays import Offsets
from linrank.threads import number_of_threads, side_by_side

Result = TypeVar("Result")

# Rows of a task: a few columns of them stay in a processor's cache.
_ROWS_AT_A_TIME = 1 << 14
# To start threads takes as long as so many tasks.
_TASKS_WITHOUT_THREADS = 16


def over_queries(
    task: Callable[[int, int], Result], starts: Offsets, rows_at_a_time: int | None = None
) -> list[Result]:
    """What a task gives for each range of queries, of about as many rows; neither the ranges nor the order of what they
    give depend on the threads.
    """
    at_a_time = rows_at_a_time or _ROWS_AT_A_TIME
    if starts[-1] <= at_a_time:
        return [task(0, len(starts) - 1)] if len(starts) > 1 else []
    cuts = np.searchsorted(starts, np.arange(0, starts[-1], at_a_time))
    ranges = list(pairwise(np.unique(np.append(cuts, len(starts) - 1)).tolist()))
    threads = 1 if starts[-1] <= _ROWS_AT_A_TIME * _TASKS_WITHOUT_THREADS else number_of_threads(None)
    return list(side_by_side(lambda bounds: task(*bounds), ranges, threads))
