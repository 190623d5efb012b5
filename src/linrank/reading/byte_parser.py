"""Kernels: the bytes of svmlight lines become rows of numbers, comments and runs of queries, up to the first bad line.

A chunk of text holds whole lines and ends with a line feed, which no loop below runs past. Short decimals are read on
the way; any other word is noted and read afterwards in `number_parser`, because its many cases, standing in the same
loop, would make that loop half as fast. Arithmetic on positions is signed and every index is unsigned: numba pays for
the check whether a signed index counts from the end.
"""

from __future__ import annotations

import math

import numpy as np

from linrank.compiled import kernel

# How the parsing of a chunk ends.
WHOLE, BAD_LINE, NO_ROOM = 0, -1, -2

# The columns of the table of words: the entry that waits for the number, or -1 - row for a label; line; start; stop.
WORD_ENTRY, WORD_LINE, WORD_START, WORD_STOP = 0, 1, 2, 3
# The columns of the table of runs of rows with one qid.
RUN_ROW, RUN_LINE, RUN_START, RUN_STOP = 0, 1, 2, 3

LONGEST_QID = 1024

_TAB, _LINE_FEED, _RETURN, _BLANK, _HASH = 9, 10, 13, 32, 35
_PLUS, _MINUS, _POINT, _ZERO, _COLON = 43, 45, 46, 48, 58
_D, _I, _Q = 100, 105, 113

# Typed: a kernel called with a literal 0 is compiled once more for it.
_NONE = np.int64(0)
# The most digits that surely fit in a signed integer of 64 bits.
_MOST_DIGITS = 18


@kernel
def parse_lines(  # type: ignore[no-untyped-def]
    text, n_bytes, first_id, last_id, powers,
    labels, row_starts, values, columns, letters, comment_starts, runs, words,
):  # fmt: skip
    """Parse whole lines into rows of the output arrays.

    Returns the outcome; the numbers of rows, lines, runs and words; the largest id; whether rows have a qid (-1 where
    there are no rows); the line of the first row; and where the last line looked at starts.
    """
    pos = line_start = qid_start = qid_stop = _NONE
    n_rows = n_entries = n_lines = n_runs = n_words = first_row_line = _NONE
    largest_id = first_id - 1
    rows_have_qid = -1
    outcome = WHOLE
    row_starts[0] = comment_starts[0] = 0
    while pos < n_bytes:
        line_start = pos
        n_lines += 1
        pos = _skip_blanks(text, pos)
        if _ends_fields(_byte(text, pos)):
            pos = _next_line(text, _end_of_comment(text, pos))
            if pos < 0:
                outcome = BAD_LINE
                break
            continue
        if n_rows == len(labels) or n_runs == len(runs) or n_words == len(words):
            outcome = NO_ROOM
            break

        label_start = pos
        label, pos = _short_number(text, pos, powers)
        labels[n_rows] = label
        if pos < 0:
            pos = _end_of_word(text, label_start)
            _note_word(words, n_words, -1 - n_rows, n_lines, label_start, pos)
            n_words += 1
        start, stop = _qid(text, pos)
        has_qid = 1 if stop > start else 0
        if stop < 0 or (n_rows > 0 and has_qid != rows_have_qid):
            outcome = BAD_LINE
            break
        pos, n_entries, n_words, last_here = _features(
            text, max(pos, stop), n_lines, first_id, last_id, powers, values, columns, n_entries, words, n_words
        )
        if pos < 0:
            outcome = pos
            break
        fields_stop = pos
        comment_stop = _end_of_comment(text, pos)
        pos = _next_line(text, comment_stop)
        if pos < 0:
            outcome = BAD_LINE
            break

        if has_qid and (n_rows == 0 or not _same_bytes(text, start, stop, qid_start, qid_stop)):
            runs[n_runs, RUN_ROW] = n_rows
            runs[n_runs, RUN_LINE] = n_lines
            runs[n_runs, RUN_START] = start
            runs[n_runs, RUN_STOP] = stop
            n_runs += 1
        if n_rows == 0:
            rows_have_qid = has_qid
            first_row_line = n_lines
        qid_start, qid_stop = start, stop
        largest_id = max(largest_id, last_here)
        n_rows += 1
        row_starts[n_rows] = n_entries
        comment_starts[n_rows] = _copy_stripped(
            text, fields_stop + 1, comment_stop, letters, comment_starts[n_rows - 1]
        )
    return outcome, n_rows, n_lines, n_runs, n_words, largest_id, rows_have_qid, first_row_line, line_start


@kernel
def _features(  # type: ignore[no-untyped-def]
    text, pos, line, first_id, last_id, powers, values, columns, n_entries, words, n_words
):
    """Parse `id:value id:value …` to the end of the fields; zeros are left out, but not -0.0."""
    previous = first_id - 1
    while True:
        pos = _skip_blanks(text, pos)
        if _ends_fields(_byte(text, pos)):
            return pos, n_entries, n_words, previous
        id_start = pos
        number, pos = _digits(text, pos, pos + _MOST_DIGITS, _NONE)
        if pos == id_start or _byte(text, pos) != _COLON or number <= previous or number > last_id:
            return BAD_LINE, n_entries, n_words, previous
        previous = number
        value_start = pos + 1
        value, pos = _short_number(text, value_start, powers)
        if pos < 0:
            pos = _end_of_word(text, value_start)
            # An empty value is refused here, so that no entry is shorter than its share of `values`.
            if pos == value_start:
                return BAD_LINE, n_entries, n_words, previous
            if n_words == len(words):
                return NO_ROOM, n_entries, n_words, previous
            _note_word(words, n_words, n_entries, line, value_start, pos)
            n_words += 1
        values[np.uint64(n_entries)] = value
        columns[np.uint64(n_entries)] = number - first_id
        # Not a branch: whether a value is zero cannot be predicted.
        n_entries += (value != 0.0) | (math.copysign(1.0, value) < 0.0)


