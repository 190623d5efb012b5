"""Features held as bins and fractions: they are the columns written out, and curves are what they are trained to be."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linrank.arrays import offsets_from_sizes
from linrank.dataset.binned_features import BinnedFeatures, codes_of
from linrank.dataset.shape_basis import ShapeBasis
from linrank.dataset.shape_knots import spaced_knots

pytestmark = pytest.mark.kernels


def interpolated(X, knots, at_knots, starts):
    """Every column written out with `np.interp`."""
    columns = [
        np.interp(X[:, feature], of_feature, column[: len(of_feature)])
        for feature, of_feature in enumerate(knots)
        for column in at_knots[starts[feature] : starts[feature + 1]]
    ]
    return np.array(columns).reshape(len(columns), len(X)).T


def awkward(seed, n_rows=60, dtype=np.float64):
    """Heavy tails, zeros, few values, a constant and plain numbers."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 5))
    X[:, 0] = np.exp(4.0 * X[:, 0])
    X[:, 1] = np.where(rng.random(n_rows) < 0.7, 0.0, rng.poisson(3.0, n_rows))
    X[:, 2] = X[:, 2] > 0.0
    X[:, 3] = 7.0
    return X.astype(dtype)


def columns_of(X, seed=0, most_knots=9):
    """Random columns on knots that are values of the features, and rows on, between and beyond them."""
    rng = np.random.default_rng(seed)
    knots = [np.unique(rng.choice(X[:, feature], most_knots)).astype(np.float64) for feature in range(X.shape[1])]
    starts = offsets_from_sizes(rng.integers(0, 4, X.shape[1]))
    at_knots = rng.standard_normal((starts[-1], max(map(len, knots))))
    codes = codes_of(X, np.concatenate(knots), offsets_from_sizes(np.array([len(one) for one in knots])))
    return BinnedFeatures(codes, at_knots, starts), interpolated(X, knots, at_knots, starts)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 16))
def test_products_are_those_of_the_columns_written_out(dtype, seed, most_knots):
    binned, dense = columns_of(awkward(seed, dtype=dtype), seed, most_knots)
    rng = np.random.default_rng(seed)
    weights, slopes = rng.standard_normal(binned.n_features), rng.standard_normal(binned.n_rows)
    np.testing.assert_allclose(binned.to_dense(), dense, atol=1e-7)
    dense = binned.to_dense()
    np.testing.assert_allclose(binned.product(weights, np.empty(60)), dense @ weights, atol=1e-12)
    started = rng.standard_normal(binned.n_features)
    np.testing.assert_allclose(binned.transposed_product(slopes, started.copy()), started + slopes @ dense, atol=1e-11)
    np.testing.assert_allclose(
        binned.transposed_square_product(slopes, started.copy()), started + slopes @ dense**2, atol=1e-11
    )


def test_rows_are_taken_joined_and_written_out_in_part():
    binned, _ = columns_of(awkward(1))
    dense = binned.to_dense()
    np.testing.assert_array_equal(binned.rows(3, 20).to_dense(), dense[3:20])
    np.testing.assert_array_equal(binned.take(np.array([5, 1, 5])).to_dense(), dense[[5, 1, 5]])
    np.testing.assert_array_equal(binned.rows(0, 2).joined([binned.rows(7, 9)]).to_dense(), dense[[0, 1, 7, 8]])
    chosen = np.arange(0, binned.n_features, 2)
    np.testing.assert_array_equal(binned.to_dense(chosen), dense[:, chosen])
    assert (binned.magnitudes().to_dense() >= np.abs(dense) - 1e-12).all()
    assert binned.n_bytes == 4 * 60 * 5


def test_the_fraction_is_finer_than_a_float32_has_it():
    X = np.linspace(0.0, 1.0, 1001)[:, None]
    codes = codes_of(X, np.array([0.0, 1.0]), np.array([0, 2]))
    column = BinnedFeatures(codes, np.array([[0.0, 1.0]]), np.array([0, 1]))
    np.testing.assert_allclose(column.to_dense(), X, atol=2.0**-28)


def test_what_lies_beyond_the_knots_is_at_the_last():
    knots = np.array([0.0, 1.0, 4.0])
    codes = codes_of(np.array([[-1e30], [0.0], [2.5], [4.0], [1e30]]), knots, np.array([0, 3]))
    np.testing.assert_array_equal(codes[:, 0] / 2**27, [0.0, 0.0, 1.5, 2.0, 2.0])


