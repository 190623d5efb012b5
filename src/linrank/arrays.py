"""The array types of the library, and the few things every stage does with arrays."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float64]
Offsets: TypeAlias = NDArray[np.int64]
Indices: TypeAlias = NDArray[np.int32]


class _Memory:
    """Memory of another array, under a description of our own; keeps that array alive."""

    def __init__(self, owner: NDArray[Any]) -> None:
        self._owner = owner
        address, _ = owner.__array_interface__["data"]
        self.__array_interface__ = {**owner.__array_interface__, "data": (address, False)}


def for_kernels(array: NDArray[Any]) -> NDArray[Any]:
    """Return the same memory as an array that is not marked read-only, for a kernel that only reads it.

    Numba compiles a kernel anew for read-only arrays, such as memory maps and columns of a DataFrame.
    """
    if array.flags.writeable or array.size == 0:
        return array
    return np.asarray(_Memory(array))


def offsets_from_sizes(sizes: NDArray[Any]) -> Offsets:
    """Where each of consecutive runs starts, and where the last one ends."""
    offsets = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets
