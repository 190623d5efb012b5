"""Numbers that no method can train on: not finite, or so large that what is computed from them would not be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from linrank.arrays import Vector, for_kernels
from linrank.compiled import kernel
from linrank.dataset.features import DenseFeatures, as_features

if TYPE_CHECKING:
    from linrank.dataset.ranking_dataset import RankingDataset

# A step of conjugate gradients multiplies four features and three weights of pairs, each of which is the product of
# three weights given; with these limits that, summed over any number of pairs, stays below 1e308.
LARGEST_NUMBER = 1e30
LARGEST_WEIGHT = 1e15


def training_fault(dataset: RankingDataset) -> str | None:
    """The first number that no method can train on, and what to do about it; None where there is none."""
    together = "Divide all weights by the same number."
    return (
        _fault_of_features(dataset)
        or _fault_of(dataset.labels, LARGEST_NUMBER, "the label in row", "Map the labels to grades, such as 0 to 4.")
        or _fault_of(dataset.document_weights, LARGEST_WEIGHT, "the weight of row", together)
        or _fault_of(dataset.query_weights, LARGEST_WEIGHT, "the weight of query", together)
    )


def _fault_of_features(dataset: RankingDataset) -> str | None:
    features = as_features(dataset.features)
    values = features.values if isinstance(features, DenseFeatures) else features.values[None, :]
    place = int(_first_beyond(values, LARGEST_NUMBER))
    if place < 0:
        return None
    if isinstance(features, DenseFeatures):
        row, column = divmod(place, features.n_features)
    else:
        row, column = int(np.searchsorted(features.starts, place, side="right")) - 1, int(features.columns[place])
    value = values.ravel()[place]
    # Not `names`, which makes a name for every feature.
    name = column + 1 if dataset.feature_names is None else repr(dataset.feature_names[column])
    # (Missing values are refused in other words, which count them.)
    where = f"feature {name} is {value:g} in row {row}"
    return (
        f"{where}; products of numbers beyond {LARGEST_NUMBER:g} leave float64. If it stands for a missing value, "
        "replace it; otherwise divide the column, or scale the features (--scaling standard)."
    )


def _fault_of(values: Vector | None, limit: float, what: str, remedy: str) -> str | None:
    if values is None:
        return None
    place = int(_first_beyond(for_kernels(np.ascontiguousarray(values))[None, :], limit))
    return None if place < 0 else f"{what} {place} is {values[place]:g}; at most {limit:g} can be used. {remedy}"


@kernel
def _first_beyond(values, limit):  # type: ignore[no-untyped-def]
    """The place, counted row by row, of the first number that is not from -limit to limit; -1 if there is none."""
    n_rows, n_columns = values.shape
    for i in range(n_rows):
        # Counted first, without a branch: at the speed of memory.
        beyond = 0
        for j in range(n_columns):
            beyond += int(not abs(values[i, j]) <= limit)
        if beyond:
            for j in range(n_columns):
                if not abs(values[i, j]) <= limit:
                    return i * n_columns + j
    return -1
