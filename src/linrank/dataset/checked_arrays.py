"""What arrays must be to become a dataset: each is made so, or refused with the place, the value and the remedy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from linrank.arrays import Vector
from linrank.dataset.frames import column_names, frame_numbers, remedy_for
from linrank.dataset.sound_rows import sound_csr
from linrank.errors import LinrankError
from linrank.files import encoded_text
from linrank.loaded import is_sparse


def checked_features(X: Any) -> Any:
    """Rows of float32 or float64: an array or a sound csr_array; whole numbers and the like become float64."""
    if is_sparse(X):
        matrix = scipy.sparse.csr_array(sound_csr(X))
        return matrix if matrix.dtype in (np.float32, np.float64) else matrix.astype(np.float64)
    values = np.asarray(X) if column_names(X) is None else frame_numbers(X)
    if values.ndim != 2:
        raise LinrankError(
            f"features have shape {values.shape}; they must have one row a document and one column each."
        )
    if values.dtype in (np.float32, np.float64):
        return values
    if values.dtype.kind in "Mmc":
        raise LinrankError(f"features are of type {values.dtype}, not numbers. {remedy_for(str(values.dtype))}.")
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise LinrankError(f"features must be numbers ({error}). Encode or drop the other columns.") from None


def checked_labels(y: Any, n_rows: int, first_row: int = 0) -> Vector | None:
    """One finite number a row, or None for rows that nobody has judged; they are counted from the first."""
    if y is None:
        return None
    try:
        labels = np.ascontiguousarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise LinrankError(f"labels must be numbers ({error}). Map grades to numbers, better ones higher.") from None
    if labels.shape != (n_rows,):
        raise LinrankError(f"labels have shape {labels.shape}, but there are {n_rows} rows. Pass one label a row.")
    if not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise LinrankError(
            f"the label in row {first_row + row} is {labels[row]}; labels are finite numbers. Drop unjudged "
            "rows, or pass y=None for data without any label."
        )
    return labels


def checked_names(names: Sequence[str] | None, n_features: int) -> tuple[str, ...] | None:
    """One name a column, no two the same."""
    if names is None:
        return None
    names = tuple(str(name) for name in names)
    if len(names) != n_features:
        raise LinrankError(f"there are {len(names)} feature names, but {n_features} features. Pass one name a column.")
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise LinrankError(f"the feature name {twice!r} is given twice; names must differ. Rename one.")
    for name in names:
        encoded_text(name, "the feature name")
    return names


def checked_weights(weights: Any, n: int, name: str, each: str, first: int = 0) -> Vector | None:
    """Finite numbers that are not negative, one a row or one a query, as `each` says; counted from the first."""
    if weights is None:
        return None
    checked = np.ascontiguousarray(weights, dtype=np.float64)
    if checked.shape != (n,):
        raise LinrankError(f"{name} has shape {checked.shape}; it must have one number a {each}, {n} in all.")
    bad = ~(np.isfinite(checked) & (checked >= 0))
    if bad.any():
        place = int(np.flatnonzero(bad)[0])
        raise LinrankError(f"{name}[{first + place}] is {checked[place]}; weights are finite and not negative.")
    return checked
