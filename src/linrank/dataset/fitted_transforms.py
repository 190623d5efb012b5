"""Transforms of features fitted to data in one pass: a monotone curve a feature, from the values it has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from linrank.arrays import Offsets, Vector
from linrank.compiled import kernel
from linrank.dataset.column_values import (
    ColumnValues,
    column_values,
    columns_apart,
    gathered,
    most_of_a_part,
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
# Points of the exact curve that knots are chosen from: a step of the rank, or of the normal score, apart.
_FINE_RANK, _FINE_SCORE = 1.0 / 1024, 1.0 / 64
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
    "standard", "min-max", "max-abs" or "none"; "auto" is none after ranks, else standard, or max-abs if sparse.
    """
    if knots < 2:
        raise LinrankError(f"knots={knots}: a curve needs 2 at least.")
    parts: list[Transform] = []
    for values in values_of(dataset, through, n_threads):
        _refuse_too_far(values, dataset.names[sum(part.n_features for part in parts) :])
        parts.append(_fitted(kind, values, knots, scaling, dataset.is_sparse))
    return parts[0] if len(parts) == 1 else _side_by_side(parts)


def _fitted(kind: TransformKind, values: ColumnValues, knots: int, scaling: str, sparse: bool) -> Transform:
    """The transform of some columns."""
    transform: Transform = _rank_gauss(values, knots) if kind == "rank-gauss" else _signed_log(values)
    if scaling == "none" or (scaling == "auto" and kind == "rank-gauss"):
        return transform
    if scaling == "auto":
        scaling = "max-abs" if sparse else "standard"
    return _scaled(transform, values, scaling, sparse)


