"""SIGTERM ends a command as Ctrl-C does: what was begun is cleaned up, and what is done is kept."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType


@dataclass
class Ending:
    """How a command was ended before its time: by which signal. Its exit code is that of a shell."""

    number: int = signal.SIGINT

    @property
    def code(self) -> int:
        return 128 + self.number

    def __str__(self) -> str:
        return "interrupted" if self.number == signal.SIGINT else f"ended by {signal.Signals(self.number).name}"


@contextmanager
def ended_by_signals() -> Iterator[Ending]:
    """Let SIGTERM raise KeyboardInterrupt while the block runs, and say afterwards what raised it."""
    ending = Ending()

    def end(number: int, _: FrameType | None) -> None:
        ending.number = number
        # Who asks twice does not want to wait.
        signal.signal(number, signal.SIG_DFL)
        # The process ends: threads that lose the workers they wait for have nothing to say that anybody asked for.
        threading.excepthook = lambda _: None
        raise KeyboardInterrupt

    # A thread hears no signals; and whoever ignores this one, or has a use for it, goes on doing so.
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    ):
        yield ending
        return
    signal.signal(signal.SIGTERM, end)
    try:
        yield ending
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
