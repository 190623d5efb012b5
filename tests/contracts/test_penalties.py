"""What every penalty owes: a smooth part with derivatives, weights that are allowed, and a conjugate that is one."""

import numpy as np
import pytest

from contracts.products import CONVEX_PENALTIES, PENALTIES, N

ALL = pytest.mark.parametrize("name", PENALTIES)
CONVEX = pytest.mark.parametrize("name", CONVEX_PENALTIES)
SEEDS = range(5)


def points(seed, count=20):
    """Weights from small to large, some of them zero: where corners and bounds are."""
    rng = np.random.default_rng(seed)
    drawn = rng.choice([0.1, 1.0, 3.0], size=(count, 1)) * rng.standard_normal((count, N))
    return np.where(rng.random((count, N)) < 0.3, 0.0, drawn)


@ALL
def test_allowed_weights_are_left_alone_and_others_become_allowed(name):
    penalty = PENALTIES[name]
    for weights in points(0):
        near = penalty.within(weights)
        np.testing.assert_allclose(penalty.within(near), near, rtol=1e-15)
        assert np.isfinite(penalty.value(near))
        if name in ("none", "L2", "weak L2", "L1", "toward", "MCP", "log", "Lp"):
            np.testing.assert_array_equal(near, weights)


@ALL
def test_curvature_is_the_derivative_of_the_gradient(name):
    penalty = PENALTIES[name]
    for weights, direction in zip(points(1), points(2), strict=True):
        ahead, behind = (penalty.gradient(weights + way * direction) for way in (1.0, -1.0))
        total = np.ones(N)
        penalty.add_curvature_product(direction, total)
        np.testing.assert_allclose(total - 1.0, (ahead - behind) / 2.0, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(penalty.curvature(weights) * direction, (ahead - behind) / 2.0, rtol=1e-9, atol=1e-9)


# The ball is met by its vertices, not by subgradients.
@pytest.mark.parametrize("name", [name for name in PENALTIES if name != "ball"])
def test_the_least_subgradient_foretells_how_the_value_falls(name):
    """Against it no allowed step is steeper, and where it is zero none goes down."""
    penalty = PENALTIES[name]
    for seed in SEEDS:
        for weights in map(penalty.within, points(seed, 4)):
            slopes = np.random.default_rng(seed).standard_normal(N)
            gradient = slopes + penalty.gradient(weights)
            least = penalty.least_subgradient(weights, gradient)
            for direction in np.vstack([points(seed + 30, 4), -np.eye(N), np.eye(N)]):
                step = penalty.within(weights + 1e-7 * direction) - weights
                rise = slopes @ step + penalty.value(weights + step) - penalty.value(weights)
                assert rise >= -np.linalg.norm(least) * np.linalg.norm(step) - 1e-12


@ALL
def test_nothing_that_is_given_is_written_to(name):
    penalty = PENALTIES[name]
    weights, slopes = penalty.within(np.array([0.3, -0.1, 0.0, 0.2])), np.array([1.0, -2.0, 0.5, 0.0])
    before = weights.tobytes(), slopes.tobytes()
    penalty.value(weights)
    penalty.gradient(weights)
    penalty.within(weights)
    penalty.least_subgradient(weights, slopes)
    penalty.conjugate(slopes)
    penalty.gap(weights, slopes)
    penalty.room(slopes)
    assert (weights.tobytes(), slopes.tobytes()) == before


@CONVEX
def test_it_is_convex_along_segments_of_allowed_weights(name):
    penalty = PENALTIES[name]
    for start, end in zip(map(penalty.within, points(3)), map(penalty.within, points(4)), strict=True):
        between = penalty.value(0.4 * start + 0.6 * end)
        assert between <= 0.4 * penalty.value(start) + 0.6 * penalty.value(end) + 1e-12


@CONVEX
def test_the_gap_is_what_weights_and_slopes_leave_and_never_negative(name):
    penalty = PENALTIES[name]
    for weights, slopes in zip(map(penalty.within, points(5)), points(6), strict=True):
        conjugate, gap = penalty.conjugate(slopes), penalty.gap(weights, slopes)
        assert gap >= 0.0
        if np.isfinite(conjugate):
            assert gap == pytest.approx(penalty.value(weights) + conjugate - slopes @ weights, rel=1e-9, abs=1e-9)
        else:
            assert gap == np.inf
        # P* is the most that u.w - P(w) can be.
        for other in map(penalty.within, points(7)):
            assert slopes @ other - penalty.value(other) <= conjugate + 1e-9


@CONVEX
def test_the_room_is_the_largest_share_whose_conjugate_is_finite(name):
    penalty = PENALTIES[name]
    for slopes in points(8):
        room = penalty.room(slopes)
        if not slopes.any():
            continue
        assert room >= 0.0
        if room < np.inf:
            assert penalty.conjugate((1.0 + 1e-9) * max(room, 1e-9) * slopes) == np.inf
        for share in (0.5, 1.0):
            assert np.isfinite(penalty.conjugate(share * min(room, 1e3) * slopes))


@pytest.mark.parametrize("name", sorted(set(PENALTIES) - set(CONVEX_PENALTIES)))
def test_of_a_concave_penalty_nothing_is_certified_and_its_tangent_lies_above_it(name):
    penalty = PENALTIES[name]
    for weights, other in zip(points(9), points(10), strict=True):
        assert penalty.conjugate(weights) == penalty.gap(weights, other) == np.inf
        tangent = penalty.tangent(weights)
        above = penalty.value(weights) - tangent.value(weights)
        assert penalty.value(other) <= tangent.value(other) + above + 1e-12
