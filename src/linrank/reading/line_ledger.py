"""What is known of all lines of a file so far, but for the rows themselves: their faults and their queries."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from linrank.arrays import Offsets
from linrank.dataset.queries import Queries
from linrank.errors import DataFormatError
from linrank.reading.group_file import group_file_of, read_groups
from linrank.reading.line_chunk import LineChunk, LineRules
from linrank.reading.line_faults import explain_line, mixed_qid_fault, shown


class LineLedger:
    """Chunks of lines are noted in the order of the file; the first fault is raised with its line."""

    def __init__(self, name: str, rules: LineRules, *, one_query: bool) -> None:
        self.n_lines = self.n_rows = self.n_missing = self.n_runs = 0
        self._name = name
        self._rules = rules
        self._one_query = one_query
        self._group_file = group_file_of(name)
        self._has_qid: bool | None = None
        self._query_numbers: dict[bytes, int] = {}
        self._last_query = -1

    def note(self, chunk: LineChunk) -> tuple[Offsets, Offsets]:
        """Raise the chunk's first fault; return the query and the first row of each run of rows that begins in it."""
        rows, lines, qids = chunk.runs()
        fault = min((*self._line_faults(chunk), *_qid_faults(lines, qids)), default=None)
        if fault is not None:
            line, message = fault
            raise DataFormatError(self._name, self.n_lines + line, message)
        numbers = self._query_numbers
        queries = np.array([numbers.setdefault(qid, len(numbers)) for qid in qids], dtype=np.int64)
        # A query may go on from the chunk before.
        new = 1 if len(queries) and queries[0] == self._last_query else 0
        begun = queries[new:], self.n_rows + rows[new:]
        if len(queries):
            self._last_query = queries[-1]
        if chunk.n_rows:
            self._has_qid = chunk.has_qid
        self.n_lines += chunk.n_lines
        self.n_rows += chunk.n_rows
        self.n_missing += chunk.n_missing
        self.n_runs += len(begun[0])
        return begun

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

    def check_something_came(self, n_features: int) -> None:
        """Refuse a file without documents or without features."""
        if self.n_rows == 0:
            raise DataFormatError(
                self._name, None, "the file has no documents, only blank lines and comments. Check how it was written."
            )
        if n_features == 0:
            raise DataFormatError(
                self._name, None, "no line has a feature. Write id:value pairs after the label, or pass n_features."
            )

    def queries_without_qid(self) -> Queries | None:
        """The queries of a file whose lines have no qid; None where they have."""
        if self._has_qid:
            return None
        if self._one_query:
            return Queries.from_sizes(np.array([self.n_rows]), self.n_rows)
        return read_groups(self._group_file, self._name, self.n_rows)

    @property
    def n_queries(self) -> int:
        """How many different qids there are."""
        return len(self._query_numbers)

    def ids(self) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
        """The different qids in order of first appearance."""
        return np.array([qid.decode() for qid in self._query_numbers])


def _qid_faults(lines: Offsets, qids: list[bytes]) -> Iterator[tuple[int, str]]:
    if not all(map(bytes.isascii, qids)):
        for line, qid in zip(lines.tolist(), qids, strict=True):
            try:
                qid.decode()
            except UnicodeDecodeError:
                yield line, f"the qid {shown(qid)} is not valid UTF-8. Save the file as UTF-8."