@kernel
def _short_number(text, start, powers):  # type: ignore[no-untyped-def]
    """The value of a short decimal such as -12.125, and where it ends: a negative place if the word is none."""
    sign = _byte(text, start)
    digits_start = start + 1 if sign in (_MINUS, _PLUS) else start
    mantissa, pos = _digits(text, digits_start, digits_start + _MOST_DIGITS, _NONE)
    n_digits = pos - digits_start
    n_decimals = 0
    if _byte(text, pos) == _POINT:
        decimals_start = pos + 1
        mantissa, pos = _digits(text, decimals_start, decimals_start + _MOST_DIGITS - n_digits, mantissa)
        n_decimals = pos - decimals_start
        n_digits += n_decimals
    if not _ends_word(_byte(text, pos)) or n_digits == 0 or mantissa > 2**53:
        return math.nan, -1
    # Both are exact as doubles, so their quotient is the double nearest to the number written.
    value = mantissa / powers[np.uint64(n_decimals)]
    return -value if sign == _MINUS else value, pos


@kernel
def _end_of_word(text, pos):  # type: ignore[no-untyped-def]
    while not _ends_word(_byte(text, pos)):
        pos += 1
    return pos


@kernel
def _note_word(words, place, entry, line, start, stop):  # type: ignore[no-untyped-def]
    words[place, WORD_ENTRY] = entry
    words[place, WORD_LINE] = line
    words[place, WORD_START] = start
    words[place, WORD_STOP] = stop


@kernel
def _qid(text, pos):  # type: ignore[no-untyped-def]
    """Where the text of `qid:text` starts and stops; 0, 0 without one, and a negative stop for a bad one."""
    pos = _skip_blanks(text, pos)
    if (
        _byte(text, pos) != _Q
        or _byte(text, pos + 1) != _I
        or _byte(text, pos + 2) != _D
        or _byte(text, pos + 3) != _COLON
    ):
        return 0, 0
    start = stop = pos + 4
    while _byte(text, stop) > _BLANK and _byte(text, stop) != _HASH:
        stop += 1
    if stop == start or stop - start > LONGEST_QID or not _ends_word(_byte(text, stop)):
        return 0, BAD_LINE
    return start, stop


@kernel
def _end_of_comment(text, pos):  # type: ignore[no-untyped-def]
    """From the end of the fields to the end of the line, or to a NUL byte."""
    while _byte(text, pos) not in (_LINE_FEED, _RETURN, 0):
        pos += 1
    return pos


@kernel
def _next_line(text, pos):  # type: ignore[no-untyped-def]
    """From the end of a line to the next, negative at a NUL byte. Lines end as in Python's text files."""
    if _byte(text, pos) == 0:
        return BAD_LINE
    if _byte(text, pos) == _RETURN and _byte(text, pos + 1) == _LINE_FEED:
        return pos + 2
    return pos + 1


@kernel
def _copy_stripped(text, start, stop, letters, place):  # type: ignore[no-untyped-def]
    """Copy some bytes, without the blanks and tabs around them; return where the copy ends."""
    while start < stop and _byte(text, start) in (_BLANK, _TAB):
        start += 1
    while start < stop and _byte(text, stop - 1) in (_BLANK, _TAB):
        stop -= 1
    for pos in range(start, stop):
        letters[place] = text[pos]
        place += 1
    return place


@kernel
def _digits(text, pos, stop, number):  # type: ignore[no-untyped-def]
    """Append the digits at `pos` to a number, up to `stop`."""
    while True:
        digit = _byte(text, pos) - _ZERO
        if digit < 0 or digit > 9 or pos == stop:
            return number, pos
        number = number * 10 + digit
        pos += 1


@kernel
def _skip_blanks(text, pos):  # type: ignore[no-untyped-def]
    while _byte(text, pos) == _BLANK or _byte(text, pos) == _TAB:
        pos += 1
    return pos


@kernel
def _same_bytes(text, start, stop, other_start, other_stop):  # type: ignore[no-untyped-def]
    if stop - start != other_stop - other_start:
        return False
    for i in range(stop - start):  # noqa: SIM110 - a kernel has no generators
        if _byte(text, start + i) != _byte(text, other_start + i):
            return False
    return True


@kernel
def _ends_fields(byte):  # type: ignore[no-untyped-def]
    return byte in (_HASH, _LINE_FEED, _RETURN)


@kernel
def _ends_word(byte):  # type: ignore[no-untyped-def]
    return byte in (_BLANK, _TAB) or _ends_fields(byte)


@kernel
def _byte(text, pos):  # type: ignore[no-untyped-def]
    return np.int64(text[np.uint64(pos)])
