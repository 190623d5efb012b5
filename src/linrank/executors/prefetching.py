"""Reading ahead: a thread fetches what comes next while what came before is computed with."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from queue import Queue
from typing import Any, TypeVar

A = TypeVar("A")

_END = object()


def ahead(items: Iterator[A], depth: int = 2) -> Iterator[A]:
    """The same items in the same order, at most `depth` of them fetched before they are asked for.

    An error comes out where its item would have. Whoever stops early stops the fetching.
    """
    # One item more is in the fetching thread's hand.
    fetched: Queue[Any] = Queue(max(1, depth - 1))
    stopped = threading.Event()

    def fetch() -> None:
        try:
            for item in items:
                fetched.put(item)
                if stopped.is_set():
                    return
            fetched.put(_END)
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            fetched.put(_Failure(error))

    thread = threading.Thread(target=fetch, name="linrank-reading", daemon=True)
    thread.start()
    try:
        while (item := fetched.get()) is not _END:
            if isinstance(item, _Failure):
                raise item.error
            yield item
    finally:
        stopped.set()
        while thread.is_alive():
            # What it waits to hand over is taken from it, so that it sees that it is to stop.
            while not fetched.empty():
                fetched.get_nowait()
            thread.join(0.001)


class _Failure:
    def __init__(self, error: BaseException) -> None:
        self.error = error
