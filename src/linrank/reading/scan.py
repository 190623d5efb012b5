"""scan: data that is trained on where it is, without being loaded."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from linrank.dataset.stored_dataset import StoredDataset
from linrank.errors import DataFormatError, LinrankError
from linrank.reading.partitions import PartitionedDataset
from linrank.reading.read import format_of


def scan(
    path: str | os.PathLike[str], *, memory: str | float | None = None, **roles: Any
) -> StoredDataset | PartitionedDataset:
    """Open data to train on where it is: a .linrank file, or a folder of Parquet files.

    Parameters
    ----------
    path : of a file that `save_dataset` or `linrank convert` wrote, or of a folder whose files `*.parquet` each hold
        whole queries
    memory : for a .linrank file, the most that the process may use while it trains, such as "2GB"; half of what the
        machine has unless told. What fits is held, and the rest is read again in every pass. The weights are the same
        to the last bit whatever it is, and the same as of the data in memory.
    **roles : for Parquet, which column plays which part, as `linrank.read` takes it: `label=`, `qid=`, `features=`, …

    Returns
    -------
    StoredDataset or PartitionedDataset
        What `fit` takes of every ranker that minimises a sum over queries. Parquet files are loaded as a whole by who
        computes with them: this process, or the workers of a cluster, each its share.
    """
    if Path(path).is_dir():
        if memory is not None:
            raise LinrankError("memory= is for a .linrank file; Parquet files are loaded. Convert them first.")
        return PartitionedDataset.open(path, **roles)
    if roles:
        raise LinrankError(f"{next(iter(roles))}= is for a folder of Parquet files; a .linrank file knows its columns.")
    if format_of(path) != "linrank":
        raise DataFormatError(
            os.fspath(path),
            None,
            f"is read as {format_of(path)}, which must be loaded as a whole. Convert it first: linrank convert "
            f"{os.fspath(path)} train.linrank{' --memory 2GB' if format_of(path) == 'svmlight' else ''}",
        )
    return StoredDataset.open(path, memory=memory)