def test_knots_go_by_ranks_and_weights_and_not_by_units_or_order():
    X = awkward(2, 500)[:, 0]
    knots, _ = spaced_knots(X, None, 12)
    assert len(knots) == 12
    assert knots[0] == X.min()
    assert knots[-1] == X.max()
    assert np.isin(knots, X).all()
    np.testing.assert_array_equal(spaced_knots(np.log(X), None, 12)[0], np.log(knots))
    np.testing.assert_array_equal(spaced_knots(X[::-1], None, 12)[0], knots)
    times = np.random.default_rng(0).integers(0, 4, len(X))
    for one, other in zip(spaced_knots(X, times / 1.0, 12), spaced_knots(np.repeat(X, times), None, 12), strict=True):
        np.testing.assert_array_equal(one, other)


def test_many_equal_values_take_one_knot():
    X = np.concatenate([np.zeros(900), np.arange(1.0, 101.0)])
    knots, scores = spaced_knots(X, None, 10)
    assert len(knots) == 10
    assert (knots == 0.0).sum() == 1
    # Of 0 the score is that of the middle of its documents.
    assert scores[0] == pytest.approx(-0.1257, abs=1e-4)
    assert [len(spaced_knots(values, None, 10)[0]) for values in (np.full(5, 3.0), np.array([0.0, 1.0, 1.0]))] == [1, 2]


def curve_of(basis, feature, columns, weights):
    at_knots, starts = columns
    here = slice(starts[feature], starts[feature + 1])
    return weights[here] @ at_knots[here]


def test_the_sum_of_squares_is_the_slope_and_the_bending():
    X = awkward(3, 400)
    basis, _ = ShapeBasis.fitted(X, None, 8, np.zeros(5))
    columns = basis.columns(2.5)
    weights = np.random.default_rng(0).standard_normal(len(columns[0]))
    for feature in (0, 1, 4):
        knots, scores = basis.knots[feature], basis.scores[feature]
        line = np.interp(X[:, feature], knots, scores)
        unit = (scores - line.mean()) / line.std()
        curve = curve_of(basis, feature, columns, weights)[: len(knots)]
        values = np.interp(X[:, feature], knots, curve)
        slope = np.cov(values, line, bias=True)[0, 1] / line.std()
        bends = np.diff(np.diff(curve) / np.diff(unit))
        bending = np.sum(bends**2 / (0.5 * (unit[2:] - unit[:-2])))
        here = slice(columns[1][feature], columns[1][feature + 1])
        assert np.sum(weights[here] ** 2) == pytest.approx(slope**2 + 2.5 * bending, rel=1e-5)
        assert values.mean() == pytest.approx(0.0, abs=1e-6)


def test_columns_of_a_feature_are_uncorrelated_and_lines_alone_are_left_without_bends():
    X = awkward(4, 400)
    basis, codes = ShapeBasis.fitted(X, None, 8, np.zeros(5))
    dense = BinnedFeatures(codes, *basis.columns(1.0)).to_dense()
    starts = basis.columns(1.0)[1]
    assert np.diff(starts).tolist() == [7, len(basis.knots[1]) - 1, 1, 1, 7]
    for first, last in pairwise(starts):
        covariance = np.cov(dense[:, first:last].T, bias=True).reshape(last - first, last - first)
        np.testing.assert_allclose(covariance - np.diag(np.diag(covariance)), 0.0, atol=1e-9)
    lines, starts = basis.columns(np.inf)
    assert np.diff(starts).tolist() == [1, 1, 1, 1, 1]
    np.testing.assert_allclose(BinnedFeatures(codes, lines, starts).to_dense().std(axis=0), [1, 1, 1, 0, 1], rtol=1e-6)


@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_bounded_weights_make_curves_that_only_rise_or_only_fall(direction):
    X = awkward(5, 300)
    basis, _ = ShapeBasis.fitted(X, None, 8, np.full(5, direction))
    at_knots, starts = basis.columns(1.0)
    lower, upper = basis.bounds(starts)
    weights = np.clip(np.random.default_rng(0).standard_normal(len(at_knots)), lower, upper)
    assert (direction * weights >= 0.0).all()
    shapes, sizes = basis.shapes(at_knots, starts, weights)
    for feature, (_, values) in enumerate(shapes.curves()):
        assert (direction * np.diff(values) >= -1e-12).all()
        assert np.interp(0.0, *shapes.curve(feature)) == pytest.approx(0.0, abs=1e-12)
    assert sizes[3] == 0.0
