"""Rows in files, put in the order of their queries by an external sort: never more than some of them are in memory."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from linrank.arrays import Offsets
from linrank.dataset.row_files import ArraySource, RowFiles, Rows, read_rows, take_rows
from linrank.dataset.work_folder import WorkFolder

Report = Callable[[int], None]


def sort_into_ranges(
    source: ArraySource,
    names: tuple[str, ...],
    places: Iterable[Offsets],
    bounds: Offsets,
    work: WorkFolder,
    report: Report,
) -> None:
    """Copy the rows of each range of `bounds` in their new order to files of their own.

    `places` are the new places of the rows as they stand, piece after piece. `report` is told how many rows were
    copied, and `work` is told the same with what the files hold, from where a later call goes on.
    """
    n_done, states = work.get("sorted", (0, [{}] * (len(bounds) - 1)))
    ranges = [RowFiles(_folder(work, place), state) for place, state in enumerate(states)]
    start = 0
    for new in places:
        stop = start + len(new)
        if stop > n_done:
            rows = read_rows(source, names, start, stop) | {"place": new}
            belongs_to = np.searchsorted(bounds, new, side="right") - 1
            order = np.argsort(belongs_to, kind="stable")
            ends = np.searchsorted(belongs_to[order], np.arange(len(bounds)))
            for files, (first, last) in zip(ranges, pairwise(ends.tolist()), strict=True):
                if last > first:
                    files.append(take_rows(rows, order[first:last]))
            report(stop)
            if work.is_time_to_note:
                work.note(sorted=[stop, [files.state() for files in ranges]])
        start = stop
    work.note(sorted=[start, [files.state() for files in ranges]])


def sorted_blocks(work: WorkFolder, bounds: Offsets, n_done: int) -> Iterator[Rows]:
    """Yield the rows of each range but the first `n_done`, put in order."""
    states = work["sorted"][1]
    for place in range(n_done, len(bounds) - 1):
        files = RowFiles(_folder(work, place), states[place])
        rows = read_rows(files, files.names, 0, int(bounds[place + 1] - bounds[place]))
        yield take_rows(rows, np.argsort(rows.pop("place")))


def remove_ranges(work: WorkFolder, start: int, stop: int) -> int:
    """Give back the room of ranges that are where they belong; return the first that is not."""
    for place in range(start, stop):
        shutil.rmtree(_folder(work, place), ignore_errors=True)
    return stop


def blocks_as_they_stand(source: ArraySource, names: tuple[str, ...], bounds: Offsets, n_done: int) -> Iterator[Rows]:
    """Yield rows whose order is right already, but those of the first `n_done` ranges."""
    for start, stop in pairwise(bounds[n_done:].tolist()):
        yield read_rows(source, names, start, stop)


def row_bounds(starts: Offsets, bytes_a_row: float, block_bytes: float, whole_queries: bool) -> Offsets:
    """Where blocks of about so many bytes begin and end: at any row, or between queries alone."""
    n_rows = int(starts[-1])
    bounds = np.append(np.arange(0, max(1, n_rows), max(1, int(block_bytes / max(1.0, bytes_a_row)))), n_rows)
    return np.unique(starts[np.searchsorted(starts, bounds)]) if whole_queries else bounds


def _folder(work: WorkFolder, place: int) -> Path:
    return work.path / f"range-{place}"
