"""Feature scaling that travels with a model and, where it can, folds into weights for raw features."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, get_args

import numpy as np
from scipy import sparse

from linrank.arrays import Vector
from linrank.compiled import kernel
from linrank.dataset.features import SparseFeatures, as_features, refuse_missing
from linrank.dataset.queries import Queries
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError, UnusableNumberError

ScalingKind = Literal["standard", "min-max", "max-abs", "query"]
SCALINGS = ("auto", "none", *get_args(ScalingKind))
"""What a user may ask for."""

# What is read and computed with at a time: of a file nothing else is in memory.
_ROWS_AT_A_TIME = 65536
_NUMBERS_AT_A_TIME = 1 << 22
# Features whose ranges differ by no more than this are left alone by "auto".
_COMPARABLE = 1000.0
_ROWS_ENOUGH_FOR_UNITS = 10_000


class Scaling(Protocol):
    """A change of features that is fitted once and then applied to any data with the same columns."""

    @property
    def kind(self) -> ScalingKind: ...

    def apply(self, X: Any, queries: Queries | None = None) -> Any:
        """The scaled features, as a new array or CSR matrix of the same dtype."""
        ...

    def fold(self, weights: Vector) -> Vector:
        """The weights that rank raw features as `weights` ranks scaled ones."""
        ...

    def unfold(self, weights: Vector) -> Vector:
        """The inverse of `fold`: the weights of scaled features that rank as `weights` ranks raw ones."""
        ...


@dataclass(frozen=True, eq=False)
class ColumnScaling:
    """scaled = (x - shift) / scale, one shift and one scale a column.

    A ranking depends on differences within a query only, so sparse features are not shifted: they stay sparse,
    and every order stays the same.
    """

    kind: ScalingKind
    shift: Vector
    scale: Vector

    def apply(self, X: Any, queries: Queries | None = None) -> Any:  # noqa: ARG002 - one signature for every scaling
        self._check_width(int(X.shape[1]))
        if sparse.issparse(X):
            features = as_features(X)
            assert isinstance(features, SparseFeatures)
            values = features.values / self.scale.astype(features.values.dtype)[features.columns]
            return replace(features, values=values).to_csr()
        values = as_features(X).to_dense()
        # Straight into the result's own type: no float64 copy of float32 features.
        scaled = np.subtract(values, self.shift, out=np.empty_like(values), casting="same_kind")
        return np.divide(scaled, self.scale, out=scaled, casting="same_kind")

    def fold(self, weights: Vector) -> Vector:
        # w . (x - shift) / scale = (w / scale) . x - constant, and a constant changes no order.
        self._check_width(len(weights))
        return weights / self.scale

    def unfold(self, weights: Vector) -> Vector:
        self._check_width(len(weights))
        return weights * self.scale

    def _check_width(self, width: int) -> None:
        if width != len(self.scale):
            raise LinrankError(f"the scaling was fitted on {len(self.scale)} features, but there are {width}.")


@dataclass(frozen=True)
class QueryScaling:
    """scaled = (x - least) / (most - least) within each query, as LETOR's QueryLevelNorm; 0 where all are equal.

    Sparse features are divided by (most - least) and not shifted, which changes no order.
    """

    kind: ScalingKind = "query"

    def apply(self, X: Any, queries: Queries | None = None) -> Any:
        if queries is None:
            raise LinrankError("scaling by query needs to know the queries. Pass qid.")
        features = as_features(X)
        if features.n_rows != queries.n_documents:
            raise LinrankError(f"there are {features.n_rows} rows, but the queries have {queries.n_documents}.")
        grouped = features if queries.order is None else features.take(queries.order)
        if isinstance(grouped, SparseFeatures):
            values = grouped.values.copy()
            _scale_sparse_queries(
                values, grouped.columns, grouped.starts, queries.starts, *np.zeros((3, grouped.n_features))
            )
            matrix = SparseFeatures(values, grouped.columns, grouped.starts, grouped.n_features).to_csr()
            return matrix if queries.order is None else matrix[np.argsort(queries.order)]
        scaled = grouped.values.copy()
        _scale_dense_queries(scaled, queries.starts, *np.zeros((2, grouped.n_features)))
        return queries.ungrouped(scaled)

    def fold(self, weights: Vector) -> Vector:
        raise LinrankError(
            f"{len(weights)} weights on features scaled by query cannot be folded into weights on raw features: "
            "the scale differs from query to query. Train with scaling 'standard', 'min-max' or 'max-abs' to export."
        )

    def unfold(self, weights: Vector) -> Vector:
        return self.fold(weights)


def fit_scaling(kind: ScalingKind, dataset: RankingDataset) -> Scaling:
    """Fit a scaling to a dataset: `standard`, `min-max`, `max-abs` a column, or `query` within each query."""
    if kind == "query":
        return QueryScaling()
    if kind not in get_args(ScalingKind):
        raise LinrankError(f"unknown scaling {kind!r}; use one of {', '.join(get_args(ScalingKind))}.")
    is_in_memory = isinstance(dataset, RankingDataset)
    # A mean with NaN in it would spread it over the whole column.
    if is_in_memory:
        refuse_missing(dataset.features, dataset.names)
    # What is too large for its square is refused below.
    with np.errstate(over="ignore", invalid="ignore"):
        moments = _column_moments(dataset)
        if not is_in_memory and not np.isfinite(moments.mean).all():
            # Looked for only here, since it is one more pass over a file.
            dataset.check_complete()
        if kind == "standard":
            shift, scale = moments.mean, moments.deviation
        elif kind == "min-max":
            shift, scale = moments.least, moments.most - moments.least
        else:
            shift, scale = np.zeros_like(moments.mean), np.maximum(np.abs(moments.least), np.abs(moments.most))
    # A constant column carries no information: it is left as it is, rather than divided by zero.
    varies = moments.most > moments.least if kind != "max-abs" else scale > 0
    beyond = np.flatnonzero(varies & ~(np.isfinite(shift) & np.isfinite(scale)))
    if len(beyond):
        column = int(beyond[0])
        name = column + 1 if dataset.feature_names is None else repr(dataset.feature_names[column])
        raise UnusableNumberError(
            f"feature {name} is from {moments.least[column]:g} to {moments.most[column]:g}: too far for {kind} scaling "
            "in float64. If such a number stands for a missing value, replace it; otherwise divide the column."
        )
    return ColumnScaling(kind, shift, np.where(varies & (scale > 0), scale, 1.0))


@dataclass(frozen=True)
class ScalingChoice:
    """A scaling, or none, and what "auto" decided it by."""

    scaling: Scaling | None
    why: str

    def __str__(self) -> str:
        kind = "none" if self.scaling is None else self.scaling.kind
        return f"{kind} ({self.why})" if self.why else kind


def choose_scaling(name: str, dataset: RankingDataset) -> ScalingChoice:
    """Fit what is asked for to the training data.

    With "auto", features whose ranges are within 1,000 times of one another are left alone. Others are standardised,
    and sparse ones divided by their largest size: a standard deviation would make features large that are rare.
    """
    if name not in SCALINGS:
        raise LinrankError(f"unknown scaling {name!r}; use one of {', '.join(SCALINGS)}.")
    if name == "none":
        return ScalingChoice(None, "weights are in the units of the features")
    if name != "auto":
        return ScalingChoice(fit_scaling(name, dataset), "")  # type: ignore[arg-type]
    narrowest, widest, ratio = range_extremes(dataset)
    if ratio <= _COMPARABLE:
        return ScalingChoice(None, f"auto: the widest feature's range is {ratio:.3g} times the narrowest's")
    why = f"auto: the range of {widest!r} is {ratio:.3g} times that of {narrowest!r}"
    return ScalingChoice(fit_scaling("max-abs" if dataset.is_sparse else "standard", dataset), why)


def scaling_named(name: str, dataset: RankingDataset) -> Scaling | None:
    """The scaling alone of `choose_scaling`."""
    return choose_scaling(name, dataset).scaling


def range_extremes(dataset: RankingDataset, n_rows: int | None = None) -> tuple[str, str, float]:
    """The names of the features with the narrowest and the widest range, and how many times wider; 1 if none varies."""
    least, most = _column_ranges(dataset, n_rows)
    with np.errstate(over="ignore"):
        width = most - least
    varying = np.flatnonzero(width > 0)
    if len(varying) == 0:
        return "", "", 1.0
    narrow, wide = varying[np.argmin(width[varying])], varying[np.argmax(width[varying])]
    # By logarithms, since the quotient of a large and a small number may be too large.
    ratio = np.exp(min(np.log(width[wide]) - np.log(width[narrow]), 700.0)) if np.isfinite(width[wide]) else np.inf
    return dataset.names[narrow], dataset.names[wide], float(ratio)


def difference_of_units(dataset: RankingDataset) -> str | None:
    """Say by how much the features' ranges differ, where that is too much to compare their weights; None where not.

    The first documents are enough to see it by, whatever the size of the data.
    """
    if getattr(dataset, "scaling", None) is not None:
        # A file that is scaled as it is read.
        return None
    narrowest, widest, ratio = range_extremes(dataset, _ROWS_ENOUGH_FOR_UNITS)
    return None if ratio <= _COMPARABLE else f"the range of {widest!r} is {ratio:.3g} times that of {narrowest!r}"


def scaled(dataset: RankingDataset, scaling: Scaling | None) -> RankingDataset:
    """The dataset with its features scaled; those of a file are scaled as they are read."""
    if scaling is not None and hasattr(dataset, "scaled"):
        of_file: RankingDataset = dataset.scaled(scaling)
        return of_file
    return dataset if scaling is None else replace(dataset, features=scaling.apply(dataset.features, dataset.queries))


def folded(weights: Vector, scaling: Scaling | None) -> Vector:
    """The weights of raw features."""
    return weights if scaling is None else scaling.fold(weights)


@dataclass(frozen=True)
class _Moments:
    mean: Vector
    deviation: Vector
    least: Vector
    most: Vector


def _column_moments(dataset: RankingDataset) -> _Moments:
    n_rows, n_features = max(1, dataset.n_documents), dataset.n_features
    least, most = _column_ranges(dataset)
    # In units near each column's own size, so that no square is too large or too small. Powers of two round nothing.
    units = np.exp2(np.clip(np.frexp(np.maximum(np.abs(least), np.abs(most)))[1], -1000, 1000))
    total, squares = np.zeros(n_features), np.zeros(n_features)
    for part in _parts(dataset):
        total += _in_units(dataset.features[part], units).sum(axis=0, dtype=np.float64)
    mean = total / n_rows
    for part in _parts(dataset):
        squares += _squared_deviations(_in_units(dataset.features[part], units), mean)
    return _Moments(mean * units, np.sqrt(squares / n_rows) * units, least, most)


def _in_units(rows: Any, units: Vector) -> Any:
    if sparse.issparse(rows):
        return sparse.csr_array((rows.data / units[rows.indices], rows.indices, rows.indptr), shape=rows.shape)
    return rows / units


def _column_ranges(dataset: RankingDataset, n_rows: int | None = None) -> tuple[Vector, Vector]:
    """The least and the largest value of each feature, in all rows or the first of them."""
    least, most = np.full(dataset.n_features, np.inf), np.full(dataset.n_features, -np.inf)
    for part in _parts(dataset, n_rows):
        rows = dataset.features[part]
        least = np.minimum(least, _dense_row(rows.min(axis=0)))
        most = np.maximum(most, _dense_row(rows.max(axis=0)))
    return least, most


def _parts(dataset: RankingDataset, most: int | None = None) -> list[slice]:
    """All rows or the first of them, some at a time: the same ones whether they are in memory or in a file."""
    # Of a folder of files, the rows of the first.
    n_rows = int(dataset.features.shape[0])
    n_rows = min(n_rows, most or n_rows)
    a_row = 1 if dataset.is_sparse else max(1, dataset.n_features)
    step = max(1, min(_ROWS_AT_A_TIME, _NUMBERS_AT_A_TIME // a_row))
    return [slice(start, min(n_rows, start + step)) for start in range(0, n_rows, step)]


def _dense_row(row: Any) -> Vector:
    return np.asarray(row.toarray() if sparse.issparse(row) else row, dtype=np.float64).ravel()


def _squared_deviations(rows: Any, mean: Vector) -> Vector:
    if not sparse.issparse(rows):
        return np.square(rows - mean).sum(axis=0)  # type: ignore[no-any-return]
    columns = rows.indices
    deviations = np.bincount(columns, np.square(rows.data - mean[columns]), minlength=len(mean))
    absent = rows.shape[0] - np.bincount(columns, minlength=len(mean))
    return deviations + absent * np.square(mean)  # type: ignore[no-any-return]


@kernel
def _scale_dense_queries(values, starts, least, most):  # type: ignore[no-untyped-def]
    n_features = values.shape[1]
    for query in range(len(starts) - 1):
        for j in range(n_features):
            least[j] = np.inf
            most[j] = -np.inf
        for i in range(starts[query], starts[query + 1]):
            for j in range(n_features):
                least[j] = min(least[j], values[i, j])
                most[j] = max(most[j], values[i, j])
        for i in range(starts[query], starts[query + 1]):
            for j in range(n_features):
                width = most[j] - least[j]
                values[i, j] = (values[i, j] - least[j]) / width if width > 0.0 else 0.0


@kernel
def _scale_sparse_queries(values, columns, row_starts, starts, least, most, present):  # type: ignore[no-untyped-def]
    for query in range(len(starts) - 1):
        n_rows = starts[query + 1] - starts[query]
        first, last = row_starts[starts[query]], row_starts[starts[query + 1]]
        # Only the columns the query has are touched, and reset afterwards.
        for entry in range(first, last):
            column = columns[entry]
            if present[column] == 0.0:
                least[column] = values[entry]
                most[column] = values[entry]
            present[column] += 1.0
            least[column] = min(least[column], values[entry])
            most[column] = max(most[column], values[entry])
        for entry in range(first, last):
            column = columns[entry]
            if 0.0 < present[column] < n_rows:
                least[column] = min(least[column], 0.0)
                most[column] = max(most[column], 0.0)
        for entry in range(first, last):
            column = columns[entry]
            width = most[column] - least[column]
            values[entry] = values[entry] / width if width > 0.0 else 0.0
        for entry in range(first, last):
            present[columns[entry]] = 0.0
