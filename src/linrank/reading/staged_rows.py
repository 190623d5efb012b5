"""Rows as a source had them, in files on their way to a `.linrank` file: what every streamed conversion shares."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from linrank.arrays import Offsets, offsets_from_sizes
from linrank.compiled import kernel
from linrank.dataset.arranging import SHARE_OF_A_BLOCK, Arrangement, Progress
from linrank.dataset.grouped_rows import row_bounds
from linrank.dataset.queries import Queries
from linrank.dataset.row_files import RowFiles, Rows
from linrank.dataset.storage_layout import Layout
from linrank.dataset.work_folder import WorkFolder, work_folder
from linrank.reading.feature_rows import scatter_rows
from linrank.reading.missing import fill_missing

_ROWS_AT_A_TIME = 1 << 18


@dataclass(frozen=True)
class StagedRows:
    """All rows of a source.

    Attributes
    ----------
    layout : of the file that they become
    rows : the arrays of the file that have rows, as the source had them, and "query": the number of each row's query,
        by first appearance
    queries : the arrays of the file that have one value a query
    is_grouped : whether the rows of each query stand together
    fills : whether missing values are to be filled by the least of their queries
    n_bytes : what the source is counted as where progress is told
    """

    layout: Layout
    rows: RowFiles
    queries: RowFiles
    is_grouped: bool
    fills: bool
    n_bytes: int

    def note(self, work: WorkFolder, block_bytes: int) -> None:
        """Write down that all rows are there."""
        work.note(
            staged={
                "layout": self.layout.to_json().decode(),
                "rows": self.rows.state(),
                "queries": self.queries.state(),
                "is_grouped": self.is_grouped,
                "fills": self.fills,
                "n_bytes": self.n_bytes,
                "block_bytes": block_bytes,
            }
        )

    @classmethod
    def noted(cls, work: WorkFolder) -> StagedRows:
        """What was written down."""
        known = work["staged"]
        rows, queries = (RowFiles(work.path / name, known[name]) for name in ("rows", "queries"))
        layout = Layout.from_json(known["layout"].encode(), "")
        return cls(layout, rows, queries, known["is_grouped"], known["fills"], known["n_bytes"])

    def arrangement(self, block_bytes: int) -> Arrangement:
        """How they become the file, in blocks of about so many bytes."""
        layout = self.layout
        of_queries = {name: self.queries.read(name) for name in self.queries.names}
        starts = of_queries["query_starts"]
        is_spread = self.rows.size("row_starts") and "features" in layout.sections
        width = layout.n_features * layout.sections["features"].dtype.itemsize if is_spread else 0
        a_row = self.rows.n_bytes / max(1, layout.n_documents) + width
        bounds = row_bounds(starts, a_row, block_bytes, whole_queries=self.fills)
        names = tuple(name for name in self.rows.names if name != "query")
        places = None if self.is_grouped else _places(self.rows, starts, int(bounds[1]))
        return Arrangement(layout, of_queries, self.rows, names, bounds, places, self._finisher(starts))

    def _finisher(self, starts: Offsets) -> Callable[[Rows, int, int], Rows]:
        def finish(rows: Rows, start: int, stop: int) -> Rows:
            found = dict(rows)
            shape = stop - start, self.layout.n_features
            features: NDArray[Any] | scipy.sparse.csr_array
            if "features" in rows:
                features = rows["features"]
            elif "features" in self.layout.sections:
                features = found["features"] = np.empty(shape, dtype=rows["values"].dtype)
                scatter_rows(rows["values"], rows["columns"], rows["row_starts"], features)
            else:
                # Of the same memory: what is filled is filled in the rows.
                features = scipy.sparse.csr_array((rows["values"], rows["columns"], rows["row_starts"]), shape=shape)
            if self.fills:
                first, last = np.searchsorted(starts, (start, stop))
                queries = Queries.from_sizes(np.diff(starts[first : last + 1]), shape[0])
                fill_missing(features, queries, "query_min", names=())
            return {name: array for name, array in found.items() if name in self.layout.sections}

        return finish


def convert_rows(
    out: str | os.PathLike[str],
    about: dict[str, Any],
    room: int,
    stage: Callable[[WorkFolder], StagedRows],
    *,
    resume: bool,
    progress: Progress | None,
) -> Layout:
    """Write what `stage` puts into files as a `.linrank` file, within `room`, or go on with what was left of it."""
    with work_folder(out, about, resume=resume) as work:
        if "staged" not in work:
            stage(work).note(work, int(SHARE_OF_A_BLOCK * room))
        staged = StagedRows.noted(work)
        staged.arrangement(work["staged"]["block_bytes"]).write(work, progress, staged.n_bytes, staged.n_bytes)
    return staged.layout


def query_starts(rows: RowFiles, n_queries: int) -> Offsets:
    """Where the queries start once their rows stand together."""
    sizes = np.zeros(n_queries, dtype=np.int64)
    for numbers in _column(rows, "query", _ROWS_AT_A_TIME):
        sizes += np.bincount(numbers, minlength=n_queries)
    return offsets_from_sizes(sizes)


def _places(rows: RowFiles, starts: Offsets, n_rows: int) -> Iterator[Offsets]:
    """The places of the rows where each query's stand together, in the order they stand in."""
    next_places = starts[:-1].copy()
    for queries in _column(rows, "query", n_rows):
        places = np.empty(len(queries), dtype=np.int64)
        _take_places(queries, next_places, places)
        yield places


def _column(rows: RowFiles, name: str, n_rows: int) -> Iterator[Offsets]:
    for start in range(0, rows.size(name), n_rows):
        yield rows.read(name, start, min(rows.size(name), start + n_rows))


@kernel
def _take_places(queries, next_places, places):  # type: ignore[no-untyped-def]
    for row in range(len(queries)):
        places[row] = next_places[queries[row]]
        next_places[queries[row]] += 1
