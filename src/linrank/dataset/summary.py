"""What is in a dataset: counted without listing a single pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector
from linrank.dataset.features import DenseFeatures, SparseFeatures, as_features
from linrank.dataset.ranking_dataset import RankingDataset

_ROWS_AT_A_TIME = 65536


@dataclass(frozen=True)
class DatasetSummary:
    """Counts of a dataset; `as_dict()` for JSON."""

    n_queries: int
    n_documents: int
    n_features: int
    n_pairs: int
    layout: str
    dtype: str
    density: float
    smallest_query: int
    median_query: float
    largest_query: int
    n_levels: int
    label_histogram: dict[float, int]
    """Documents of each label, or of each of ten equal ranges of labels where there are more than 20."""
    queries_without_pairs: int
    constant_features: tuple[str, ...]
    missing_values: dict[str, int]
    """How many documents lack each feature, for those that any lacks."""
    duplicated_features: tuple[tuple[str, ...], ...]
    """Groups of features that are equal in every document."""

    def as_dict(self) -> dict[str, Any]:
        record = asdict(self)
        record["label_histogram"] = {f"{label:.15g}": count for label, count in self.label_histogram.items()}
        return record


def summarise(dataset: RankingDataset) -> DatasetSummary:
    """Count queries, documents, preference pairs, levels, and the features that cannot help a linear ranker."""
    pairs = count_pairs(dataset)
    sizes = dataset.queries.sizes
    names = np.asarray(dataset.names)
    # Sums over a column are only compared with one another: one that leaves float64 does no harm.
    with np.errstate(over="ignore", invalid="ignore"):
        columns = _describe_columns(dataset)
    missing = {str(names[j]): int(columns.missing[j]) for j in np.flatnonzero(columns.missing)}
    levels, counts = np.unique(dataset.labels, return_counts=True)
    return DatasetSummary(
        n_queries=dataset.n_queries,
        n_documents=dataset.n_documents,
        n_features=dataset.n_features,
        n_pairs=int(pairs.sum()),
        layout="sparse" if dataset.is_sparse else "dense",
        dtype=str(dataset.features.dtype),
        density=columns.stored / max(1, dataset.n_documents * dataset.n_features),
        smallest_query=int(sizes.min(initial=dataset.n_documents)),
        median_query=float(np.median(sizes)) if len(sizes) else 0.0,
        largest_query=int(sizes.max(initial=0)),
        n_levels=len(levels),
        label_histogram=_histogram(levels, counts),
        queries_without_pairs=int(np.count_nonzero(pairs == 0)),
        constant_features=tuple(str(names[j]) for j in np.flatnonzero(columns.constant)),
        missing_values=missing,
        duplicated_features=tuple(tuple(str(names[j]) for j in group) for group in columns.duplicated),
    )


def count_pairs(dataset: RankingDataset) -> Offsets:
    """Preference pairs of each query: (l^2 - sum over levels of count^2) / 2."""
    query_of = dataset.queries.of_rows()
    order = np.lexsort((dataset.labels, query_of))
    query_of, labels = query_of[order], dataset.labels[order]
    new = np.ones(len(labels), dtype=bool)
    new[1:] = (query_of[1:] != query_of[:-1]) | (labels[1:] != labels[:-1])
    first = np.flatnonzero(new)
    counts = np.diff(np.append(first, len(labels)))
    equal = np.zeros(dataset.n_queries, dtype=np.int64)
    np.add.at(equal, query_of[first], counts * counts)
    return (dataset.queries.sizes**2 - equal) // 2


def _histogram(levels: Vector, counts: Offsets) -> dict[float, int]:
    if len(levels) <= 20:
        return {float(level): int(count) for level, count in zip(levels, counts, strict=True)}
    binned, edges = np.histogram(levels, bins=10, weights=counts)
    return {float(edge): int(count) for edge, count in zip(edges[:-1], binned, strict=True)}


@dataclass(frozen=True)
class _Columns:
    constant: NDArray[np.bool_]
    missing: Offsets
    duplicated: list[list[int]]
    stored: int


def _describe_columns(dataset: RankingDataset) -> _Columns:
    features = as_features(dataset.features)
    if isinstance(features, DenseFeatures):
        return _describe_dense(features)
    return _describe_sparse(features)


def _describe_dense(features: DenseFeatures) -> _Columns:
    values = features.values
    lowest = np.full(features.n_features, np.inf)
    highest = np.full(features.n_features, -np.inf)
    missing = np.zeros(features.n_features, dtype=np.int64)
    prints = np.zeros(features.n_features)
    stored = 0
    rng = np.random.default_rng(0)
    for start in range(0, features.n_rows, _ROWS_AT_A_TIME):
        rows = values[start : start + _ROWS_AT_A_TIME]
        absent = np.isnan(rows)
        missing += absent.sum(axis=0)
        stored += int(np.count_nonzero(rows))
        lowest = np.fmin(lowest, np.fmin.reduce(rows, axis=0))
        highest = np.fmax(highest, np.fmax.reduce(rows, axis=0))
        if absent.any():
            rows = np.where(absent, np.pi, rows)
        prints += rng.standard_normal(len(rows)) @ rows
    constant = (lowest == highest) & (missing == 0)

    def equal(i: int, j: int) -> bool:
        return np.array_equal(values[:, i], values[:, j], equal_nan=True)

    return _Columns(constant, missing, _duplicates(prints, constant, equal), stored)


def _describe_sparse(features: SparseFeatures) -> _Columns:
    matrix = features.to_csr().tocsc()
    counts = np.diff(matrix.indptr)
    filled = np.flatnonzero(counts)
    lowest = np.zeros(features.n_features)
    highest = np.zeros(features.n_features)
    missing = np.zeros(features.n_features, dtype=np.int64)
    prints = np.zeros(features.n_features)
    if len(filled):
        starts = matrix.indptr[filled]
        lowest[filled] = np.fmin.reduceat(matrix.data, starts)
        highest[filled] = np.fmax.reduceat(matrix.data, starts)
        absent = np.isnan(matrix.data)
        missing[filled] = np.add.reduceat(absent.astype(np.int64), starts)
        rows = np.random.default_rng(0).standard_normal(features.n_rows)
        prints[filled] = np.add.reduceat(rows[matrix.indices] * np.where(absent, np.pi, matrix.data), starts)
    partial = counts < features.n_rows
    lowest[partial] = np.minimum(lowest[partial], 0.0)
    highest[partial] = np.maximum(highest[partial], 0.0)
    constant = (lowest == highest) & (missing == 0)

    def equal(i: int, j: int) -> bool:
        first = slice(matrix.indptr[i], matrix.indptr[i + 1])
        second = slice(matrix.indptr[j], matrix.indptr[j + 1])
        return np.array_equal(matrix.indices[first], matrix.indices[second]) and np.array_equal(
            matrix.data[first], matrix.data[second], equal_nan=True
        )

    return _Columns(constant, missing, _duplicates(prints, constant, equal), int(np.count_nonzero(matrix.data)))


def _duplicates(prints: Vector, constant: NDArray[np.bool_], equal: Callable[[int, int], bool]) -> list[list[int]]:
    """Groups of equal columns: those whose random projections agree are compared value by value.

    Constant columns are reported as constant, not as duplicates of one another.
    """
    candidates = np.flatnonzero(~constant)
    # Equal columns may differ in the last bits of a sum that a library adds in blocks of columns.
    keys = np.array([f"{value:.9e}" for value in prints[candidates]])
    _, group_of, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    groups: list[list[int]] = []
    for group in np.flatnonzero(sizes > 1):
        rest = candidates[group_of == group].tolist()
        while rest:
            first = rest[0]
            same = [first, *(other for other in rest[1:] if equal(first, other))]
            if len(same) > 1:
                groups.append(same)
            rest = [other for other in rest if other not in same]
    return sorted(groups)
