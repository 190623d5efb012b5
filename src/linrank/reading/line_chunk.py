"""Some whole lines of a file, and the rows that are in them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector
from linrank.dataset.text_column import TextColumn
from linrank.reading.byte_parser import BAD_LINE, NO_ROOM, WORD_LINE, WORD_START, parse_lines
from linrank.reading.byte_source import ByteSource
from linrank.reading.decimals import decimal_tables
from linrank.reading.feature_rows import RowPart
from linrank.reading.number_parser import drop_zeros, settle_words

GREATEST_ID = 2**31 - 2
# An entry is no shorter than " 1:2".
_LEAST_BYTES_AN_ENTRY = 4


@dataclass(frozen=True, slots=True)
class LineRules:
    """What a line may hold, as the caller says."""

    zero_based: bool
    n_features: int | None
    # What a missing value becomes; None where there may be none.
    missing_value: float | None
    dtype: np.dtype[Any]

    @property
    def first_id(self) -> int:
        return 0 if self.zero_based else 1

    @property
    def last_id(self) -> int:
        return GREATEST_ID if self.n_features is None else self.n_features - 1 + self.first_id

    @property
    def value_limit(self) -> float:
        """The least number that is rounded to infinity: for float32, half a step beyond the greatest one."""
        return 2.0**128 - 2.0**103 if self.dtype == np.float32 else math.inf

    @property
    def vanishing(self) -> float:
        """The greatest number that is rounded to zero: for float32, half the least one."""
        return 2.0**-150 if self.dtype == np.float32 else 0.0


class Runs(NamedTuple):
    """Rows that follow one another and have one qid: the first row and line of each run, and the qid."""

    rows: Offsets
    lines: Offsets
    qids: list[bytes]


class LineChunk:
    """Whole lines and what was found in them; the memory is used again for the next lines.

    Lines are counted from 1 and rows from 0, within the chunk.
    """

    def __init__(self, n_bytes: int) -> None:
        self.text = bytearray(n_bytes)
        self.n_bytes = 0
        self.bytes_done = 0
        self.n_rows = self.n_lines = self.n_missing = self.first_row_line = 0
        # Whether the rows have a qid; None where there are no rows.
        self.has_qid: bool | None = None
        # The first line that cannot be read, and some place in it; None where all can.
        self.bad_line: int | None = None
        self._bad_place = 0
        self._n_runs = self._n_features = 0
        self._values = np.empty(0)
        self._columns = np.empty(0, dtype=np.int32)
        self._letters = np.empty(0, dtype=np.uint8)
        self._words = np.empty((64, 4), dtype=np.int64)
        self._runs = np.empty((64, 4), dtype=np.int64)
        self._make_row_room(64 + n_bytes // 128)

    def fill(self, source: ByteSource) -> bool:
        """Take the next lines; say whether there were any."""
        self.text, self.n_bytes = source.read_lines(self.text)
        self.bytes_done = source.bytes_done
        return self.n_bytes > 0

    def parse(self, rules: LineRules) -> None:
        """Find the rows in the lines; needs no other thread to stand still."""
        text = np.frombuffer(self.text, dtype=np.uint8)
        if len(self._letters) < self.n_bytes:
            self._values = np.empty(len(text) // _LEAST_BYTES_AN_ENTRY + 1)
            self._columns = np.empty(len(self._values), dtype=np.int32)
            self._letters = np.empty(len(text), dtype=np.uint8)
        while True:
            found = parse_lines(
                text, self.n_bytes, rules.first_id, rules.last_id, decimal_tables().powers,
                self._labels, self._row_starts, self._values, self._columns,
                self._letters, self._comment_starts, self._runs, self._words,
            )  # fmt: skip
            outcome, self.n_rows, self.n_lines, self._n_runs, n_words, largest_id, has_qid, first_line, place = found
            if outcome != NO_ROOM:
                break
            self._make_more_room(n_words)
        self._n_features = largest_id + 1 - rules.first_id
        self.has_qid = bool(has_qid) if self.n_rows else None
        self.first_row_line = first_line
        self.bad_line = self.n_lines if outcome == BAD_LINE else None
        self._bad_place = place
        self.n_missing = 0
        if n_words:
            self._settle_words(text, n_words, rules)

    def _make_more_room(self, n_words: int) -> None:
        if self.n_rows == len(self._labels):
            self._make_row_room(4 * self.n_rows)
        if self._n_runs == len(self._runs):
            self._runs = np.empty((4 * self._n_runs, 4), dtype=np.int64)
        if n_words == len(self._words):
            self._words = np.empty((4 * n_words, 4), dtype=np.int64)

    def _make_row_room(self, n_rows: int) -> None:
        self._labels = np.empty(n_rows)
        self._row_starts = np.zeros(n_rows + 1, dtype=np.int64)
        self._comment_starts = np.zeros(n_rows + 1, dtype=np.int64)

    def _settle_words(self, text: NDArray[np.uint8], n_words: int, rules: LineRules) -> None:
        reads_missing = rules.missing_value is not None
        n_left, self.n_missing, bad_word = settle_words(
            text, self._words, n_words, reads_missing, rules.missing_value if reads_missing else 0.0,
            rules.value_limit, *decimal_tables(), self._labels, self._values,
        )  # fmt: skip
        if bad_word >= 0:
            self._note_bad_word(bad_word)
        for place, (entry, _, start, stop) in enumerate(self._words[:n_left].tolist()):
            value = float(self.text[start:stop])
            if abs(value) >= (rules.value_limit if entry >= 0 else math.inf):
                self._note_bad_word(place)
            elif entry >= 0:
                self._values[entry] = value
            else:
                self._labels[-1 - entry] = value
        drop_zeros(self._values, self._columns, self._row_starts[: self.n_rows + 1], rules.vanishing)

    def _note_bad_word(self, place: int) -> None:
        line = int(self._words[place, WORD_LINE])
        if self.bad_line is None or line < self.bad_line:
            self.bad_line = line
            self._bad_place = int(self._words[place, WORD_START])

    @property
    def bad_line_text(self) -> bytes:
        start = 1 + max(self.text.rfind(end, 0, self._bad_place) for end in (b"\n", b"\r"))
        stops = (self.text.find(end, start, self.n_bytes) for end in (b"\n", b"\r"))
        return bytes(self.text[start : min(stop for stop in stops if stop >= 0)])

    @property
    def labels(self) -> Vector:
        return self._labels[: self.n_rows]

    @property
    def comments(self) -> TextColumn:
        starts = self._comment_starts[: self.n_rows + 1]
        return TextColumn(self._letters[: starts[-1]], starts)

    def runs(self) -> Runs:
        rows, lines, starts, stops = self._runs[: self._n_runs].T
        text = memoryview(self.text)
        qids = [text[start:stop].tobytes() for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]
        return Runs(rows, lines, qids)

    def features(self, share_done: float) -> RowPart:
        starts = self._row_starts[: self.n_rows + 1]
        n_entries = int(starts[-1])
        return RowPart(self._values[:n_entries], self._columns[:n_entries], starts, self._n_features, share_done)
