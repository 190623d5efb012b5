"""One text a row, held as bytes: a million document ids in the memory of their letters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, for_kernels, offsets_from_sizes
from linrank.compiled import kernel
from linrank.files import encoded_text
from linrank.maps import refuse_cut_maps


class TextColumn(Sequence[str]):
    """A read-only sequence of strings: text i is the UTF-8 `letters[starts[i]:starts[i + 1]]`."""

    __slots__ = ("letters", "starts")

    def __init__(self, letters: NDArray[np.uint8], starts: Offsets) -> None:
        self.letters = letters
        self.starts = starts

    @classmethod
    def from_texts(cls, texts: Iterable[object]) -> TextColumn:
        encoded = [encoded_text(str(text), "the text") for text in texts]
        letters = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        return cls(letters, offsets_from_sizes(np.fromiter(map(len, encoded), dtype=np.int64, count=len(encoded))))

    @classmethod
    def joined(cls, columns: Sequence[TextColumn]) -> TextColumn:
        """The texts of several columns, one column after the other."""
        if not columns:
            return cls.from_texts(())
        refuse_cut_maps(*(column.letters for column in columns))
        letters = np.concatenate([column.letters[column.starts[0] : column.starts[-1]] for column in columns])
        return cls(letters, offsets_from_sizes(np.concatenate([np.diff(column.starts) for column in columns])))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> TextColumn: ...
    def __getitem__(self, row: int | slice) -> str | TextColumn:
        if isinstance(row, slice):
            return self.take(np.arange(len(self))[row])
        refuse_cut_maps(self.letters)
        row = range(len(self))[row]
        return self.letters[self.starts[row] : self.starts[row + 1]].tobytes().decode(errors="replace")

    def __iter__(self) -> Iterator[str]:
        refuse_cut_maps(self.letters)
        letters = self.letters.tobytes()
        bounds = self.starts.tolist()
        for start, stop in pairwise(bounds):
            yield letters[start:stop].decode(errors="replace")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TextColumn):
            return NotImplemented
        return np.array_equal(self.starts, other.starts) and np.array_equal(self.letters, other.letters)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(repr(self[row]) for row in range(min(3, len(self))))
        return f"TextColumn([{shown}{', …' if len(self) > 3 else ''}], n={len(self)})"

    @property
    def nbytes(self) -> int:
        return int(self.letters.nbytes + self.starts.nbytes)

    def take(self, rows: NDArray[Any]) -> TextColumn:
        """The texts of the given rows, by number or by a mask."""
        refuse_cut_maps(self.letters)
        firsts = self.starts[:-1][rows]
        starts = offsets_from_sizes(np.diff(self.starts)[rows])
        letters = np.empty(starts[-1], dtype=np.uint8)
        gather_ranges(for_kernels(self.letters), firsts, starts, letters)
        return TextColumn(letters, starts)


@kernel
def gather_ranges(values, firsts, starts, gathered):  # type: ignore[no-untyped-def]
    """gathered[starts[i]:starts[i + 1]] = the values from firsts[i] on."""
    for i in range(len(firsts)):
        shift = firsts[i] - starts[i]
        for place in range(starts[i], starts[i + 1]):
            gathered[place] = values[place + shift]
