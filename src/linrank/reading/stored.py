"""A .linrank file by the options that other files are read by, as far as it has any use for them."""

from __future__ import annotations

import os

from linrank.dataset.missing_rule import MissingRule
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.storage import open_dataset
from linrank.reading.missing import filled


def read_stored(
    path: str | os.PathLike[str], *, n_features: int | None = None, missing: MissingRule = "keep"
) -> RankingDataset:
    """Open a .linrank file; values that are missing in it stay so, unless a rule fills them, in memory."""
    dataset = open_dataset(path, n_features=n_features)
    if missing == "keep":
        return dataset
    complete, n_filled = filled(dataset, missing)
    # What was filled before the file was written was filled by the rule that it remembers.
    return complete if n_filled else dataset
