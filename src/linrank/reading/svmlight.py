"""svmlight / LETOR text: `label qid:id feature:value … # comment`, one document a line."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
from numpy.typing import DTypeLike

from linrank.dataset.missing_rule import MissingRule, check_missing_rule
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import DataFormatError, LinrankError
from linrank.reading.byte_source import LONGEST_LINE, ByteSource, LongLineError
from linrank.reading.chunk_stream import ChunkStream
from linrank.reading.feature_rows import Layout
from linrank.reading.gathered_rows import GatheredRows
from linrank.reading.line_chunk import GREATEST_ID, LineRules
from linrank.threads import number_of_threads

# Large enough that Python's share of the work is nothing, small enough that chunks in flight are little memory.
CHUNK_BYTES = 1 << 20
_SECONDS_BETWEEN_REPORTS = 0.25
# What share of a pipe has been read is not known; its arrays grow by a half at a time.
_SHARE_OF_A_PIPE = 2 / 3

Progress = Callable[[int, int | None], None]


def read_svmlight(
    path: str | os.PathLike[str],
    *,
    zero_based: bool = False,
    n_features: int | None = None,
    missing: MissingRule = "error",
    dtype: DTypeLike = "float64",
    layout: Layout | None = None,
    one_query: bool = False,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> RankingDataset:
    """Read svmlight / LETOR text, plain or compressed by gzip or zstd.

    A line is `label qid:id feature:value feature:value … # comment`. The label is any finite number, the query's id any
    text without white space or `#`; ids of features ascend, and a feature that is left out is 0. Blank lines and lines
    with a comment alone are skipped. Every number becomes the double that Python's `float()` makes of it.

    Parameters
    ----------
    path : path of the file
        If no line has a qid, the sizes of the queries are taken from LightGBM's `<path>.query` beside it.
    zero_based : whether feature ids start at 0 rather than 1
    n_features : number of columns; the largest id in the file, unless told
        Told, a larger id is an error.
    missing : "error", "keep" (NaN), "query_min" or a number
        What stands for a value written as `NULL` or `nan`. "query_min" is the least value of the feature within the
        query, 0 where the whole query lacks it; LETOR's own "min" files hold 0 for some features instead.
    dtype : float32 or float64, of the features
    layout : "dense" or "sparse"; unless told, sparse where that takes at most half the memory
    one_query : whether documents without a qid are all of one query, as in RCV1
    n_threads : threads to parse with; all processors, unless told. The result is the same for any number.
    progress : called now and then with the bytes of the file read so far and in all; the latter is None for a pipe

    Returns
    -------
    RankingDataset
        Query ids are text; what stood behind `#` are the comments.
    """
    rules = checked_rules(zero_based, n_features, missing, dtype)
    check_layout(layout)
    n_threads = number_of_threads(n_threads)
    with ByteSource(path) as source, ThreadPoolExecutor(n_threads, "linrank-reading") as pool:
        # While as many are parsed and as many put in place, one is read and one is looked at.
        stream = ChunkStream(source, rules, pool, 2 * n_threads + 2, CHUNK_BYTES)
        rows = GatheredRows(source.name, rules, layout, stream.finish_placing, one_query=one_query)
        report = reporter(progress, source.bytes_total)
        try:
            for chunk in stream:
                done = chunk.bytes_done
                stream.place(chunk, rows.reserve(chunk, _share_done(done, source.bytes_total)))
                report(done)
        except LongLineError:
            raise long_line(source.name, rows.n_lines + 1) from None
        stream.finish_placing()
    return replace(rows.dataset(fills_with_query_min=missing == "query_min"), missing=missing)


def long_line(name: str, line: int) -> DataFormatError:
    """What is raised for a line that is too long to be one."""
    return DataFormatError(
        name,
        line,
        f"the line is longer than {LONGEST_LINE} bytes; this is hardly text. Check that it is the right file.",
    )


def check_layout(layout: Layout | None) -> None:
    if layout not in (None, "dense", "sparse"):
        raise LinrankError(f'layout={layout!r}; use "dense", "sparse", or None to choose by density.')


def _share_done(done: int, total: int | None) -> float:
    # A file may grow while it is read.
    return min(1.0, done / total) if total else _SHARE_OF_A_PIPE


def reporter(progress: Progress | None, total: int | None) -> Callable[[int], None]:
    last_time = -math.inf

    def report(done: int) -> None:
        nonlocal last_time
        now = time.monotonic()
        if progress is not None and (now - last_time >= _SECONDS_BETWEEN_REPORTS or done == total):
            last_time = now
            progress(done, total)

    return report


def checked_rules(zero_based: bool, n_features: int | None, missing: MissingRule, dtype: DTypeLike) -> LineRules:
    try:
        kind = np.dtype(dtype)
    except TypeError:
        kind = np.dtype(object)
    if kind not in (np.float32, np.float64):
        raise LinrankError(f'dtype={dtype!r}; features are "float32" or "float64".')
    if n_features is not None and not (1 <= n_features <= GREATEST_ID and n_features == int(n_features)):
        raise LinrankError(f"n_features={n_features}; use a whole number from 1 to {GREATEST_ID}, or None.")
    check_missing_rule(missing)
    missing_value = None if missing == "error" else math.nan if isinstance(missing, str) else float(missing)
    rules = LineRules(zero_based, None if n_features is None else int(n_features), missing_value, kind)
    if missing_value is not None and abs(missing_value) >= rules.value_limit:
        raise LinrankError(f'missing={missing!r} is too large for float32. Use a smaller number or dtype="float64".')
    return rules
