"""How many threads to use, work beside other work, and work that no interrupt reaches."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from linrank.errors import LinrankError

Value = TypeVar("Value")


def number_of_threads(asked: int | None) -> int:
    """The number asked for, or else as many as this process has processors."""
    if asked is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if asked < 1:
        raise LinrankError(f"n_threads={asked}; use at least 1, or None for all processors.")
    return asked


def uninterrupted(task: Callable[[], Value]) -> Value:
    """What a task returns; Ctrl-C is heard after its end, since what is half started cannot be ended in order."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(task).result()


def begun(task: Callable[[], Value]) -> Callable[[], Value]:
    """Begin a task in a thread of its own; what is returned waits for its end, and has what it returned or raised."""
    pool = ThreadPoolExecutor(1)
    result = pool.submit(task)
    pool.shutdown(wait=False)
    return result.result
