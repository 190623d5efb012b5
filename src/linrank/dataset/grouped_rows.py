"""Rows in files, put in the order of their queries by an external sort: never more than some of them are in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from linrank.arrays import Offsets
from linrank.dataset.row_files import ArraySource, RowFiles, Rows, read_rows, take_rows

Report = Callable[[int], None]


def grouped_blocks(
    source: ArraySource,
    names: tuple[str, ...],
    places: Iterable[Offsets],
    bounds: Offsets,
    folder: Path,
    report: Report,
) -> Iterator[Rows]:
    """Yield the rows in their new order, those of one range of `bounds` after the other.

    `places` are the new places of the rows as they stand, piece after piece. A first pass copies the rows of each range
    to files of their own; they are put in order in memory, one range at a time. `report` is told how many rows were
    copied.
    """
    ranges = [RowFiles(folder / f"range-{place}") for place in range(len(bounds) - 1)]
    start = 0
    for new in places:
        stop = start + len(new)
        rows = read_rows(source, names, start, stop) | {"place": new}
        belongs_to = np.searchsorted(bounds, new, side="right") - 1
        order = np.argsort(belongs_to, kind="stable")
        ends = np.searchsorted(belongs_to[order], np.arange(len(bounds)))
        for files, (first, last) in zip(ranges, pairwise(ends.tolist()), strict=True):
            if last > first:
                files.append(take_rows(rows, order[first:last]))
        start = stop
        report(stop)
    for place, files in enumerate(ranges):
        rows = read_rows(files, files.names, 0, int(bounds[place + 1] - bounds[place]))
        files.remove()
        yield take_rows(rows, np.argsort(rows.pop("place")))


def blocks_as_they_stand(source: ArraySource, names: tuple[str, ...], bounds: Offsets) -> Iterator[Rows]:
    """Yield rows whose order is right already."""
    for start, stop in pairwise(bounds.tolist()):
        yield read_rows(source, names, start, stop)


def row_bounds(starts: Offsets, bytes_a_row: float, block_bytes: float, whole_queries: bool) -> Offsets:
    """Where blocks of about so many bytes begin and end: at any row, or between queries alone."""
    n_rows = int(starts[-1])
    bounds = np.append(np.arange(0, max(1, n_rows), max(1, int(block_bytes / max(1.0, bytes_a_row)))), n_rows)
    return np.unique(starts[np.searchsorted(starts, bounds)]) if whole_queries else bounds
