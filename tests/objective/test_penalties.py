import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from linrank.objective.penalties import L1, L2

VECTORS = hnp.arrays(np.float64, 4, elements=st.floats(-3, 3))
SCALES = hnp.arrays(np.float64, 4, elements=st.floats(0, 3))


@given(weights=VECTORS, scales=st.none() | SCALES, step=st.floats(0.01, 2))
def test_the_proximal_step_minimises_distance_plus_penalty(weights, scales, step):
    penalty = L1(0.7, scales)
    shrunk = penalty.shrunk(weights, step)

    def total(point):
        return 0.5 * np.sum((point - weights) ** 2) / step + penalty.value(point)

    for j in range(4):
        for change in (-0.01, 0.01):
            nudged = shrunk.copy()
            nudged[j] += change
            assert total(shrunk) <= total(nudged) + 1e-12


@given(weights=VECTORS, gradient=VECTORS, scales=st.none() | SCALES)
def test_the_least_subgradient_is_the_steepest_descent(weights, gradient, scales):
    penalty = L1(0.7, scales)
    least = penalty.least_subgradient(weights, gradient)
    thresholds = np.broadcast_to(penalty.thresholds, 4)
    for j in range(4):
        if weights[j]:
            candidates = [gradient[j] + np.sign(weights[j]) * thresholds[j]]
        else:
            candidates = gradient[j] + np.linspace(-1, 1, 2001) * thresholds[j]
        assert abs(least[j]) <= np.min(np.abs(candidates)) + 2e-3
        assert np.min(np.abs(least[j] - candidates)) < 5e-3


def test_l2_is_half_the_square():
    weights, total = np.array([1.0, -2.0]), np.ones(2)
    assert L2(3.0).value(weights) == 7.5
    assert L2(3.0).gradient(weights).tolist() == [3.0, -6.0]
    L2(3.0).add_curvature_product(weights, weights, total)
    assert total.tolist() == [4.0, -5.0]
    assert L2(3.0).curvature(weights).tolist() == pytest.approx([3.0, 3.0])
