"""What a training on a cluster shows while it runs: the rounds so far, and what each iteration took."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from linrank.cli.console import console
from linrank.memory import size_in_words

if TYPE_CHECKING:
    from linrank.executors.dask import DaskExecutor, Round


class LiveRounds:
    """Counts rounds as they come, and says what was counted; `show` is given the running line."""

    def __init__(self, show: Callable[[str], object] | None = None) -> None:
        self._show = show
        self._sent = self._received = 0
        self._seconds = 0.0

    def __call__(self, last: Round) -> None:
        self._sent += last.sent
        self._received += last.received
        self._seconds += last.seconds
        if self._show is not None:
            totals = traffic_in_words(last.number, self._sent, self._received, self._seconds)
            self._show(f"{totals}; last: {last.task}, {1e3 * last.seconds:.0f} ms")


class IterationLines:
    """Prints the lines of a solver, each with the rounds since the last."""

    def __init__(self, cluster: DaskExecutor, show: Callable[[str], object]) -> None:
        self._cluster, self._show = cluster, show
        self._last = (0, 0, 0, 0.0)

    def __call__(self, line: Any) -> None:
        cluster = self._cluster
        now = (cluster.rounds, cluster.sent, cluster.received, cluster.seconds)
        rounds, sent, received, seconds = (new - old for new, old in zip(now, self._last, strict=True))
        self._last = now
        self._show(f"{line}  | {traffic_in_words(int(rounds), int(sent), int(received), seconds)}")


def traffic_in_words(rounds: int, sent: int, received: int, seconds: float) -> str:
    """Rounds, bytes and seconds on one line."""
    return f"rounds {rounds:3d}  out {size_in_words(sent):>8}  back {size_in_words(received):>8}  {seconds:7.3f} s"


@contextmanager
def live_rounds(*, quiet: bool) -> Iterator[tuple[LiveRounds | None, Callable[[str], object]]]:
    """Yield who is told of rounds, and what prints a line above the running one; on a terminal there is one."""
    shown = console()
    if quiet or not sys.stdout.isatty():
        yield None, shown.print
        return
    with shown.status("connected") as status:
        yield LiveRounds(status.update), shown.print
