"""Transforms of features fitted to data in one pass: a monotone curve a feature, from the values it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from linrank.arrays import Vector, offsets_from_sizes
from linrank.compiled import kernel
from linrank.dataset.column_values import (
    ColumnValues,
    Found,
    column_values,
    gathered,
    most_of_a_part,
    most_to_hold,
    of_columns_apart,
)
from linrank.dataset.feature_shapes import FeatureShapes
from linrank.dataset.features import refuse_missing
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import Through, one_after_the_other, places_of
from linrank.dataset.signed_log import SignedLog, signed_log
from linrank.errors import LinrankError, UnusableNumberError
from linrank.loaded import is_sparse

TransformKind: TypeAlias = Literal["rank-gauss", "signed-log"]
Transform: TypeAlias = FeatureShapes | SignedLog

KNOTS = 64
RARE = 0.99
"""A feature with this share of zeros is rare: its other values would be ten standard deviations large and more."""
# Points of the exact curve that knots are chosen from: so far apart in rank, and in the tails in shares of the tail.
_FINE_RANK, _FINE_TAIL = 1.0 / 1024, 1.0 / 32
# Of float64: a knot that is nearer to its neighbour, or further from all others, has no slope.
_NEAREST = 1e-290


def fit_transform(
    kind: TransformKind,
    dataset: RankingDataset,
    through: Through = one_after_the_other,
    *,
    knots: int = KNOTS,
    scaling: str = "auto",
    n_threads: int | None = None,
) -> Transform:
    """Fit a transform to a dataset, in one pass: exactly in memory, by samples of ranks where it is not loaded.

    "rank-gauss": the normal score of a value's mid-rank among the training data, by a curve of so many `knots`.
    "signed-log": sign(x) ln(1 + |x| / unit), the unit the median of |x| where x is not 0. `scaling` is what follows:
    "standard", "min-max", "max-abs" or "none"; "auto" is none after ranks, else standard, or max-abs for features that
    are 0 nearly everywhere. All leave 0 where it is, so that a row has one score, whether zeros are stored or not.
    """
    if knots < 2:
        raise LinrankError(f"knots={knots}: a curve needs 2 at least.")
    if dataset.n_documents == 0:
        raise LinrankError("there are no documents to fit a transform to. Check how the data was read.")

    def fitted(values: ColumnValues, first: int) -> Transform:
        _refuse_too_far(values, dataset.names[first : first + values.n_columns])
        return _fitted(kind, values, knots, scaling)

    parts = list(_of_values(dataset, through, n_threads, fitted))
    return parts[0] if len(parts) == 1 else _side_by_side(parts)


def _fitted(kind: TransformKind, values: ColumnValues, knots: int, scaling: str) -> Transform:
    """The transform of some columns."""
    transform: Transform = _rank_gauss(values, knots) if kind == "rank-gauss" else _signed_log(values)
    if scaling == "none" or (scaling == "auto" and kind == "rank-gauss"):
        return transform
    return _scaled(transform, values, scaling)


def values_of(dataset: RankingDataset, through: Through, n_threads: int | None = None) -> Iterator[ColumnValues]:
    """The values of all columns, or in memory those of a few after the others; NaN and infinity refused."""
    return _of_values(dataset, through, n_threads, lambda values, _: values)


def _of_values(
    dataset: RankingDataset, through: Through, n_threads: int | None, task: Callable[[ColumnValues, int], Found]
) -> Iterator[Found]:
    """What a task makes of them, and of the number of their first column."""
    if isinstance(dataset, RankingDataset):
        refuse_missing(dataset.features, dataset.names)
        if not is_sparse(dataset.features):
            yield from of_columns_apart(dataset.features, task, n_threads)
            return
        found = column_values(dataset.features)
    else:
        places = places_of(dataset)
        # Where others go through the rows, they do so beside one another.
        alone = n_threads if through is one_after_the_other else 1
        size = dataset.n_documents, dataset.n_features
        n_parts = max(len(places), size[0] * size[1] // (1 << 22))
        told = through(column_values, dataset, places, most=most_of_a_part(n_parts, *size), n_threads=alone)
        found = gathered(told, most_to_hold(*size))
        if not np.isfinite(found.values).all():
            dataset.check_complete()
    yield task(found, 0)


def _side_by_side(parts: list[Any]) -> Transform:
    """The transform of columns, and after them of others."""
    if isinstance(parts[0], SignedLog):
        return SignedLog(
            np.concatenate([part.unit for part in parts]),
            np.concatenate([part.scale for part in parts]),
        )
    return FeatureShapes.of(parts[0].kind, [curve for part in parts for curve in part.curves()])


def _rank_gauss(values: ColumnValues, most: int) -> FeatureShapes:
    from scipy.special import ndtri

    # Of up to millions of values, few points are enough to choose knots from: normal scores are of these alone.
    places, ranks = np.empty(len(values.values), dtype=np.int64), np.empty(len(values.values))
    sizes = np.empty(values.n_columns, dtype=np.int64)
    n_points = _fine_points(values.values, values.counts, values.starts, most, places, ranks, sizes)
    places, scores, starts = places[:n_points], ndtri(ranks[:n_points]), offsets_from_sizes(sizes)
    points, shares = values.values[places], values.counts[places] / np.repeat(values.sums(values.counts), sizes)
    chosen = np.zeros(n_points, dtype=bool)
    _choose_knots(points, shares, ranks[:n_points], scores, starts, most, chosen)
    kept = np.add.reduceat(chosen, starts[:-1], dtype=np.int64) if values.n_columns else sizes
    return FeatureShapes("rank-gauss", points[chosen], scores[chosen], offsets_from_sizes(kept)).from_zero()


def _signed_log(values: ColumnValues) -> SignedLog:
    unit = np.empty(values.n_columns)
    _median_sizes(values.values, values.counts, values.starts, unit)
    return SignedLog(unit, np.ones_like(unit))


def _scaled(transform: Transform, values: ColumnValues, scaling: str) -> Transform:
    """The transform with its results divided by what the scaling says, so that both are one."""
    results = _results(transform, values)
    n_rows = np.maximum(values.sums(values.counts), 1)
    ends = (values.starts[:-1], values.starts[1:] - 1)
    # Curves that were fitted to the data are monotone: the ends are the least and the largest.
    least, most = (results[end] for end in ends)
    deviation, n_zeros = np.empty((2, values.n_columns))
    _deviations(results, values.values, values.counts, values.starts, deviation, n_zeros)
    size = np.maximum(np.abs(least), np.abs(most))
    rare = n_zeros >= RARE * n_rows
    scales = {
        "standard": deviation,
        "min-max": most - least,
        "max-abs": size,
        "auto": np.where(rare, size, deviation),
    }
    if scaling not in scales:
        raise LinrankError(
            f"scaling {scaling!r} does not follow a transform. Use 'auto', 'none', 'standard', 'min-max' or 'max-abs'."
        )
    scale = scales[scaling]
    return transform.scaled(np.where((most > least) & (scale > 0), scale, 1.0))


def _results(transform: Transform, values: ColumnValues) -> Vector:
    """What the transform makes of each value."""
    if isinstance(transform, SignedLog):
        return signed_log(values.values, np.repeat(transform.unit, np.diff(values.starts)))
    from linrank.dataset.curve_kernels import shaped_entries

    return shaped_entries(values.values, values.of_each().astype(np.int32), transform.at_zero, transform)


def _refuse_too_far(values: ColumnValues, names: Sequence[str]) -> None:
    least, most = values.values[values.starts[:-1]], values.values[values.starts[1:] - 1]
    with np.errstate(over="ignore"):
        beyond = np.flatnonzero(~np.isfinite(most - least))
    if len(beyond):
        column = int(beyond[0])
        raise UnusableNumberError(
            f"feature {names[column]!r} is from {least[column]:g} to {most[column]:g}: too far for a curve in float64. "
            "If such a number stands for a missing value, replace it; otherwise divide the column."
        )


@kernel
def _deviations(results, values, counts, starts, deviations, n_zeros):  # type: ignore[no-untyped-def]
    """The standard deviation of the results over the rows of each column, and the rows whose value is 0."""
    for column in range(len(starts) - 1):
        total, n_rows, zeros = 0.0, 0, 0
        for place in range(starts[column], starts[column + 1]):
            total += counts[place] * results[place]
            n_rows += counts[place]
            zeros += counts[place] if values[place] == 0.0 else 0
        mean, squares = total / max(n_rows, 1), 0.0
        for place in range(starts[column], starts[column + 1]):
            squares += counts[place] * (results[place] - mean) ** 2
        deviations[column], n_zeros[column] = np.sqrt(squares / max(n_rows, 1)), zeros


@kernel
def _median_sizes(values, counts, starts, medians):  # type: ignore[no-untyped-def]
    """The median of |x| over the rows where x is not 0, of each column; 1 where there are none."""
    for column in range(len(starts) - 1):
        low, high = starts[column], starts[column + 1] - 1
        total = 0
        for place in range(low, high + 1):
            total += counts[place] if values[place] != 0.0 else 0
        medians[column], above = 1.0, 0
        # From the largest sizes, at either end, inwards.
        while total > 0 and 2 * above < total and low <= high:
            at_low = -values[low] > values[high]
            place = low if at_low else high
            above += counts[place]
            medians[column] = abs(values[place])
            low, high = (low + 1, high) if at_low else (low, high - 1)


@kernel
def _fine_points(values, counts, starts, most, places, ranks, sizes):  # type: ignore[no-untyped-def]
    """The values to choose knots from, and their mid-ranks: all where they are few, else both sides of small steps."""
    n_points = 0
    for column in range(len(starts) - 1):
        start, stop = starts[column], starts[column + 1]
        total = 0
        for place in range(start, stop):
            total += counts[place]
        few, first, last_rank = stop - start <= most, n_points, 0.0
        below = rank = before = 0.0
        for place in range(start, stop):
            before, rank = rank, (below + 0.5 * counts[place]) / total
            below += counts[place]
            fine = min(_FINE_RANK, _FINE_TAIL * min(rank, 1.0 - rank))
            if few or place == start or place == stop - 1 or rank - last_rank >= fine:
                if n_points > first:
                    last = values[places[n_points - 1]]
                    # Too near for a slope in float64: as good as equal.
                    if values[place] - last < _NEAREST:
                        continue
                    if values[place - 1] - last >= _NEAREST and values[place] - values[place - 1] >= _NEAREST:
                        places[n_points], ranks[n_points] = place - 1, before
                        n_points += 1
                places[n_points], ranks[n_points] = place, rank
                n_points += 1
                last_rank = rank
        sizes[column] = n_points - first
    return n_points


@kernel
def _choose_knots(values, shares, ranks, scores, starts, most, chosen):  # type: ignore[no-untyped-def]
    """Mark the knots of each column: all points where they are few, else those without which the curve is worst."""
    lefts, rights = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    splits, costs = np.empty(most, dtype=np.int64), np.empty(most)
    for column in range(len(starts) - 1):
        start, stop = starts[column], starts[column + 1]
        if stop - start <= most:
            chosen[start:stop] = True
            continue
        # Segments between knots; the one with the largest error is split where that is largest, until all are there.
        # To begin with, the ends are knots, and what a large share of the rows has.
        left, n_segments = start, 0
        chosen[start] = True
        for point in range(start + 1, stop):
            if point == stop - 1 or shares[point] * most >= 2.0:
                chosen[point] = True
                lefts[n_segments], rights[n_segments] = left, point
                costs[n_segments], splits[n_segments] = _misfit(values, ranks, scores, left, point)
                n_segments += 1
                left = point
        while n_segments < most - 1:
            worst = 0
            for segment in range(1, n_segments):
                if costs[segment] > costs[worst]:
                    worst = segment
            if costs[worst] <= 0.0:
                break
            split, right = splits[worst], rights[worst]
            chosen[split] = True
            rights[worst], lefts[n_segments], rights[n_segments] = split, split, right
            costs[worst], splits[worst] = _misfit(values, ranks, scores, lefts[worst], split)
            costs[n_segments], splits[n_segments] = _misfit(values, ranks, scores, split, right)
            n_segments += 1


@kernel
def _misfit(values, ranks, scores, left, right):  # type: ignore[no-untyped-def]
    """The sum over rows of the squared error of a straight line between two points, and the point furthest from it."""
    slope = (scores[right] - scores[left]) / (values[right] - values[left])
    total, furthest, split = 0.0, 0.0, left + 1
    for point in range(left + 1, right):
        error = scores[point] - scores[left] - (values[point] - values[left]) * slope
        # Half of the rows between its neighbours are nearest to a point.
        total += 0.5 * (ranks[point + 1] - ranks[point - 1]) * error * error
        if abs(error) > furthest:
            furthest, split = abs(error), point
    return total, split
