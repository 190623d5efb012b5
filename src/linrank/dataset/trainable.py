"""Numbers that no method can train on: not finite, or so large that what is computed from them would not be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from linrank.arrays import Vector, for_kernels
from linrank.compiled import kernel
from linrank.dataset.features import DenseFeatures, Features, as_features
from linrank.dataset.shaped_rows import ShapedRows

if TYPE_CHECKING:
    from linrank.dataset.query_blocks import QueryBlock
    from linrank.dataset.ranking_dataset import RankingDataset

# A step of conjugate gradients multiplies four features and three weights of pairs, each of which is the product of
# three weights given; with these limits that, summed over any number of pairs, stays below 1e308.
LARGEST_NUMBER = 1e30
LARGEST_WEIGHT = 1e15
_ROWS_AT_A_TIME = 4096
_GRADES = "Map the labels to grades, such as 0 to 4."
_TOGETHER = "Divide all weights by the same number."


def training_fault(dataset: RankingDataset) -> str | None:
    """The first number that no method can train on, and what to do about it; None where there is none."""
    return fault_of_rows(as_features(dataset.features), dataset.feature_names) or fault_beside_features(dataset)


def fault_beside_features(dataset: RankingDataset) -> str | None:
    """The same of labels and weights alone."""
    return (
        _fault_of(dataset.labels, LARGEST_NUMBER, "the label in row", _GRADES)
        or _fault_of(dataset.document_weights, LARGEST_WEIGHT, "the weight of row", _TOGETHER)
        or _fault_of(dataset.query_weights, LARGEST_WEIGHT, "the weight of query", _TOGETHER)
    )


def fault_of_judgements(block: QueryBlock) -> str | None:
    """The same of a block's labels and weights."""
    row = block.first_row
    return (
        _fault_of(block.labels, LARGEST_NUMBER, "the label in row", _GRADES, row)
        or _fault_of(block.document_weights, LARGEST_WEIGHT, "the weight of row", _TOGETHER, row)
        or _fault_of(block.query_weights, LARGEST_WEIGHT, f"from row {row} on, the weight of query", _TOGETHER)
    )


def fault_of_rows(features: Features, names: Sequence[str] | None, first_row: int = 0) -> str | None:
    """The same of features alone."""
    if isinstance(features, ShapedRows):
        parts = range(0, features.n_rows, _ROWS_AT_A_TIME)
        shaped = ((start, features.rows(start, start + _ROWS_AT_A_TIME).in_memory()) for start in parts)
        faults = (fault_of_rows(rows, names, first_row + start) for start, rows in shaped)
        return next((fault for fault in faults if fault is not None), None)
    values = features.values if isinstance(features, DenseFeatures) else features.values[None, :]
    place = int(first_beyond(values, LARGEST_NUMBER))
    if place < 0:
        return None
    if isinstance(features, DenseFeatures):
        row, column = divmod(place, features.n_features)
    else:
        row, column = int(np.searchsorted(features.starts, place, side="right")) - 1, int(features.columns[place])
    value = values.ravel()[place]
    # Not `names`, which makes a name for every feature.
    name = column + 1 if names is None else repr(names[column])
    where = f"feature {name} is {value:g} in row {first_row + row}"
    if np.isnan(value):
        # (Of data in memory missing values are refused in other words, which count them.)
        return f"{where}: no method trains on missing values. Fill them when converting (--missing 0)."
    return (
        f"{where}; products of numbers beyond {LARGEST_NUMBER:g} leave float64. If it stands for a missing value, "
        "replace it; otherwise divide the column, or scale the features (--scaling standard) if the method lets you."
    )


def _fault_of(values: Vector | None, limit: float, what: str, remedy: str, first: int = 0) -> str | None:
    if values is None:
        return None
    place = int(first_beyond(for_kernels(np.ascontiguousarray(values))[None, :], limit))
    if place < 0:
        return None
    return f"{what} {first + place} is {values[place]:g}; at most {limit:g} can be used. {remedy}"


@kernel
def first_beyond(values, limit):  # type: ignore[no-untyped-def]
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
