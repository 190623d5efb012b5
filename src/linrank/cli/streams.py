"""Standard output and error that cannot stop the work: what nobody reads any more is dropped."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import Any, TextIO


class SteadyStream:
    """A stream whose writing never fails: after a failure, which is kept, all that is written is dropped.

    So a command whose reader has gone, as with `| head`, or whose disk is full, still does its work.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self.was_closed = stream is None
        self._stream: Any = _nowhere() if stream is None else stream
        self.failure: OSError | None = None
        if isinstance(stream, TextIOWrapper):
            # A name that the terminal's encoding lacks is no reason to stop either.
            stream.reconfigure(errors="backslashreplace")

    def write(self, text: str) -> int:
        if self.failure is None:
            try:
                self._stream.write(text)
            except OSError as error:
                self._give_up(error)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            if self.failure is not None:
                return
            self.write(line)

    def flush(self) -> None:
        if self.failure is None:
            try:
                self._stream.flush()
            except OSError as error:
                self._give_up(error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _give_up(self, error: OSError) -> None:
        self.failure = error
        with suppress(OSError):
            # What is still in the buffer is written when Python ends, and must not fail there.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())


@contextmanager
def steady_streams() -> Iterator[SteadyStream]:
    """Make standard output, which is yielded, and standard error steady while the block runs."""
    _occupy_standard_descriptors()
    before = sys.stdout, sys.stderr
    out, err = SteadyStream(sys.stdout), SteadyStream(sys.stderr)
    sys.stdout, sys.stderr = out, err
    try:
        yield out
    finally:
        out.flush()
        err.flush()
        sys.stdout, sys.stderr = before


def say_the_rest_on_standard_error() -> None:
    """Leave standard output to what the verb makes, a model or scores, so that nothing else is in it."""
    if not isinstance(sys.stdout, _Aside):
        sys.stdout = _Aside(sys.stdout, sys.stderr)


def output_for_what_is_made() -> TextIO:
    """Standard output itself, whoever speaks on it."""
    return sys.stdout.made if isinstance(sys.stdout, _Aside) else sys.stdout


class _Aside:
    """Standard error in the place of standard output, which it keeps."""

    def __init__(self, made: TextIO, said: TextIO) -> None:
        self.made = made
        self._said = said

    def __getattr__(self, name: str) -> Any:
        return getattr(self._said, name)


def _occupy_standard_descriptors() -> None:
    # Where one is closed, as by `>&-`, the next file to be opened would get its number, and be printed into.
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123 - open as long as the process is
