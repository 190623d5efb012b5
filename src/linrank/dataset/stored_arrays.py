"""The arrays of a `.linrank` file, read piece by piece: no more is in memory than was asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linrank.dataset.storage_layout import Layout, Section
from linrank.errors import DataFormatError
from linrank.files import stamp_of

Runs: TypeAlias = Sequence[tuple[int, int]]
"""Ranges of rows or queries, one after the other."""


@dataclass(frozen=True)
class StoredArrays:
    """Where the arrays of a file are; `stamp` tells the file from another that took its place."""

    source: str
    sections: Mapping[str, Section]
    stamp: tuple[int, int]

    @classmethod
    def of(cls, layout: Layout) -> StoredArrays:
        return cls(str(Path(layout.source).absolute()), dict(layout.sections), stamp_of(layout.source))

    @contextmanager
    def opened(self) -> Iterator[OpenArrays]:
        try:
            descriptor = os.open(self.source, os.O_RDONLY)
        except OSError as error:
            raise DataFormatError(self.source, None, f"cannot be read: {error.strerror}. Check the path.") from None
        try:
            if stamp_of(descriptor) != self.stamp:
                raise DataFormatError(
                    self.source, None, "has changed since it was opened. Begin again with the file as it is."
                )
            yield OpenArrays(self, descriptor)
        finally:
            os.close(descriptor)

    def __contains__(self, name: str) -> bool:
        return name in self.sections


@dataclass(frozen=True, slots=True)
class OpenArrays:
    """The file while it is open."""

    arrays: StoredArrays
    descriptor: int

    @property
    def source(self) -> str:
        return self.arrays.source

    def size(self, name: str) -> int:
        return self.arrays.sections[name].shape[0]

    def read(self, name: str, start: int = 0, stop: int | None = None) -> NDArray[Any]:
        """Some of the rows of an array, in the machine's own byte order; a file that ends before is refused."""
        return self.read_runs(name, [(start, self.arrays.sections[name].shape[0] if stop is None else stop)])

    def read_runs(self, name: str, runs: Runs) -> NDArray[Any]:
        """Some runs of the rows of an array, one after the other."""
        section = self.arrays.sections[name]
        rows = np.empty((sum(stop - start for start, stop in runs), *section.shape[1:]), dtype=section.dtype)
        a_row = section.dtype.itemsize * int(np.prod(section.shape[1:], dtype=np.int64))
        room = rows.reshape(-1).view(np.uint8).data if rows.nbytes else memoryview(b"")
        done = 0
        for start, stop in runs:
            n_bytes = (stop - start) * a_row
            self._fill(room[done : done + n_bytes], section.offset + start * a_row, name)
            done += n_bytes
        return rows.astype(section.dtype.newbyteorder("="), copy=False)

    def _fill(self, room: memoryview, offset: int, name: str) -> None:
        if fill(room, self.descriptor, offset) < len(room):
            raise DataFormatError(
                self.arrays.source, None, f"ends within the array {name!r}: it was cut short while it was read."
            )


def fill(room: memoryview, descriptor: int, offset: int) -> int:
    """Read from a place in a file until there is no more room, or no more to read; return how many bytes were read."""
    done = 0
    while done < len(room):
        # The system may give less than it is asked for.
        count = os.preadv(descriptor, [room[done:]], offset + done)
        if count == 0:
            break
        done += count
    return done