def values_of(dataset: RankingDataset, through: Through, n_threads: int | None = None) -> Iterator[ColumnValues]:
    """The values of all columns, or in memory those of a few after the others; NaN and infinity refused."""
    if isinstance(dataset, RankingDataset):
        refuse_missing(dataset.features, dataset.names)
        if not is_sparse(dataset.features):
            yield from columns_apart(dataset.features, n_threads)
            return
        found = column_values(dataset.features)
    else:
        places = places_of(dataset)
        # Where others go through the rows, they do so beside one another.
        alone = n_threads if through is one_after_the_other else 1
        most = most_of_a_part(max(len(places), dataset.n_documents * dataset.n_features // (1 << 22)))
        found = gathered(through(column_values, dataset, places, most=most, n_threads=alone))
        if not np.isfinite(found.values).all():
            dataset.check_complete()
    yield found


def _side_by_side(parts: list[Any]) -> Transform:
    """The transform of columns, and after them of others."""
    if isinstance(parts[0], SignedLog):
        return SignedLog(
            np.concatenate([part.unit for part in parts]),
            np.concatenate([part.shift for part in parts]),
            np.concatenate([part.scale for part in parts]),
        )
    return FeatureShapes.of(parts[0].kind, [curve for part in parts for curve in part.curves()])


def _rank_gauss(values: ColumnValues, most: int) -> FeatureShapes:
    from scipy.special import ndtri

    ranks = values.mid_ranks()
    scores = ndtri(ranks)
    chosen = np.zeros(len(scores), dtype=bool)
    _choose_knots(values.values, values.counts, ranks, scores, values.starts, most, chosen)
    sizes = np.add.reduceat(chosen, values.starts[:-1], dtype=np.int64) if values.n_columns else np.zeros(0, np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return FeatureShapes("rank-gauss", values.values[chosen], scores[chosen], starts)


def _signed_log(values: ColumnValues) -> SignedLog:
    unit = np.empty(values.n_columns)
    _median_sizes(values.values, values.counts, values.starts, unit)
    return SignedLog(unit, np.zeros_like(unit), np.ones_like(unit))


def _scaled(transform: Transform, values: ColumnValues, scaling: str, sparse: bool) -> Transform:
    """The transform with its results scaled, so that both are one."""
    columns = values.of_each()
    results = _results(transform, values, columns, sparse)
    zeros, n_rows = np.zeros(values.n_columns), np.maximum(values.sums(values.counts), 1)
    ends = (values.starts[:-1], values.starts[1:] - 1)
    # Curves that were fitted to the data are monotone: the ends are the least and the largest.
    least, most = (results[end] for end in ends)
    if scaling == "standard":
        shift = values.sums(results * values.counts) / n_rows
        scale = np.sqrt(values.sums(np.square(results - shift[columns]) * values.counts) / n_rows)
    elif scaling == "min-max":
        shift, scale = least, most - least
    elif scaling == "max-abs":
        shift, scale = zeros, np.maximum(np.abs(least), np.abs(most))
    else:
        raise LinrankError(
            f"scaling {scaling!r} does not follow a transform. Use 'auto', 'none', 'standard', 'min-max' or 'max-abs'."
        )
    return transform.scaled(zeros if sparse else shift, np.where((most > least) & (scale > 0), scale, 1.0))


def _results(transform: Transform, values: ColumnValues, columns: Offsets, sparse: bool) -> Vector:
    """What the transform makes of each value."""
    if isinstance(transform, SignedLog):
        return signed_log(values.values, transform.unit[columns])
    from linrank.dataset.curve_kernels import shaped_entries

    at_zero = transform.at_zero if sparse else np.zeros(values.n_columns)
    return shaped_entries(values.values, columns.astype(np.int32), at_zero, transform)


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
def _choose_knots(values, counts, ranks, scores, starts, most, chosen):  # type: ignore[no-untyped-def]
    """Mark the knots of each column: all values where they are few, else those without which the curve is worst."""
    lefts, rights = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    splits, costs = np.empty(most, dtype=np.int64), np.empty(most)
    largest = np.max(np.diff(starts)) if len(starts) > 1 else 0
    points = np.empty(largest, dtype=np.int64)
    for column in range(len(starts) - 1):
        n_points = _fine_points(values, ranks, scores, starts[column], starts[column + 1], most, points)
        for point in points[:n_points]:
            chosen[point] = n_points <= most
        if n_points <= most:
            continue
        # Segments between knots; the one with the largest error is split where that is largest, until all are there.
        # To begin with, the ends are knots, and what a large share of the rows has.
        heavy = np.sum(counts[starts[column] : starts[column + 1]]) * 2.0 / most
        left, n_segments = 0, 0
        for point in range(1, n_points):
            if point == n_points - 1 or counts[points[point]] >= heavy:
                chosen[points[left]] = chosen[points[point]] = True
                lefts[n_segments], rights[n_segments] = left, point
                costs[n_segments], splits[n_segments] = _misfit(values, ranks, scores, points, left, point)
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
            chosen[points[split]] = True
            rights[worst], lefts[n_segments], rights[n_segments] = split, split, right
            costs[worst], splits[worst] = _misfit(values, ranks, scores, points, lefts[worst], split)
            costs[n_segments], splits[n_segments] = _misfit(values, ranks, scores, points, split, right)
            n_segments += 1


@kernel
def _fine_points(values, ranks, scores, start, stop, most, points):  # type: ignore[no-untyped-def]
    """The places of values to choose from: all where they are few, otherwise the ends and both sides of each step."""
    n_points, last = 1, start
    points[0] = start
    few = stop - start <= most
    for place in range(start + 1, stop):
        # Too near for a slope in float64: as good as equal.
        if values[place] - values[last] < _NEAREST:
            continue
        steps = ranks[place] - ranks[last] >= _FINE_RANK or scores[place] - scores[last] >= _FINE_SCORE
        if few or steps or place == stop - 1:
            if not few and place - 1 > last and values[place] - values[place - 1] >= _NEAREST:
                points[n_points] = place - 1
                n_points += 1
            points[n_points] = last = place
            n_points += 1
    return n_points


@kernel
def _misfit(values, ranks, scores, points, left, right):  # type: ignore[no-untyped-def]
    """The sum over rows of the squared error of a straight line between two points, and the point furthest from it."""
    first, last = points[left], points[right]
    slope = (scores[last] - scores[first]) / (values[last] - values[first])
    total, furthest, split = 0.0, 0.0, left + 1
    for point in range(left + 1, right):
        place = points[point]
        error = scores[place] - scores[first] - (values[place] - values[first]) * slope
        # Half of the rows between its neighbours are nearest to a point.
        share = 0.5 * (ranks[points[point + 1]] - ranks[points[point - 1]])
        total += share * error * error
        if abs(error) > furthest:
            furthest, split = abs(error), point
    return total, split
