"""How many threads to use."""

from __future__ import annotations

import os

from linrank.errors import LinrankError


def number_of_threads(asked: int | None) -> int:
    """The number asked for, or else as many as this process has processors."""
    if asked is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if asked < 1:
        raise LinrankError(f"n_threads={asked}; use at least 1, or None for all processors.")
    return asked
