"""Dask: one coarse task a worker and round; what is lost with a worker is computed again from the files on."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from linrank.errors import LinrankError, MissingDependencyError
from linrank.executors.local import Threads

# A worker that has not been heard of for so long, while it owes something, is taken for dead.
_SILENCE = 60.0
_GLANCE = 5.0


@dataclass(frozen=True, slots=True)
class Round:
    """What one round took: a task on every worker that has data."""

    number: int
    seconds: float
    bytes_out: int
    bytes_in: int


class DaskExecutor:
    """Trains on the workers of a Dask cluster: `RankSVM(executor=DaskExecutor(client)).fit("train.linrank")`.

    Every worker loads its share of the data from the files, which it must be able to read by the same path, and keeps
    it; weights go out and sums come back. The weights are the same to the last bit for any number of workers, and the
    same as without a cluster. If a worker dies, Dask runs its tasks elsewhere, from the files on: nothing changes but
    the time. A worker that is not heard of for `silence` seconds while it owes something is removed, with the same
    effect.

    Parameters
    ----------
    client : distributed.Client
    silence : float
        Seconds.
    progress : callable
        Called with a `Round` after each.

    Attributes
    ----------
    rounds : int
    here : Threads
        What computes in this process, with samples of the data.
    """

    def __init__(
        self, client: Any, *, silence: float = _SILENCE, progress: Callable[[Round], object] | None = None
    ) -> None:
        if not hasattr(client, "submit") or not hasattr(client, "scheduler_info"):
            raise LinrankError(f"client is {type(client).__name__}; pass a distributed.Client, connected to a cluster.")
        self.client = client
        self.silence = silence
        self.progress = progress
        self.rounds = 0
        self.here = Threads()
        self._homes: dict[str, str] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> DaskExecutor:
        # Copies of a ranker train on the same cluster.
        return self

    def __enter__(self) -> Self:
        self.here.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.here.__exit__(kind, error, trace)
        self._homes.clear()

    def workers(self) -> list[str]:
        """The addresses of the workers there are, in order."""
        found = sorted(self.client.scheduler_info(n_workers=-1)["workers"])
        if not found:
            raise LinrankError("the cluster has no workers. Start some: dask worker ADDRESS")
        return found

    def start(self, function: Callable[..., Any], rows: Sequence[tuple[Any, ...]]) -> list[Any]:
        """One handle a row of arguments, each on a worker of its own as far as there are."""
        workers = self.workers()
        return [
            self._submit(function, row, {}, workers[number * len(workers) // len(rows)])
            for number, row in enumerate(rows)
        ]

    def call(self, function: Callable[..., Any], rows: Sequence[tuple[Any, ...]], **common: Any) -> list[Any]:
        """One handle a row of arguments; a function runs where the first handle it is given is."""
        return [self._submit(function, row, common, self._homes.get(row[0].key)) for row in rows]

    def _submit(
        self, function: Callable[..., Any], row: tuple[Any, ...], common: dict[str, Any], home: str | None
    ) -> Any:
        handle = self.client.submit(
            function, *row, **common, pure=False, workers=None if home is None else [home], allow_other_workers=True
        )
        if home is not None:
            self._homes[handle.key] = home
        return handle

    def fetch(self, handles: Sequence[Any]) -> list[Any]:
        """What the handles stand for; an error of a task is raised here."""
        from distributed import TimeoutError as TooLate
        from distributed import wait

        started = time.perf_counter()
        while True:
            try:
                wait(handles, timeout=_GLANCE)
                break
            except TooLate:
                self._remove_silent(handles)
        results: list[Any] = self.client.gather(handles)
        for handle in handles:
            self._homes.pop(handle.key, None)
        self.rounds += 1
        if self.progress is not None:
            self.progress(Round(self.rounds, time.perf_counter() - started, 0, 0))
        return results

    def _remove_silent(self, handles: Sequence[Any]) -> None:
        """Take workers off the cluster that were not heard of for long; what they owe is computed by others."""
        now = time.time()
        owing = {self._homes.get(handle.key) for handle in handles if not handle.done()}
        for address, worker in self.client.scheduler_info(n_workers=-1)["workers"].items():
            if address in owing and now - worker["last_seen"] > self.silence:
                self.client.run_on_scheduler(_remove_worker, address=address)


async def _remove_worker(dask_scheduler: Any, address: str) -> None:
    await dask_scheduler.remove_worker(address, stimulus_id=f"linrank-silent-{time.time()}", close=False)


def connect(address: str) -> Any:
    """A client for an address such as tcp://10.0.0.1:8786, or for `local:N`: N worker processes on this machine."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise MissingDependencyError("dask", "dask", "training on a cluster") from None
    kind, _, number = address.partition(":")
    if kind != "local":
        return Client(address)
    if not number.isdigit() or int(number) < 1:
        raise LinrankError(f"{address}: write local:N with the number of worker processes, such as local:2.")
    return Client(LocalCluster(n_workers=int(number), threads_per_worker=1, dashboard_address=None))
