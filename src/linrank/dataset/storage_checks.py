"""What must hold of the arrays of a `.linrank` file before anything follows their numbers.

A checksum guards against accidents; whoever writes a file can write the checksum that fits it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets
from linrank.dataset.sound_rows import look_at_rows
from linrank.dataset.storage_layout import Layout


def problem_of_arrays(arrays: Mapping[str, NDArray[Any]], layout: Layout) -> str | None:
    """What is wrong with the content of arrays whose types and shapes are right, if anything."""
    starts, order = arrays["query_starts"], arrays.get("order")
    if not _fill(starts, layout.n_documents) or (starts[1:] <= starts[:-1]).any():
        return f"its queries do not follow one another up to document {layout.n_documents}"
    if order is not None and not _is_permutation(order):
        return "the order of its rows names a row twice, or one that is not there"
    return (
        _problem_of_ids(arrays, layout)
        or _problem_of_numbers(arrays)
        or _problem_of_comments(arrays)
        or _problem_of_unretrieved(arrays)
        or ("values" in arrays and _problem_of_rows(arrays, layout))
        or None
    )


# Neighbours are compared, not subtracted: the difference of two numbers of 64 bits may come round to the right sign.


def _fill(starts: Offsets, n: int) -> bool:
    return bool(starts[0] == 0 and starts[-1] == n)


def _is_permutation(order: Offsets) -> bool:
    if order.min(initial=0) < 0 or order.max(initial=-1) >= len(order):
        return False
    seen = np.zeros(len(order), dtype=bool)
    seen[order] = True
    return bool(seen.all())


def _problem_of_ids(arrays: Mapping[str, NDArray[Any]], layout: Layout) -> str | None:
    if layout.query_ids is not None:
        bad = next((value for value in layout.query_ids if not isinstance(value, str | int | float)), None)
        return None if bad is None else f"the query id {bad!r} is neither a number nor text"
    return problem_of_ids(arrays["query_ids"])


def problem_of_ids(ids: NDArray[Any]) -> str | None:
    """What is wrong with query ids: not all bytes are text or dates."""
    try:
        for value in ids.tolist():
            if isinstance(value, str):
                value.encode()
    except (OverflowError, SystemError, ValueError) as error:
        return f"its query ids cannot be understood ({error})"
    return None


def _problem_of_numbers(arrays: Mapping[str, NDArray[Any]]) -> str | None:
    labels = arrays.get("labels")
    if labels is not None and not np.isfinite(labels).all():
        row = int(np.flatnonzero(~np.isfinite(labels))[0])
        return f"the label in row {row} is {labels[row]}; labels are finite numbers"
    for name in ("document_weights", "query_weights"):
        weights = arrays.get(name)
        if weights is not None and not (np.isfinite(weights) & (weights >= 0)).all():
            return f"{name} holds a number that is negative or not finite"
    return None


def _problem_of_comments(arrays: Mapping[str, NDArray[Any]]) -> str | None:
    starts = arrays.get("comment_starts")
    if starts is None:
        return None
    if not _fill(starts, len(arrays["comment_letters"])):
        return "its comments do not fill the place they have"
    return "a comment ends before it starts" if (starts[1:] < starts[:-1]).any() else None


def _problem_of_unretrieved(arrays: Mapping[str, NDArray[Any]]) -> str | None:
    starts = arrays.get("unretrieved_starts")
    if starts is None:
        return None
    labels = arrays["unretrieved_labels"]
    sound = _fill(starts, len(labels)) and (starts[1:] >= starts[:-1]).all() and np.isfinite(labels).all()
    return None if sound else "its labels of documents that nothing retrieved do not belong to its queries"


def _problem_of_rows(arrays: Mapping[str, NDArray[Any]], layout: Layout) -> str | None:
    starts, columns = arrays["row_starts"], arrays["columns"]
    if not _fill(starts, len(columns)):
        return "the rows of its features do not fill the place they have"
    problem, ascending = look_at_rows(columns, starts, len(columns), (layout.n_documents, layout.n_features))
    return problem or (None if ascending else "the columns of a row do not ascend")
