"""Features through a curve each."""

import numpy as np
import pytest
import scipy.sparse

from linrank.dataset.feature_shapes import FeatureShapes
from linrank.errors import LinrankError

CURVES = [([0.0, 1.0, 3.0], [0.0, 2.0, -2.0]), ([5.0], [1.0]), ([-1.0, 1.0], [-3.0, 3.0])]


@pytest.fixture
def shapes():
    return FeatureShapes.of("rank-gauss", CURVES)


def slowly(x, knots, values):
    """f(x), from the two knots around x."""
    if x <= knots[0]:
        return values[0]
    for left in range(len(knots) - 1):
        if x <= knots[left + 1]:
            share = (x - knots[left]) / (knots[left + 1] - knots[left])
            return values[left] + share * (values[left + 1] - values[left])
    return values[-1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_curve_is_linear_between_its_knots_and_constant_beyond(shapes, dtype):
    rows = np.random.default_rng(0).uniform(-4, 6, size=(50, 3)).astype(dtype)
    shaped = shapes.apply(rows)
    assert shaped.dtype == dtype
    expected = [[slowly(x, *curve) for x, curve in zip(row, CURVES, strict=True)] for row in rows]
    np.testing.assert_allclose(shaped, expected, rtol=1e-6, atol=1e-6)


def test_what_is_missing_stays_missing(shapes):
    assert np.isnan(shapes.apply(np.array([[np.nan, 1.0, 0.0]]))[0, 0])


def test_sparse_zeros_stay_zeros_and_differences_are_those_of_dense_rows(shapes):
    rows = np.array([[0.0, 7.0, 0.5], [2.0, 0.0, -1.0], [0.0, 0.0, 0.0]])
    sparse = shapes.apply(scipy.sparse.csr_array(rows))
    assert sparse.nnz == np.count_nonzero(rows)
    dense = shapes.apply(rows)
    np.testing.assert_allclose(np.diff(sparse.toarray(), axis=0), np.diff(dense, axis=0), atol=1e-12)


@pytest.mark.parametrize(
    ("curve", "said"),
    [
        (([], []), "a knot at least"),
        (([0.0, 1.0], [0.0]), "one value a knot"),
        (([0.0, 0.0], [0.0, 1.0]), "do not ascend"),
        (([0.0, np.inf], [0.0, 1.0]), "not finite"),
    ],
)
def test_curves_that_are_none_are_refused(curve, said):
    with pytest.raises(LinrankError, match=f"feature 2.*{said}"):
        FeatureShapes.of("additive", [CURVES[0], curve])


def test_data_of_another_width_and_raw_weights_are_refused(shapes):
    with pytest.raises(LinrankError, match="3 features, but there are 2"):
        shapes.apply(np.zeros((1, 2)))
    with pytest.raises(LinrankError, match="cannot be folded"):
        shapes.fold(np.ones(3))


@pytest.mark.parametrize("n_rows", [3, 70_001])
def test_infinity_is_beyond_the_last_knot_however_many_rows_there_are(n_rows):
    curves = [(1e15 + np.arange(n) * 0.125, np.arange(float(n))) for n in (1, 2, 65, 1_000)]
    shapes = FeatureShapes.of("additive", curves)
    for value, expected in ((np.inf, [values[-1] for _, values in curves]), (-np.inf, [0.0] * 4)):
        for dtype in (np.float64, np.float32):
            shaped = shapes.apply(np.full((n_rows, 4), value, dtype=dtype))
            assert (shaped == np.array(expected)).all()
