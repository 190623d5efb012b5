"""Scalings fitted to data: by the name that a user gives, or by what the features are like."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import scipy

from linrank.arrays import Vector, for_kernels
from linrank.compiled import kernel
from linrank.dataset.applied_scaling import ColumnScaling, QueryScaling, Scaling, ScalingKind
from linrank.dataset.feature_shapes import FeatureShapes
from linrank.dataset.features import DenseFeatures, as_features, refuse_missing
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.shaped_rows import ShapedRows
from linrank.dataset.signed_log import SignedLog
from linrank.dataset.sound_rows import csr_of, narrow
from linrank.errors import LinrankError, UnusableNumberError
from linrank.loaded import is_sparse

SCALINGS = ("auto", "none", *get_args(ScalingKind))
"""What a user may ask for."""

# What is read and computed with at a time: of a file nothing else is in memory.
_ROWS_AT_A_TIME = 65536
_NUMBERS_AT_A_TIME = 1 << 22
# Features whose ranges differ by no more than this are left alone by "auto".
_COMPARABLE = 1000.0
_ROWS_ENOUGH_FOR_UNITS = 10_000

Through = Callable[..., Iterable[Any]]
"""Who goes through the rows of a dataset: called as `one_after_the_other` is."""


def one_after_the_other(
    task: Callable[..., Any], dataset: RankingDataset, places: Sequence[Any], **common: Any
) -> Iterator[Any]:
    """What `task(rows, **common)` returns for the rows at each place; others may compute it elsewhere."""
    return (task(rows, **common) for place in places for rows in rows_at(dataset, place))


def fit_scaling(
    kind: ScalingKind,
    dataset: RankingDataset,
    through: Through = one_after_the_other,
    ranges: tuple[Vector, Vector] | None = None,
) -> Scaling:
    """Fit a scaling to a dataset: `standard`, `min-max`, `max-abs` a column, or `query` within each query.

    Who knows the least and the largest value of each feature already passes them as `ranges`.
    """
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
        least, most = ranges or _column_ranges(dataset, through)
        if not is_in_memory and not (np.isfinite(least) & np.isfinite(most)).all():
            # Looked for only here, since it is one more pass over a file.
            dataset.check_complete()
        if kind == "standard":
            shift, scale = _column_moments(dataset, through, least, most)
        elif kind == "min-max":
            shift, scale = least, most - least
        else:
            shift, scale = np.zeros_like(least), np.maximum(np.abs(least), np.abs(most))
    # A constant column carries no information: it is left as it is, rather than divided by zero.
    varies = most > least if kind != "max-abs" else scale > 0
    beyond = np.flatnonzero(varies & ~(np.isfinite(shift) & np.isfinite(scale)))
    if len(beyond):
        column = int(beyond[0])
        name = column + 1 if dataset.feature_names is None else repr(dataset.feature_names[column])
        raise UnusableNumberError(
            f"feature {name} is from {least[column]:g} to {most[column]:g}: too far for {kind} scaling "
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


def choose_scaling(name: str, dataset: RankingDataset, through: Through = one_after_the_other) -> ScalingChoice:
    """Fit what is asked for to the training data; `through` is who goes through it.

    With "auto", features whose ranges are within 1,000 times of one another are left alone. Others are standardised,
    and sparse ones divided by their largest size: a standard deviation would make features large that are rare.
    """
    if name not in SCALINGS:
        raise LinrankError(f"unknown scaling {name!r}; use one of {', '.join(SCALINGS)}.")
    if name == "none":
        return ScalingChoice(None, "weights are in the units of the features")
    if name != "auto":
        return ScalingChoice(fit_scaling(name, dataset, through), "")  # type: ignore[arg-type]
    ranges = _column_ranges(dataset, through)
    narrowest, widest, ratio = _extremes(dataset.names, *ranges)
    if ratio <= _COMPARABLE:
        return ScalingChoice(None, f"auto: the widest feature's range is {ratio:.3g} times the narrowest's")
    why = f"auto: the range of {widest!r} is {ratio:.3g} times that of {narrowest!r}"
    kind: ScalingKind = "max-abs" if dataset.is_sparse else "standard"
    return ScalingChoice(fit_scaling(kind, dataset, through, ranges), why)


def scaling_named(name: str, dataset: RankingDataset) -> Scaling | None:
    """The scaling alone of `choose_scaling`."""
    return choose_scaling(name, dataset).scaling


def _extremes(names: Sequence[str], least: Vector, most: Vector) -> tuple[str, str, float]:
    """The names of the features with the narrowest and the widest range, and how many times wider; 1 if none varies."""
    with np.errstate(over="ignore"):
        width = most - least
    varying = np.flatnonzero(width > 0)
    if len(varying) == 0:
        return "", "", 1.0
    narrow, wide = varying[np.argmin(width[varying])], varying[np.argmax(width[varying])]
    # By logarithms, since the quotient of a large and a small number may be too large.
    ratio = np.exp(min(np.log(width[wide]) - np.log(width[narrow]), 700.0)) if np.isfinite(width[wide]) else np.inf
    return names[narrow], names[wide], float(ratio)


def difference_of_units(dataset: RankingDataset) -> str | None:
    """Say by how much the features' ranges differ, where that is too much to compare their weights; None where not.

    The first documents are enough to see it by, whatever the size of the data.
    """
    if getattr(dataset, "scaling", None) is not None:
        # A file that is scaled as it is read.
        return None
    ranges = _column_ranges(dataset, one_after_the_other, _ROWS_ENOUGH_FOR_UNITS)
    narrowest, widest, ratio = _extremes(dataset.names, *ranges)
    return None if ratio <= _COMPARABLE else f"the range of {widest!r} is {ratio:.3g} times that of {narrowest!r}"


def scaled(
    dataset: RankingDataset, scaling: Scaling | None, *, in_place: bool = False, held: bool = True
) -> RankingDataset:
    """The dataset with its features scaled; those of a file are scaled as they are read.

    With `in_place`, which is for who read the features and needs them no more, a transform is written over them. Where
    they are not to be `held`, dense rows go through a transform each time they are computed with: the same bits.
    """
    if scaling is not None and hasattr(dataset, "scaled"):
        of_file: RankingDataset = dataset.scaled(scaling)
        return of_file
    if scaling is None:
        return dataset
    if isinstance(scaling, FeatureShapes | SignedLog):
        if not held and not dataset.is_sparse:
            raw = as_features(dataset.features)
            assert isinstance(raw, DenseFeatures)
            return replace(dataset, features=ShapedRows(raw, scaling))
        return replace(dataset, features=scaling.apply(dataset.features, n_threads=None, in_place=in_place))
    return replace(dataset, features=scaling.apply(dataset.features, dataset.queries))


def column_deviations(dataset: RankingDataset) -> Vector:
    """The standard deviation of each feature, of data in memory or in a file."""
    return _column_moments(dataset, one_after_the_other, *_column_ranges(dataset, one_after_the_other))[1]


def _column_moments(dataset: RankingDataset, through: Through, least: Vector, most: Vector) -> tuple[Vector, Vector]:
    """The mean and the standard deviation of each feature, of which the least and the largest value are known."""
    n_rows, n_features = max(1, dataset.n_documents), dataset.n_features
    # In units near each column's own size, so that no square is too large or too small. Powers of two round nothing.
    units = np.exp2(np.clip(np.frexp(np.maximum(np.abs(least), np.abs(most)))[1], -1000, 1000))
    total, squares = np.zeros(n_features), np.zeros(n_features)
    for of_part in through(column_sums, dataset, places_of(dataset), units=units):
        total += of_part
    mean = total / n_rows
    for of_part in through(squared_deviations, dataset, places_of(dataset), units=units, mean=mean):
        squares += of_part
    return mean * units, np.sqrt(squares / n_rows) * units


def _column_ranges(dataset: RankingDataset, through: Through, n_rows: int | None = None) -> tuple[Vector, Vector]:
    """The least and the largest value of each feature, in all rows or the first of them."""
    least, most = np.full(dataset.n_features, np.inf), np.full(dataset.n_features, -np.inf)
    for lowest, highest in through(column_ranges, dataset, places_of(dataset, n_rows)):
        least, most = np.minimum(least, lowest), np.maximum(most, highest)
    return least, most


def places_of(dataset: RankingDataset, most: int | None = None) -> Sequence[Any]:
    """Where all rows are or the first of them: slices, the same in memory and in a file; or partitions."""
    if most is None and hasattr(dataset, "as_they_stand"):
        dataset.check_as_they_stand()  # type: ignore[attr-defined]
        numbers: Sequence[int] = dataset.chunk_bounds()  # type: ignore[attr-defined]
        return numbers
    n_rows = int(dataset.features.shape[0])
    n_rows = min(n_rows, most or n_rows)
    a_row = 1 if dataset.is_sparse else max(1, dataset.n_features)
    step = max(1, min(_ROWS_AT_A_TIME, _NUMBERS_AT_A_TIME // a_row))
    return [slice(start, min(n_rows, start + step)) for start in range(0, n_rows, step)]


def rows_at(dataset: Any, place: Any) -> Iterator[Any]:
    """The rows of a slice, or of a partition, some at a time."""
    if isinstance(place, slice):
        yield _some_rows(dataset.features, place)
        return
    for part in dataset.as_they_stand([place]):
        for rows in places_of(part):
            yield _some_rows(part.features, rows)


def _some_rows(features: Any, place: slice) -> Any:
    """Neighbouring rows; those of a CSR matrix as a view, where scipy would copy them."""
    if not is_sparse(features):
        return features[place]
    first, last = features.indptr[place.start], features.indptr[place.stop]
    starts = features.indptr[place.start : place.stop + 1] - first
    return csr_of(features.data[first:last], features.indices[first:last], starts, int(features.shape[1]))


# Of some rows: module-level functions whose inputs are arguments, so that they can travel to another process.


def column_ranges(rows: Any) -> tuple[Vector, Vector]:
    """The least and the largest value of each column."""
    if not is_sparse(rows):
        return rows.min(axis=0).astype(np.float64), rows.max(axis=0).astype(np.float64)
    n_rows, n_features = rows.shape
    least, most = np.full(n_features, np.inf), np.full(n_features, -np.inf)
    counts = np.zeros(n_features, dtype=np.int64)
    _widen_ranges(for_kernels(rows.data), narrow(rows.indices, rows.indptr)[0], least, most, counts)
    # Where a row has no entry it has a zero.
    absent = counts < n_rows
    return np.where(absent, np.minimum(least, 0.0), least), np.where(absent, np.maximum(most, 0.0), most)


@kernel
def _widen_ranges(values, columns, least, most, counts):  # type: ignore[no-untyped-def]
    for entry in range(len(values)):
        value, column = values[entry], columns[entry]
        counts[column] += 1
        # NaN is neither less nor more; what is missing stays so.
        if value < least[column] or np.isnan(value):
            least[column] = value
        if value > most[column] or np.isnan(value):
            most[column] = value


def column_sums(rows: Any, *, units: Vector) -> Vector:
    """The sum of each column, in its units."""
    sums: Vector = _in_units(rows, units).sum(axis=0, dtype=np.float64)
    return sums


def squared_deviations(rows: Any, *, units: Vector, mean: Vector) -> Vector:
    """The sum of the squares of each column, in its units and from its mean."""
    with np.errstate(over="ignore", invalid="ignore"):
        rows = _in_units(rows, units)
        if not is_sparse(rows):
            return np.square(rows - mean).sum(axis=0)  # type: ignore[no-any-return]
        columns = rows.indices
        deviations = np.bincount(columns, np.square(rows.data - mean[columns]), minlength=len(mean))
        absent = rows.shape[0] - np.bincount(columns, minlength=len(mean))
        return deviations + absent * np.square(mean)  # type: ignore[no-any-return]


def _in_units(rows: Any, units: Vector) -> Any:
    if is_sparse(rows):
        return scipy.sparse.csr_array((rows.data / units[rows.indices], rows.indices, rows.indptr), shape=rows.shape)
    return rows / units
