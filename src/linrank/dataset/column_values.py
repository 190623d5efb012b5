"""The values that each column has and how often, of rows in memory or of one part of a file after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector, offsets_from_sizes
from linrank.compiled import kernel
from linrank.loaded import is_sparse
from linrank.threads import side_by_side

Found = TypeVar("Found")

# Values of different columns that are sorted at a time: few, so that no copy of all the data is made.
_SORTED_AT_A_TIME = 1 << 19
# Of data with no more numbers than this all are held, some 64 MB: a file is fitted to as the same data in memory is.
_ALL_HELD = 1 << 22
# Of more as many are held of a column, where there are more, and about as many of all columns.
_LEAST_A_COLUMN, _MOST_A_COLUMN = 128, 2048
_HELD = 1 << 18
# As many of a column may be told by all parts together, which a cluster brings to one place.
_TOLD = 1 << 17


@dataclass(frozen=True, eq=False)
class ColumnValues:
    """The different values of each column in ascending order, one column after the other, and how often each is there.

    Attributes
    ----------
    values, counts : of all columns
    starts : where those of each column begin, and where the last ends
    error : how many rows at most a value's rank may be off by; 0 as long as nothing was made fewer
    """

    values: Vector
    counts: Offsets
    starts: Offsets
    error: float = 0.0

    @property
    def n_columns(self) -> int:
        return len(self.starts) - 1

    def column(self, number: int) -> tuple[Vector, Offsets]:
        """The values of one column, and their counts."""
        here = slice(self.starts[number], self.starts[number + 1])
        return self.values[here], self.counts[here]

    def of_each(self) -> Offsets:
        """The number of each value's column."""
        return np.repeat(np.arange(self.n_columns), np.diff(self.starts))

    def sums(self, numbers: NDArray[Any]) -> Any:
        """What numbers, one a value, add up to in each column."""
        return np.add.reduceat(np.append(numbers, 0), self.starts[:-1]) * (np.diff(self.starts) > 0)

    def thinned(self, most: int) -> ColumnValues:
        """About as many values a column at most: neighbours become one, their median, that counts for all of them.

        None counts for more than 1 / most of the rows, unless alone; so a rank is off by this share at most. The least
        and the largest value stay.
        """
        sizes = np.diff(self.starts)
        if len(sizes) == 0 or sizes.max() <= most:
            return self
        values, counts = self.values.copy(), self.counts.copy()
        ends = np.empty(self.n_columns, dtype=np.int64)
        _thin(values, counts, self.starts, most, ends)
        kept = np.concatenate([np.arange(a, b) for a, b in zip(self.starts[:-1], ends, strict=True)])
        largest = float(np.max(self.sums(self.counts)))
        return ColumnValues(
            values[kept], counts[kept], offsets_from_sizes(ends - self.starts[:-1]), self.error + largest / most
        )


def column_values(rows: Any, *, most: int | None = None, n_threads: int | None = 1) -> ColumnValues:
    """Those of some rows, made fewer where a column has more than `most`."""
    found = _of_entries(rows) if is_sparse(rows) else joined(list(columns_apart(rows, n_threads)))
    return found if most is None else found.thinned(most)


def columns_apart(rows: NDArray[Any], n_threads: int | None = None) -> Iterator[ColumnValues]:
    """Those of a few columns after the other, so that not all need be in memory at once."""
    return of_columns_apart(rows, lambda values, _: values, n_threads)


