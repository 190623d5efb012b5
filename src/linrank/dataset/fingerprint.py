"""The hash by which a model knows the data it was trained on, of arrays that come whole or piece by piece."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NUMBERS_AT_A_TIME = 1 << 18


def fingerprint_of(about: str, pieces: Iterable[NDArray[Any]], query_ids: Iterable[Any]) -> str:
    """The hash of arrays, of all of them one after the other, and of ids as text; whole numbers count in 64 bits."""
    digest = hashlib.sha256(about.encode())
    for piece in pieces:
        for part in _as_hashed(piece):
            digest.update(part.data)
    for query in query_ids:
        name = str(query).encode()
        digest.update(f"{len(name)} ".encode() + name)
    return f"sha256:{digest.hexdigest()}"


def _as_hashed(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """The array as it is hashed on every machine; where it is held in another way, some of it at a time."""
    dtype = np.dtype("<i8") if array.dtype.kind in "iu" else array.dtype.newbyteorder("<")
    step = len(array)
    if array.dtype != dtype or not array.flags.c_contiguous:
        step = max(1, _NUMBERS_AT_A_TIME * step // max(1, array.size))
    for start in range(0, len(array), max(1, step)):
        yield np.ascontiguousarray(array[start : start + step], dtype=dtype)
