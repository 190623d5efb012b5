"""Writing svmlight / LETOR text that reads back to the same bits."""

from __future__ import annotations

import os
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import for_kernels
from linrank.compiled import kernel
from linrank.dataset.features import DenseFeatures, Features, SparseFeatures, as_features
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.text_column import TextColumn
from linrank.errors import LinrankError
from linrank.files import encoded_text, replacing
from linrank.maps import refuse_cut_maps
from linrank.reading.decimals import fives_rounded_up
from linrank.reading.line_faults import qid_faults
from linrank.reading.number_writer import LONGEST_NUMBER, write_number, write_whole
from linrank.threads import number_of_threads

# The first row and the one after the last, values, columns, and where each row starts among them.
_Piece: TypeAlias = tuple[int, int, NDArray[Any], NDArray[Any], NDArray[Any]]
# Enough that Python's share of the work is nothing, and few enough that their text stays in cache.
_ENTRIES_AT_A_TIME = 1 << 15
_ROWS_AT_A_TIME = 1 << 13
# A blank, ten digits, a colon and a number.
_LONGEST_ENTRY = 12 + LONGEST_NUMBER
# A label, " qid:", a blank, " # " and the end of the line.
_LONGEST_REST = 10 + LONGEST_NUMBER

_NEW_LINE, _RETURN, _BLANK, _COLON, _MARK = 10, 13, 32, 58, 35
_QID = np.frombuffer(b" qid:", dtype=np.uint8).copy()


def write_svmlight(path: str | os.PathLike[str], dataset: RankingDataset, *, zero_based: bool = False) -> None:
    """Write `label qid:id feature:value … # comment`, the shortest decimals that read back exactly.

    Zeros are left out of sparse data and written in dense data. The format has no place for feature names and weights:
    they are not written; nor are labels of documents that nothing retrieved, which is said by a warning.
    """
    if dataset.unretrieved is not None:
        warnings.warn(
            f"text has no place for the labels of {len(dataset.unretrieved.labels)} judged documents that nothing "
            "retrieved: measures on it will not count them as missed. Save as .linrank to keep them.",
            UserWarning,
            stacklevel=2,
        )
    ids = _written_ids(dataset)
    labels = for_kernels(np.ascontiguousarray(dataset.require_labels()))
    query_of = dataset.queries.of_rows()
    comments = _written_comments(dataset)
    features = as_features(dataset.features)
    id_sizes = np.diff(ids.starts)

    def lines(piece: _Piece) -> memoryview:
        start, stop, values, columns, starts = piece
        refuse_cut_maps(values, comments.letters)
        n_letters = int(id_sizes[query_of[start:stop]].sum() + comments.starts[stop] - comments.starts[start])
        text = np.empty(len(values) * _LONGEST_ENTRY + (stop - start) * _LONGEST_REST + n_letters, dtype=np.uint8)
        size, infinite_row = _write_rows(
            text, labels[start:stop], query_of[start:stop], _QID, ids.letters, ids.starts,
            values, columns, starts, 0 if zero_based else 1, values.dtype == np.float32,
            comments.letters, comments.starts[start : stop + 1], *fives_rounded_up(),
        )  # fmt: skip
        if infinite_row >= 0:
            raise LinrankError(
                f"row {start + infinite_row} has an infinite value, which svmlight text does not know. Replace it."
            )
        return text[:size].data

    with replacing(path, "wb") as file:
        for text in _in_order(lines, _pieces(features)):
            file.write(text)


def _in_order(lines: Callable[[_Piece], memoryview], pieces: Iterator[_Piece]) -> Iterator[memoryview]:
    """The lines of the pieces, made by several threads a few ahead, and handed out in order."""
    n_threads = number_of_threads(None)
    with ThreadPoolExecutor(n_threads, "linrank-writing") as pool:
        making: deque[Future[memoryview]] = deque()
        for piece in pieces:
            making.append(pool.submit(lines, piece))
            if len(making) > 2 * n_threads:
                yield making.popleft().result()
        while making:
            yield making.popleft().result()


def _written_ids(dataset: RankingDataset) -> TextColumn:
    ids = [str(query) for query in dataset.queries.ids.tolist()]
    for query in ids:
        ends = not query or any(letter.isspace() or letter == "#" for letter in query)
        fault = "a blank or # ends it. Rename it." if ends else None
        # Nor what the reader refuses.
        fault = fault or next(qid_faults(encoded_text(query, "the query id")), None)
        if fault is not None:
            raise LinrankError(f"the query id {query[:80]!r} cannot be written as svmlight text: {fault}")
    made = TextColumn.from_texts(ids)
    return TextColumn(for_kernels(made.letters), made.starts)


