"""A `.linrank` file written anew with the rows of each query together, whatever its size."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from linrank.arrays import Offsets
from linrank.dataset.arranging import LEAST_ROOM, SHARE_OF_A_BLOCK, WORKING_BYTES, Arrangement, Progress
from linrank.dataset.grouped_rows import row_bounds
from linrank.dataset.row_files import RANGES
from linrank.dataset.storage_layout import Layout, check_width, read_layout
from linrank.dataset.stored_arrays import OpenArrays, StoredArrays
from linrank.dataset.stored_dataset import read_query_starts
from linrank.dataset.work_folder import work_folder
from linrank.errors import DataFormatError
from linrank.files import stamp_of
from linrank.memory import room_within

_OF_ROWS = ("features", "row_starts", "labels", "document_weights", "comment_starts")
_ORDER_AT_A_TIME = 1 << 18


def regroup_dataset(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    memory: str | float | None = None,
    n_features: int | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> Layout:
    """Write a `.linrank` file with the rows of each query together, within a budget of memory; return what it holds.

    Queries are in order of first appearance, their rows in the order given. `n_features` is that of `open_dataset`.
    What a process that was killed has left in `OUT.parts` is gone on with by `resume`.
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
    about = {"source": source, "stamp": stamp_of(source), "memory": memory, "n_features": n_features}
    with StoredArrays.of(layout).opened() as opened, work_folder(out, about, resume=resume) as work:
        starts = read_query_starts(opened, layout)
        members = [name for names in RANGES.values() for name in names]
        names = tuple(name for name in _OF_ROWS if name in sections)
        of_rows = sum(sections[name].n_bytes for name in (*names, *members) if name in sections)
        if "block_bytes" not in work:
            work.note(block_bytes=int(SHARE_OF_A_BLOCK * room))
        block_bytes = work["block_bytes"]
        bounds = row_bounds(starts, of_rows / max(1, layout.n_documents), block_bytes, whole_queries=False)
        is_mixed = "order" in layout.sections
        places = _places(opened, layout, int(bounds[1]), block_bytes // 8) if is_mixed else None
        of_queries = {name: opened.read(name) for name in sections if name not in (*names, *members)}
        Arrangement(grouped, of_queries, opened, names, bounds, places).write(work, progress, layout.n_bytes)
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
