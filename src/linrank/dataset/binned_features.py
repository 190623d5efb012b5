"""Features that each go through functions linear between knots: held as a bin and a fraction, in 32 bits a cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector, float_rows, for_kernels
from linrank.compiled import kernel, summing_kernel

# A code has the number of the bin above these bits and the fraction in them: as fine as a float32 or finer, and of 16
# knots the last still fits into a signed number.
FRACTION_BITS = 27
MOST_KNOTS = 16
_WHOLE = float(1 << FRACTION_BITS)


@dataclass(frozen=True, slots=True)
class BinnedFeatures:
    """Columns g_c(x_j), each a function of one feature that is linear between the knots of that feature.

    A row keeps code = (bin + fraction) 2^27 for each feature: where x lies among the knots. A product is a look-up a
    feature, however many columns it has, and a transposed product a histogram; the columns meet them only at the knots.

    Attributes
    ----------
    codes : of shape (n_rows, number of features)
    at_knots : of shape (n_columns, number of knots), what each column is at the knots of its feature
    starts : where the columns of each feature begin, and where the last end
    """

    codes: NDArray[np.uint32]
    at_knots: NDArray[np.float64]
    starts: Offsets

    @property
    def n_rows(self) -> int:
        return int(self.codes.shape[0])

    @property
    def n_features(self) -> int:
        """The number of columns: one weight each."""
        return int(self.at_knots.shape[0])

    @property
    def values(self) -> NDArray[np.uint32]:
        """What is held of the rows, as for every kind of features."""
        return self.codes

    @property
    def n_bytes(self) -> int:
        return int(self.codes.nbytes)

    def in_memory(self) -> BinnedFeatures:
        """Themselves: features on disk read all of theirs."""
        return self

    def rows(self, start: int, stop: int) -> BinnedFeatures:
        return replace(self, codes=self.codes[start:stop])

    def take(self, rows: Offsets) -> BinnedFeatures:
        return replace(self, codes=self.codes[rows])

    def joined(self, others: Sequence[Any]) -> BinnedFeatures:
        """Their rows and, after them, those of the others."""
        return replace(self, codes=np.concatenate([self.codes, *(other.codes for other in others)]))

    def product(self, weights: Vector, scores: Vector) -> Vector:
        """scores_i = sum over c of weights_c g_c(x_i)."""
        table = np.empty(2 * self._n_places)
        _fill_table(self.at_knots, self.starts, weights, table)
        _look_up(self.codes, self.at_knots.shape[1], table, scores)
        return scores

    def transposed_product(self, slopes: Vector, total: Vector) -> Vector:
        """Add sum_i slopes_i g_c(x_i) to `total`."""
        sums = np.zeros(2 * self._n_places)
        _count(self.codes, self.at_knots.shape[1], slopes, sums)
        _add_from_knots(self.at_knots, self.starts, sums, total)
        return total

    def transposed_square_product(self, slopes: Vector, total: Vector) -> Vector:
        """Add sum_i slopes_i g_c(x_i) ** 2 to `total`."""
        squares = self.squared_hats(slopes)
        for feature, (first, last) in enumerate(zip(self.starts[:-1], self.starts[1:], strict=True)):
            columns = self.at_knots[first:last]
            total[first:last] += np.einsum("ck,kl,cl->c", columns, squares[feature], columns)
        return total

    def squared_hats(self, slopes: Vector) -> NDArray[np.float64]:
        """sum_i slopes_i h_k(x_i) h_l(x_i) for each feature: h_k is 1 at its knot k, 0 at the others."""
        n_knots = self.at_knots.shape[1]
        sums = np.zeros((self._n_places, 3))
        _count_squares(self.codes, n_knots, slopes, sums)
        lower, both, upper = np.moveaxis(sums.reshape(self.codes.shape[1], n_knots, 3), 2, 0)
        squares = np.zeros((self.codes.shape[1], n_knots, n_knots))
        here, after = np.arange(n_knots), np.arange(1, n_knots)
        squares[:, here, here] = lower
        squares[:, after, after] += upper[:, :-1]
        squares[:, here[:-1], after] = squares[:, after, here[:-1]] = both[:, :-1]
        return squares

    def magnitudes(self) -> BinnedFeatures:
        """What the absolute values are not above: linear between those at the knots."""
        return replace(self, at_knots=np.abs(self.at_knots))

    def to_dense(self, columns: Offsets | None = None) -> NDArray[Any]:
        """All columns, or some, written out."""
        chosen = np.arange(self.n_features) if columns is None else np.asarray(columns, dtype=np.int64)
        features = np.searchsorted(self.starts, chosen, side="right") - 1
        dense = np.empty((self.n_rows, len(chosen)))
        _write_out(self.codes, self.at_knots, chosen, features, dense)
        return dense

    @property
    def _n_places(self) -> int:
        return int(self.codes.shape[1] * self.at_knots.shape[1])


def codes_of(rows: Any, knots: Vector, starts: Offsets) -> NDArray[np.uint32]:
    """Where each value lies among the knots of its column; before the first and after the last it is there."""
    values = for_kernels(float_rows(rows))
    codes = np.empty(values.shape, dtype=np.uint32)
    _encode(values, knots, starts, codes)
    return codes


@kernel
def _encode(values, knots, starts, codes):  # type: ignore[no-untyped-def]
    n_rows, n_columns = values.shape
    for i in range(n_rows):
        for j in range(n_columns):
            value, first, last = np.float64(values[i, j]), starts[j], starts[j + 1] - 1
            if value >= knots[last]:
                codes[i, j] = np.uint32(np.float64(last - first) * _WHOLE)
                continue
            if value <= knots[first]:
                codes[i, j] = np.uint32(0)
                continue
            place = first
            while knots[place + 1] <= value:
                place += 1
            fraction = (value - knots[place]) / (knots[place + 1] - knots[place])
            codes[i, j] = np.uint32(np.round((np.float64(place - first) + fraction) * _WHOLE))


# A bin has two numbers beside each other in tables and histograms, where one line of the cache brings both; `base` is
# where those of a feature begin. Places are unsigned numbers: a signed index might be negative, and would be looked at
# twice. Codes are below 2^31, and signed ones are turned into float64 in fewer steps.


@kernel
def _fill_table(at_knots, starts, weights, table):  # type: ignore[no-untyped-def]
    """So that the sum of a feature's columns is the bin's first number + code x its second."""
    n_knots = at_knots.shape[1]
    curve = np.empty(n_knots)
    for j in range(len(starts) - 1):
        curve[:] = 0.0
        for column in range(starts[j], starts[j + 1]):
            for k in range(n_knots):
                curve[k] += weights[column] * at_knots[column, k]
        base = 2 * j * n_knots
        for k in range(n_knots - 1):
            rise = curve[k + 1] - curve[k]
            table[base + 2 * k] = curve[k] - k * rise
            table[base + 2 * k + 1] = rise / _WHOLE
        table[base + 2 * n_knots - 2] = curve[n_knots - 1]
        table[base + 2 * n_knots - 1] = 0.0


@summing_kernel
def _look_up(codes, n_knots, table, scores):  # type: ignore[no-untyped-def]
    n_rows, n_columns = codes.shape
    for i in range(n_rows):
        score = 0.0
        base = np.uint64(0)
        for j in range(n_columns):
            code = codes[i, j]
            place = base + np.uint64(2) * np.uint64(code >> np.uint32(FRACTION_BITS))
            score += table[place] + table[place + np.uint64(1)] * np.float64(np.int32(code))
            base += np.uint64(2 * n_knots)
        scores[i] = score


@kernel
def _count(codes, n_knots, slopes, sums):  # type: ignore[no-untyped-def]
    """Sums of slopes, and of slopes times codes, of each bin."""
    n_rows, n_columns = codes.shape
    for i in range(n_rows):
        slope = slopes[i]
        if slope == 0.0:
            # Of documents that are in no pair that counts.
            continue
        base = np.uint64(0)
        for j in range(n_columns):
            code = codes[i, j]
            place = base + np.uint64(2) * np.uint64(code >> np.uint32(FRACTION_BITS))
            sums[place] += slope
            sums[place + np.uint64(1)] += slope * np.float64(np.int32(code))
            base += np.uint64(2 * n_knots)


@kernel
def _add_from_knots(at_knots, starts, sums, total):  # type: ignore[no-untyped-def]
    """Add the histograms, as sums of hats, times what each column is at the knots."""
    n_knots = at_knots.shape[1]
    hats = np.empty(n_knots)
    for j in range(len(starts) - 1):
        hats[:] = 0.0
        for k in range(n_knots):
            place = 2 * (j * n_knots + k)
            whole = sums[place]
            fraction = sums[place + 1] / _WHOLE - k * whole
            hats[k] += whole
            if k + 1 < n_knots:
                hats[k] -= fraction
                hats[k + 1] += fraction
        for column in range(starts[j], starts[j + 1]):
            for k in range(n_knots):
                total[column] += at_knots[column, k] * hats[k]


@kernel
def _count_squares(codes, n_knots, slopes, sums):  # type: ignore[no-untyped-def]
    """Sums of slopes times the squares and the product of the two hats that meet in each bin."""
    n_rows, n_columns = codes.shape
    for i in range(n_rows):
        for j in range(n_columns):
            code = codes[i, j]
            bin_ = code >> np.uint32(FRACTION_BITS)
            upper = np.float64(code) / _WHOLE - np.float64(bin_)
            lower = 1.0 - upper
            place = np.uint64(np.uint32(j) * np.uint32(n_knots) + bin_)
            sums[place, 0] += slopes[i] * lower * lower
            sums[place, 1] += slopes[i] * lower * upper
            sums[place, 2] += slopes[i] * upper * upper


@kernel
def _write_out(codes, at_knots, columns, features, dense):  # type: ignore[no-untyped-def]
    n_knots = at_knots.shape[1]
    for i in range(codes.shape[0]):
        for place in range(len(columns)):
            code, column = codes[i, features[place]], columns[place]
            k = np.int64(code >> np.uint32(FRACTION_BITS))
            upper = np.float64(code) / _WHOLE - k
            value = at_knots[column, k]
            if k + 1 < n_knots:
                value += upper * (at_knots[column, k + 1] - value)
            dense[i, place] = value
