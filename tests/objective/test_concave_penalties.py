"""Concave penalties: their values written out, their slopes as derivatives, and the L1 penalty that lies above them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from linrank.objective.concave_penalties import MCP, Log, Lp, usual_size

PENALTIES = [MCP(0.8, 1.5), Log(0.8, 0.6), Lp(0.8, 0.4, 0.01)]
VECTORS = hnp.arrays(np.float64, 3, elements=st.floats(-3, 3))


def written_out(penalty, size):
    """p(|w|) for one weight, as the formula stands."""
    match penalty:
        case MCP(strength, shape):
            knee = shape * strength
            return strength * size - size**2 / (2 * shape) if size <= knee else shape * strength**2 / 2
        case Log(strength, shape):
            return strength * shape * math.log(1 + size / shape)
        case Lp(strength, power, smoothing):
            return strength * ((size + smoothing) ** power - smoothing**power)


@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
@given(weights=VECTORS)
def test_the_value_is_the_formula(penalty, weights):
    expected = sum(written_out(penalty, abs(weight)) for weight in weights)
    assert penalty.value(weights) == pytest.approx(expected, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
@given(weights=VECTORS)
def test_the_slope_is_the_derivative_in_the_size(penalty, weights):
    for weight, slope in zip(weights, penalty.slopes(weights), strict=True):
        size, step = abs(weight), 1e-7
        rise = (written_out(penalty, size + step) - written_out(penalty, size)) / step
        assert slope == pytest.approx(rise, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
@given(weights=VECTORS, others=VECTORS)
def test_the_tangent_is_nowhere_below_the_penalty_and_touches_it(penalty, weights, others):
    above = penalty.tangent(weights)
    constant = penalty.value(weights) - above.value(weights)
    assert above.value(others) + constant >= penalty.value(others) - 1e-12


def test_mcp_and_log_begin_as_the_l1_penalty():
    for penalty in PENALTIES[:2]:
        assert penalty.slopes(np.zeros(3)).tolist() == [0.8, 0.8, 0.8]
    assert MCP(0.8, 1.5).slopes(np.array([1.2, 5.0])).tolist() == pytest.approx([0.0, 0.0], abs=1e-15)
    assert Log(0.8, 0.6).slopes(np.array([-0.6])).tolist() == pytest.approx([0.4])


@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
@given(weights=VECTORS, gradient=VECTORS)
def test_the_first_order_condition_is_that_of_the_tangent_and_nothing_is_certified(penalty, weights, gradient):
    least = penalty.least_subgradient(weights, gradient)
    np.testing.assert_array_equal(least, penalty.tangent(weights).least_subgradient(weights, gradient))
    assert penalty.conjugate(gradient) == np.inf
    assert penalty.gap(weights, gradient) == np.inf
    assert not penalty.gradient(weights).any()
    assert not penalty.curvature(weights).any()


def test_the_usual_size_is_the_mean_of_those_that_are_not_zero():
    assert usual_size(np.array([0.0, 2.0, -4.0, 0.0])) == 3.0
    assert usual_size(np.zeros(3)) == 1.0
