"""How many threads to use, work beside other work, and work that no interrupt reaches."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from linrank.errors import LinrankError

Item = TypeVar("Item")
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


def side_by_side(task: Callable[[Item], Value], items: Sequence[Item], n_threads: int | None = None) -> Iterator[Value]:
    """What a task returns of each item, in their order, as it is there; so many at a time as there are threads."""
    n_threads = min(number_of_threads(n_threads), len(items))
    if n_threads <= 1:
        yield from map(task, items)
        return
    with ThreadPoolExecutor(n_threads, "linrank") as pool:
        begun_items: deque[Future[Value]] = deque()
        for item in items:
            begun_items.append(pool.submit(task, item))
            if len(begun_items) > n_threads:
                yield begun_items.popleft().result()
        while begun_items:
            yield begun_items.popleft().result()
