"""The columns of a table in the order a model wants them, found by their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.errors import LinrankError, MissingDependencyError
from linrank.loaded import is_sparse
from linrank.reading.table_sources import TableSource, table_source

_MOST_NAMED = 8


def named_table(X: Any) -> TableSource | None:
    """The table that X is, if its columns have names; None for arrays, and for frames that only number them."""
    if isinstance(X, np.ndarray | list | tuple) or is_sparse(X):
        return None
    try:
        source = table_source(X)
    except MissingDependencyError:
        # It is a table, whose names cannot be read: never to be taken by position.
        raise
    except ValueError:
        # pyarrow says the same of a single column as we do of what is no table at all.
        return None
    texts = [isinstance(name, str) for name in source.names]
    if not any(texts):
        return None
    if not all(texts):
        other = source.names[texts.index(False)]
        raise LinrankError(
            f"the column {other!r} has a {type(other).__name__} for a name, and others have text. "
            "Name all columns by text to find them by name, or none to take them by position."
        )
    return source


def columns_by_name(X: Any, names: Sequence[str], needed: NDArray[np.bool_]) -> Any:
    """The columns `names` of a table, in that order, as an array; what has no names is returned as it is.

    Zeros stand for columns that are not `needed`, there or not. A missing value is NaN.
    """
    source = named_table(X)
    if source is None:
        return X
    columns = np.flatnonzero(needed)
    places = [_place(source, names[column], names) for column in columns.tolist()]
    blocks = []
    # With no column needed the rows must still be counted.
    for batch in source.batches(places or [0]):
        block = np.zeros((len(batch[0].values), len(names)))
        for column, part in zip(columns.tolist(), batch, strict=False):
            block[:, column] = np.where(part.is_missing(), np.nan, part.values)
        blocks.append(block)
    return np.concatenate(blocks) if blocks else np.zeros((0, len(names)))


def _place(source: TableSource, name: str, names: Sequence[str]) -> int:
    found = [place for place, known in enumerate(source.names) if known == name]
    if not found:
        there = ", ".join(source.names[:_MOST_NAMED]) + (", …" if len(source.names) > _MOST_NAMED else "")
        numbered = all(known.isdecimal() for known in names)
        remedy = (
            "It was trained on features without names: to take the columns by position, pass an array."
            if numbered
            else "Name the columns as for training."
        )
        raise LinrankError(
            f"there is no column {name!r}, which the model has a weight for; there are {there}. {remedy}"
        )
    if len(found) > 1:
        raise LinrankError(f"there are {len(found)} columns {name!r}; the model has one. Rename or drop the others.")
    kind = source.types[found[0]]
    if kind.number is None:
        raise LinrankError(f"column {name!r} holds {kind.shown}, not numbers. Encode it as for training.")
    return found[0]
