"""scan: data that is trained on where it is, without being loaded."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from linrank.dataset.arranging import Progress
from linrank.dataset.stored_dataset import StoredDataset
from linrank.errors import DataFormatError, LinrankError
from linrank.files import TemporaryFolder
from linrank.reading.convert import convert, form_of
from linrank.reading.partitions import PartitionedDataset
from linrank.reading.read import check_options

# How partitions are cut, and queries brought together in them.
_OF_PARTITIONS = {"regroup", "partition"}


def scan(source: Any, *, memory: str | float | None = None, **options: Any) -> StoredDataset | PartitionedDataset:
    """Open data to train on where it is: a .linrank file, Parquet, or a Dask DataFrame.

    Parameters
    ----------
    source : path of a file that `save_dataset` or `linrank convert` wrote; of a Parquet file, or of a folder of files
        `*.parquet`; or a Dask DataFrame; with `memory`, path of any other data too
    memory : the most that the process may use while it trains, such as "2GB"; half of what the machine has unless told.
        What fits is held, and the rest is read again in every pass. The weights are the same to the last bit whatever
        it is, and the same as of the data in memory. Data that is in no .linrank file becomes one first, within the
        same memory: a temporary one (TMPDIR says where), which is removed with what this returns.
    regroup : for Parquet and Dask DataFrames, True to bring together queries whose rows are in several files or
        partitions, by the data alone; they are refused otherwise. Where every query is whole it changes nothing.
    partition : for Parquet, about how much of a file is one partition, as features in memory, such as "64MB", which
        it is unless told; row groups are not cut. Queries may be anywhere in one file.
    **options : how other data than a .linrank file is read, as `linrank.read` takes it: `label=`, `qid=`, …

    Returns
    -------
    StoredDataset or PartitionedDataset
        What `fit` takes of every ranker that minimises a sum over queries. Without `memory`, Parquet and Dask
        DataFrames are a PartitionedDataset, whose partitions are loaded by who computes with them: this process, or
        the workers of a cluster, each its share.
    """
    if is_dask_frame(source):
        if memory is not None:
            raise LinrankError("memory= is for data in files; write the Dask DataFrame to Parquet first.")
        check_options("table", options.keys() - {"regroup"})
        return PartitionedDataset.of_frame(source, **options)
    form = form_of(source, options.pop("format", None))
    if form == "parquet" and memory is None:
        check_options(form, options.keys() - _OF_PARTITIONS)
        return PartitionedDataset.open(source, **options)
    if form == "linrank":
        n_features = options.pop("n_features", None)
        if options:
            raise LinrankError(
                f"{next(iter(options))}= says how other data is read; a .linrank file knows its columns."
            )
        return StoredDataset.open(source, memory=memory, n_features=n_features)
    if memory is None:
        raise DataFormatError(
            os.fspath(source),
            None,
            f"is read as {form}, which must be loaded as a whole. Convert it first: linrank convert "
            f'{os.fspath(source)} train.linrank --memory 2GB. Or open it by scan(path, memory="2GB"), which makes such '
            "a file for the time being.",
        )
    # A conversion brings queries together wherever their rows are.
    for name in _OF_PARTITIONS:
        options.pop(name, None)
    return scan_converted(source, memory=memory, format=form, **options)


def scan_converted(
    path: str | os.PathLike[str], *, memory: str | float, progress: Progress | None = None, **options: Any
) -> StoredDataset:
    """Make a temporary .linrank file of other data, and open that."""
    folder = TemporaryFolder()
    made = folder.path / "data.linrank"
    convert(path, made, memory=memory, progress=progress, **options)
    return replace(StoredDataset.open(made, memory=memory, n_features=options.get("n_features")), folder=folder)


def is_dask_frame(source: Any) -> bool:
    """Whether something is a Dask DataFrame; Dask is not imported to find out."""
    return any(
        kind.__module__.partition(".")[0] == "dask" and kind.__name__ == "DataFrame" for kind in type(source).__mro__
    )
