"""The arrays of a `.linrank` file, written piece by piece at the places that its layout says."""

from __future__ import annotations

import os
import zlib
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from linrank.dataset.row_files import RANGES, Rows
from linrank.dataset.storage_layout import Layout, write_layout
from linrank.maps import refuse_cut_maps

_BYTES_AT_A_TIME = 1 << 23


class SectionWriter:
    """A file in the making: each array grows at its end; the header is written last, with the checksums.

    `state` is how far it has come, from where it goes on.
    """

    def __init__(self, file: IO[bytes], layout: Layout, state: dict[str, dict[str, int]] | None = None) -> None:
        self._file = file
        self._layout = layout
        nothing = dict.fromkeys(layout.sections, 0)
        self._done = nothing | (state["done"] if state else {})
        self._checksums = nothing | (state["checksums"] if state else {})

    def state(self) -> dict[str, dict[str, int]]:
        """How many bytes of each array there are, once all of them are on the disk, and their checksums."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return {"done": dict(self._done), "checksums": dict(self._checksums)}

    def append(self, name: str, array: NDArray[Any]) -> None:
        """Write some more of an array."""
        section = self._layout.sections[name]
        if not array.size:
            return
        self._file.seek(section.offset + self._done[name])
        rows = max(1, _BYTES_AT_A_TIME // (array.size // len(array) * section.dtype.itemsize))
        for start in range(0, len(array), rows):
            refuse_cut_maps(array)
            piece = np.ascontiguousarray(array[start : start + rows], dtype=section.dtype).reshape(-1).view(np.uint8)
            self._file.write(piece.data)
            self._checksums[name] = zlib.crc32(piece.data, self._checksums[name])
            self._done[name] += len(piece)

    def append_rows(self, rows: Rows) -> None:
        """Write some more rows of all arrays that have rows."""
        for name in (name for name in RANGES if name in rows):
            member = RANGES[name][0]
            begun = self._done[member] // self._layout.sections[member].dtype.itemsize
            self.append(name, rows[name][1 if self._done[name] else 0 :] + begun)
        for name, array in rows.items():
            if name not in RANGES:
                self.append(name, array)

    def finish(self) -> None:
        """Write what stands before the arrays."""
        assert all(self._done[name] == section.n_bytes for name, section in self._layout.sections.items())
        write_layout(self._file, self._layout.with_checksums(self._checksums))
