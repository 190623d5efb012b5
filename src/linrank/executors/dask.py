"""Dask: one coarse task a worker and round; what is lost with a worker is computed again from the files on."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from linrank.errors import LinrankError, MissingDependencyError
from linrank.executors.local import Threads
from linrank.executors.round_log import RoundLog
from linrank.memory import size_in_words

# A worker that was last heard of so long before another is taken for dead.
_SILENCE = 60.0
# How often it is looked whether workers are still there.
GLANCE = 5.0


@dataclass(frozen=True, slots=True)
class Round:
    """One round, in which every worker that has data did something and told what came of it."""

    number: int
    task: str
    seconds: float
    sent: int = 0
    received: int = 0

    def __str__(self) -> str:
        return (
            f"round {self.number:4d}  {self.task:<24} {1e3 * self.seconds:8.1f} ms  "
            f"{size_in_words(self.sent)} out, {size_in_words(self.received)} back"
        )


class DaskExecutor:
    """Trains on the workers of a Dask cluster: `RankSVM(executor=DaskExecutor(client)).fit("train.linrank")`.

    Every worker loads its share of the data from the files, which it must be able to read by the same path, and keeps
    it; weights go out and sums come back. The weights are the same to the last bit for any number of workers, and the
    same as without a cluster. If a worker dies, Dask runs its tasks elsewhere, from the files on: nothing changes but
    the time. A worker that was last heard of `silence` seconds before another is removed while a round lasts, with the
    same effect.

    Parameters
    ----------
    client : distributed.Client
    checkpoint : path
        A file to which every round is written. If this process ends, however it does, the same training with
        `resume=True` goes on from there, and comes to the same weights; at its end the file is removed.
    resume : bool
    silence : float
        Seconds.
    progress : callable
        Called with a `Round` after each.

    Attributes
    ----------
    rounds : int
    sent, received : int
        Bytes of what tasks were given and of what they told, as they travelled: weights and sums. (The graphs of a Dask
        DataFrame, and what workers tell one another, are not among them.)
    seconds : float
        What all rounds took together.
    here : Threads
        What computes in this process, with samples of the data.
    """

    def __init__(
        self,
        client: Any,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
        silence: float = _SILENCE,
        progress: Callable[[Round], object] | None = None,
    ) -> None:
        if not hasattr(client, "submit") or not hasattr(client, "scheduler_info"):
            raise LinrankError(f"client is {type(client).__name__}; pass a distributed.Client, connected to a cluster.")
        self.client = client
        self.checkpoint, self.resume = checkpoint, resume
        self.silence = silence
        self.progress = progress
        self.rounds = self.sent = self.received = 0
        self.seconds = 0.0
        self.here = Threads()
        self.about: dict[str, Any] = {}
        self.log: RoundLog | None = None

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
        if self.log is not None:
            self.log.close(done=kind is None)
            self.log = None

    def begin(self, about: dict[str, Any]) -> None:
        """Keep a log, if one is asked for, of what a run about this is told."""
        if self.checkpoint is not None and self.log is None:
            self.log = RoundLog(self.checkpoint, {**self.about, **about}, resume=self.resume)

    def workers(self) -> list[str]:
        """The addresses of the workers there are, in order."""
        found = self.workers_now()
        if not found:
            raise LinrankError("the cluster has no workers. Start some: dask worker ADDRESS")
        return found

    def workers_now(self) -> list[str]:
        """The same, where there may be none for a while."""
        # Not `scheduler_info`: the client refreshes it now and then, without workers, and may do so in between.
        return sorted(self.client.sync(self.client.scheduler.identity, n_workers=-1)["workers"])

    def start(self, function: Callable[..., Any], rows: Sequence[tuple[Any, ...]]) -> list[Handle]:
        """One handle a row of arguments, spread evenly over the workers."""
        workers = self.workers()
        return [
            Handle(function, row, {}, workers[number * len(workers) // len(rows)]) for number, row in enumerate(rows)
        ]

    def computed(self, lazy: Sequence[Any]) -> list[LazyHandle | None]:
        """One handle for each `dask.delayed` value, such as a partition of a Dask DataFrame; None stays None."""
        batch = LazyBatch([one for one in lazy if one is not None])
        numbers = iter(range(len(lazy)))
        return [None if one is None else LazyHandle(batch, next(numbers)) for one in lazy]

    def call(self, function: Callable[..., Any], rows: Sequence[tuple[Any, ...]], **common: Any) -> list[Handle]:
        """One handle a row of arguments; a function runs where the first handle it is given is."""
        return [Handle(function, row, common, row[0].home) for row in rows]

    def fetch(self, handles: Sequence[Handle], task: str) -> list[Any]:
        """What the handles' lists hold, one after the other; `task` is what the round is called.

        An error of a task is raised here.
        """

        def run() -> list[Any]:
            started, sent = time.perf_counter(), self.sent
            futures = [handle.submitted(self) for handle in handles]
            self._wait(futures)
            lists = self.client.gather(futures)
            last = Round(
                self.rounds + 1, task, time.perf_counter() - started, self.sent - sent, sum(map(wire_bytes, lists))
            )
            self.rounds, self.seconds = last.number, self.seconds + last.seconds
            self.received += last.received
            if self.progress is not None:
                self.progress(last)
            return [told for of_group in lists for told in of_group]

        told: list[Any] = run() if self.log is None else self.log.round(task, run)
        return told

    def _wait(self, futures: Sequence[Any]) -> None:
        from distributed import TimeoutError as TooLate
        from distributed import wait

        while True:
            try:
                with self.client.as_current():
                    wait(futures, timeout=GLANCE)
            except TooLate:
                self.remove_silent()
            else:
                return

    def remove_silent(self) -> None:
        """Take workers off the cluster that were not heard of for long; what they owe is computed by others."""
        self.client.run_on_scheduler(_remove_silent, silence=self.silence)


class Handle:
    """What a function returns on a worker. It runs when somebody wants to know, or another that is given it runs.

    Dask knows how each was made, from the files on: what is lost with a worker is made again.
    """

    def __init__(self, function: Callable[..., Any], row: tuple[Any, ...], common: dict[str, Any], home: str) -> None:
        self.home = home
        self._made_by: tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]] | None = (function, row, common)
        self._future: Any = None

    def submitted(self, executor: DaskExecutor) -> Any:
        """The future of it."""
        if self._future is None:
            assert self._made_by is not None
            function, row, common = self._made_by
            arguments = [value.submitted(executor) if isinstance(value, Handle) else value for value in row]
            executor.sent += wire_bytes((function, [value for value in row if not isinstance(value, Handle)], common))
            # A worker that is gone is no reason to wait: any other will do.
            self._future = executor.client.submit(
                function, *arguments, **common, pure=False, workers=[self.home], allow_other_workers=True
            )
            # From here on the scheduler knows.
            self._made_by = None
        return self._future


class LazyBatch:
    """Values that have graphs of their own, which the scheduler is told of all at once: they share what they are of."""

    def __init__(self, lazy: Sequence[Any]) -> None:
        self._lazy = lazy
        self._futures: Sequence[Any] | None = None

    def futures(self, client: Any) -> Sequence[Any]:
        """Those of all values."""
        if self._futures is None:
            self._futures, self._lazy = client.compute(list(self._lazy)), ()
        return self._futures


class LazyHandle(Handle):
    """One of a batch."""

    def __init__(self, batch: LazyBatch, number: int) -> None:
        self._batch, self._number = batch, number

    def submitted(self, executor: DaskExecutor) -> Any:
        return self._batch.futures(executor.client)[self._number]


def wire_bytes(value: object) -> int:
    """The bytes of a value as it travels: pickled, with its arrays beside the pickle, which are not copied."""
    from distributed.protocol import pickle

    buffers: list[Any] = []
    head: bytes = pickle.dumps(value, buffer_callback=buffers.append)
    return len(head) + sum(int(buffer.raw().nbytes) for buffer in buffers)


async def _remove_silent(dask_scheduler: Any, silence: float) -> None:
    # By what was last heard of any: where none is heard of the machine is busy or the network away, and who is removed
    # ends itself. So one is always left, to do the others' part.
    latest = max((worker.last_seen for worker in dask_scheduler.workers.values()), default=0.0)
    for address, worker in list(dask_scheduler.workers.items()):
        if latest - worker.last_seen > silence:
            await dask_scheduler.remove_worker(address, stimulus_id=f"linrank-silent-{time.time()}", close=False)


def connect(address: str) -> Any:
    """A client for an address such as tcp://10.0.0.1:8786, or for `local:N`: N worker processes on this machine."""
    try:
        from dask import config
        from distributed import Client, LocalCluster
    except ImportError:
        raise MissingDependencyError("dask", "dask", "training on a cluster") from None
    kind, _, number = address.partition(":")
    if kind != "local":
        try:
            return Client(address, set_as_default=False)
        except (OSError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise LinrankError(
                f"{address}: no scheduler of Dask answers there ({reason}). Start one (dask scheduler) and name its "
                "address, such as tcp://10.0.0.1:8786; local:2 starts two workers here."
            ) from None
    if not number.isdigit() or int(number) < 1:
        raise LinrankError(f"{address}: write local:N with the number of worker processes, such as local:2.")
    # One that died comes back when it has started again, which on a busy machine takes longer than Dask waits for it.
    config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"})
    # Any port: another cluster of this machine may have the usual one. And what else is computed with Dask in this
    # process goes on as it did.
    cluster = LocalCluster(n_workers=int(number), threads_per_worker=1, dashboard_address=":0")
    return Client(cluster, set_as_default=False)
