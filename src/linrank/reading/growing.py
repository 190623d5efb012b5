"""An array whose length is not known in advance, and which never takes twice its memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


class GrowingArray:
    """A one-dimensional array to append to; it makes room at once for all that is expected to come.

    Other threads may write to the parts handed out: `before_moving` waits for them.
    """

    def __init__(self, array: NDArray[Any], before_moving: Callable[[], None]) -> None:
        self._room = array
        self._before_moving = before_moving
        self.size = len(array)

    def append(self, n: int, share_done: float) -> NDArray[Any]:
        """A view of `n` more elements, to be set, or read, until the array moves.

        `share_done` is the share of all elements that will then have come.
        """
        first = self.size
        self.size += n
        if self.size > len(self._room):
            # Room that nothing is written to takes no memory, so rather a little too much.
            expected = int(1.02 * self.size / share_done) + 16
            try:
                self._make_room(expected)
            except MemoryError:
                self._make_room(self.size)
        return self._room[first : self.size]

    def resized(self, size: int) -> NDArray[Any]:
        """All elements, cut or filled with zeros to another number of them."""
        self._before_moving()
        # Moves pages, not bytes, where the array is large; nobody uses the views that numpy would refuse to leave.
        self._room.resize(size, refcheck=False)
        self.size = size
        return self._room

    def finished(self) -> NDArray[Any]:
        return self.resized(self.size)

    def _make_room(self, capacity: int) -> None:
        if len(self._room):
            size = self.size
            self.resized(capacity)
            self.size = size
        else:
            # Unlike `resize`, this writes no zeros, which would take the memory before it is needed.
            self._room = np.empty(capacity, dtype=self._room.dtype)
