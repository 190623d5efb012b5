"""Sparse weights: the optimality conditions hold, the gap is true, and zeros are exact."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrank import RankingDataset, make_ranking
from linrank.dataset.query_blocks import cut_into_blocks
from linrank.executors.local import Threads
from linrank.objective.objective import EvaluatedPoint, RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import L1, L2, Bounds
from linrank.objective.placement import PlacedData
from linrank.solvers import proximal_newton
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.proximal_newton import ProximalNewton, SecantHessian
from linrank.solvers.solution import Journal

DATA = {
    "dense": make_ranking(40, 20, 12)[0],
    "sparse": make_ranking(40, 20, 60, density=0.1)[0],
    "many levels": make_ranking(10, 80, 12, levels=None)[0],
}


def objective_of(data, penalty=None, executor=None):
    return RankingObjective(SquaredHinge(), penalty or L2(0.0), 1.0, PlacedData.of(data, executor or Threads(1)))


def in_many_shards(data, penalty=None, executor=None):
    """The same objective with a block for every query, and as many shards as large data has."""
    placed = PlacedData.of_blocks(cut_into_blocks(data, block_bytes=1), data.n_features, executor or Threads(1))
    assert len(placed.shards) >= 16
    return RankingObjective(SquaredHinge(), penalty or L2(0.0), 1.0, placed)


def largest(objective):
    return float(np.abs(objective.at(np.zeros(objective.data.n_features)).loss_gradient).max())


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("strength", [0.0, 1.0], ids=["L1", "elastic net"])
@pytest.mark.parametrize("share", [0.5, 0.05, 0.005])
def test_it_stops_where_no_subgradient_is_left(name, strength, share):
    loss = objective_of(DATA[name])
    l1 = share * largest(loss)
    objective = loss.with_penalty(L1(l1) + L2(strength))
    solution = ProximalNewton(1e-10).minimize(objective)
    assert solution.converged
    point = objective.at(solution.weights)
    assert np.abs(point.least_subgradient).max() <= 1e-3 * l1
    sizes, squares = np.abs(solution.weights).sum(), solution.weights @ solution.weights
    assert solution.value == pytest.approx(point.loss_value + l1 * sizes + 0.5 * strength * squares, rel=1e-12)
    assert np.count_nonzero(solution.weights) > 0
    if share == 0.5:
        assert np.count_nonzero(solution.weights) < DATA[name].n_features / 2


@given(seed=st.integers(0, 50), share=st.floats(0.01, 0.9), strength=st.sampled_from([0.0, 0.5]))
def test_the_dual_value_is_never_above_any_objective(seed, share, strength):
    data, _ = make_ranking(5, 10, 4, random_state=seed)
    loss = objective_of(data)
    scales = np.array([1.0, 2.0, 0.5, 1.0])
    objective = loss.with_penalty(L1(share * largest(loss), scales) + L2(strength))
    solution = ProximalNewton(1e-9).minimize(objective)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        assert objective.at(rng.standard_normal(4)).dual_value() <= solution.value * (1 + 1e-9)
    assert solution.value - solution.certified_gap <= solution.value
    assert solution.certified_gap <= 1e-8 * solution.value + 1e-9


def test_weights_are_zero_at_the_largest_penalty_and_not_below_it():
    objective = objective_of(DATA["dense"])
    top = largest(objective)
    assert not ProximalNewton().minimize(objective.with_penalty(L1(top))).weights.any()
    assert ProximalNewton().minimize(objective.with_penalty(L1(0.999 * top))).weights.any()


def test_scales_make_features_dearer():
    objective = objective_of(DATA["dense"])
    l1 = 0.05 * largest(objective)
    usual = ProximalNewton(1e-9).minimize(objective.with_penalty(L1(l1))).weights
    scales = np.ones(12)
    dearest = int(np.argmax(np.abs(usual)))
    scales[dearest] = 1e9
    priced = ProximalNewton(1e-9).minimize(objective.with_penalty(L1(l1, scales))).weights
    assert usual[dearest] != 0
    assert priced[dearest] == 0


def only(free):
    return Bounds(np.where(free, -np.inf, 0.0), np.where(free, np.inf, 0.0))


def test_only_free_features_get_weights():
    data = DATA["dense"]
    free = np.arange(12) % 3 == 0
    masked = ProximalNewton(1e-12).minimize(objective_of(data, L2() + only(free)))
    assert not masked.weights[~free].any()
    part = RankingDataset.from_arrays(data.features[:, free], data.labels, qid=data.qid)
    alone = NewtonCG(1e-13).minimize(objective_of(part, L2()))
    assert masked.value == pytest.approx(alone.value, rel=1e-9)
    np.testing.assert_allclose(masked.weights[free], alone.weights, rtol=1e-4)


def test_a_diagonal_model_reaches_the_same_minimum(monkeypatch):
    loss = objective_of(DATA["sparse"])
    objective = loss.with_penalty(L1(0.1 * largest(loss)))
    usual = ProximalNewton(1e-9).minimize(objective)
    monkeypatch.setattr(proximal_newton, "MOST_FEATURES_IN_A_MATRIX", 1)
    plain = ProximalNewton(1e-6, max_iterations=5000).minimize(objective)
    assert plain.value == pytest.approx(usual.value, rel=2e-6)


def test_any_number_of_threads_gives_the_same_weights():
    weights = []
    for n_threads in (1, 3):
        with Threads(n_threads) as executor:
            objective = objective_of(DATA["dense"], L1(5.0), executor)
            weights.append(ProximalNewton().minimize(objective).weights.tobytes())
    assert weights[0] == weights[1]


def test_warm_starts_interrupts_and_limits():
    loss = objective_of(DATA["dense"])
    objective = loss.with_penalty(L1(0.01 * largest(loss)))
    first = ProximalNewton().minimize(objective)
    again, _ = ProximalNewton().continue_from(objective.at(first.weights), Journal())
    assert again.iterations == 1
    assert "out of iterations" in ProximalNewton(1e-15, max_iterations=1).minimize(objective).message
    assert "out of time" in ProximalNewton(1e-15, max_seconds=0.0).minimize(objective).message

    def press_ctrl_c(line, weights):
        raise KeyboardInterrupt

    assert ProximalNewton().minimize(objective, watch=press_ctrl_c).interrupted


class AlwaysTried(ProximalNewton):
    def _decrease(self, point, hessian):
        return -np.inf


@given(
    seed=st.integers(0, 50),
    share=st.floats(0.01, 0.5),
    strength=st.sampled_from([0.0, 0.5]),
    off=st.floats(0.0, 0.1),
    masked=st.booleans(),
)
def test_a_dual_value_with_weights_for_some_shards_alone_is_never_above_the_minimum(seed, share, strength, off, masked):
    data, _ = make_ranking(40, 10, 6, random_state=seed)
    loss = in_many_shards(data)
    scales = np.array([1.0, 2.0, 0.5, 1.0, 1.0, 3.0])
    penalty = L1(share * largest(loss), scales) + L2(strength)
    if masked:
        penalty += only(np.arange(6) != seed % 6)
    objective = loss.with_penalty(penalty)
    least = ProximalNewton(1e-10).minimize(objective)
    near = least.weights * (1.0 + off * np.random.default_rng(seed).standard_normal(6))
    point = objective.at(near)
    for tolerance in (1e9, 0.0):
        # The first one is content with the first round, the other one never.
        solver = AlwaysTried(tolerance)
        bound = solver._dual_value_of_parts(point, SecantHessian().at(point), point.value)
        assert -np.inf < bound <= least.value * (1.0 + 1e-9)


@pytest.mark.parametrize("strength", [0.0, 1.0], ids=["L1", "elastic net"])
def test_some_shards_alone_certify_what_the_point_cannot(strength):
    data, _ = make_ranking(640, 10, 8)
    loss = in_many_shards(data)
    objective = loss.with_penalty(L1(0.05 * largest(loss)) + L2(strength))
    best = ProximalNewton(1e-11).minimize(objective)
    point = objective.at(best.weights * (1.0 + 1e-3 * np.cos(np.arange(8))))
    value = point.value
    solver = ProximalNewton(1e-5)
    plain = value - point.dual_value()
    parts = value - solver._dual_value_of_parts(point, SecantHessian().at(point), value)
    assert value - best.value <= parts <= 1e-5 * value < plain
    rough = solver.minimize(objective)
    assert rough.converged
    assert rough.value - best.value <= rough.certified_gap <= 1e-5 * rough.value


def test_a_learnt_hessian_foretells_the_step_it_learnt_from_and_is_made_anew_when_asked():
    objective = objective_of(DATA["dense"])
    before, after = objective.at(np.zeros(12)), objective.at(0.1 * np.cos(np.arange(12)))
    curvature = SecantHessian()
    first = curvature.at(before)
    curvature.learn(before, after)
    learnt = curvature.at(after)
    step = after.weights - before.weights
    np.testing.assert_allclose(learnt @ step, after.gradient - before.gradient, rtol=1e-9)
    np.testing.assert_allclose(learnt, learnt.T)
    assert np.linalg.eigvalsh(learnt).min() > 0.0
    assert not np.allclose(first, learnt)
    np.testing.assert_array_equal(curvature.at(before, anew=True), first)


def test_what_one_strength_learnt_serves_the_next(monkeypatch):
    made = []
    of_a_sample = EvaluatedPoint.sampled_hessian
    monkeypatch.setattr(
        EvaluatedPoint, "sampled_hessian", lambda point, sample: made.append(sample) or of_a_sample(point, sample)
    )
    objective = objective_of(DATA["dense"])
    top = largest(objective)
    counts = []
    for curvature in (None, SecantHessian()):
        point = objective.at(np.zeros(12))
        made.clear()
        values = []
        for strength in top * np.geomspace(1.0, 1e-3, 20):
            solver = ProximalNewton(1e-3, curvature=curvature)
            solution, point = solver.continue_from(point.with_penalty(L1(strength)), Journal())
            values.append(solution.value)
        counts.append(len(made))
        for strength, value in zip(top * np.geomspace(1.0, 1e-3, 20), values, strict=True):
            least = ProximalNewton(1e-9).minimize(objective.with_penalty(L1(strength))).value
            assert least * (1.0 - 1e-8) <= value <= least * (1.0 + 1e-3)
    assert counts[1] < counts[0] / 2


def test_any_number_of_threads_gives_the_same_weights_in_many_shards():
    weights = []
    for n_threads in (1, 3):
        with Threads(n_threads) as executor:
            objective = in_many_shards(DATA["dense"], L1(5.0), executor)
            weights.append(ProximalNewton(1e-3).minimize(objective).weights.tobytes())
    assert weights[0] == weights[1]
