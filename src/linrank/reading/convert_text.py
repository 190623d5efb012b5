"""svmlight / LETOR text of any size written as a `.linrank` file, within a budget of memory."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from linrank.dataset.arranging import LEAST_ROOM, WORKING_BYTES, Progress
from linrank.dataset.missing_rule import MissingRule
from linrank.dataset.queries import Queries
from linrank.dataset.row_files import RowFiles, Rows
from linrank.dataset.storage_layout import Layout as FileLayout
from linrank.dataset.storage_layout import Section
from linrank.dataset.width import check_room
from linrank.dataset.work_folder import WorkFolder
from linrank.errors import LinrankError
from linrank.files import stamp_of
from linrank.memory import room_within
from linrank.reading.byte_source import ByteSource, LongLineError
from linrank.reading.chunk_stream import ChunkStream
from linrank.reading.feature_rows import Layout, check_largest_id, is_dense
from linrank.reading.line_chunk import LineChunk, LineRules
from linrank.reading.line_ledger import LineLedger
from linrank.reading.staged_rows import StagedRows, convert_rows, query_starts
from linrank.reading.svmlight import CHUNK_BYTES, check_layout, checked_rules, long_line, reporter
from linrank.threads import number_of_threads

# Of a chunk's bytes: its text, what is found in it, and what is on the way to files.
_BYTES_A_LETTER = 8
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
    resume: bool = False,
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
    resume : go on with what a process that was killed has left in `OUT.parts`
    """
    rules = checked_rules(zero_based, n_features, missing, dtype)
    check_layout(layout)
    room = room_within(memory, WORKING_BYTES + LEAST_ROOM) - WORKING_BYTES
    name = os.fsdecode(path)
    if resume and not Path(name).is_file():
        raise LinrankError(f"{name}: what is read once cannot be gone on with. Save it to a file, and convert that.")
    about = {
        "source": name,
        "stamp": stamp_of(name) if Path(name).is_file() else None,
        "memory": memory,
        "options": [zero_based, n_features, missing, str(rules.dtype), layout, one_query],
    }

    def stage(work: WorkFolder) -> StagedRows:
        text = _TextRows(name, rules, RowFiles(work.path / "rows", {}), one_query=one_query)
        n_bytes = text.copy(room, number_of_threads(n_threads), progress)
        return text.staged(RowFiles(work.path / "queries", {}), layout, missing, n_bytes)

    return convert_rows(out, about, room, stage, resume=resume, progress=progress)


class _TextRows:
    """The rows of a text as they stand, in files."""

    def __init__(self, name: str, rules: LineRules, rows: RowFiles, *, one_query: bool) -> None:
        self.ledger = LineLedger(name, rules, one_query=one_query)
        self.rows = rows
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

    def staged(self, of_queries: RowFiles, layout: Layout | None, missing: MissingRule, n_bytes: int) -> StagedRows:
        """All that came; `of_queries` is where the queries go."""
        queries = self.ledger.queries_without_qid()
        if queries is None:
            queries = Queries(self.ledger.ids(), query_starts(self.rows, self.ledger.n_queries), None)
        of_queries.append({"query_starts": queries.starts, "query_ids": queries.ids})
        is_grouped = not self.rows.size("query") or self.ledger.n_runs == self.ledger.n_queries
        fills = missing == "query_min" and self.ledger.n_missing > 0
        return StagedRows(
            self._file_layout(queries, layout, missing), self.rows, of_queries, is_grouped, fills, n_bytes
        )

    def _file_layout(self, queries: Queries, layout: Layout | None, missing: MissingRule) -> FileLayout:
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
