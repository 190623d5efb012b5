"""What to do with values that are not there: one rule for every reader."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from linrank.arrays import Offsets
from linrank.compiled import kernel
from linrank.dataset.missing_rule import MissingRule, check_missing_rule
from linrank.dataset.queries import Queries
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError
from linrank.loaded import is_sparse

# Few enough that the mask of one piece stays in cache.
_VALUES_AT_A_TIME = 1 << 18


def fill_missing(
    features: NDArray[Any] | scipy.sparse.csr_array,
    queries: Queries,
    rule: MissingRule,
    names: Sequence[str],
) -> None:
    """Replace each NaN, in place, by what the rule says; an absent entry of a CSR matrix is a 0, not missing.

    Parameters
    ----------
    features : C-ordered array, or CSR matrix without repeated entries, of float32 or float64
    queries : which rows belong together
    rule : "error", "keep", "query_min" or a number
        "error" raises and names the first such feature and row; "keep" leaves NaN; a number stands for every missing
        value; "query_min" is the least value of that feature within the query, 0 where the whole query lacks it: the
        rule that LETOR describes, though its "min" files hold 0 for some features.
    names : one name a feature, for the message
    """
    if rule == "query_min":
        _fill_with_query_min(features, queries)
    else:
        fill_rows(features, rule, names)


def fill_rows(
    features: NDArray[Any] | scipy.sparse.csr_array, rule: MissingRule, names: Sequence[str], first_row: int = 0
) -> None:
    """The same where the rule looks at each row alone; "query_min", which does not, leaves them as they are."""
    check_missing_rule(rule)
    values = _values(features)
    if rule == "error":
        _refuse_missing(features, values, names, first_row)
    elif rule not in ("keep", "query_min"):
        number = float(rule)
        if abs(number) > float(np.finfo(values.dtype).max):
            raise LinrankError(f"missing={number!r} does not fit {values.dtype}. Use a smaller number or float64.")
        for piece in _pieces(values):
            piece[np.isnan(piece)] = number


def filled(
    dataset: RankingDataset, rule: MissingRule, needed: NDArray[np.bool_] | None = None
) -> tuple[RankingDataset, int]:
    """The dataset with every NaN replaced as the rule says, and how many there were; the one given stays as it is.

    A column that is not `needed`, since no weight looks at it, may lack what it likes: 0 stands for it, uncounted.
    """
    check_missing_rule(rule)
    values = _values(dataset.features)
    if not any(np.isnan(piece).any() for piece in _pieces(values)):
        return replace(dataset, missing=rule), 0
    features = dataset.features.copy()
    values = _values(features)
    lacking = np.isnan(values)
    if needed is not None:
        of_no_use = ~needed[features.indices] if is_sparse(features) else np.broadcast_to(~needed, lacking.shape)
        values[lacking & of_no_use] = 0.0
        lacking &= ~of_no_use
    fill_missing(features, dataset.queries, rule, dataset.names)
    return replace(dataset, features=features, missing=rule), int(np.count_nonzero(lacking))


def _values(features: Any) -> NDArray[Any]:
    values: NDArray[Any] = features.data if is_sparse(features) else features
    return values


def _pieces(values: NDArray[Any]) -> Iterator[NDArray[Any]]:
    rows = max(1, _VALUES_AT_A_TIME // max(1, math.prod(values.shape[1:])))
    for start in range(0, len(values), rows):
        yield values[start : start + rows]


def _refuse_missing(features: Any, values: NDArray[Any], names: Sequence[str], first_row: int) -> None:
    passed = 0
    for piece in _pieces(values):
        missing = np.argwhere(np.isnan(piece))
        if len(missing):
            place = passed + int(missing[0, 0])
            if is_sparse(features):
                row = int(features.indptr.searchsorted(place, side="right")) - 1
                column = int(features.indices[place])
            else:
                row, column = place, int(missing[0, 1])
            raise LinrankError(
                f"feature {names[column]!r} has no value (NaN) in row {first_row + row}; every document needs one. "
                'Say how to fill it: missing=0 or another number, or missing="query_min"; missing="keep" leaves it, '
                "for data that is only looked at."
            )
        passed += len(piece)


def _fill_with_query_min(features: Any, queries: Queries) -> None:
    rows: Offsets = np.arange(features.shape[0]) if queries.order is None else queries.order
    least = np.full(features.shape[1], np.nan, dtype=features.dtype)
    if is_sparse(features):
        columns = features.indices.astype(np.int32, copy=False)
        row_starts = features.indptr.astype(np.int64, copy=False)
        counts = np.zeros(features.shape[1], dtype=np.int64)
        _fill_sparse(features.data, columns, row_starts, rows, queries.starts, least, counts)
    else:
        _fill_dense(features, rows, queries.starts, least)


# In both kernels `least` is NaN where nothing has been seen, and a value is less unless it is known not to be.


@kernel
def _fill_dense(values, rows, query_starts, least):  # type: ignore[no-untyped-def]
    n_features = values.shape[1]
    for query in range(len(query_starts) - 1):
        first, last = query_starts[query], query_starts[query + 1]
        some_missing = False
        least[:] = np.nan
        for i in range(first, last):
            for j in range(n_features):
                value = values[rows[i], j]
                if np.isnan(value):
                    some_missing = True
                elif not value >= least[j]:
                    least[j] = value
        if some_missing:
            for i in range(first, last):
                for j in range(n_features):
                    if np.isnan(values[rows[i], j]):
                        values[rows[i], j] = 0.0 if np.isnan(least[j]) else least[j]


@kernel
def _fill_sparse(values, columns, row_starts, rows, query_starts, least, counts):  # type: ignore[no-untyped-def]
    for query in range(len(query_starts) - 1):
        first, last = query_starts[query], query_starts[query + 1]
        for i in range(first, last):
            for entry in range(row_starts[rows[i]], row_starts[rows[i] + 1]):
                counts[columns[entry]] += 1
                if not (np.isnan(values[entry]) or values[entry] >= least[columns[entry]]):
                    least[columns[entry]] = values[entry]
        for i in range(first, last):
            for entry in range(row_starts[rows[i]], row_starts[rows[i] + 1]):
                if np.isnan(values[entry]):
                    smallest = least[columns[entry]]
                    # A document without an entry has the value 0.
                    has_zero = counts[columns[entry]] < last - first
                    if np.isnan(smallest) or (has_zero and smallest > 0.0):
                        values[entry] = 0.0
                    else:
                        values[entry] = smallest
        for i in range(first, last):
            for entry in range(row_starts[rows[i]], row_starts[rows[i] + 1]):
                counts[columns[entry]] = 0
                least[columns[entry]] = np.nan
