"""What there is to say about compiled kernels, for whoever listens: the command line does, the library is silent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Tell = Callable[[str], object]

COMPILED, DAMAGED, NOT_KEPT = "compiled", "damaged", "not kept"

_listeners: list[tuple[Tell, set[str]]] = []


@contextmanager
def telling(tell: Tell, *subjects: str) -> Iterator[None]:
    """Tell what is said of subjects while the block runs, each once."""
    listener = (tell, set(subjects))
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def say_once(subject: str, message: str) -> None:
    """Say something of a subject to those who want to hear of it and have not yet."""
    for tell, wanted in _listeners:
        if subject in wanted:
            wanted.remove(subject)
            tell(message)
