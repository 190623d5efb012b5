"""svmlight / LETOR text of any size written as a `.linrank` file, within a budget of memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from linrank.arrays import Offsets, offsets_from_sizes
from linrank.compiled import kernel
from linrank.dataset.grouped_rows import blocks_as_they_stand, grouped_blocks, row_bounds
from linrank.dataset.missing_rule import MissingRule
from linrank.dataset.queries import Queries
from linrank.dataset.regrouping import (
    LEAST_ROOM,
    SHARE_OF_A_BLOCK,
    WORKING_BYTES,
    Progress,
    file_and_folder,
    row_reporter,
    write_blocks,
)
from linrank.dataset.row_files import RowFiles, Rows
from linrank.dataset.storage_layout import Layout as FileLayout
from linrank.dataset.storage_layout import Section
from linrank.dataset.width import check_room
from linrank.memory import room_within
from linrank.reading.byte_source import ByteSource, LongLineError
from linrank.reading.chunk_stream import ChunkStream
from linrank.reading.feature_rows import Layout, check_largest_id, is_dense, scatter_rows
from linrank.reading.line_chunk import LineChunk, LineRules
from linrank.reading.line_ledger import LineLedger
from linrank.reading.missing import fill_missing
from linrank.reading.svmlight import CHUNK_BYTES, check_layout, checked_rules, long_line, reporter
from linrank.threads import number_of_threads

# Of a chunk's bytes: its text, what is found in it, and what is on the way to files.
_BYTES_A_LETTER = 8
_ROWS_AT_A_TIME = 1 << 18
_LARGEST_INT32 = 2**31 - 1


def convert_svmlight(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    memory: str | float | None = None,
    zero_based: bool = False,
    n_features: int | None = None,
    missing: MissingRule = "error",
    dtype: DTypeLike = "float64",
    layout: Layout | None = None,
    one_query: bool = False,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> FileLayout:
    """Write text as a `.linrank` file without loading it, the rows of each query together; return what it holds.

    One pass over the text writes its rows to files beside `out`, another copies them to their places; where rows of a
    query do not stand together, one more sorts them. The file has the same bytes as if the data, its queries grouped,
    had been read by `read_svmlight`, whose options these are, and saved.

    Parameters
    ----------
    memory : the most that the process may use, such as "2GB"; half of what the machine has unless told.
        Ids and sizes of queries are held beside it; so is a query, where missing="query_min" needs all of it.
    """
    rules = checked_rules(zero_based, n_features, missing, dtype)
    check_layout(layout)
    room = room_within(memory, WORKING_BYTES + LEAST_ROOM) - WORKING_BYTES
    with file_and_folder(out) as (file, folder):
        text = _TextRows(os.fsdecode(path), rules, folder / "text", one_query=one_query)
        n_text_bytes = text.copy(room, number_of_threads(n_threads), progress)
        queries = text.queries()
        made = text.file_layout(queries, layout, missing)
        fills = missing == "query_min" and text.ledger.n_missing > 0
        width = made.n_features * rules.dtype.itemsize if "features" in made.sections else 0
        a_row = text.rows.n_bytes / made.n_documents + width
        bounds = row_bounds(queries.starts, a_row, SHARE_OF_A_BLOCK * room, whole_queries=fills)
        report = row_reporter(progress, made.n_documents, n_text_bytes, 1 if text.is_grouped else 2, n_text_bytes)
        names = tuple(name for name in text.rows.names if name != "query")
        if text.is_grouped:
            blocks = blocks_as_they_stand(text.rows, names, bounds)
        else:
            places = _places(text.rows, queries.starts, int(bounds[1]))
            blocks = grouped_blocks(text.rows, names, places, bounds, folder, report)
        finished = _finished(blocks, made, queries.starts, bounds, fills=fills)
        of_queries = {"query_starts": queries.starts, "query_ids": queries.ids}
        write_blocks(file, made, of_queries, finished, bounds, report)
    return made


class _TextRows:
    """The rows of a text as they stand, in files."""

    def __init__(self, name: str, rules: LineRules, folder: Path, *, one_query: bool) -> None:
        self.ledger = LineLedger(name, rules, one_query=one_query)
        self.rows = RowFiles(folder)
        self._name = name
        self._rules = rules
        self._n_features = rules.n_features or 0
        self._last_query = 0

    def copy(self, room: int, n_threads: int, progress: Progress | None) -> int:
        """Write all rows to files, and return how many bytes the text has; telling of them as half of the work."""
        n_chunks = n_threads + 2
        chunk_bytes = min(CHUNK_BYTES, room // (_BYTES_A_LETTER * n_chunks))
        with ByteSource(self._name) as source, ThreadPoolExecutor(n_threads, "linrank-reading") as pool:
            stream = ChunkStream(source, self._rules, pool, n_chunks, chunk_bytes)
            total = source.bytes_total
            report = reporter(progress, None if total is None else 2 * total)
            try:
                for chunk in stream:
                    self._append(chunk)
                    report(chunk.bytes_done)
                    stream.release(chunk)
            except LongLineError:
                raise long_line(source.name, self.ledger.n_lines + 1) from None
        self.ledger.check_something_came(self._n_features)
        if self._rules.n_features is None:
            check_largest_id(self._name, self._n_features, self.rows.size("values"))
        check_room(self._n_features)
        return total or self.rows.n_bytes

    def _append(self, chunk: LineChunk) -> None:
        n_before = self.ledger.n_rows
        run_queries, run_starts = self.ledger.note(chunk)
        if not chunk.n_rows:
            return
        features, comments = chunk.features(1.0), chunk.comments
        self._n_features = max(self._n_features, features.n_features)
        rows: Rows = {
            "labels": chunk.labels,
            "row_starts": features.starts,
            "columns": features.columns,
            "values": features.values.astype(self._rules.dtype, copy=False),
            "comment_starts": comments.starts,
            "comment_letters": comments.letters,
        }
        if chunk.has_qid:
            # The first rows may go on with the query of the chunk before.
            sizes = np.diff(np.concatenate(([n_before], run_starts, [self.ledger.n_rows])))
            rows["query"] = np.repeat(np.concatenate(([self._last_query], run_queries)), sizes)
            self._last_query = rows["query"][-1]
        self.rows.append(rows)

    @property
    def is_grouped(self) -> bool:
        return not self.rows.size("query") or self.ledger.n_runs == self.ledger.n_queries

    def queries(self) -> Queries:
        """The queries of the rows, as they are once these are grouped."""
        if (queries := self.ledger.queries_without_qid()) is not None:
            return queries
        sizes = np.zeros(self.ledger.n_queries, dtype=np.int64)
        for numbers in _column(self.rows, "query", _ROWS_AT_A_TIME):
            sizes += np.bincount(numbers, minlength=len(sizes))
        return Queries(self.ledger.ids(), offsets_from_sizes(sizes), None)

    def file_layout(self, queries: Queries, layout: Layout | None, missing: MissingRule) -> FileLayout:
        """Where the arrays of the file are, in the order in which `save_dataset` has them."""
        n_rows, n_entries, n_letters = self.ledger.n_rows, self.rows.size("values"), self.rows.size("comment_letters")
        kind, whole = self._rules.dtype, np.dtype(np.int64)
        sections = {}
        if is_dense(layout, (n_rows, self._n_features), n_entries, kind):
            sections["features"] = Section(kind, (n_rows, self._n_features), 0)
        else:
            starts = np.dtype(np.int32) if n_entries <= _LARGEST_INT32 else whole
            sections["row_starts"] = Section(starts, (n_rows + 1,), 0)
            sections["columns"] = Section(np.dtype(np.int32), (n_entries,), 0)
            sections["values"] = Section(kind, (n_entries,), 0)
        sections["query_starts"] = Section(whole, (queries.n_queries + 1,), 0)
        sections["query_ids"] = Section(queries.ids.dtype, (queries.n_queries,), 0)
        sections["labels"] = Section(np.dtype(np.float64), (n_rows,), 0)
        if n_letters:
            sections["comment_starts"] = Section(whole, (n_rows + 1,), 0)
            sections["comment_letters"] = Section(np.dtype(np.uint8), (n_letters,), 0)
        return FileLayout.of(
            sections,
            n_documents=n_rows,
            n_features=self._n_features,
            n_queries=queries.n_queries,
            feature_names=None,
            query_ids=None,
            missing=missing,
        )


def _finished(
    blocks: Iterator[Rows], layout: FileLayout, starts: Offsets, bounds: Offsets, *, fills: bool
) -> Iterator[Rows]:
    """The blocks with the arrays that the file has, missing values filled."""
    for rows, start, stop in zip(blocks, bounds[:-1], bounds[1:], strict=True):
        found = dict(rows)
        shape = int(stop - start), layout.n_features
        arrays = rows["values"], rows["columns"], rows["row_starts"]
        features: NDArray[Any] | sparse.csr_array
        if "features" in layout.sections:
            features = found["features"] = np.empty(shape, dtype=rows["values"].dtype)
            scatter_rows(*arrays, features)
        else:
            # Of the same memory: what is filled is filled in the rows.
            features = sparse.csr_array(arrays, shape=shape)
        if fills:
            first, last = np.searchsorted(starts, (start, stop))
            queries = Queries.from_sizes(np.diff(starts[first : last + 1]), shape[0])
            fill_missing(features, queries, "query_min", names=())
        yield {name: array for name, array in found.items() if name in layout.sections}


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
