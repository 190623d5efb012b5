"""Threads: tasks on shards of data, run side by side without the GIL, and added up in order."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from types import TracebackType
from typing import Any, Self, TypeVar

from threadpoolctl import threadpool_limits

from linrank.threads import number_of_threads

A = TypeVar("A")
B = TypeVar("B")


class _OneBlasThread:
    """Holds BLAS to one thread while any executor is at work, and gives it back when the last one leaves.

    Threads of BLAS under threads of ours fight over the processors: measured four times slower. And the bits of a
    product depend on their number.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limits: Any = None
        if hasattr(os, "register_at_fork"):
            # A child has only the thread that forked: a lock that another one held would never be free there.
            os.register_at_fork(
                before=self._lock.acquire, after_in_parent=self._lock.release, after_in_child=self._begin_as_child
            )

    def enter(self) -> None:
        with self._lock:
            if self._inside == 0:
                _by_nobody(self._limit)
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                _by_nobody(self._limits.restore_original_limits)

    def _limit(self) -> None:
        self._limits = threadpool_limits(1, user_api="blas")

    def _begin_as_child(self) -> None:
        """Nobody is at work in a forked child, whoever is in the process that forked it."""
        self._lock.release()
        if self._inside:
            self._inside = 0
            _by_nobody(self._limits.restore_original_limits)


def _by_nobody(task: Callable[[], object]) -> None:
    """Run a task in a thread that ends with it.

    The number of BLAS threads belongs to whichever thread set it first, as long as that lives: others are ignored, and
    so is a training in another thread than the last one.
    """
    thread = threading.Thread(target=task)
    thread.start()
    thread.join()


_one_blas_thread = _OneBlasThread()


class Threads:
    """Runs a task on every shard with a pool of threads; one thread is the calling thread itself.

    Results are returned, and totals added, in the order of the shards: the same bits for any number of threads. The
    threads are there from the first task until it is left, and again if it is entered again; in another process it has
    threads of its own.
    """

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = number_of_threads(n_threads)
        self._threads: ThreadPoolExecutor | None = None
        self._threads_of = self._entered_by = os.getpid()

    def __reduce__(self) -> tuple[type[Threads], tuple[int]]:
        return Threads, (self.n_threads,)

    @property
    def _pool(self) -> ThreadPoolExecutor | None:
        # A forked child has not the threads of the process that forked it.
        if self.n_threads > 1 and (self._threads is None or self._threads_of != os.getpid()):
            self._threads, self._threads_of = ThreadPoolExecutor(self.n_threads, "linrank"), os.getpid()
        return self._threads

    def __enter__(self) -> Self:
        _one_blas_thread.enter()
        self._entered_by = os.getpid()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._entered_by != os.getpid():
            # A child that was forked meanwhile: who entered leaves.
            return
        _one_blas_thread.leave()
        # Tasks take milliseconds: after an interrupt those that run are left to end, and the others do not begin.
        threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown(wait=kind is None, cancel_futures=True)

    def map(self, task: Callable[..., B], *sharded: Sequence[Any], **common: Any) -> list[B]:
        """Run `task(*one of each, **common)` for every shard."""
        pool = self._pool if len(sharded[0]) > 1 else None
        if pool is None:
            return [task(*parts, **common) for parts in zip(*sharded, strict=True)]
        futures = [pool.submit(task, *parts, **common) for parts in zip(*sharded, strict=True)]
        return [future.result() for future in futures]

    def total(self, task: Callable[..., Any], *sharded: Sequence[Any], **common: Any) -> Any:
        """Run `task` for every shard and add the results (numbers or arrays) in the shards' order."""
        return reduce(_add, self.map(task, *sharded, **common))

    def both(self, first: Callable[[], A], second: Callable[[], B]) -> tuple[A, B]:
        """Run two independent pieces of work side by side."""
        pool = self._pool
        if pool is None:
            return first(), second()
        other = pool.submit(second)
        return first(), other.result()


def _add(first: Any, second: Any) -> Any:
    # In place: a task's result is new, and nobody else has it.
    first += second
    return first
