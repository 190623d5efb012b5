"""Parsed chunks of lines, in the order of the file, become one dataset."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from linrank.arrays import Offsets
from linrank.dataset.queries import Queries
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.text_column import TextColumn
from linrank.errors import DataFormatError
from linrank.reading.feature_rows import FeatureRows, Layout, Task
from linrank.reading.group_file import group_file_of, read_groups
from linrank.reading.growing import GrowingArray
from linrank.reading.line_chunk import LineChunk, LineRules
from linrank.reading.line_faults import explain_line, mixed_qid_fault, shown
from linrank.reading.missing import fill_missing


class GatheredRows:
    """Everything read so far from one file; `before_moving` waits for the tasks that `reserve` returned."""

    def __init__(
        self, name: str, rules: LineRules, layout: Layout | None, before_moving: Task, *, one_query: bool = False
    ) -> None:
        self.n_lines = 0
        self._one_query = one_query
        self._name = name
        self._rules = rules
        self._group_file = group_file_of(name)
        self._features = FeatureRows(name, rules.dtype, layout, rules.n_features, before_moving)
        self._labels = GrowingArray(np.empty(0), before_moving)
        self._letters = GrowingArray(np.empty(0, dtype=np.uint8), before_moving)
        self._comment_starts = GrowingArray(np.zeros(1, dtype=np.int64), before_moving)
        self._has_qid: bool | None = None
        self._query_numbers: dict[bytes, int] = {}
        self._run_queries: list[Offsets] = []
        self._run_starts: list[Offsets] = []
        self._last_query = -1
        self._n_missing = 0

    def reserve(self, chunk: LineChunk, share_done: float) -> Task:
        """Make room for a chunk's rows, or raise its first fault; return the task that puts the rows there.

        `share_done` is the share of the file read by then.
        """
        fault = min((*self._line_faults(chunk), *self._number_queries(chunk)), default=None)
        if fault is not None:
            line, message = fault
            raise DataFormatError(self._name, self.n_lines + line, message)
        self.n_lines += chunk.n_lines
        if chunk.n_rows:
            self._has_qid = chunk.has_qid
        self._n_missing += chunk.n_missing
        put_features = self._features.reserve(chunk.features(share_done))
        comments = chunk.comments
        n_letters_before = self._letters.size
        labels = self._labels.append(chunk.n_rows, share_done)
        letters = self._letters.append(len(comments.letters), share_done)
        comment_stops = self._comment_starts.append(chunk.n_rows, share_done)

        def put() -> None:
            put_features()
            labels[:] = chunk.labels
            letters[:] = comments.letters
            np.add(comments.starts[1:], n_letters_before, out=comment_stops)

        return put

    def _line_faults(self, chunk: LineChunk) -> Iterator[tuple[int, str]]:
        expects_qid = chunk.has_qid if self._has_qid is None else self._has_qid
        if chunk.bad_line is not None:
            yield chunk.bad_line, explain_line(chunk.bad_line_text, self._rules, expects_qid)
        if chunk.has_qid is not None and expects_qid is not None and chunk.has_qid != expects_qid:
            yield chunk.first_row_line, mixed_qid_fault(expects_qid)
        if chunk.has_qid is False and self._has_qid is None and not (self._one_query or self._group_file.is_file()):
            message = (
                f"this line has no qid, and there is no {self._group_file.name} beside the file; every document "
                "belongs to a query. Write qid:id after each label, or each query's size, one a line, into that file; "
                "one_query=True takes all documents for one query."
            )
            yield chunk.first_row_line, message

    def _number_queries(self, chunk: LineChunk) -> Iterator[tuple[int, str]]:
        """Append the chunk's runs, and yield the faults of their ids."""
        rows, lines, qids = chunk.runs()
        numbers = self._query_numbers
        queries = np.array([numbers.setdefault(qid, len(numbers)) for qid in qids], dtype=np.int64)
        # A query may go on from the chunk before.
        new = 1 if len(queries) and queries[0] == self._last_query else 0
        self._run_queries.append(queries[new:])
        self._run_starts.append(self._labels.size + rows[new:])
        if len(queries):
            self._last_query = queries[-1]
        if not all(map(bytes.isascii, qids)):
            for line, qid in zip(lines.tolist(), qids, strict=True):
                try:
                    qid.decode()
                except UnicodeDecodeError:
                    yield line, f"the qid {shown(qid)} is not valid UTF-8. Save the file as UTF-8."

    def dataset(self, fills_with_query_min: bool) -> RankingDataset:
        if self._labels.size == 0:
            raise DataFormatError(
                self._name, None, "the file has no documents, only blank lines and comments. Check how it was written."
            )
        if self._features.n_features == 0:
            raise DataFormatError(
                self._name, None, "no line has a feature. Write id:value pairs after the label, or pass n_features."
            )
        queries = self._queries()
        features = self._features.finished()
        if fills_with_query_min and self._n_missing:
            fill_missing(features, queries, "query_min", names=())
        comments = None
        if self._letters.size:
            comments = TextColumn(self._letters.finished(), self._comment_starts.finished())
        return RankingDataset(features, self._labels.finished(), queries, comments=comments)

    def _queries(self) -> Queries:
        if not self._has_qid and self._one_query:
            return Queries.from_sizes(np.array([self._labels.size]), self._labels.size)
        if not self._has_qid:
            return read_groups(self._group_file, self._name, self._labels.size)
        ids = np.array([qid.decode() for qid in self._query_numbers])
        run_queries, run_starts = np.concatenate(self._run_queries), np.concatenate(self._run_starts)
        return Queries.from_runs(ids, run_queries, run_starts, self._labels.size)
