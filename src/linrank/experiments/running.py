"""Running jobs in several processes, each result told as it comes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from linrank.errors import LinrankError
from linrank.experiments.comparison import Job, JobResult, run_job
from linrank.experiments.folds import Fold
from linrank.threads import number_of_threads, uninterrupted

# How often a process looks whether the one that started it is there.
_GLANCE = 1.0

Watch = Callable[[Job, JobResult | Exception | None], object]
"""Hears of each job when it starts (None), and when it ends or fails."""


def run_jobs(jobs: Sequence[Job], n_processes: int, watch: Watch, executor: Any = None) -> None:
    """Run jobs in so many processes; or on the workers of a `DaskExecutor`, one a worker at a time."""
    if executor is not None:
        from linrank.executors.dask_jobs import as_they_end

        found = [replace(job, fold=_by_whole_paths(job.fold)) for job in jobs]
        # Closed at once where it ends before its time: what still runs is not waited for.
        with closing(as_they_end(executor, _outcome_on_worker, found, lambda job: watch(job, None))) as ended:
            for job, outcome in ended:
                watch(job, outcome)
        return
    n_threads = max(1, number_of_threads(None) // n_processes)
    waiting = [replace(job, n_threads=n_threads) for job in reversed(jobs)]
    if n_processes == 1:
        for job in reversed(waiting):
            watch(job, None)
            watch(job, _outcome(job))
        return
    # Its processes are new ones, as a forked child of a process with threads may hang; and they take objects whose
    # class stands in a script or a notebook without running that again.
    from joblib.externals.loky import ProcessPoolExecutor

    running: dict[Future[JobResult | Exception], Job] = {}
    pool = ProcessPoolExecutor(n_processes, initializer=end_with, initargs=(os.getpid(),))
    to_its_end = False
    try:
        while waiting or running:
            while waiting and len(running) < n_processes:
                job = waiting.pop()
                watch(job, None)
                # It starts processes.
                running[uninterrupted(partial(pool.submit, _outcome, job))] = job
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                watch(running.pop(future), future.result())
        to_its_end = True
    finally:
        # Not `with`, which waits for the jobs that run, whatever happened.
        pool.shutdown(kill_workers=not to_its_end)


def end_with(parent: int) -> None:
    """End this process soon after the one that started it, which may be killed and then tells nobody."""

    def watch() -> None:
        # An orphan is given another parent.
        while os.getppid() == parent:
            time.sleep(_GLANCE)
        os._exit(1)

    threading.Thread(target=watch, name="linrank-parent", daemon=True).start()


def check_for_cluster(folds: Iterable[Fold]) -> None:
    """Refuse data that no worker could read."""
    if any(part.data is not None for fold in folds for part in fold.parts().values()):
        raise LinrankError(
            "the workers of a cluster read the data from files, and this is in memory. Save it (save_dataset), and "
            "pass the path; or leave the executor out."
        )


def _by_whole_paths(fold: Fold) -> Fold:
    """The same fold for who is in another folder."""
    parts = [replace(part, path=str(Path(part.path).absolute())) for part in fold.parts().values()]
    return Fold(fold.name, *parts)


# A worker may have several threads, and what a training warns of is heard by its process: one job at a time.
_one_at_a_time = threading.Lock()


def _outcome_on_worker(job: Job) -> JobResult | Exception:
    from distributed import get_worker

    worker = get_worker()
    for part in job.fold.parts().values():
        if not Path(part.path).exists():
            return LinrankError(
                f"{part.path}: is not there for the worker at {worker.address}. Workers read the data by the same path "
                "as this machine: put it where all of them can."
            )
    with _one_at_a_time:
        return _outcome(replace(job, n_threads=worker.state.nthreads))


def _outcome(job: Job) -> JobResult | Exception:
    """A method that fails on a fold is told of at the end; the others go on."""
    try:
        return run_job(job)
    except Exception as error:  # noqa: BLE001
        return error
