"""Score files: one number a line, in the order of the data's rows."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from linrank.arrays import Vector
from linrank.errors import DataFormatError
from linrank.files import replacing


def read_scores(path: str | os.PathLike[str], n_documents: int | None = None) -> Vector:
    """Read one score a line; blank lines are an error, since every row of the data has a score."""
    source = os.fspath(path)
    try:
        lines = Path(path).read_bytes().splitlines()
    except OSError as error:
        raise DataFormatError(source, None, f"cannot be read: {error.strerror}. Check the path.") from None
    if n_documents is not None and len(lines) != n_documents:
        raise DataFormatError(
            source,
            None,
            f"has {len(lines)} scores, but the data has {n_documents} documents. Score every row of the same data.",
        )
    scores = np.empty(len(lines))
    for number, line in enumerate(lines, start=1):
        try:
            scores[number - 1] = float(line)
        except ValueError:
            shown = line[:40].decode(errors="replace")
            raise DataFormatError(
                source, number, f"{shown!r} is not a number; a score file has one number a line."
            ) from None
        if np.isnan(scores[number - 1]):
            raise DataFormatError(source, number, "the score is NaN, which has no place in an order. Mend the scorer.")
    return scores


def write_scores(path: str | os.PathLike[str], scores: Vector) -> None:
    """Write one score a line, exact to the last bit."""
    with replacing(path) as file:
        file.writelines(f"{score!r}\n" for score in scores.tolist())
