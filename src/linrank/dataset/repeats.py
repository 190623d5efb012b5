"""What is there twice: rows and documents within a query, and columns that say what an earlier one says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector
from linrank.dataset.features import scores_of
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.loaded import is_sparse

_PAIRS_AT_A_TIME = 4096
_BYTES_IN_CACHE = 1 << 18
_EXAMPLES = 3
# How far apart the angles of two columns may be that are then compared value by value: a few roundings, magnified by
# the ratio of a column's values to how much they vary.
_ANGLE = {np.dtype(np.float64): 1e-8, np.dtype(np.float32): 1e-6}
# What may be left of a column, as a share of it, once a multiple of the other is taken away.
_RESIDUE = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-6}


@dataclass(frozen=True)
class Repeats:
    """How many documents stand in their query a second time, and how many of those with another label than the first.

    `examples` are of the latter: the query, the document id if there are any, the first label and the other.
    """

    repeated: int
    contradictory: int
    examples: tuple[tuple[str, str | None, float, float], ...]


class SameColumn(NamedTuple):
    """A column that is `factor` times another, up to a number that may differ from query to query."""

    column: int
    of: int
    factor: float


def repeated_rows(dataset: RankingDataset) -> Repeats:
    """Documents with the same features as an earlier one of their query."""
    prints = _row_prints(dataset.features)
    query_of = dataset.queries.of_rows()
    # Stable: among equal rows the one given first comes first.
    order = np.lexsort((prints, query_of))
    near = (prints[order[1:]] == prints[order[:-1]]) & (query_of[order[1:]] == query_of[order[:-1]])
    places = np.flatnonzero(near) + 1
    same = np.zeros(len(order), dtype=bool)
    same[places] = _rows_equal(dataset.features, order[places - 1], order[places])
    firsts = order[np.maximum.accumulate(np.where(same, 0, np.arange(len(order))))]
    return _repeats(dataset, order[same], firsts[same])


def repeated_documents(dataset: RankingDataset) -> Repeats | None:
    """Documents whose id an earlier one of their query has; None where documents have no ids."""
    docids = dataset.docids
    if docids is None:
        return None
    seen: dict[tuple[int, str], int] = {}
    rows, firsts = [], []
    for row, key in enumerate(zip(dataset.queries.of_rows().tolist(), docids, strict=True)):
        first = seen.setdefault(key, row)
        if first != row and key[1]:
            rows.append(row)
            firsts.append(first)
    return _repeats(dataset, np.array(rows, dtype=np.int64), np.array(firsts, dtype=np.int64), docids)


def _repeats(dataset: RankingDataset, rows: Offsets, firsts: Offsets, docids: list[str] | None = None) -> Repeats:
    if dataset.labels is None:
        return Repeats(len(rows), 0, ())
    differ = np.flatnonzero(dataset.labels[rows] != dataset.labels[firsts])
    qid = dataset.qid
    examples = tuple(
        (
            str(qid[rows[place]]),
            None if docids is None else docids[rows[place]],
            float(dataset.labels[firsts[place]]),
            float(dataset.labels[rows[place]]),
        )
        for place in differ[:_EXAMPLES].tolist()
    )
    return Repeats(len(rows), len(differ), examples)


def _row_prints(X: Any) -> Vector:
    """A number for each row, the same for rows that are equal: a random projection."""
    if X.shape[0] == 0:
        return np.empty(0)
    rng = np.random.default_rng(0)
    weights, of_missing = rng.standard_normal((2, int(X.shape[1])))
    # Divided by the columns' sizes, or a large column would drown the others in rounding.
    filled, missing = _without_nan(X)
    most, least = (_row(extreme) for extreme in (filled.max(axis=0), filled.min(axis=0)))
    sizes = np.maximum(most, -least)
    prints = scores_of(filled, weights / np.where((sizes > 1e-300) & np.isfinite(sizes), sizes, 1.0))
    return prints if missing is None else prints + scores_of(missing, of_missing)


def _row(values: Any) -> Vector:
    return np.asarray(values.toarray() if is_sparse(values) else values, dtype=np.float64).ravel()


def _without_nan(X: Any) -> tuple[Any, Any]:
    """The features with 0 for NaN, and 1 where NaN was; the features as they are, and None, where there is none."""
    lacking = np.isnan(X.data if is_sparse(X) else X)
    if not lacking.any():
        return X, None
    if is_sparse(X):
        shape = X.shape
        filled = scipy.sparse.csr_array((np.where(lacking, X.dtype.type(0), X.data), X.indices, X.indptr), shape=shape)
        return filled, scipy.sparse.csr_array((lacking.astype(np.float64), X.indices, X.indptr), shape=shape)
    return np.where(lacking, X.dtype.type(0), X), lacking.astype(np.float64)


def _rows_equal(X: Any, first: Offsets, second: Offsets) -> NDArray[np.bool_]:
    equal = np.ones(len(first), dtype=bool)
    for start in range(0, len(first), _PAIRS_AT_A_TIME):
        part = slice(start, start + _PAIRS_AT_A_TIME)
        one, other = X[first[part]], X[second[part]]
        if is_sparse(X):
            one, other = one.toarray(), other.toarray()
        equal[part] = ((one == other) | (np.isnan(one) & np.isnan(other))).all(axis=1)
    return equal


def repeated_columns(dataset: RankingDataset) -> list[SameColumn]:
    """Columns that carry nothing for a linear ranker that an earlier one does not.

    Column j repeats column i if x_j = factor x_i + a constant within every query, to rounding: a copy, the same in
    other units or upside down. Two projections on random numbers that add up to 0 within each query forget the
    constants; the angle between them forgets the factor; columns with the same angle are then compared value by value.
    (Of sparse features, where absent values are 0, only multiples count.)
    """
    filled = dataset if dataset.is_trainable else replace(dataset, features=_without_nan(dataset.features)[0])
    first, second = _projections(filled)
    angles = np.arctan2(second, first) % np.pi
    varies = (first != 0.0) | (second != 0.0)
    runs = list(_runs(angles, np.flatnonzero(varies), _ANGLE[dataset.features.dtype]))
    if not runs:
        return []
    columns = _Columns.of(dataset)
    found: list[SameColumn] = []
    for near in runs:
        kept: list[int] = []
        for column in sorted(near):
            factors = ((other, columns.factor(other, column)) for other in kept)
            same = next((SameColumn(column, other, by) for other, by in factors if by is not None), None)
            if same is None:
                kept.append(column)
            else:
                found.append(same)
    return sorted(found)


def without_repeated_columns(dataset: RankingDataset, costs: Vector) -> tuple[RankingDataset, dict[str, str]]:
    """The dataset with zeros in columns that say what another says, and which that is: a choice made once.

    Of columns that say the same the cheapest stays, and the first of equally cheap ones.
    """
    groups: dict[int, list[int]] = {}
    for same in repeated_columns(dataset):
        groups.setdefault(same.of, [same.of]).append(same.column)
    kept_of: dict[int, int] = {}
    for group in groups.values():
        kept = min(group, key=lambda column: (costs[column], column))
        kept_of |= {column: kept for column in group if column != kept}
    if not kept_of:
        return dataset, {}
    features = dataset.features.copy()
    if dataset.is_sparse:
        features.data[np.isin(features.indices, list(kept_of))] = 0.0
        features.eliminate_zeros()
    else:
        features[:, list(kept_of)] = 0.0
    names = dataset.names
    return replace(dataset, features=features), {names[j]: names[i] for j, i in sorted(kept_of.items())}


def _projections(dataset: RankingDataset) -> tuple[Vector, Vector]:
    """Every column times two columns of random numbers that add up to 0 within each query, in one read."""
    features, rng = dataset.grouped_features(), np.random.default_rng(0)
    noises = [_centred(rng.random(dataset.n_documents), dataset.queries.starts) for _ in range(2)]
    totals = np.zeros(dataset.n_features), np.zeros(dataset.n_features)
    rows_at_a_time = max(1, _BYTES_IN_CACHE * features.n_rows // max(1, features.n_bytes))
    for start in range(0, features.n_rows, rows_at_a_time):
        stop = min(start + rows_at_a_time, features.n_rows)
        part = features.rows(start, stop)
        for noise, total in zip(noises, totals, strict=True):
            part.transposed_product(noise[start:stop], total)
    return totals


def _centred(values: Vector, starts: Offsets) -> Vector:
    sizes = np.diff(starts)
    return values - np.repeat(np.add.reduceat(values, starts[:-1]) / sizes, sizes) if len(values) else values


def _runs(angles: Vector, candidates: Offsets, tolerance: float) -> Iterator[list[int]]:
    """Columns whose angles are next to one another, where there are at least two; angles go round at pi."""
    order = candidates[np.argsort(angles[candidates], kind="stable")]
    cuts = np.flatnonzero(np.diff(angles[order]) > tolerance) + 1
    runs = [run.tolist() for run in np.split(order, cuts)] if len(order) else []
    if len(runs) > 1 and angles[runs[0][0]] + np.pi - angles[runs[-1][-1]] <= tolerance:
        runs[0] += runs.pop()
    yield from (run for run in runs if len(run) > 1)


@dataclass(frozen=True)
class _Columns:
    """Columns by number, for comparing one with another; `lacking` has 1 where 0 stands for NaN, if anywhere."""

    values: Any
    lacking: Any
    starts: Offsets
    residue: float

    @classmethod
    def of(cls, dataset: RankingDataset) -> _Columns:
        order = dataset.queries.order
        features = dataset.features if order is None else dataset.features[order]
        values, lacking = _without_nan(features)
        if dataset.is_sparse:
            values, lacking = (None if X is None else _stored_columns(X) for X in (values, lacking))
        return cls(values, lacking, dataset.queries.starts, _RESIDUE[dataset.features.dtype])

    def factor(self, i: int, j: int) -> float | None:
        """What column i is to be multiplied by to give column j, if anything."""
        if self.lacking is not None and not _equal_columns(self.lacking, i, j):
            return None
        if is_sparse(self.values):
            here, there = _part(self.values, i), _part(self.values, j)
            if not np.array_equal(self.values.indices[here], self.values.indices[there]):
                return None
            one, other = self.values.data[here], self.values.data[there]
        else:
            one, other = (_centred(self.values[:, column].astype(np.float64), self.starts) for column in (i, j))
        square = one @ one
        if square == 0.0:
            return None
        by = float(one @ other / square)
        left = other - by * one
        return by if by != 0.0 and left @ left <= self.residue**2 * (other @ other) else None


def _stored_columns(X: Any) -> Any:
    matrix = scipy.sparse.csc_array(X).astype(np.float64)
    matrix.eliminate_zeros()
    return matrix


def _part(matrix: Any, column: int) -> slice:
    return slice(matrix.indptr[column], matrix.indptr[column + 1])


def _equal_columns(matrix: Any, i: int, j: int) -> bool:
    if is_sparse(matrix):
        return np.array_equal(matrix.indices[_part(matrix, i)], matrix.indices[_part(matrix, j)])
    return np.array_equal(matrix[:, i], matrix[:, j])
