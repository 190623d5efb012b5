"""Score files: one number a line, in the order of the data's rows."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np

from linrank.arrays import Vector
from linrank.errors import DataFormatError
from linrank.files import replacing
from linrank.strict_json import finite_from_text

# As other programs write what left the range of float64: it has a place in an order.
_INFINITE = {"inf": math.inf, "-inf": -math.inf}


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
        word = line.strip(b" \t").decode(errors="replace")
        score = _INFINITE.get(word) if word in _INFINITE else finite_from_text(word)
        if score is None:
            wrong = "NaN, which has no place in an order" if word.lower() == "nan" else f"{word[:40]!r}, not a number"
            raise DataFormatError(
                source, number, f"the score is {wrong}; a score file has one number a line. Mend the scorer."
            )
        scores[number - 1] = score
    return scores


def write_scores(path: str | os.PathLike[str], scores: Vector) -> None:
    """Write one score a line, exact to the last bit."""
    with replacing(path) as file:
        file.writelines(f"{score!r}\n" for score in scores.tolist())
