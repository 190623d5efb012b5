"""The hash by which a model knows the data it was trained on, of arrays that come whole or piece by piece."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def fingerprint_of(about: str, pieces: Iterable[NDArray[Any]], query_ids: Iterable[Any]) -> str:
    """The hash of arrays, of all of them one after the other, and of ids as text."""
    digest = hashlib.sha256(about.encode())
    for piece in pieces:
        digest.update(np.ascontiguousarray(piece, dtype=piece.dtype.newbyteorder("<")).data)
    for query in query_ids:
        name = str(query).encode()
        digest.update(f"{len(name)} ".encode() + name)
    return f"sha256:{digest.hexdigest()}"
