"""Features through piecewise linear curves, compiled: the same arithmetic as `FeatureShapes`, and the same bits.

The segment of a value is looked up by its leading bits, which are in the order of the values, and found from there by a
few comparisons: as many for every value of a feature, so that nothing is guessed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Indices, Offsets, Vector, for_kernels
from linrank.compiled import kernel
from linrank.threads import side_by_side

_PLACES = 2048
# Rows whose values of one feature after the other are computed: they stay in cache, and so does what a feature needs.
_ROWS_IN_CACHE = 128
_ROWS_A_TASK = 8192


@dataclass(frozen=True, eq=False)
class SegmentTable:
    """Where to look for the segment of a value of each feature, by its leading bits.

    Attributes
    ----------
    bases : the leading bits of the feature's knot nearest to 0 but not there; what is nearer has one place
    firsts : what the feature's part of the table begins with
    shifts : how many bits are left out
    steps : how many comparisons lead from the table's segment to that of any value
    segments : a segment for each of `_PLACES` places of each feature
    """

    bases: Indices
    firsts: Indices
    shifts: Indices
    steps: Indices
    segments: NDArray[np.uint16]

    @classmethod
    def of(cls, knots: Vector, starts: Offsets) -> SegmentTable:
        n_features = len(starts) - 1
        # Rounded to float32, larger numbers are never before smaller ones.
        with np.errstate(over="ignore", under="ignore"):
            bits = knots.astype(np.float32).view(np.int32)
        bases, firsts, shifts, steps = np.zeros((4, n_features), dtype=np.int32)
        made = cls(bases, firsts, shifts, steps, np.zeros((n_features, _PLACES), dtype=np.uint16))
        _fill_table(bits, starts, made.bases, made.firsts, made.shifts, made.steps, made.segments)
        return made


def shape_rows(rows: NDArray[Any], shapes: Any, n_threads: int | None, shaped: NDArray[Any]) -> None:
    """Write f_j(x) of each value of dense rows, some rows beside others; `shaped` may be the rows themselves."""
    rows, table = for_kernels(rows), shapes.table
    looked_up = (table.bases, table.firsts, table.shifts, table.steps, table.segments)
    # What is known of a knot, in one line of cache.
    knots = np.column_stack([shapes.knots, shapes.following, shapes.values, shapes.slopes])

    def shape(first: int) -> None:
        part = slice(first, first + _ROWS_A_TASK)
        # (Said only where the loop is not compiled: what is beyond float32 is at one of the ends.)
        with np.errstate(over="ignore"):
            _shape_rows(rows[part], *looked_up, knots, shapes.starts, shaped[part])

    for _ in side_by_side(shape, range(0, len(rows), _ROWS_A_TASK), n_threads):
        pass


def shaped_entries(entries: NDArray[Any], columns: Any, at_zero: Vector, shapes: Any) -> NDArray[Any]:
    """f_j(x) - f_j(0) of entries of sparse rows."""
    entries = for_kernels(np.ascontiguousarray(entries))
    shaped = np.empty_like(entries)
    _shape_entries(entries, columns, shapes.knots, shapes.values, shapes.slopes, shapes.starts, at_zero, shaped)
    return shaped


@kernel
def _in_order(bits, base):  # type: ignore[no-untyped-def]
    """The leading bits of a number as a whole number of the same order, all that are nearer to 0 than the base as 0."""
    size = max((bits & np.int32(0x7FFFFFFF)) - base, np.int32(0))
    return size if bits >= 0 else -size


@kernel
def _fill_table(bits, starts, bases, firsts, shifts, steps, segments):  # type: ignore[no-untyped-def]
    for feature in range(len(starts) - 1):
        start, n_knots = starts[feature], starts[feature + 1] - starts[feature]
        base = np.int32(0x7F800000)
        for knot in range(n_knots):
            size = bits[start + knot] & np.int32(0x7FFFFFFF)
            if 0 < size < base:
                base = size
        base -= np.int32(1)
        # What is before the second knot is of the first segment, and what is beyond the last but one of the last two.
        first = _in_order(bits[start + min(1, n_knots - 1)], base)
        last = _in_order(bits[start + max(n_knots - 2, 0)], base)
        shift = 0
        while (np.int64(last) - first) >> shift >= _PLACES:
            shift += 1
        bases[feature], firsts[feature], shifts[feature] = base, first, shift
        knot, most = 0, 0
        for place in range(_PLACES):
            segments[feature, place] = knot
            here = 0
            while knot + 1 < n_knots and (
                place == _PLACES - 1 or (np.int64(_in_order(bits[start + knot + 1], base)) - first) >> shift <= place
            ):
                knot += 1
                here += 1
            most = max(most, here)
        steps[feature] = most


@kernel
def _shape_rows(rows, bases, firsts, shifts, steps, segments, knots, starts, shaped):  # type: ignore[no-untyped-def]
    n_rows, n_features = rows.shape
    # One loop each for what is done to many values at a time, and for what is looked up.
    column, places = np.empty(_ROWS_IN_CACHE, dtype=rows.dtype), np.empty(_ROWS_IN_CACHE, dtype=np.int32)
    for top in range(0, n_rows, _ROWS_IN_CACHE):
        n_here = min(n_rows - top, _ROWS_IN_CACHE)
        for feature in range(n_features):
            base, first, shift = bases[feature], firsts[feature], shifts[feature]
            for row in range(n_here):
                column[row] = rows[top + row, feature]
            for row in range(n_here):
                key = _in_order(np.float32(column[row]).view(np.int32), base)
                places[row] = min(max((np.int64(key) - first) >> shift, 0), _PLACES - 1)
            table = segments[feature]
            curve = knots[starts[feature] : starts[feature + 1]]
            least, largest = curve[0, 0], curve[len(curve) - 1, 0]
            for row in range(n_here):
                # Of what is beyond the last knot nothing may be looked up: infinity is not below what follows it.
                inside = max(np.float64(column[row]), least)
                inside = min(inside, largest)
                knot = np.uint64(table[np.uint32(places[row])])
                for _ in range(steps[feature]):
                    knot += np.uint64(inside >= curve[knot, 1])
                shaped[top + row, feature] = curve[knot, 2] + (inside - curve[knot, 0]) * curve[knot, 3]


@kernel
def _shape_entries(entries, columns, knots, values, slopes, starts, at_zero, shaped):  # type: ignore[no-untyped-def]
    # By halving: neighbouring entries are of different features, of which there may be a million.
    for entry in range(len(entries)):
        feature = columns[entry]
        value = np.float64(entries[entry])
        knot, beyond = starts[feature], starts[feature + 1]
        if value < knots[knot]:
            value = knots[knot]
        elif value > knots[beyond - 1]:
            value = knots[beyond - 1]
        while beyond - knot > 1:
            middle = (knot + beyond) // 2
            if value >= knots[middle]:
                knot = middle
            else:
                beyond = middle
        shaped[entry] = values[knot] + (value - knots[knot]) * slopes[knot] - at_zero[feature]
