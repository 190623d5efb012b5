"""read: any file or table that holds ranking data, by what it is."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError

# What a file is read as, by its ending; every other ending is svmlight / LETOR text.
_ENDINGS = {
    ".linrank": "linrank",
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".arrow": "arrow",
    ".feather": "arrow",
}
_READERS = {
    "svmlight": ("linrank.reading.svmlight", "read_svmlight"),
    "linrank": ("linrank.reading.stored", "read_stored"),
    "parquet": ("linrank.reading.tables", "read_parquet"),
    "csv": ("linrank.reading.tables", "read_csv"),
    "arrow": ("linrank.reading.tables", "read_arrow"),
    "table": ("linrank.reading.tables", "from_table"),
}
FORMATS = tuple(name for name in _READERS if name != "table")


def read(source: Any, *, format: str | None = None, **options: Any) -> RankingDataset:  # noqa: A002 - the field's word
    """Read ranking data from a file, or from a DataFrame.

    Parameters
    ----------
    source : path, pandas or polars DataFrame, or Arrow table
        Files are read by their ending: `.linrank`, `.parquet`, `.csv`, `.tsv`, `.arrow`, `.feather`;
        anything else, with or without `.gz` or `.zst`, is svmlight / LETOR text.
    format : one of "svmlight", "linrank", "parquet", "csv", "arrow"
        Says what the file is, whatever its ending.
    **options
        For svmlight text: `zero_based=False`, `n_features=None`, `missing="error"`, `dtype="float64"`,
        `layout=None` ("dense" or "sparse"; by density unless told), `one_query=False`, `n_threads=None`,
        `progress=None`.
        For tables: `label="label"` (None: not judged), `qid="qid"` (None: all one query), `features=None` (all other
        columns), `docid=None`, `weight=None`, `query_weight=None`, `missing="error"`, `dtype=None`.
        For `.linrank` files: `n_features=None`, `missing="keep"`.
        `missing` is "error", "keep" (NaN, for data that is only looked at), a number, or "query_min": the least value
        of the feature within the query, 0 where the whole query lacks it (LETOR's own "min" files differ from it).

    Returns
    -------
    RankingDataset
    """
    name = format or format_of(source)
    if format is None and name == "svmlight" and Path(source).suffix.lower() == ".json":
        raise LinrankError(
            f"{source}: is JSON, and so no data to rank. If it is a model, give it in the model's place; what a search "
            "engine logged becomes data by linrank fromlogs; format='svmlight' reads it as text all the same."
        )
    check_options(name, options)
    return _reader(name)(source, **options)


def _reader(name: str) -> Callable[..., RankingDataset]:
    if name not in _READERS:
        raise LinrankError(f"unknown format {name!r}; use one of {', '.join(FORMATS)}.")
    module, function = _READERS[name]
    reader: Callable[..., RankingDataset] = getattr(import_module(module), function)
    return reader


def check_options(name: str, options: Iterable[str]) -> None:
    """Refuse options that the reader of a format does not know."""
    known = list(inspect.signature(_reader(name)).parameters)[1:]
    for option in options:
        if option not in known:
            # What only says how fast, or to whom progress is told, says nothing about a source.
            said = [f"{word}=" for word in known if word not in ("n_threads", "progress")]
            takes = f"it takes {', '.join(said)}" if said else "it takes none"
            raise LinrankError(
                f"a source of format {name!r} has no option {option}=; {takes}. Pass format=… if it is another."
            )


def format_of(source: Any) -> str:
    """What a source is read as unless told."""
    if not isinstance(source, str | os.PathLike):
        return "table"
    path = Path(source)
    if path.suffix.lower() in (".gz", ".zst"):
        path = path.with_suffix("")
    return _ENDINGS.get(path.suffix.lower(), "svmlight")
