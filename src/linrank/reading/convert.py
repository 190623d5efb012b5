"""convert: data of any form and size as a `.linrank` file, without loading it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from linrank.dataset.arranging import Progress
from linrank.dataset.regrouping import regroup_dataset
from linrank.dataset.storage_layout import Layout
from linrank.errors import LinrankError
from linrank.reading.convert_table import convert_table
from linrank.reading.convert_text import convert_svmlight
from linrank.reading.read import check_options, format_of


def convert(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the field's word
    memory: str | float | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Layout:
    """Write a file, or a folder of Parquet files, as a `.linrank` file, the rows of each query together.

    Parameters
    ----------
    path : svmlight / LETOR text, Parquet, Arrow, CSV, `.linrank`, or a folder of Parquet files
    out : the file to write, whole or not at all; until it is, work on it is in a folder `OUT.parts`
    format, **options : as `linrank.read` takes them
    memory : the most that the process may use, such as "2GB"; half of what the machine has unless told
    resume : go on with what a process that was killed has left in `OUT.parts`; the result has the same bytes
    progress : called now and then with what is done and what there is to do, in bytes; the latter may be None
    """
    form = form_of(path, format)
    check_options(form, options)
    work: dict[str, Any] = {"memory": memory, "resume": resume, "progress": progress}
    if form == "linrank":
        if "missing" in options:
            raise LinrankError("missing= fills a .linrank file that is loaded. Leave memory= and resume= out.")
        return regroup_dataset(path, out, **work, **options)
    if form == "svmlight":
        return convert_svmlight(path, out, **work, **options)
    return convert_table(path, out, format=form, **work, **options)


def form_of(path: str | os.PathLike[str], told: str | None = None) -> str:
    """What a file is read as; a folder is one of Parquet files."""
    return told or ("parquet" if Path(path).is_dir() else format_of(path))
