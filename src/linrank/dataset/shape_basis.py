"""What a feature's curve is made of: a line in normal scores and what bends it, so that one parabola smooths it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector, offsets_from_sizes
from linrank.dataset.binned_features import BinnedFeatures, codes_of
from linrank.dataset.feature_shapes import FeatureShapes
from linrank.dataset.shape_knots import spaced_knots

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ShapeBasis:
    """Curves f_j(x) = a_j l_j(x) + bends, linear between knots; a_j² + smoothing x bending_j is a sum of squares.

    l_j is the normal score of x, with mean 0 and variance 1 over the training data. In l_j the slope of a curve changes
    by c_k at its inner knots, and bending = sum over k of c_k² / h_k, h_k being half the distance of the knots beside
    it: what the integral of the squared second derivative is for a curve of this kind. Of each bend the straight part
    is taken off, so that a_j is the slope of the whole curve; and bends are turned, which changes no sum of squares, so
    that no two are correlated.

    Curves that must rise (or fall) are a_j l_j + sum over segments of d_k x (the rise of l_j within segment k), with
    a_j >= 0 and d_k >= 0, and sum over k of d_k² x (length of segment k) in the place of their bending.

    Attributes
    ----------
    knots, scores : of each feature
    means, covariances : over the training data, of the hats of each feature: h_k is 1 at knot k, 0 at the others
    directions : 1 for a feature whose curve must rise, -1 for one whose must fall, 0 for others
    """

    knots: tuple[Vector, ...]
    scores: tuple[Vector, ...]
    means: Matrix
    covariances: Matrix
    directions: Vector

    @classmethod
    def fitted(
        cls, rows: NDArray[Any], weights: Vector | None, n_knots: int, directions: Vector
    ) -> tuple[ShapeBasis, NDArray[np.uint32]]:
        """Knots by the ranks of the values of each column, a row counting as its weight says; and the rows coded."""
        placed = [spaced_knots(rows[:, column], weights, n_knots) for column in range(rows.shape[1])]
        knots, scores = (tuple(part[which] for part in placed) for which in (0, 1))
        codes = codes_of(rows, np.concatenate(knots), offsets_from_sizes(np.array([len(one) for one in knots])))
        n_places = max(len(one) for one in knots)
        hats = BinnedFeatures(codes, *_hats(len(knots), n_places))
        of_rows = np.ones(len(rows)) if weights is None else weights
        total = of_rows.sum()
        means = hats.transposed_product(of_rows, np.zeros(hats.n_features)).reshape(len(knots), n_places) / total
        covariances = hats.squared_hats(of_rows) / total - means[:, :, None] * means[:, None, :]
        return cls(knots, scores, means, covariances, directions), codes

    @property
    def n_features(self) -> int:
        return len(self.knots)

    @property
    def n_places(self) -> int:
        """Of knots, at most."""
        return int(self.means.shape[1])

    def columns(self, smoothing: float) -> tuple[Matrix, Offsets]:
        """What each column is at the knots of its feature, and where those of each feature begin.

        The penalty is then half the sum of all squared weights. Without a finite smoothing only lines are left.
        """
        made = [self._of_feature(feature, smoothing) for feature in range(self.n_features)]
        at_knots = np.zeros((sum(map(len, made)), self.n_places))
        starts = offsets_from_sizes(np.array([len(one) for one in made]))
        for start, columns in zip(starts, made, strict=False):
            at_knots[start : start + len(columns), : columns.shape[1]] = columns
        return at_knots, starts

    def bounds(self, starts: Offsets) -> tuple[Vector, Vector]:
        """The least and the largest weight of each column."""
        directions = np.repeat(self.directions, np.diff(starts))
        return np.where(directions > 0, 0.0, -np.inf), np.where(directions < 0, 0.0, np.inf)

    def shapes(self, at_knots: Matrix, starts: Offsets, weights: Vector) -> tuple[FeatureShapes, Vector]:
        """The curves with variance 1 over the training data, and the deviation of each feature's own.

        A document of zeros scores 0, so that it makes no difference whether zeros are stored.
        """
        curves: list[tuple[Any, Any]] = []
        sizes = np.zeros(self.n_features)
        for feature, knots in enumerate(self.knots):
            here = slice(starts[feature], starts[feature + 1])
            curve = weights[here] @ at_knots[here]
            variance = float(curve @ self.covariances[feature] @ curve)
            if variance <= 0.0 or not np.any(weights[here]):
                curves.append((knots[:1], np.zeros(1)))
                continue
            sizes[feature] = np.sqrt(variance)
            values = curve[: len(knots)] / sizes[feature]
            curves.append((knots, values - np.interp(0.0, knots, values)))
        return FeatureShapes.of("additive", curves), sizes

    def _of_feature(self, feature: int, smoothing: float) -> Matrix:
        """The columns of a feature at its knots, with mean 0: its line, and what bends it."""
        n_knots = len(self.knots[feature])
        means, covariance = self.means[feature, :n_knots], self.covariances[feature, :n_knots, :n_knots]
        line = self.scores[feature] - means @ self.scores[feature]
        variance = float(line @ covariance @ line)
        if n_knots < 2 or variance <= 0.0:
            # A line all the same: it has no slope, and gets no weight.
            return np.zeros((1, n_knots))
        line /= np.sqrt(variance)
        if n_knots == 2 or not np.isfinite(smoothing):
            return line[None]
        bends = _rises(line) if self.directions[feature] else _bends(line, covariance)
        bends -= (bends @ means)[:, None]
        return np.concatenate([line[None], bends / np.sqrt(smoothing)])


def _bends(line: Vector, covariance: Matrix) -> Matrix:
    """max(0, l - l_k) sqrt(h_k) at the inner knots, without their straight parts and uncorrelated."""
    widths = 0.5 * (line[2:] - line[:-2])
    bends = np.maximum(line - line[1:-1, None], 0.0) * np.sqrt(widths)[:, None]
    bends -= np.outer(bends @ covariance @ line, line)
    _, turn = np.linalg.eigh(bends @ covariance @ bends.T)
    return np.asarray(turn[:, ::-1].T @ bends)


def _rises(line: Vector) -> Matrix:
    """What l has risen within each segment, divided by the root of the segment's length."""
    widths = np.diff(line)
    return np.clip(line - line[:-1, None], 0.0, widths[:, None]) / np.sqrt(widths)[:, None]


def _hats(n_features: int, n_knots: int) -> tuple[Matrix, Offsets]:
    """The columns that are 1 at one knot each."""
    return np.tile(np.eye(n_knots), (n_features, 1)), np.arange(n_features + 1, dtype=np.int64) * n_knots
