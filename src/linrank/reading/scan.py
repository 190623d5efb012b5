"""scan: data that is trained on where it is, without being loaded."""

from __future__ import annotations

import os

from linrank.dataset.stored_dataset import StoredDataset
from linrank.errors import DataFormatError
from linrank.reading.read import format_of


def scan(path: str | os.PathLike[str], *, memory: str | float | None = None) -> StoredDataset:
    """Open a .linrank file to train on without loading it.

    Parameters
    ----------
    path : of a file that `save_dataset` or `linrank convert` wrote
    memory : the most that the process may use while it trains, such as "2GB"; half of what the machine has unless told.
        What fits is held, and the rest is read again in every pass. The weights are the same to the last bit whatever
        it is, and the same as of the data in memory.

    Returns
    -------
    StoredDataset, which `fit` of every ranker takes that minimises a sum over queries
    """
    if format_of(path) != "linrank":
        raise DataFormatError(
            os.fspath(path),
            None,
            f"is read as {format_of(path)}, which must be loaded as a whole. Convert it first: linrank convert "
            f"{os.fspath(path)} train.linrank",
        )
    return StoredDataset.open(path, memory=memory)