def _written_comments(dataset: RankingDataset) -> TextColumn:
    """One comment a row, of one line each and of text; an empty one is not written."""
    if dataset.comments is None:
        return TextColumn(np.empty(0, dtype=np.uint8), np.zeros(dataset.n_documents + 1, dtype=np.int64))
    comments = dataset.comments
    refuse_cut_maps(comments.letters)
    first, last = int(comments.starts[0]), int(comments.starts[-1])
    letters = comments.letters[first:last]
    if len(letters) and letters.max() > 127:
        # Bytes that are no UTF-8 are replaced.
        comments = TextColumn.from_texts(comments)
        first, letters = 0, comments.letters
    ends = np.flatnonzero((letters == _NEW_LINE) | (letters == _RETURN))
    if len(ends):
        row = int(np.searchsorted(comments.starts, first + ends[0], side="right")) - 1
        raise LinrankError(f"the comment of row {row} has more than one line; text has one line a document.")
    if len(nuls := np.flatnonzero(letters == 0)):
        row = int(np.searchsorted(comments.starts, first + nuls[0], side="right")) - 1
        raise LinrankError(f"the comment of row {row} holds a NUL byte, which text does not. Remove it.")
    return TextColumn(for_kernels(comments.letters), for_kernels(comments.starts))


def _pieces(features: Features) -> Iterator[_Piece]:
    """Some rows at a time, in compressed form: first and last row, values, columns, and where each row starts."""
    if isinstance(features, SparseFeatures):
        start = 0
        while start < features.n_rows:
            first = features.starts[start]
            fits = int(np.searchsorted(features.starts, first + _ENTRIES_AT_A_TIME, side="right")) - 1
            stop = max(start + 1, min(fits, start + _ROWS_AT_A_TIME, features.n_rows))
            starts = features.starts[start : stop + 1]
            entries = slice(int(first), int(starts[-1]))
            yield start, stop, features.values[entries], features.columns[entries], starts - first
            start = stop
        return
    assert isinstance(features, DenseFeatures)
    n_columns = features.n_features
    n_rows = max(1, min(_ROWS_AT_A_TIME, _ENTRIES_AT_A_TIME // max(1, n_columns)))
    columns = np.tile(np.arange(n_columns, dtype=np.int32), n_rows)
    starts = n_columns * np.arange(n_rows + 1)
    for start in range(0, features.n_rows, n_rows):
        values = features.values[start : start + n_rows].reshape(-1)
        n = min(n_rows, features.n_rows - start)
        yield start, start + n, values, columns[: len(values)], starts[: n + 1]


@kernel
def _write_rows(  # type: ignore[no-untyped-def]
    text, labels, query_of, qid, id_letters, id_starts, values, columns, starts, first_id, is_single,
    comment_letters, comment_starts, fives_high, fives_low,
):  # fmt: skip
    """Write one line a row; return their length and -1, or the first row with an infinite value."""
    pos = 0
    for row in range(len(labels)):
        pos = write_number(text, pos, labels[row], False, fives_high, fives_low)
        pos = _write_letters(text, pos, qid, 0, len(qid))
        pos = _write_letters(text, pos, id_letters, id_starts[query_of[row]], id_starts[query_of[row] + 1])
        text[pos] = _BLANK
        pos += 1
        for entry in range(starts[row], starts[row + 1]):
            value = np.float64(values[entry])
            if np.isinf(value):
                return pos, row
            if entry > starts[row]:
                text[pos] = _BLANK
                pos += 1
            pos = write_whole(text, pos, np.uint64(np.int64(columns[entry]) + first_id))
            text[pos] = _COLON
            pos = write_number(text, pos + 1, value, is_single, fives_high, fives_low)
        if comment_starts[row] < comment_starts[row + 1]:
            text[pos], text[pos + 1], text[pos + 2] = _BLANK, _MARK, _BLANK
            pos = _write_letters(text, pos + 3, comment_letters, comment_starts[row], comment_starts[row + 1])
        text[pos] = _NEW_LINE
        pos += 1
    return pos, -1


@kernel
def _write_letters(text, pos, letters, start, stop):  # type: ignore[no-untyped-def]
    for letter in range(start, stop):
        text[pos] = letters[letter]
        pos += 1
    return pos
