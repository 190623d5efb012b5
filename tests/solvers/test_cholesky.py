"""Cholesky factors: equal to SciPy's, and refused where there are none."""

import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve

from linrank.solvers.cholesky import CholeskyFactor


@pytest.mark.parametrize("n", [1, 2, 45, 300])
def test_solutions_are_those_of_scipy(n):
    random = np.random.default_rng(n)
    root = random.standard_normal((n, n + 3))
    matrix, right = root @ root.T, random.standard_normal(n)
    before = matrix.copy(), right.copy()
    solved = CholeskyFactor.of(matrix).solve(right)
    expected = cho_solve(cho_factor(matrix), right)
    np.testing.assert_allclose(matrix @ solved, right, atol=1e-9 * np.abs(matrix).max() * np.abs(solved).max())
    np.testing.assert_allclose(solved, expected, rtol=1e-6 * np.linalg.cond(matrix) ** 0.5)
    assert (matrix == before[0]).all()
    assert (right == before[1]).all()


def test_a_matrix_that_has_no_factor_is_refused():
    with pytest.raises(np.linalg.LinAlgError):
        CholeskyFactor.of(np.array([[1.0, 2.0], [2.0, 1.0]]))
