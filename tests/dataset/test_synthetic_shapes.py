import numpy as np
import pytest

from linrank import LinrankError, make_shaped_ranking
from linrank.dataset.synthetic import MSLR_SHARES
from linrank.dataset.synthetic_shapes import SHAPES


def test_a_seed_gives_the_same_data_and_another_gives_another():
    one, other, third = (make_shaped_ranking(20, (3, 9), 15, random_state=seed) for seed in (4, 4, 5))
    assert one.data.fingerprint() == other.data.fingerprint() != third.data.fingerprint()
    assert one.effects == other.effects
    assert one.data.features.dtype == np.float32


def test_shares_are_those_asked_for_where_features_are_independent():
    asked = {"line": 0.2, "saturating": 0.2, "threshold": 0.2, "u": 0.2, "product": 0.2}
    made = make_shaped_ranking(2000, 20, 30, shares=asked, correlation=0.0, n_informative=12)
    assert made.shares == {kind: pytest.approx(0.2, abs=0.02) for kind in asked}
    assert sum(made.shares.values()) == pytest.approx(1.0)
    counts = {kind: made.effects.count(kind) for kind in ["", *asked]}
    assert counts == {"": 18, "line": 2, "saturating": 2, "threshold": 2, "u": 2, "product": 4}


def test_the_utility_is_a_sum_of_curves_of_the_raw_values_but_for_products():
    made = make_shaped_ranking(1, 5000, 5, shares={"threshold": 1.0}, n_informative=1, correlation=0.0, noise=0.0)
    column = made.data.features[:, made.effects.index("threshold")]
    order = np.argsort(column, kind="stable")
    steps = np.diff(made.utility[order])
    # A step rises or falls throughout, and equal values have one utility.
    assert (steps >= -1e-9).all() or (steps <= 1e-9).all()
    np.testing.assert_allclose(steps[np.diff(column[order]) == 0.0], 0.0, atol=1e-9)


def test_features_are_like_raw_ones_of_the_web():
    X = make_shaped_ranking(300, 20, 10).data.features.astype(np.float64)
    assert ((X[:, 0] > 0) & (X[:, 0] < 1)).all()
    assert X[:, 1].max() > 50 * np.median(X[:, 1])
    np.testing.assert_array_equal(X[:, 2], np.round(X[:, 2]))
    assert 0.6 < (X[:, 3] == 0.0).mean() < 0.8
    assert np.ptp(X[:, 4]) > 500


def test_labels_have_the_shares_asked_for():
    labels = make_shaped_ranking(200, 50, 10).data.labels
    np.testing.assert_allclose(np.bincount(labels.astype(int)) / 10000, MSLR_SHARES, atol=0.002)


def test_each_kind_bends_as_its_name_says():
    t = np.linspace(-3, 3, 601)
    line, saturating, threshold, u = (SHAPES[kind](t) for kind in ("line", "saturating", "threshold", "u"))
    assert np.ptp(np.diff(line)) < 1e-12
    assert np.ptp(saturating[t > 0.5]) < 0.02 * np.ptp(saturating)
    assert np.ptp(threshold[np.abs(t - 0.7) > 0.5][:300]) < 0.01
    assert t[np.argmin(u)] == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"shares": {"square": 1.0}}, r"use numbers from 0 for some of line, product, saturating, threshold, u"),
        ({"shares": {"u": -1.0}}, "use numbers from 0"),
        ({"n_informative": 2}, "n_informative=2; use from 4, for line, saturating, threshold, u, to n_features=40"),
        ({"correlation": 1.0}, "use from 0 to below 1"),
        ({"n_queries": 0}, "each must be at least 1"),
    ],
)
def test_what_cannot_be_made_is_refused(settings, said):
    with pytest.raises(LinrankError, match=said):
        make_shaped_ranking(**settings)
