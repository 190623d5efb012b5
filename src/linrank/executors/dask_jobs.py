"""Jobs on a Dask cluster: each is a task of its own, and is told of as it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from typing import Any

from linrank.errors import LinrankError
from linrank.executors.dask import GLANCE, DaskExecutor

_MOMENT = 0.2


def as_they_end(
    executor: DaskExecutor, function: Callable[[Any], Any], jobs: Sequence[Any], begins: Callable[[Any], object]
) -> Generator[tuple[Any, Any], None, None]:
    """Run `function(job)` for every job, one a worker at a time; yield each with what it returned, as it ends.

    `begins` is told of each as it is handed out. A job whose worker dies or falls silent is run again by another; one
    that does so time and again comes with an error.
    """
    from distributed import TimeoutError as TooLate
    from distributed import wait

    waiting = list(reversed(jobs))
    running: dict[Any, tuple[Any, str]] = {}
    executor.workers()
    try:
        while waiting or running:
            busy = {home for _, home in running.values()}
            # There may be none for a while, where all died and others take their place.
            idle = [worker for worker in executor.workers_now() if worker not in busy]
            for worker in idle[: len(waiting)]:
                job = waiting.pop()
                begins(job)
                future = executor.client.submit(function, job, pure=False, workers=[worker], allow_other_workers=True)
                running[future] = job, worker
            if not running:
                time.sleep(_MOMENT)
                continue
            try:
                with executor.client.as_current():
                    done, _ = wait(list(running), timeout=GLANCE, return_when="FIRST_COMPLETED")
            except TooLate:
                executor.remove_silent()
                continue
            for future in done:
                job, _ = running.pop(future)
                yield job, _result(future)
    finally:
        executor.client.cancel(list(running), force=True)


def _result(future: Any) -> Any:
    from distributed import KilledWorker

    try:
        return future.result()
    except KilledWorker as error:
        return LinrankError(
            f"every worker that ran it died, the last at {error.last_worker.address}. Look into the workers' logs: "
            "they may have too little memory."
        )