def of_columns_apart(
    rows: NDArray[Any], task: Callable[[ColumnValues, int], Found], n_threads: int | None = None
) -> Iterator[Found]:
    """What a task makes of the values of a few columns and the number of the first of these, one after the other."""
    n_rows, n_columns = rows.shape
    step = max(1, _SORTED_AT_A_TIME // max(1, n_rows))
    firsts = range(0, n_columns, step)
    return side_by_side(lambda first: task(_of_columns(rows[:, first : first + step]), first), firsts, n_threads)


def joined(parts: Sequence[ColumnValues]) -> ColumnValues:
    """Those of columns, and after them those of others."""
    sizes = [np.diff(part.starts) for part in parts]
    values, counts = (np.concatenate([getattr(part, name) for part in parts]) for name in ("values", "counts"))
    return ColumnValues(values, counts, offsets_from_sizes(np.concatenate(sizes)), max(part.error for part in parts))


def merged(parts: Sequence[ColumnValues]) -> ColumnValues:
    """Those of rows, and of other rows with the same columns."""
    if len(parts) == 1:
        return parts[0]
    columns = np.concatenate([part.of_each() for part in parts])
    values, counts = (np.concatenate([getattr(part, name) for part in parts]) for name in ("values", "counts"))
    return _grouped(columns, values, counts, parts[0].n_columns, sum(part.error for part in parts))


def gathered(parts: Iterable[ColumnValues], most: int) -> ColumnValues:
    """Those of all parts of a file, which are merged two by two and made fewer each time.

    So a few sets are held, one for each power of two of the parts, and a rank is off by no more than
    (1 + log2 of the number of parts) / most of the rows.
    """
    held: list[tuple[int, ColumnValues]] = []
    for part in parts:
        power, latest = 0, part
        while held and held[-1][0] == power:
            latest, power = merged([held.pop()[1], latest]).thinned(most), power + 1
        held.append((power, latest))
    return merged([one for _, one in held])


def most_to_hold(n_rows: int, n_columns: int) -> int:
    """How many values a column are held of parts that were merged: the fewer, the more columns there are."""
    if n_rows * n_columns <= _ALL_HELD:
        return n_rows
    return max(_LEAST_A_COLUMN, min(_MOST_A_COLUMN, _HELD // max(1, n_columns)))


def most_of_a_part(n_parts: int, n_rows: int, n_columns: int) -> int:
    """How many values a column each of so many parts may tell: the fewer, the more parts there are."""
    most = most_to_hold(n_rows, n_columns)
    return most if most == n_rows else max(64, min(most, _TOLD // max(1, n_parts)))


def _of_columns(columns: NDArray[Any]) -> ColumnValues:
    ordered = np.sort(np.ascontiguousarray(columns.T), axis=1)
    n_columns, n_rows = ordered.shape
    # What follows an equal value is no new one; NaN equals nothing, and one of them is enough to be found.
    first = np.ones(ordered.shape, dtype=bool)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=first[:, 1:])
    places = np.flatnonzero(first.ravel())
    counts = np.diff(places, append=n_columns * n_rows)
    # (0 and -0 are one value, written without a sign.)
    return ColumnValues(ordered.ravel()[places].astype(np.float64) + 0.0, counts, offsets_from_sizes(first.sum(axis=1)))


def _of_entries(rows: Any) -> ColumnValues:
    """Of a CSR matrix, whose zeros are counted and not listed."""
    n_rows, n_columns = rows.shape
    absent = n_rows - np.bincount(rows.indices, minlength=n_columns)
    with_zeros = np.flatnonzero(absent)
    columns = np.concatenate([rows.indices.astype(np.int64), with_zeros])
    values = np.concatenate([rows.data.astype(np.float64), np.zeros(len(with_zeros))]) + 0.0
    counts = np.concatenate([np.ones(len(rows.data), dtype=np.int64), absent[with_zeros]])
    return _grouped(columns, values, counts, n_columns, 0.0)


def _grouped(columns: Offsets, values: Vector, counts: Offsets, n_columns: int, error: float) -> ColumnValues:
    order = np.lexsort((values, columns))
    columns, values, counts = columns[order], values[order], counts[order]
    is_first = np.ones(len(values), dtype=bool)
    is_first[1:] = (columns[1:] != columns[:-1]) | (values[1:] != values[:-1])
    places = np.flatnonzero(is_first)
    starts = offsets_from_sizes(np.bincount(columns[places], minlength=n_columns))
    return ColumnValues(values[places], np.add.reduceat(counts, places) if len(places) else counts, starts, error)


@kernel
def _thin(values, counts, starts, most, ends):  # type: ignore[no-untyped-def]
    for column in range(len(starts) - 1):
        start, stop = starts[column], starts[column + 1]
        end = start
        if stop - start <= most:
            ends[column] = stop
            continue
        n_rows = 0
        for place in range(start, stop):
            n_rows += counts[place]
        first = start
        while first < stop:
            # The neighbours that together have no more than their share; the ends stand alone, and so do those beside a
            # value that has more, where ranks make a step.
            last, total = first + 1, counts[first]
            alone = first == start or counts[first - 1] * most > n_rows
            while not alone and last < stop - 1 and (total + counts[last]) * most <= n_rows:
                if counts[last + 1] * most > n_rows:
                    break
                total += counts[last]
                last += 1
            middle, below = first, counts[first]
            while 2 * below < total:
                middle += 1
                below += counts[middle]
            # Written behind what is read.
            values[end], counts[end] = values[middle], total
            end += 1
            first = last
        ends[column] = end
