"""The arrays of a `.linrank` file, read piece by piece: no more is in memory than was asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.dataset.storage_layout import Layout, Section
from linrank.errors import DataFormatError


@dataclass(frozen=True)
class StoredArrays:
    """Where the arrays of a file are; `stamp` tells the file from another that took its place."""

    source: str
    sections: Mapping[str, Section]
    stamp: tuple[int, int]

    @classmethod
    def of(cls, layout: Layout) -> StoredArrays:
        return cls(str(Path(layout.source).absolute()), dict(layout.sections), _stamp(Path(layout.source).stat()))

    @contextmanager
    def opened(self) -> Iterator[OpenArrays]:
        try:
            descriptor = os.open(self.source, os.O_RDONLY)
        except OSError as error:
            raise DataFormatError(self.source, None, f"cannot be read: {error.strerror}. Check the path.") from None
        try:
            if _stamp(os.fstat(descriptor)) != self.stamp:
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
        section = self.arrays.sections[name]
        stop = section.shape[0] if stop is None else stop
        rows = np.empty((stop - start, *section.shape[1:]), dtype=section.dtype)
        a_row = section.dtype.itemsize * int(np.prod(section.shape[1:], dtype=np.int64))
        if rows.nbytes:
            self._fill(rows.reshape(-1).view(np.uint8).data, section.offset + start * a_row, name)
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


def _stamp(status: os.stat_result) -> tuple[int, int]:
    return status.st_size, status.st_mtime_ns
