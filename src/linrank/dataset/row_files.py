"""Rows of a dataset as named arrays, some at a time: read from files, appended to files, put in another order."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, offsets_from_sizes
from linrank.dataset.text_column import gather_ranges
from linrank.errors import DataFormatError

# Arrays that have one row a document, and those that have a range a document, by the array that says where it starts;
# the names are those of a .linrank file.
Rows: TypeAlias = dict[str, NDArray[Any]]
RANGES = {"row_starts": ("columns", "values"), "comment_starts": ("comment_letters",)}
_MEMBERS = frozenset(member for members in RANGES.values() for member in members)


class ArraySource(Protocol):
    """Named arrays that are read piece by piece."""

    @property
    def source(self) -> str: ...
    def size(self, name: str) -> int: ...
    def read(self, name: str, start: int = 0, stop: int | None = None) -> NDArray[Any]: ...


def read_rows(source: ArraySource, names: tuple[str, ...], start: int, stop: int) -> Rows:
    """Some rows of the named arrays; where a range starts is counted from the first of them."""
    rows: Rows = {}
    for name in names:
        if name not in RANGES:
            rows[name] = source.read(name, start, stop)
            continue
        starts = source.read(name, start, stop + 1).astype(np.int64)
        first, last = int(starts[0]), int(starts[-1])
        if not 0 <= first <= last <= source.size(RANGES[name][0]) or (np.diff(starts) < 0).any():
            problem = f"{name} does not ascend between rows {start} and {stop}"
            raise DataFormatError(source.source, None, f"the file is damaged: {problem}. Make it anew.")
        rows[name] = starts - first
        for member in RANGES[name]:
            rows[member] = source.read(member, first, last)
    return rows


def take_rows(rows: Rows, chosen: Offsets) -> Rows:
    """The chosen rows, in the order chosen."""
    taken: Rows = {}
    for name, array in rows.items():
        if name in RANGES:
            taken[name] = starts = offsets_from_sizes(np.diff(array)[chosen])
            for member in RANGES[name]:
                taken[member] = np.empty(starts[-1], dtype=rows[member].dtype)
                gather_ranges(rows[member], array[:-1][chosen], starts, taken[member])
        elif name not in _MEMBERS:
            taken[name] = array[chosen]
    return taken


class RowFiles:
    """Rows in a folder, one file an array; they grow at the end.

    `state` says what they are, and with it they are what they were again, whatever was appended since.
    """

    def __init__(self, folder: Path, state: dict[str, Any] | None = None) -> None:
        self._folder = folder
        self._sizes: dict[str, int] = {}
        self._kinds: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {}
        self._not_on_disk: set[str] = set()
        folder.mkdir(exist_ok=state is not None)
        if state is not None:
            self._restore(state)

    def state(self) -> dict[str, Any]:
        """What the files hold, once all of it is on the disk: the name, size, type and shape of a row of each."""
        for name in sorted(self._not_on_disk):
            with (self._folder / name).open("rb") as file:
                os.fsync(file.fileno())
        self._not_on_disk.clear()
        return {
            name: [size, self._kinds[name][0].str, list(self._kinds[name][1])] for name, size in self._sizes.items()
        }

    def _restore(self, state: dict[str, Any]) -> None:
        for path in self._folder.iterdir():
            if path.name not in state:
                path.unlink()
        for name, (size, kind, shape) in state.items():
            self._sizes[name], self._kinds[name] = size, (np.dtype(kind), tuple(shape))
            n_bytes = size * int(np.prod(shape, dtype=np.int64)) * np.dtype(kind).itemsize
            place = self._folder / name
            if not place.exists() or place.stat().st_size < n_bytes:
                raise DataFormatError(str(place), None, f"has fewer than its {n_bytes} bytes. Begin again without it.")
            os.truncate(place, n_bytes)

    @property
    def source(self) -> str:
        return str(self._folder)

    def size(self, name: str) -> int:
        return self._sizes.get(name, 0)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the arrays that `read_rows` asks for."""
        return tuple(name for name in self._sizes if name not in _MEMBERS)

    @property
    def described(self) -> dict[str, tuple[np.dtype[Any], tuple[int, ...]]]:
        """The type and the shape of each array."""
        return {name: (kind, (self._sizes[name], *shape)) for name, (kind, shape) in self._kinds.items()}

    @property
    def n_bytes(self) -> int:
        return sum(path.stat().st_size for path in self._folder.iterdir())

    def append(self, rows: Rows) -> None:
        # Before the ranges themselves are written, their number so far is where the new ones start.
        for name in (name for name in RANGES if name in rows):
            begun = self.size(RANGES[name][0])
            self._append(name, rows[name][1 if name in self._sizes else 0 :] + begun)
        for name, array in rows.items():
            if name not in RANGES:
                self._append(name, array)

    def read(self, name: str, start: int = 0, stop: int | None = None) -> NDArray[Any]:
        kind, shape = self._kinds[name]
        stop = self._sizes[name] if stop is None else stop
        width = int(np.prod(shape, dtype=np.int64))
        count = (stop - start) * width
        read = np.fromfile(self._folder / name, dtype=kind, count=count, offset=start * width * kind.itemsize)
        return read.reshape(stop - start, *shape)

    def _append(self, name: str, array: NDArray[Any]) -> None:
        # Opened for each piece: there may be more such files than a process may have open.
        with (self._folder / name).open("ab") as file:
            file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        self._not_on_disk.add(name)
        self._kinds[name] = array.dtype, array.shape[1:]
        self._sizes[name] = self.size(name) + len(array)
