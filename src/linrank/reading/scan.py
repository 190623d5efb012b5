"""scan: data that is trained on where it is, without being loaded."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from linrank.dataset.arranging import Progress
from linrank.dataset.stored_dataset import StoredDataset
from linrank.errors import DataFormatError, LinrankError
from linrank.files import TemporaryFolder
from linrank.reading.convert import convert, form_of
from linrank.reading.partitions import PartitionedDataset


def scan(
    path: str | os.PathLike[str], *, memory: str | float | None = None, **options: Any
) -> StoredDataset | PartitionedDataset:
    """Open data to train on where it is: a .linrank file, or a folder of Parquet files.

    Parameters
    ----------
    path : of a file that `save_dataset` or `linrank convert` wrote, or of a folder with files `*.parquet`; with
        `memory`, of any other data too
    memory : the most that the process may use while it trains, such as "2GB"; half of what the machine has unless told.
        What fits is held, and the rest is read again in every pass. The weights are the same to the last bit whatever
        it is, and the same as of the data in memory. Data that is in no .linrank file becomes one first, within the
        same memory: a temporary one (TMPDIR says where), which is removed with what this returns.
    **options : how other data than a .linrank file is read, as `linrank.read` takes it: `label=`, `qid=`, …

    Returns
    -------
    StoredDataset or PartitionedDataset
        What `fit` takes of every ranker that minimises a sum over queries. Without `memory`, a folder is a
        PartitionedDataset, whose files each hold whole queries and are loaded as a whole by who computes with them:
        this process, or the workers of a cluster, each its share.
    """
    if memory is None and Path(path).is_dir():
        return PartitionedDataset.open(path, **options)
    form = form_of(path, options.pop("format", None))
    if form == "linrank":
        if options:
            raise LinrankError(
                f"{next(iter(options))}= says how other data is read; a .linrank file knows its columns."
            )
        return StoredDataset.open(path, memory=memory)
    if memory is None:
        raise DataFormatError(
            os.fspath(path),
            None,
            f"is read as {form}, which must be loaded as a whole. Convert it first: linrank convert "
            f'{os.fspath(path)} train.linrank --memory 2GB. Or open it by scan(path, memory="2GB"), which makes such a '
            "file for the time being.",
        )
    return scan_converted(path, memory=memory, format=form, **options)


def scan_converted(
    path: str | os.PathLike[str], *, memory: str | float, progress: Progress | None = None, **options: Any
) -> StoredDataset:
    """Make a temporary .linrank file of other data, and open that."""
    folder = TemporaryFolder()
    made = folder.path / "data.linrank"
    convert(path, made, memory=memory, progress=progress, **options)
    return replace(StoredDataset.open(made, memory=memory), folder=folder)
