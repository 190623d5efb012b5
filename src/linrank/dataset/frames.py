"""DataFrames as arrays of numbers, and what to do with columns that are none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.errors import LinrankError

# How pandas, polars and Arrow write the types of numbers; a pandas object column is what its values are.
_NUMBERS = re.compile(r"(sparse\[)?(u?int\d|float|bool|double|halffloat|decimal|null|object)", re.IGNORECASE)
_REMEDIES = (
    (r"categor|enum|dictionary", "Encode it as numbers, such as one column of 0 and 1 for each category"),
    (r"date|time|duration", "Turn it into a number, such as an age in days"),
    (r"", "Turn it into numbers"),
)


def column_names(X: Any) -> list[str] | None:
    """The names of a table's columns; None for what is no table."""
    names = getattr(X, "column_names", None) if hasattr(X, "column_names") else getattr(X, "columns", None)
    return None if names is None else [str(name) for name in names]


def remedy_for(kind: str) -> str:
    """What to do with a column of a type that is no number."""
    return next(remedy for words, remedy in _REMEDIES if re.search(words, kind, re.IGNORECASE))


def check_columns(X: Any) -> None:
    """Refuse a pandas, polars or Arrow table with a column that is no numbers, by its name."""
    # Arrow's way, or that of pandas and polars.
    types = X.schema.types if hasattr(X, "column_names") else getattr(X, "dtypes", ())
    for name, kind in zip(column_names(X) or (), map(str, types), strict=False):
        if not _NUMBERS.match(kind):
            raise LinrankError(
                f"column {name!r} is of type {kind}, not numbers. {remedy_for(kind)}, or leave the column out."
            )


def about_columns(error: ValueError, X: Any, trained: Sequence[str], ranker: str) -> ValueError:
    """What scikit-learn says of columns that are not those of training, with their names and what to do."""
    given = column_names(X)
    if given is None or not str(error).startswith("The feature names should match"):
        return error
    in_order = (
        "X[list(ranker.feature_names_in_)] has them in order; of a RankingDataset, and by the model that to_model() "
        "makes of a linear ranker, columns are found by name."
    )
    remedy = in_order if set(trained) <= set(given) else "Name the columns as for training."
    return LinrankError(
        f"{str(error).rstrip()}\n{ranker} was trained on {_some(trained)}, and is given {_some(given)}. {remedy}"
    )


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:8])) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def frame_numbers(frame: Any) -> NDArray[Any]:
    """The values of a pandas, polars or Arrow table, one row a document."""
    check_columns(frame)
    values = np.asarray(frame)
    if values.dtype != object:
        return values
    # Nullable columns, and mixtures with booleans.
    numbers = np.empty(values.shape)
    for place, name in enumerate(column_names(frame) or ()):
        numbers[:, place] = [_number(value, name, row) for row, value in enumerate(values[:, place].tolist())]
    return numbers


def _number(value: Any, name: str, row: int) -> float:
    # None, and pandas' NA, which has a type of its own.
    if value is None or type(value).__name__ == "NAType":
        return np.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        raise LinrankError(
            f"column {name!r} holds {value!r} in row {row}, which is no number. "
            "Turn it into numbers, or leave the column out."
        ) from None
