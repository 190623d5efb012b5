"""Rows of features that arrive part by part and become one dense array or one CSR matrix, whichever fits them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NoReturn, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from linrank.arrays import Indices, Offsets, Vector
from linrank.compiled import kernel
from linrank.dataset.width import is_justified, unjustified
from linrank.errors import DataFormatError
from linrank.memory import memory_bytes
from linrank.reading.growing import GrowingArray

Layout: TypeAlias = Literal["dense", "sparse"]
Task: TypeAlias = Callable[[], None]


@dataclass(frozen=True, slots=True)
class RowPart:
    """Some more rows, in compressed form; `share_done` is the share of all rows that have then come."""

    values: Vector
    columns: Indices
    starts: Offsets
    n_features: int
    share_done: float

    @property
    def n_rows(self) -> int:
        return len(self.starts) - 1


class FeatureRows:
    """All rows so far. Unless told, they are sparse when CSR takes at most half the bytes of a dense array.

    What the result is depends on the whole of the data alone, not on the parts it came in. `before_moving` waits for
    the tasks that `reserve` returned.
    """

    def __init__(
        self, source: str, dtype: np.dtype[Any], layout: Layout | None, n_features: int | None, before_moving: Task
    ) -> None:
        self.n_features = n_features or 0
        self._source = source
        self._width_is_told = n_features is not None
        self._dtype = dtype
        self._layout = layout
        self._before_moving = before_moving
        self._n_rows = self._n_entries = self._n_parts = 0
        self._held: _DenseRows | _SparseRows | None = None

    def reserve(self, part: RowPart) -> Task:
        """Make room for some more rows; return the task that puts them there, in whatever thread."""
        self.n_features = max(self.n_features, part.n_features)
        self._n_rows += part.n_rows
        self._n_entries += len(part.values)
        self._n_parts += 1
        if self._is_dense():
            self._check_width()
        try:
            if self._held is None:
                kind = _DenseRows if self._is_dense() else _SparseRows
                self._held = kind(self._dtype, self.n_features, self._before_moving)
            # At doubling numbers of parts, so that all changes of mind together cost no more than the reading; and
            # before rows become wider, so that one large id does not make them all as wide.
            elif self._n_parts.bit_count() == 1 or self._held.n_features < self.n_features:
                self._settle_layout()
            return self._held.reserve(part)
        except MemoryError:
            self._refuse_size()

    def finished(self) -> NDArray[Any] | scipy.sparse.csr_array:
        assert self._held is not None
        self._check_width()
        try:
            self._settle_layout()
            return self._held.finished(self.n_features)
        except MemoryError:
            self._refuse_size()

    def _settle_layout(self) -> None:
        if isinstance(self._held, _SparseRows) and self._is_dense():
            self._held = self._held.to_dense(self.n_features)
        elif isinstance(self._held, _DenseRows) and not self._is_dense():
            self._held = self._held.to_sparse()

    def _is_dense(self) -> bool:
        shape = self._n_rows, self.n_features
        return is_dense(self._layout, shape, self._n_entries, self._dtype)

    def _check_width(self) -> None:
        """Refuse what one large id would make of a small file, and what the memory there is cannot hold."""
        if not self._width_is_told:
            check_largest_id(self._source, self.n_features, self._n_entries)
        if self._is_dense() and self._dense_bytes > memory_bytes():
            self._refuse_size()

    @property
    def _dense_bytes(self) -> int:
        return self._n_rows * self.n_features * self._dtype.itemsize

    def _refuse_size(self) -> NoReturn:
        raise DataFormatError(
            self._source,
            None,
            f"{self._n_rows} rows of {self.n_features} features, of more in the file, need more memory than there is "
            f"({self._dense_bytes / 1e9:.1f} GB as a dense array). "
            'Use layout="sparse", dtype="float32", or a part of the file.',
        ) from None


def is_dense(layout: Layout | None, shape: tuple[int, int], n_entries: int, dtype: np.dtype[Any]) -> bool:
    """Whether rows with so many entries are a dense array; unless told, where CSR takes more than half its bytes."""
    if layout is not None:
        return layout == "dense"
    sparse_bytes = n_entries * (dtype.itemsize + 4) + (shape[0] + 1) * 8
    return 2 * sparse_bytes > shape[0] * shape[1] * dtype.itemsize


def check_largest_id(source: str, n_features: int, n_entries: int) -> None:
    """Refuse what one large id would make of a small file."""
    if not is_justified(n_features, n_entries):
        said = f"the largest feature id makes for {n_features} features"
        raise DataFormatError(source, None, unjustified(n_features, said, n_entries))


class _DenseRows:
    """Rows one after the other in one long array, which can become wider in place."""

    def __init__(self, dtype: np.dtype[Any], n_features: int, before_moving: Task) -> None:
        self.n_features = n_features
        self._before_moving = before_moving
        self._n_rows = 0
        self._cells = GrowingArray(np.empty(0, dtype=dtype), before_moving)

    def reserve(self, part: RowPart) -> Task:
        if part.n_features > self.n_features:
            # By a quarter at least: ids may rise all through the file.
            self._restride(max(part.n_features, self.n_features + self.n_features // 4))
        cells = self._cells.append(part.n_rows * self.n_features, part.share_done)
        self._n_rows += part.n_rows
        return partial(
            scatter_rows, part.values, part.columns, part.starts, cells.reshape(part.n_rows, self.n_features)
        )

    def finished(self, n_features: int) -> NDArray[Any]:
        self._restride(n_features)
        return self._cells.finished().reshape(self._n_rows, n_features)

    def to_sparse(self) -> _SparseRows:
        rows = self.finished(self.n_features)
        starts = np.zeros(self._n_rows + 1, dtype=np.int64)
        _count_entries(rows, starts)
        np.cumsum(starts, out=starts)
        values = np.empty(int(starts[-1]), dtype=rows.dtype)
        columns = np.empty(int(starts[-1]), dtype=np.int32)
        _gather(rows, values, columns)
        made = _SparseRows(rows.dtype, self.n_features, self._before_moving)
        made.hold(values, columns, starts)
        return made

    def _restride(self, n_features: int) -> None:
        if n_features > self.n_features:
            _move_rows_apart(self._cells.resized(self._n_rows * n_features), self._n_rows, self.n_features, n_features)
        elif n_features < self.n_features:
            _move_rows_together(self._cells.finished(), self._n_rows, self.n_features, n_features)
            self._cells.resized(self._n_rows * n_features)
        self.n_features = n_features


class _SparseRows:
    """Rows in compressed form."""

    def __init__(self, dtype: np.dtype[Any], n_features: int, before_moving: Task) -> None:
        self.n_features = n_features
        self._before_moving = before_moving
        self.hold(np.empty(0, dtype=dtype), np.empty(0, dtype=np.int32), np.zeros(1, dtype=np.int64))

    def hold(self, values: NDArray[Any], columns: Indices, starts: Offsets) -> None:
        self._values = GrowingArray(values, self._before_moving)
        self._columns = GrowingArray(columns, self._before_moving)
        self._starts = GrowingArray(starts, self._before_moving)

    def reserve(self, part: RowPart) -> Task:
        self.n_features = max(self.n_features, part.n_features)
        n_before = self._values.size
        values = self._values.append(len(part.values), part.share_done)
        columns = self._columns.append(len(part.values), part.share_done)
        starts = self._starts.append(part.n_rows, part.share_done)

        def put() -> None:
            values[:] = part.values
            columns[:] = part.columns
            np.add(part.starts[1:], n_before, out=starts)

        return put

    def finished(self, n_features: int) -> scipy.sparse.csr_array:
        starts = self._starts.finished()
        # scipy has one type for both, and would copy the columns to that of the starts.
        if starts[-1] <= np.iinfo(np.int32).max:
            starts = starts.astype(np.int32)
        arrays = (self._values.finished(), self._columns.finished(), starts)
        matrix = scipy.sparse.csr_array(arrays, shape=(len(starts) - 1, n_features))
        # Ids ascend in every line that could be read; scipy would look again at each.
        matrix.has_canonical_format = True
        return matrix

    def to_dense(self, n_features: int) -> _DenseRows:
        values, columns, starts = self._values.finished(), self._columns.finished(), self._starts.finished()
        made = _DenseRows(values.dtype, n_features, self._before_moving)
        made.reserve(RowPart(values, columns, starts, n_features, 1.0))()
        return made


@kernel
def scatter_rows(values, columns, starts, rows):  # type: ignore[no-untyped-def]
    n_rows, n_features = rows.shape
    for i in range(n_rows):
        j = 0
        for entry in range(starts[i], starts[i + 1]):
            column = columns[entry]
            while j < column:
                rows[i, j] = 0.0
                j += 1
            rows[i, j] = values[entry]
            j += 1
        while j < n_features:
            rows[i, j] = 0.0
            j += 1


@kernel
def _count_entries(rows, counts):  # type: ignore[no-untyped-def]
    """counts[i + 1] = the entries of row i: all that are not zero, and -0.0."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            counts[i + 1] += rows[i, j] != 0.0 or math.copysign(1.0, rows[i, j]) < 0.0


@kernel
def _gather(rows, values, columns):  # type: ignore[no-untyped-def]
    entry = 0
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            if rows[i, j] != 0.0 or math.copysign(1.0, rows[i, j]) < 0.0:
                values[entry] = rows[i, j]
                columns[entry] = j
                entry += 1


@kernel
def _move_rows_apart(cells, n_rows, width, wider):  # type: ignore[no-untyped-def]
    """From the last row to the first, since a row's new place is where later rows stood."""
    for i in range(n_rows - 1, -1, -1):
        for j in range(wider - 1, -1, -1):
            cells[i * wider + j] = cells[i * width + j] if j < width else 0.0


@kernel
def _move_rows_together(cells, n_rows, width, narrower):  # type: ignore[no-untyped-def]
    for i in range(n_rows):
        for j in range(narrower):
            cells[i * narrower + j] = cells[i * width + j]
