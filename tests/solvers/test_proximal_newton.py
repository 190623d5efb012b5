"""Sparse weights: the optimality conditions hold, the gap is true, and zeros are exact."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrank import RankingDataset, make_ranking
from linrank.executors.local import Threads
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import L1, L2
from linrank.objective.placement import PlacedData
from linrank.solvers import newton_cg
from linrank.solvers.duality import dual_value
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.proximal_newton import ProximalNewton
from linrank.solvers.solution import Journal

DATA = {
    "dense": make_ranking(40, 20, 12)[0],
    "sparse": make_ranking(40, 20, 60, density=0.1)[0],
    "many levels": make_ranking(10, 80, 12, levels=None)[0],
}


def objective_of(data, strength=0.0, executor=None):
    return RankingObjective(SquaredHinge(), L2(strength), 1.0, PlacedData.of(data, executor or Threads(1)))


def largest(objective):
    return float(np.abs(objective.at(np.zeros(objective.data.n_features)).gradient).max())


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("strength", [0.0, 1.0], ids=["L1", "elastic net"])
@pytest.mark.parametrize("share", [0.5, 0.05, 0.005])
def test_it_stops_where_no_subgradient_is_left(name, strength, share):
    objective = objective_of(DATA[name], strength)
    penalty = L1(share * largest(objective))
    solution = ProximalNewton(penalty, 1e-10).minimize(objective)
    assert solution.converged
    point = objective.at(solution.weights)
    least = penalty.least_subgradient(solution.weights, point.gradient)
    assert np.abs(least).max() <= 1e-3 * penalty.strength
    assert solution.value == pytest.approx(point.value + penalty.value(solution.weights), rel=1e-12)
    assert np.count_nonzero(solution.weights) > 0
    if share == 0.5:
        assert np.count_nonzero(solution.weights) < DATA[name].n_features / 2


@given(seed=st.integers(0, 50), share=st.floats(0.01, 0.9), strength=st.sampled_from([0.0, 0.5]))
def test_the_dual_value_is_never_above_any_objective(seed, share, strength):
    data, _ = make_ranking(5, 10, 4, random_state=seed)
    objective = objective_of(data, strength)
    penalty = L1(share * largest(objective), np.array([1.0, 2.0, 0.5, 1.0]))
    solution = ProximalNewton(penalty, 1e-9).minimize(objective)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        bound = dual_value(objective.at(rng.standard_normal(4)), penalty)
        assert bound <= solution.value * (1 + 1e-9)
    assert solution.value - solution.certified_gap <= solution.value
    assert solution.certified_gap <= 1e-8 * solution.value + 1e-9


def test_weights_are_zero_at_the_largest_penalty_and_not_below_it():
    objective = objective_of(DATA["dense"])
    top = largest(objective)
    assert not ProximalNewton(L1(top)).minimize(objective).weights.any()
    assert ProximalNewton(L1(0.999 * top)).minimize(objective).weights.any()


def test_scales_make_features_dearer():
    objective = objective_of(DATA["dense"])
    usual = ProximalNewton(L1(0.05 * largest(objective)), 1e-9).minimize(objective).weights
    scales = np.ones(12)
    dearest = int(np.argmax(np.abs(usual)))
    scales[dearest] = 1e9
    priced = ProximalNewton(L1(0.05 * largest(objective), scales), 1e-9).minimize(objective).weights
    assert usual[dearest] != 0
    assert priced[dearest] == 0


def test_only_free_features_get_weights():
    data = DATA["dense"]
    free = np.arange(12) % 3 == 0
    objective = objective_of(data, 1.0)
    masked = ProximalNewton(L1(0.0), 1e-12, free=free).minimize(objective)
    assert not masked.weights[~free].any()
    part = RankingDataset.from_arrays(data.features[:, free], data.labels, qid=data.qid)
    alone = NewtonCG(1e-13).minimize(objective_of(part, 1.0))
    assert masked.value == pytest.approx(alone.value, rel=1e-9)
    np.testing.assert_allclose(masked.weights[free], alone.weights, rtol=1e-4)


def test_a_diagonal_model_reaches_the_same_minimum(monkeypatch):
    objective = objective_of(DATA["sparse"])
    penalty = L1(0.1 * largest(objective))
    usual = ProximalNewton(penalty, 1e-9).minimize(objective)
    monkeypatch.setattr(newton_cg, "_MOST_FEATURES_IN_A_MATRIX", 1)
    plain = ProximalNewton(penalty, 1e-6, max_iterations=5000).minimize(objective)
    assert plain.value == pytest.approx(usual.value, rel=2e-6)


def test_any_number_of_threads_gives_the_same_weights():
    weights = []
    for n_threads in (1, 3):
        with Threads(n_threads) as executor:
            objective = objective_of(DATA["dense"], executor=executor)
            weights.append(ProximalNewton(L1(5.0)).minimize(objective).weights.tobytes())
    assert weights[0] == weights[1]


def test_warm_starts_interrupts_and_limits():
    objective = objective_of(DATA["dense"])
    penalty = L1(0.01 * largest(objective))
    first = ProximalNewton(penalty).minimize(objective)
    again, _ = ProximalNewton(penalty).continue_from(objective.at(first.weights), Journal())
    assert again.iterations == 1
    assert "out of iterations" in ProximalNewton(penalty, 1e-15, max_iterations=1).minimize(objective).message
    assert "out of time" in ProximalNewton(penalty, 1e-15, max_seconds=0.0).minimize(objective).message

    def press_ctrl_c(line, weights):
        raise KeyboardInterrupt

    assert ProximalNewton(penalty).minimize(objective, watch=press_ctrl_c).interrupted
