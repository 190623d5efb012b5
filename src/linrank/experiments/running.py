"""Running jobs in several processes, each result told as it comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import replace

from linrank.experiments.comparison import Job, JobResult, run_job
from linrank.threads import number_of_threads

Watch = Callable[[Job, JobResult | Exception | None], object]
"""Hears of each job when it starts (None), and when it ends or fails."""


def run_jobs(jobs: Sequence[Job], n_processes: int, watch: Watch) -> None:
    """Run jobs in so many processes."""
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
    with ProcessPoolExecutor(n_processes) as pool:
        try:
            while waiting or running:
                while waiting and len(running) < n_processes:
                    job = waiting.pop()
                    watch(job, None)
                    running[pool.submit(_outcome, job)] = job
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    watch(running.pop(future), future.result())
        except BaseException:
            pool.shutdown(wait=False, kill_workers=True)
            raise


def _outcome(job: Job) -> JobResult | Exception:
    """A method that fails on a fold is told of at the end; the others go on."""
    try:
        return run_job(job)
    except Exception as error:  # noqa: BLE001
        return error
