"""Writing svmlight / LETOR text that reads back to the same bits."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
from scipy import sparse

from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError
from linrank.files import replacing


def write_svmlight(path: str | os.PathLike[str], dataset: RankingDataset, *, zero_based: bool = False) -> None:
    """Write `label qid:id feature:value … # comment`, the shortest decimals that read back exactly.

    Zeros are left out of sparse data and written in dense data. The format has no place for feature names and weights:
    they are not written; nor are labels of documents that nothing retrieved, which is said by a warning.
    """
    if dataset.unretrieved is not None:
        warnings.warn(
            f"text has no place for the labels of {len(dataset.unretrieved.labels)} judged documents that nothing "
            "retrieved: measures on it will not count them as missed. Save as .linrank to keep them.",
            UserWarning,
            stacklevel=2,
        )
    ids = [str(query) for query in dataset.queries.ids.tolist()]
    for query in ids:
        if not query or any(letter.isspace() or letter == "#" for letter in query):
            raise LinrankError(
                f"the query id {query!r} cannot be written as svmlight text, where a blank or # ends it. Rename it."
            )
    first = 0 if zero_based else 1
    query_of = dataset.queries.of_rows().tolist()
    labels = [_number(label) for label in dataset.require_labels().tolist()]
    with replacing(path) as file:
        for row, (label, query) in enumerate(zip(labels, query_of, strict=True)):
            pairs = " ".join(f"{column + first}:{_number(value)}" for column, value in _entries(dataset.features, row))
            if "inf" in pairs:
                raise LinrankError(f"row {row} has an infinite value, which svmlight text does not know. Replace it.")
            comment = f" # {dataset.comments[row]}" if dataset.comments is not None and dataset.comments[row] else ""
            if len(comment.splitlines()) > 1:
                raise LinrankError(f"the comment of row {row} has more than one line; text has one line a document.")
            file.write(f"{label} qid:{ids[query]} {pairs}{comment}\n")


def _entries(features: Any, row: int) -> Any:
    if sparse.issparse(features):
        entries = slice(features.indptr[row], features.indptr[row + 1])
        return zip(features.indices[entries].tolist(), _exact(features.data[entries]), strict=True)
    return enumerate(_exact(features[row]))


def _exact(values: Any) -> list[Any]:
    # A float32 prints its own shortest form: nine digits at most, not the seventeen of the double it widens to.
    return values.tolist() if values.dtype == np.float64 else list(values)


def _number(value: Any) -> str:
    if value != value:  # noqa: PLR0124 - NaN alone differs from itself
        return "NULL"
    if abs(value) < 1e15 and value == int(value) and (value or not np.signbit(value)):
        return str(int(value))
    # A number in numpy's own type prints its shortest form.
    return str(value)
