"""A `.linrank` file written anew with the rows of each query together, whatever its size."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from linrank.arrays import Offsets
from linrank.dataset.grouped_rows import blocks_as_they_stand, grouped_blocks, row_bounds
from linrank.dataset.row_files import RANGES, Rows
from linrank.dataset.section_writer import SectionWriter
from linrank.dataset.storage import check_width
from linrank.dataset.storage_layout import Layout, read_layout
from linrank.dataset.stored_arrays import OpenArrays, StoredArrays
from linrank.dataset.stored_dataset import read_query_starts
from linrank.errors import DataFormatError
from linrank.files import replacing
from linrank.memory import room_within

# Beside rows: what loading kernels takes, and pieces on their way to a file, as measured; and the least room for rows.
WORKING_BYTES = 72 << 20
LEAST_ROOM = 8 << 20
# A block of rows as it was read, in another order, and as it is written; and room for blocks larger than the average.
SHARE_OF_A_BLOCK = 1 / 8
_OF_ROWS = ("features", "row_starts", "labels", "document_weights", "comment_starts")
_ORDER_AT_A_TIME = 1 << 18

Progress = Callable[[int, int | None], None]


def regroup_dataset(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    memory: str | float | None = None,
    n_features: int | None = None,
    progress: Progress | None = None,
) -> Layout:
    """Write a `.linrank` file with the rows of each query together, within a budget of memory; return what it holds.

    Queries are in order of first appearance, their rows in the order given. `n_features` is that of `open_dataset`.
    """
    source = os.fspath(path)
    room = room_within(memory, WORKING_BYTES + LEAST_ROOM) - WORKING_BYTES
    try:
        with Path(source).open("rb") as file:
            layout = read_layout(file, source)
    except OSError as error:
        raise DataFormatError(source, None, f"cannot be read: {error.strerror}. Check the path.") from None
    check_width(layout, n_features)
    sections = {name: section for name, section in layout.sections.items() if name != "order"}
    grouped = layout_of(layout, sections)
    with StoredArrays.of(layout).opened() as opened, file_and_folder(out) as (made, folder):
        starts = read_query_starts(opened, layout)
        members = [name for names in RANGES.values() for name in names]
        names = tuple(name for name in _OF_ROWS if name in sections)
        of_rows = sum(sections[name].n_bytes for name in (*names, *members) if name in sections)
        bounds = row_bounds(starts, of_rows / max(1, layout.n_documents), SHARE_OF_A_BLOCK * room, whole_queries=False)
        report = row_reporter(
            progress, layout.n_documents, layout.n_bytes, passes=2 if "order" in layout.sections else 1
        )
        if "order" in layout.sections:
            places = _places(opened, layout, int(bounds[1]), int(SHARE_OF_A_BLOCK * room) // 8)
            blocks = grouped_blocks(opened, names, places, bounds, folder, report)
        else:
            blocks = blocks_as_they_stand(opened, names, bounds)
        of_queries = {name: opened.read(name) for name in sections if name not in (*names, *members)}
        write_blocks(made, grouped, of_queries, blocks, bounds, report)
    return grouped


def layout_of(like: Layout, sections: dict) -> Layout:  # type: ignore[type-arg]
    """A layout with other arrays."""
    return Layout.of(
        sections,
        n_documents=like.n_documents,
        n_features=like.n_features,
        n_queries=like.n_queries,
        feature_names=like.feature_names,
        query_ids=like.query_ids,
        missing=like.missing,
    )


@contextmanager
def file_and_folder(out: str | os.PathLike[str]) -> Iterator[tuple[IO[bytes], Path]]:
    """A file that takes the place of `out` at last, and beside it a folder for what is on the way to it."""
    place = Path(out).resolve()
    with (
        tempfile.TemporaryDirectory(dir=place.parent, prefix=f".{place.name}.", suffix=".parts") as folder,
        replacing(out, "wb") as file,
    ):
        yield file, Path(folder)


def write_blocks(
    file: IO[bytes],
    layout: Layout,
    of_queries: Rows,
    blocks: Iterable[Rows],
    bounds: Offsets,
    report: Callable[[int], None],
) -> None:
    """Write the arrays of queries, and those of rows block by block; `report` is told the rows written."""
    writer = SectionWriter(file, layout)
    for name, array in of_queries.items():
        writer.append(name, array)
    for rows, n_done in zip(blocks, bounds[1:].tolist(), strict=True):
        writer.append_rows(rows)
        report(n_done)
    writer.finish()


def row_reporter(
    progress: Progress | None, n_rows: int, n_bytes: int, passes: int, n_done: int = 0
) -> Callable[[int], None]:
    """Tell of rows, in each pass over them, as bytes of the whole after the `n_done` that were done before."""
    pass_, last = 0, 0

    def report(rows: int) -> None:
        nonlocal pass_, last
        pass_ += rows <= last
        last = rows
        if progress is not None:
            share = (pass_ + rows / max(1, n_rows)) / passes
            progress(n_done + int(share * n_bytes), n_done + n_bytes)

    return report


def _places(opened: OpenArrays, layout: Layout, n_rows: int, n_at_once: int) -> Iterator[Offsets]:
    """The new places of the rows as they stand, `n_rows` at a time.

    The order says the opposite, which row comes to a place: it is gone through for every `n_at_once` rows.
    """
    n_documents = layout.n_documents
    n_at_once = max(1, n_at_once // n_rows) * n_rows
    for first in range(0, n_documents, n_at_once):
        new = np.full(min(n_at_once, n_documents - first), -1, dtype=np.int64)
        for start in range(0, n_documents, _ORDER_AT_A_TIME):
            rows = opened.read("order", start, min(n_documents, start + _ORDER_AT_A_TIME)) - first
            here = np.flatnonzero((rows >= 0) & (rows < len(new)))
            new[rows[here]] = start + here
        if (new < 0).any():
            raise layout.damage(f"its order leaves out row {first + int(np.argmin(new))}")
        for start in range(0, len(new), n_rows):
            yield new[start : start + n_rows]
