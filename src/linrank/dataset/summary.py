"""What is in a dataset: counted without listing a single pair."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector, for_kernels
from linrank.compiled import kernel
from linrank.dataset.features import DenseFeatures, SparseFeatures, as_features
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.repeats import Repeats, SameColumn, repeated_columns, repeated_documents, repeated_rows
from linrank.dataset.stored_dataset import StoredDataset
from linrank.ordering import order_ascending

_ROWS_AT_A_TIME = 65536


class FeatureSummary(NamedTuple):
    """The range of a feature, None where it has no finite values, and the share of documents that lack it."""

    name: str
    least: float | None
    most: float | None
    missing: float


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
    """Groups of features that say the same to a linear ranker: equal up to a factor and a constant within queries."""
    duplicate_factors: dict[str, float]
    """What the first feature of its group is multiplied by to give each other one."""
    repeated_rows: Repeats
    """Documents with the features of an earlier one of their query."""
    repeated_documents: Repeats | None
    """Documents with the id of an earlier one of their query, where they have ids."""
    features: tuple[FeatureSummary, ...]

    def as_dict(self) -> dict[str, Any]:
        record = asdict(self)
        record["features"] = [feature._asdict() for feature in self.features]
        record["label_histogram"] = {f"{label:.15g}": count for label, count in self.label_histogram.items()}
        return record


# Sums over columns and rows are only compared with one another: one that leaves float64 does no harm.
@np.errstate(over="ignore", invalid="ignore")
def summarise(dataset: RankingDataset) -> DatasetSummary:
    """Count queries, documents, preference pairs, levels, and the features that cannot help a linear ranker."""
    pairs = count_pairs(dataset) if dataset.is_judged else np.zeros(dataset.n_queries, dtype=np.int64)
    sizes = dataset.queries.sizes
    names = np.asarray(dataset.names)
    columns = _describe_columns(dataset)
    missing = {str(names[j]): int(columns.missing[j]) for j in np.flatnonzero(columns.missing)}
    levels, counts = np.unique(dataset.labels if dataset.is_judged else np.empty(0), return_counts=True)
    # Constant columns are reported as constant, not as repeats of one another.
    repeats = [same for same in repeated_columns(dataset) if not columns.constant[same.of]]
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
        duplicated_features=_groups(repeats, names),
        duplicate_factors={str(names[same.column]): same.factor for same in repeats},
        repeated_rows=repeated_rows(dataset),
        repeated_documents=repeated_documents(dataset),
        features=_feature_summaries(columns, names, dataset.n_documents),
    )


def _groups(repeats: list[SameColumn], names: NDArray[Any]) -> tuple[tuple[str, ...], ...]:
    groups: dict[int, list[str]] = {}
    for same in repeats:
        groups.setdefault(same.of, [str(names[same.of])]).append(str(names[same.column]))
    return tuple(tuple(group) for _, group in sorted(groups.items()))


def _feature_summaries(columns: _Columns, names: NDArray[Any], n_documents: int) -> tuple[FeatureSummary, ...]:
    def finite(numbers: Vector) -> list[float | None]:
        return [number if np.isfinite(number) else None for number in numbers.tolist()]

    shares = (columns.missing / max(1, n_documents)).tolist()
    listed = zip(names.tolist(), finite(columns.lowest), finite(columns.highest), shares, strict=True)
    return tuple(FeatureSummary(*of_feature) for of_feature in listed)


def count_pairs(dataset: RankingDataset | StoredDataset) -> Offsets:
    """Preference pairs of each query: for each document, those of a lower label; of a file, chunk by chunk."""
    if not isinstance(dataset, RankingDataset):
        dataset.require_labels()
        return np.concatenate([count_pairs(chunk) for chunk in dataset.chunks(features=False)])
    starts = dataset.queries.starts
    labels = for_kernels(dataset.queries.grouped(dataset.require_labels()))
    ascending = np.empty(len(labels))
    order_ascending(labels, starts, np.empty(len(labels), dtype=np.int64), ascending)
    pairs = np.empty(dataset.n_queries, dtype=np.int64)
    _count_unequal(ascending, starts, pairs)
    return pairs


@kernel
def _count_unequal(ascending, query_starts, pairs):  # type: ignore[no-untyped-def]
    """Each label that stands after another one of its query makes a pair with all that are less."""
    for query in range(len(query_starts) - 1):
        first = query_starts[query]
        pairs[query] = 0
        lower = 0
        for row in range(first + 1, query_starts[query + 1]):
            if ascending[row] != ascending[row - 1]:
                lower = row - first
            pairs[query] += lower


def _histogram(levels: Vector, counts: Offsets) -> dict[float, int]:
    if len(levels) <= 20:
        return {float(level): int(count) for level, count in zip(levels, counts, strict=True)}
    binned, edges = np.histogram(levels, bins=10, weights=counts)
    return {float(edge): int(count) for edge, count in zip(edges[:-1], binned, strict=True)}


@dataclass(frozen=True)
class _Columns:
    lowest: Vector
    highest: Vector
    missing: Offsets
    stored: int

    @property
    def constant(self) -> NDArray[np.bool_]:
        return np.asarray((self.lowest == self.highest) & (self.missing == 0))


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
    stored = 0
    for start in range(0, features.n_rows, _ROWS_AT_A_TIME):
        rows = values[start : start + _ROWS_AT_A_TIME]
        missing += np.isnan(rows).sum(axis=0)
        stored += int(np.count_nonzero(rows))
        lowest = np.fmin(lowest, np.fmin.reduce(rows, axis=0))
        highest = np.fmax(highest, np.fmax.reduce(rows, axis=0))
    return _Columns(lowest, highest, missing, stored)


def _describe_sparse(features: SparseFeatures) -> _Columns:
    matrix = features.to_csr().tocsc()
    counts = np.diff(matrix.indptr)
    filled = np.flatnonzero(counts)
    lowest = np.zeros(features.n_features)
    highest = np.zeros(features.n_features)
    missing = np.zeros(features.n_features, dtype=np.int64)
    if len(filled):
        starts = matrix.indptr[filled]
        lowest[filled] = np.fmin.reduceat(matrix.data, starts)
        highest[filled] = np.fmax.reduceat(matrix.data, starts)
        absent = np.isnan(matrix.data)
        missing[filled] = np.add.reduceat(absent.astype(np.int64), starts)
    partial = counts < features.n_rows
    lowest[partial] = np.minimum(lowest[partial], 0.0)
    highest[partial] = np.maximum(highest[partial], 0.0)
    return _Columns(lowest, highest, missing, int(np.count_nonzero(matrix.data)))
