"""Tables in files, Parquet, Arrow or CSV, of any size, written as a `.linrank` file within a budget of memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from linrank.dataset.arranging import LEAST_ROOM, WORKING_BYTES, Progress
from linrank.dataset.checked_arrays import checked_weights
from linrank.dataset.row_files import RowFiles
from linrank.dataset.storage import header_ids
from linrank.dataset.storage_layout import Layout, Section
from linrank.dataset.work_folder import WorkFolder
from linrank.files import stamp_of
from linrank.memory import room_within
from linrank.reading.column_roles import ColumnRoles
from linrank.reading.gathered_columns import ColumnReader, QueryIds, QueryWeights
from linrank.reading.partitions import parquet_files
from linrank.reading.staged_rows import StagedRows, convert_rows, query_starts
from linrank.reading.svmlight import reporter
from linrank.reading.table_sources import naming_file, release_memory
from linrank.reading.tables import file_source

# Beside what text takes: batches of columns, and what pyarrow has on the way to them, as measured.
_BYTES_OF_TABLES = 128 << 20
# As `save_dataset` has them.
_IN_ORDER = ("features", "query_starts", "query_ids", "labels", "document_weights", "query_weights",
             "comment_starts", "comment_letters")  # fmt: skip


def convert_table(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    format: str,  # noqa: A002 - the field's word
    memory: str | float | None = None,
    delimiter: str | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    **roles: Any,
) -> Layout:
    """Write a table, or a folder of Parquet files, as a `.linrank` file without loading it; return what it holds.

    The files of a folder, in order of their names, are one table with the columns of the first. The rows of each query
    are put together, wherever they stand. The file has the same bytes as if the data, its queries grouped, had been
    read by `read_parquet`, `read_arrow` or `read_csv`, whose options these are, and saved.

    Parameters
    ----------
    format : "parquet", "arrow" or "csv"
    memory : the most that the process may use, such as "2GB"; half of what the machine has unless told.
        Ids and sizes of queries are held beside it, a batch of an Arrow file, and a query, where missing="query_min"
        needs all of it.
    resume : go on with what a process that was killed has left in `OUT.parts`
    """
    paths = parquet_files(path) if format == "parquet" and Path(path).is_dir() else [os.fspath(path)]
    table = _TableRows(paths, format, ColumnRoles(**roles), delimiter)
    release_memory()
    needed = WORKING_BYTES + _BYTES_OF_TABLES + table.n_bytes_held
    room = room_within(memory, needed + LEAST_ROOM) - needed
    options = {"format": format, "delimiter": delimiter, **roles}
    about = {
        "source": paths,
        "stamp": table.stamps,
        "memory": memory,
        "options": {name: None if value is None else str(value) for name, value in options.items()},
    }

    def stage(work: WorkFolder) -> StagedRows:
        rows, queries = (RowFiles(work.path / name, {}) for name in ("rows", "queries"))
        table.copy(rows, progress)
        release_memory()
        return table.staged(rows, queries)

    return convert_rows(out, about, room, stage, resume=resume, progress=progress)


class _TableRows:
    """The rows of one table after the other, all with the columns and the type of features that suit every one."""

    def __init__(self, paths: Sequence[str], form: str, roles: ColumnRoles, delimiter: str | None) -> None:
        self._paths = paths
        self._form = form
        self._delimiter = delimiter
        self._roles = roles
        self._ids, self._weights = QueryIds(), QueryWeights()
        self._is_grouped, self._n_missing = True, 0
        self.stamps: list[tuple[int, int]] = []
        self.n_bytes_held = 0
        kinds = set()
        # All are looked at before the first is read, which may take hours.
        for path in paths:
            with naming_file(path, form):
                self.stamps.append(stamp_of(path))
                reader = self._reader(path)
            kinds.add(reader.dtype)
            self.n_bytes_held = max(self.n_bytes_held, reader.source.n_bytes_held)
            if self._roles.features is None:
                self._roles = replace(self._roles, features=reader.names)
            self._as_ids = reader.source.as_ids
        kind = np.float32 if kinds == {np.dtype(np.float32)} else np.float64
        self._roles = replace(self._roles, dtype=roles.dtype or kind)
        self._names = reader.names
        self._n_bytes = sum(size for size, _ in self.stamps)

    def _reader(self, path: str) -> ColumnReader:
        return ColumnReader(file_source(path, self._form, self._roles, self._delimiter), self._roles, self._weights)

    def copy(self, rows: RowFiles, progress: Progress | None) -> None:
        """Write all rows to files; tell of it as half of the work."""
        n_bytes_done, last_query = 0, 0
        for path, (size, _) in zip(self._paths, self.stamps, strict=True):
            with naming_file(path, self._form):
                reader = self._reader(path)
                n_in_all, n_rows = reader.source.n_rows, 0
                report = reporter(progress, None if n_in_all is None else 2 * self._n_bytes)
                if not rows.names:
                    rows.append(reader.no_rows())
                for columns in reader.source.batches(reader.columns):
                    batch = reader.rows(columns, self._ids)
                    rows.append(batch)
                    queries = np.append(last_query, batch["query"])
                    self._is_grouped &= bool((np.diff(queries) >= 0).all())
                    last_query = queries[-1]
                    n_rows += len(queries) - 1
                    report(n_bytes_done + (size * n_rows // n_in_all if n_in_all else 0))
            self._n_missing += reader.n_missing
            n_bytes_done += size

    def staged(self, rows: RowFiles, of_queries: RowFiles) -> StagedRows:
        """All that came; `of_queries` is where the queries go."""
        ids = self._as_ids(self._ids.distinct())
        in_header = ids.dtype.hasobject
        of_queries.append({"query_starts": query_starts(rows, len(ids))} | ({} if in_header else {"query_ids": ids}))
        if self._roles.query_weight is not None:
            with naming_file(self._paths[0], self._form):
                checked_weights(self._weights.of_queries, len(ids), "query_weights", "query")
            of_queries.append({"query_weights": self._weights.of_queries})
        described = rows.described | of_queries.described
        layout = Layout.of(
            {name: Section(*described[name], 0) for name in _IN_ORDER if name in described},
            n_documents=rows.size("query"),
            n_features=len(self._names),
            n_queries=len(ids),
            feature_names=self._names,
            query_ids=header_ids(ids) if in_header else None,
            missing=self._roles.missing,
        )
        fills = self._roles.missing == "query_min" and self._n_missing > 0
        return StagedRows(layout, rows, of_queries, self._is_grouped, fills, self._n_bytes)
