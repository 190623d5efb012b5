"""Parsed chunks of lines, in the order of the file, become one dataset."""

from __future__ import annotations

import numpy as np

from linrank.arrays import Offsets
from linrank.dataset.queries import Queries
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.text_column import TextColumn
from linrank.reading.feature_rows import FeatureRows, Layout, Task
from linrank.reading.growing import GrowingArray
from linrank.reading.line_chunk import LineChunk, LineRules
from linrank.reading.line_ledger import LineLedger
from linrank.reading.missing import fill_missing


class GatheredRows:
    """Everything read so far from one file; `before_moving` waits for the tasks that `reserve` returned."""

    def __init__(
        self, name: str, rules: LineRules, layout: Layout | None, before_moving: Task, *, one_query: bool = False
    ) -> None:
        self._ledger = LineLedger(name, rules, one_query=one_query)
        self._features = FeatureRows(name, rules.dtype, layout, rules.n_features, before_moving)
        self._labels = GrowingArray(np.empty(0), before_moving)
        self._letters = GrowingArray(np.empty(0, dtype=np.uint8), before_moving)
        self._comment_starts = GrowingArray(np.zeros(1, dtype=np.int64), before_moving)
        self._runs: list[tuple[Offsets, Offsets]] = []

    @property
    def n_lines(self) -> int:
        return self._ledger.n_lines

    def reserve(self, chunk: LineChunk, share_done: float) -> Task:
        """Make room for a chunk's rows, or raise its first fault; return the task that puts the rows there.

        `share_done` is the share of the file read by then.
        """
        self._runs.append(self._ledger.note(chunk))
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

    def dataset(self, fills_with_query_min: bool) -> RankingDataset:
        self._ledger.check_something_came(self._features.n_features)
        queries = self._queries()
        features = self._features.finished()
        if fills_with_query_min and self._ledger.n_missing:
            fill_missing(features, queries, "query_min", names=())
        comments = None
        if self._letters.size:
            comments = TextColumn(self._letters.finished(), self._comment_starts.finished())
        return RankingDataset(features, self._labels.finished(), queries, comments=comments)

    def _queries(self) -> Queries:
        if (queries := self._ledger.queries_without_qid()) is not None:
            return queries
        run_queries, run_starts = map(np.concatenate, zip(*self._runs, strict=True))
        return Queries.from_runs(self._ledger.ids(), run_queries, run_starts, self._labels.size)
