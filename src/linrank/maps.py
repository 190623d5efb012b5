"""Arrays that are maps of files: whether the file still has what the map shows.

Whoever touches a part of a map that the file has lost is ended by the system (SIGBUS), and no exception tells why. So
whatever follows a map asks first; only a file that is cut within that moment can still end the process.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable
from typing import Any

import numpy as np

from linrank.errors import DataFormatError


class Maps:
    """The maps behind some arrays or sparse matrices, each once; none where all are in memory."""

    def __init__(self, arrays: Iterable[Any]) -> None:
        found = (_map_behind(array.data if _is_sparse(array) else array) for array in arrays)
        self._maps = list({id(one[0]): one for one in found if one is not None}.values())

    def __reduce__(self) -> tuple[type[Maps], tuple[tuple[()]]]:
        # In another process arrays are copies.
        return Maps, ((),)

    def check(self) -> None:
        """Refuse a file that was cut short in its place since it was mapped."""
        for mapped, array in self._maps:
            # What NumPy maps begins with a page and ends with the array.
            wanted = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY + len(mapped)
            if (there := mapped.size()) < wanted:
                raise DataFormatError(
                    str(array.filename or "a mapped file"),
                    None,
                    f"has {there} bytes where it had {wanted} when it was opened: it was cut short in its place. Write "
                    "it again, and open it again; linrank.scan and fit(path) read such a file without mapping it.",
                )


def refuse_cut_maps(*arrays: Any) -> None:
    """Refuse arrays and sparse matrices that are mapped from a file which has been cut short since."""
    Maps(arrays).check()


def _is_sparse(array: Any) -> bool:
    return not isinstance(array, np.ndarray) and hasattr(array, "indptr")


def _map_behind(array: Any) -> tuple[mmap.mmap, np.memmap[Any, Any]] | None:
    """The map of a file that an array is a view of, and the array that it was mapped as; None where there is none."""
    owner = None
    while array is not None and not isinstance(array, mmap.mmap):
        owner = array if isinstance(array, np.memmap) else owner
        # (What `arrays.for_kernels` makes has an owner.)
        array = array.base if isinstance(array, np.ndarray) else getattr(array, "owner", None)
    return None if array is None or owner is None else (array, owner)
