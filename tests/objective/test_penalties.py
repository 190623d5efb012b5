"""Penalties that are sums over features: each claim is checked one feature at a time, against a fine grid."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from linrank import LinrankError
from linrank.objective.l1_ball import L1Ball
from linrank.objective.penalties import L1, L2, Bounds, ElasticNet, Toward, WeightPenalty

N = 4
VECTORS = hnp.arrays(np.float64, N, elements=st.floats(-3, 3))
# Multiples of 1/4: ties with a bound, a corner or a centre are the hard cases.
TIES = hnp.arrays(np.float64, N, elements=st.integers(-12, 12).map(lambda k: k / 4))
POINTS = VECTORS | TIES
SIZES = st.just(0.0) | st.floats(0.01, 3)
STEPS = st.floats(0.01, 2)


def each(numbers):
    """One number for all features, or one for each."""
    return numbers | hnp.arrays(np.float64, N, elements=numbers)


@st.composite
def penalties(draw):
    ends = draw(POINTS), draw(POINTS)
    lower, upper = np.minimum(*ends), np.maximum(*ends)
    lower, upper = (
        np.where(draw(hnp.arrays(bool, N)), lower, -np.inf),
        np.where(draw(hnp.arrays(bool, N)), upper, np.inf),
    )
    match draw(st.integers(0, 3)):
        case 0:
            lower, upper = -np.inf, np.inf
        case 1:
            lower = 0.0
            upper = np.where(upper > 0.0, upper, np.inf)
    centres = draw(each(st.floats(-2, 2)))
    return WeightPenalty(draw(each(SIZES)), draw(each(SIZES)), centres, lower, upper)


def columns(penalty):
    """Threshold, strength, centre and bounds of each feature."""
    values = (penalty.thresholds, penalty.strengths, penalty.centres, penalty.lower, penalty.upper)
    return zip(*(np.broadcast_to(value, N) for value in values), strict=True)


def grid(lower, upper, *marks, far=8.0, steps=4001):
    """Allowed weights, fine and wide, with the marks among them: bounds, corners, centres."""
    points = np.concatenate([np.linspace(-far, far, steps), marks, [0.0]])
    return np.clip(points, lower, upper)


def of_one(weight, threshold, strength, centre):
    return threshold * np.abs(weight) + 0.5 * strength * (weight - centre) ** 2


@given(penalty=penalties(), weights=POINTS)
def test_the_value_is_the_formula_and_its_parts_make_it_up(penalty, weights):
    weights = penalty.within(weights)
    rows = list(zip(weights, columns(penalty), strict=True))
    expected = sum(of_one(weight, *column[:3]) for weight, column in rows)
    assert penalty.value(weights) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    corners = sum(column[0] * abs(weight) for weight, column in rows)
    assert penalty.value_of_corners(weights) == pytest.approx(corners, rel=1e-12, abs=1e-12)


@given(penalty=penalties(), weights=POINTS, direction=POINTS)
def test_gradient_and_curvature_are_the_derivatives_of_the_parabolas(penalty, weights, direction):
    def smooth(at):
        return penalty.value(at) - penalty.value_of_corners(at)

    total = np.ones(N)
    penalty.add_curvature_product(direction, total)
    for j, nudge in enumerate(np.eye(N)):
        rise = 0.5 * (smooth(weights + nudge) - smooth(weights - nudge))
        assert penalty.gradient(weights)[j] == pytest.approx(rise, rel=1e-9, abs=1e-9)
        bend = smooth(weights + nudge) - 2.0 * smooth(weights) + smooth(weights - nudge)
        assert penalty.curvature(weights)[j] == pytest.approx(bend, rel=1e-9, abs=1e-9)
        assert total[j] == pytest.approx(1.0 + bend * direction[j], rel=1e-9, abs=1e-9)


@given(penalty=penalties(), weights=POINTS)
def test_the_nearest_allowed_weights_are_within_the_bounds_and_change_nothing_that_is(penalty, weights):
    near = penalty.within(weights)
    assert np.all((near >= penalty.lower) & (near <= penalty.upper))
    inside = (weights >= penalty.lower) & (weights <= penalty.upper)
    np.testing.assert_array_equal(near[inside], weights[inside])
    np.testing.assert_array_equal(penalty.within(near), near)


@given(penalty=penalties(), weights=POINTS, step=each(STEPS))
def test_the_proximal_step_minimises_distance_plus_corners_within_the_bounds(penalty, weights, step):
    shrunk = penalty.shrunk(weights, step)
    assert not np.signbit(shrunk[shrunk == 0.0]).any()
    steps = np.broadcast_to(step, N)
    for found, weight, pace, column in zip(shrunk, weights, steps, columns(penalty), strict=True):
        threshold, _, _, lower, upper = column

        def total(point, weight=weight, pace=pace, threshold=threshold):
            return 0.5 * (point - weight) ** 2 / pace + threshold * np.abs(point)

        assert lower <= found <= upper
        assert total(found) <= np.min(total(grid(lower, upper, weight))) + 1e-12


@given(penalty=penalties(), weights=POINTS, gradient=POINTS)
def test_the_least_subgradient_is_the_steepest_descent(penalty, weights, gradient):
    weights = penalty.within(weights)
    least = penalty.least_subgradient(weights, gradient)
    for found, weight, slope, column in zip(least, weights, gradient, columns(penalty), strict=True):
        threshold, _, _, lower, upper = column
        # A bound adds any slope that pushes against it, a corner any between its two.
        lowest = slope + (np.sign(weight) if weight else -1.0) * threshold - (np.inf if weight <= lower else 0.0)
        highest = slope + (np.sign(weight) if weight else 1.0) * threshold + (np.inf if weight >= upper else 0.0)
        assert found == pytest.approx(np.clip(0.0, lowest, highest), abs=1e-12)


@given(penalty=penalties(), slopes=POINTS)
def test_the_least_subgradient_is_zero_where_the_proximal_step_leads(penalty, slopes):
    weights = penalty.shrunk(slopes, 1.0)
    # The gradient of |w - slopes|² / 2, whose least point with the corners and bounds the weights are.
    assert np.abs(penalty.least_subgradient(weights, weights - slopes)).max() <= 1e-12


@given(penalty=penalties(), slopes=POINTS)
def test_the_conjugate_is_the_largest_of_slope_times_weight_less_the_penalty(penalty, slopes):
    conjugate = penalty.conjugate(slopes)
    far = 3000.0
    most = 0.0
    for slope, (threshold, strength, centre, lower, upper) in zip(slopes, columns(penalty), strict=True):
        marks = [mark for mark in (lower, upper, centre) if np.isfinite(mark)]
        if strength > 0.0:
            marks += [centre + (slope + sign * threshold) / strength for sign in (-1.0, 1.0)]
        unheld = strength == 0.0 and not np.isfinite(upper if slope > 0.0 else lower)
        if unheld and abs(slope) > threshold:
            assert conjugate == np.inf
            return
        points = grid(lower, upper, *marks, far=far)
        most += np.max(slope * points - of_one(points, threshold, strength, centre))
    assert np.isfinite(conjugate)
    assert conjugate == pytest.approx(most, rel=1e-9, abs=1e-9)


@given(penalty=penalties(), weights=POINTS, slopes=POINTS)
def test_the_gap_is_never_negative_and_is_the_penalty_plus_its_conjugate_less_their_product(penalty, weights, slopes):
    weights = penalty.within(weights)
    gap, conjugate = penalty.gap(weights, slopes), penalty.conjugate(slopes)
    assert gap >= 0.0
    if np.isinf(conjugate):
        assert gap == np.inf
    else:
        expected = penalty.value(weights) + conjugate - slopes @ weights
        assert gap == pytest.approx(expected, rel=1e-9, abs=1e-9 * (1.0 + abs(conjugate)))


@given(penalty=penalties(), weights=POINTS, off=POINTS)
def test_the_gap_is_zero_where_the_slopes_are_a_subgradient(penalty, weights, off):
    weights = penalty.within(weights)
    # The slopes nearest to any others of which the weights are the best answer.
    gradient = penalty.gradient(weights) - off
    slopes = off + penalty.least_subgradient(weights, gradient)
    # Slopes that are beyond a threshold by their rounding alone would have an infinite conjugate.
    slopes *= 1.0 - 1e-14
    assert penalty.gap(weights, slopes) == pytest.approx(0.0, abs=1e-11)


@given(penalty=penalties(), slopes=POINTS, C=st.sampled_from([1.0, 0.3, 1e-7]))
def test_room_is_the_largest_share_that_keeps_the_conjugate_finite(penalty, slopes, C):
    room = penalty.room(-C * slopes)
    assert room >= 0.0
    most = min(room, 1e3)
    for share in (0.0, 0.5 * most, most):
        # However the three are multiplied, rounding does not lead out of it.
        for pulls in (share * (-C * slopes), -(share * C) * slopes, -C * (share * slopes)):
            assert np.isfinite(penalty.conjugate(pulls))
    if room < 1e3:
        assert penalty.conjugate((1.0 + 1e-9) * max(room, 1e-9) * (-C * slopes)) == np.inf


@given(first=penalties(), second=penalties(), weights=POINTS, others=POINTS)
def test_a_sum_is_the_sum_of_the_values_but_for_a_constant_and_keeps_both_bounds(first, second, weights, others):
    lower, upper = np.maximum(first.lower, second.lower), np.minimum(first.upper, second.upper)
    if np.any(lower > upper):
        with pytest.raises(LinrankError, match="its lower bound is above its upper one"):
            first + second
        return
    total = first + second
    np.testing.assert_array_equal(total.lower, lower)
    np.testing.assert_array_equal(total.upper, upper)
    weights, others = total.within(weights), total.within(others)
    apart = [total.value(at) - first.value(at) - second.value(at) for at in (weights, others)]
    assert apart[0] == pytest.approx(apart[1], abs=1e-9)
    slopes = first.gradient(weights) + second.gradient(weights)
    np.testing.assert_allclose(total.gradient(weights), slopes, rtol=1e-9, atol=1e-9)
    turned = second + first
    assert turned.value(weights) == pytest.approx(total.value(weights), rel=1e-12, abs=1e-12)


@given(penalty=penalties(), weights=POINTS, slopes=POINTS)
def test_one_number_for_all_is_the_same_number_for_each(penalty, weights, slopes):
    by_feature = WeightPenalty(*(np.array(column) for column in zip(*columns(penalty), strict=True)))
    weights = penalty.within(weights)
    assert by_feature.value(weights) == pytest.approx(penalty.value(weights), rel=1e-14)
    assert by_feature.conjugate(slopes) == pytest.approx(penalty.conjugate(slopes), rel=1e-14)
    assert by_feature.gap(weights, slopes) == pytest.approx(penalty.gap(weights, slopes), rel=1e-14)
    assert by_feature.room(slopes) == penalty.room(slopes)
    for of in ("gradient", "curvature", "within"):
        np.testing.assert_array_equal(getattr(by_feature, of)(weights), getattr(penalty, of)(weights))
    for of in ("shrunk", "least_subgradient"):
        other = 0.5 if of == "shrunk" else slopes
        np.testing.assert_array_equal(getattr(by_feature, of)(weights, other), getattr(penalty, of)(weights, other))


@pytest.mark.parametrize(("lower", "upper"), [(1.0, 0.0), (np.array([0.0, 2.0]), 1.0), (0.5, np.array([np.inf, 0.0]))])
def test_bounds_that_cross_are_refused_at_once_and_in_a_sum(lower, upper):
    with pytest.raises(LinrankError, match="lower bound is above its upper one"):
        Bounds(lower, upper)
    with pytest.raises(LinrankError, match="lower bound is above its upper one"):
        L2() + Bounds(lower) + Bounds(upper=upper)


def test_each_name_is_its_formula():
    weights = np.array([1.0, -2.0])
    assert L2(3.0).value(weights) == 7.5
    assert L2(3.0).gradient(weights).tolist() == [3.0, -6.0]
    assert L2(3.0).curvature(weights).tolist() == [3.0, 3.0]
    assert L1(3.0).value(weights) == 9.0
    assert L1(3.0, np.array([2.0, 0.5])).value(weights) == 9.0
    assert ElasticNet(0.25, 2.0).value(weights) == 0.5 * 3.0 + 1.5 * 2.5
    assert Toward(np.array([0.0, 1.0]), 2.0).value(weights) == 1.0 + 9.0
    assert Bounds(-1.0, [0.5, np.inf]).within(weights).tolist() == [0.5, -1.0]
    assert Bounds().value(weights) == 0.0


def test_the_strength_of_a_plain_parabola_is_known_and_of_nothing_else():
    assert L2(0.5).strength == 0.5
    assert (L2(0.5) + L2(1.0) + Bounds()).strength == 1.5
    assert Toward(np.ones(2), 0.5).strength == 0.5
    for other in (L1(1.0), L2() + Bounds(0.0), WeightPenalty(strengths=np.ones(2))):
        with pytest.raises(LinrankError, match=r"strength / 2 \|w - centres\|² is wanted"):
            _ = other.strength


def test_it_says_what_it_is():
    assert str(L2(0.0)) == "no penalty"
    assert str(ElasticNet(0.25) + Bounds(0.0)) == "L1 0.25, L2 0.75, at least 0"
    assert str(Toward(np.ones(2)) + Bounds(upper=[1.0, 2.0])) == "L2 1, toward by feature, at most by feature"


@given(weights=POINTS, slopes=POINTS, radius=st.floats(0.1, 5))
def test_the_ball_has_the_conjugate_of_its_vertices_and_a_gap_that_is_zero_at_the_best(weights, slopes, radius):
    ball = L1Ball(radius)
    inside = ball.within(weights)
    assert np.sum(np.abs(inside)) <= radius * (1.0 + 1e-12)
    if np.sum(np.abs(weights)) <= radius:
        np.testing.assert_array_equal(inside, weights)
    vertices = [sign * radius * unit for unit in np.eye(N) for sign in (-1.0, 1.0)]
    assert ball.conjugate(slopes) == pytest.approx(max(slopes @ vertex for vertex in vertices))
    assert slopes @ ball.vertex(slopes) == pytest.approx(ball.conjugate(slopes))
    assert ball.gap(ball.vertex(slopes), slopes) == pytest.approx(0.0, abs=1e-12)
    assert ball.gap(inside, slopes) == pytest.approx(ball.conjugate(slopes) - slopes @ inside, abs=1e-12)
    assert ball.gap(inside, slopes) >= 0.0
    assert ball.value(inside) == 0.0
    assert ball.room(slopes) == np.inf


def test_penalties_by_name_are_their_formulas_and_weigh_one_unless_told():
    w, centre = np.array([1.5, -0.25, 0.0, 3.0]), np.array([1.0, 0.0, -1.0, 2.0])
    sizes, squares = np.sum(np.abs(w)), np.sum(w * w)
    assert L2().value(w) == pytest.approx(squares / 2, rel=1e-15)
    assert L2(3.0).value(w) == pytest.approx(3 * squares / 2, rel=1e-15)
    assert L1(2.0).value(w) == pytest.approx(2 * sizes, rel=1e-15)
    assert L1(2.0, np.array([1.0, 2.0, 3.0, 4.0])).value(w) == pytest.approx(2 * (1.5 + 0.5 + 12.0), rel=1e-15)
    assert ElasticNet(0.25).value(w) == pytest.approx(0.25 * sizes + 0.75 * squares / 2, rel=1e-15)
    assert ElasticNet(0.25, 4.0).value(w) == pytest.approx(sizes + 3 * squares / 2, rel=1e-15)
    # But for a constant, which no solver sees.
    for penalty, strength in ((Toward(centre), 1.0), (Toward(centre, 5.0), 5.0)):
        pulled = [strength * np.sum((at - centre) ** 2) / 2 for at in (w, np.zeros(N))]
        assert penalty.value(w) - penalty.value(np.zeros(N)) == pytest.approx(pulled[0] - pulled[1], rel=1e-14)


def test_the_border_of_the_ball_holds_what_pulls_outwards_on_average():
    """By hand: held is the mean of -g_j sign(w_j) over the weights in use, and not below zero."""
    ball, w = L1Ball(1.0), np.array([0.5, -0.5, 0.0, 0.0])
    outward, inward = np.array([-3.0, 1.0, 0.5, -4.0]), np.array([3.0, -1.0, 0.5, -4.0])
    np.testing.assert_array_equal(ball.least_subgradient(w, outward), [-1.0, -1.0, 0.0, -2.0])
    np.testing.assert_array_equal(ball.least_subgradient(w, inward), inward)
    # Inside nothing is held; on the border rounding is no inside.
    np.testing.assert_array_equal(ball.least_subgradient(w * (1.0 - 1e-9), outward), outward)
    np.testing.assert_allclose(ball.least_subgradient(w * (1.0 - 2e-13), outward), [-1.0, -1.0, 0.0, -2.0])


@given(POINTS.filter(np.any), st.floats(0.1, 3))
def test_nothing_pulls_at_the_corner_that_a_slope_leads_to(gradient, radius):
    ball = L1Ball(radius)
    corner = ball.vertex(-gradient)
    assert np.sum(np.abs(corner)) == pytest.approx(radius, rel=1e-15)
    np.testing.assert_array_equal(ball.least_subgradient(corner, gradient), np.zeros(N))
    assert ball.gap(corner, -gradient) <= 1e-15 * radius * np.abs(gradient).max()
    assert ball.within(corner) is corner
    np.testing.assert_allclose(ball.within(3.0 * corner), corner, rtol=1e-15)
