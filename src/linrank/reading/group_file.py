"""LightGBM's group files: the sizes of the queries, one a line, beside data without qid."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from linrank.dataset.queries import Queries
from linrank.errors import DataFormatError


def group_file_of(data: str) -> Path:
    """`rank.train.query` for `rank.train` and for `rank.train.gz`."""
    path = Path(data)
    if path.suffix.lower() in (".gz", ".zst"):
        path = path.with_suffix("")
    return path.with_name(path.name + ".query")


def read_groups(path: Path, data: str, n_rows: int) -> Queries:
    """The queries of `n_rows` documents whose sizes stand in a file."""
    sizes: list[int] = []
    for line, text in enumerate(path.read_bytes().splitlines(), 1):
        word = text.removeprefix(b"\xef\xbb\xbf").strip(b" \t")
        if not word:
            continue
        if not re.fullmatch(rb"[0-9]{1,18}", word) or int(word) == 0:
            raise DataFormatError(
                str(path),
                line,
                f"the size {word[:40].decode(errors='replace')!r} is not a positive whole number; "
                "each line is the number of documents of one query. Correct it.",
            )
        sizes.append(int(word))
    if sum(sizes) != n_rows:
        raise DataFormatError(
            str(path),
            None,
            f"the sizes add up to {sum(sizes)}, but {data} has {n_rows} documents. "
            "Check that both files belong together.",
        )
    return Queries.from_sizes(np.array(sizes, dtype=np.int64), n_rows)
