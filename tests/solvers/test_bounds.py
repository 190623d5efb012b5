"""Weights within bounds: the minimum that L-BFGS-B finds, bounds kept to the bit, and nothing left of the gradient."""

import numpy as np
import pytest
from scipy import optimize, sparse

from linrank import RankingDataset, make_ranking
from linrank.executors.local import Threads
from linrank.objective.list_losses import TopOneCrossEntropy
from linrank.objective.logistic_pairs import Logistic
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import L2, Bounds, ElasticNet, Toward
from linrank.objective.placement import PlacedData
from linrank.solvers import newton_cg, proximal_newton
from linrank.solvers.proximal_gradient import ProximalGradient
from linrank.solvers.proximal_newton import ProximalNewton

N = 6
DENSE, _ = make_ranking(10, 8, N, skew=False)
THIN = RankingDataset.from_arrays(sparse.csr_array(DENSE.features), DENSE.labels, qid=DENSE.qid)
DATA = {"dense": DENSE, "sparse": THIN}
LOSSES = {
    "squared hinge": (SquaredHinge(), 0.1),
    "logistic": (Logistic(), 1.0),
    "cross entropy": (TopOneCrossEntropy(), 5.0),
}
NEAR = np.array([0.5, -0.3, 0.0, 2.0, -1.0, 0.1])
# One side, both sides, a single value, beyond zero, about a corner, and none.
BOX = Bounds([0.0, -0.1, 0.05, 0.2, -np.inf, -np.inf], [np.inf, 0.1, 0.05, 0.3, 0.0, np.inf])
PENALTIES = {
    "L2, none negative": L2() + Bounds(0.0),
    "L2 in a box": L2() + BOX,
    "weak L2 in a box": L2(1e-2) + BOX,
    "toward, none positive": Toward(NEAR) + Bounds(upper=0.0),
    "toward in a box": Toward(NEAR, 3.0) + BOX,
    "elastic net, none negative": ElasticNet(0.7) + Bounds(0.0),
    "elastic net in a box": ElasticNet(0.7, 2.0) + BOX,
}
SOLVERS = {"Newton": ProximalNewton(1e-10), "gradient": ProximalGradient(1e-10)}


def objective_of(loss, penalty, data="dense", executor=None):
    made, C = LOSSES[loss]
    return RankingObjective(made, PENALTIES[penalty], C, PlacedData.of(DATA[data], executor or Threads(1)))


def least_value(objective):
    """Over w = u - v, u and v not negative, where |w| is u + v: smooth, and within bounds."""
    penalty, loss = objective.penalty, objective.with_penalty(L2(0.0))
    lower, upper = (np.broadcast_to(bound, N) for bound in (penalty.lower, penalty.upper))

    def value_and_gradient(parts):
        weights = parts[:N] - parts[N:]
        point, away = loss.at(weights), weights - penalty.centres
        gradient = objective.C * point.loss_gradient + penalty.strengths * away
        value = objective.C * point.loss_value + 0.5 * np.sum(penalty.strengths * away * away)
        value += np.sum(penalty.thresholds * parts.sum())
        return value, np.concatenate([gradient + penalty.thresholds, penalty.thresholds - gradient])

    bounds = np.array([*zip(lower, upper, strict=True), *zip(-upper, -lower, strict=True)]).clip(0.0, None)
    start = bounds[:, 0]
    for _ in range(2):
        start = optimize.minimize(
            value_and_gradient, start, jac=True, method="L-BFGS-B", bounds=bounds,
            options={"maxiter": 20_000, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-10},
        ).x  # fmt: skip
    return value_and_gradient(start)[0]


def check_solution(objective, solution, left=1e-4):
    assert solution.converged
    least = least_value(objective)
    assert solution.value == pytest.approx(least, rel=1e-6)
    assert solution.value >= least * (1.0 - 1e-9)
    assert solution.value - least <= solution.certified_gap + 1e-8 * least
    penalty, point = objective.penalty, objective.at(solution.weights)
    assert solution.value == pytest.approx(point.value, rel=1e-12)
    assert np.all(solution.weights >= penalty.lower)
    assert np.all(solution.weights <= penalty.upper)
    largest = np.abs(objective.start().gradient).max()
    assert np.abs(point.least_subgradient).max() <= left * largest


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_both_solvers_reach_the_least_value_within_the_bounds(solver, loss, penalty, data):
    objective = objective_of(loss, penalty, data)
    check_solution(objective, SOLVERS[solver].minimize(objective))


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_data_too_wide_for_a_matrix_reach_it_too(solver, loss, penalty, monkeypatch):
    for module in (newton_cg, proximal_newton):
        monkeypatch.setattr(module, "MOST_FEATURES_IN_A_MATRIX", N - 1)
    objective = objective_of(loss, penalty, "sparse")
    # By a diagonal a step gains little: the gap asked for is what a value to 1e-6 needs.
    tried = ProximalNewton(2e-7, max_iterations=5000) if solver == "Newton" else SOLVERS[solver]
    check_solution(objective, tried.minimize(objective), left=1e-2)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_any_start_leads_there_and_none_leaves_the_bounds_on_the_way(solver, loss, penalty):
    objective = objective_of(loss, penalty)
    usual = SOLVERS[solver].minimize(objective)
    visited = []
    for size in (0.1, 5.0):
        start = size * np.cos(3.0 * np.arange(N))
        kept = start.copy()
        found = SOLVERS[solver].minimize(objective, start, watch=lambda line, weights: visited.append(weights))
        np.testing.assert_array_equal(start, kept)
        assert found.value == pytest.approx(usual.value, rel=1e-8)
    for weights in visited:
        np.testing.assert_array_equal(objective.penalty.within(weights), weights)


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("penalty", ["L2 in a box", "toward in a box", "elastic net in a box"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_any_number_of_threads_gives_the_same_bits(solver, loss, penalty, data):
    found = []
    for n_threads in (1, 3):
        with Threads(n_threads) as executor:
            found.append(SOLVERS[solver].minimize(objective_of(loss, penalty, data, executor)).weights.tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize("solver", SOLVERS)
def test_bounds_that_hold_nothing_change_nothing(solver):
    usual = objective_of("squared hinge", "L2 in a box").with_penalty(ElasticNet(0.5))
    wide = usual.with_penalty(ElasticNet(0.5) + Bounds(-100.0, np.full(N, 100.0)))
    free, held = (SOLVERS[solver].minimize(objective) for objective in (usual, wide))
    assert held.value == pytest.approx(free.value, rel=1e-9)
    np.testing.assert_allclose(held.weights, free.weights, rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_box_of_one_point_is_that_point(solver):
    weights = 0.1 * NEAR
    objective = objective_of("logistic", "L2 in a box").with_penalty(L2() + Bounds(weights, weights))
    solution = SOLVERS[solver].minimize(objective)
    np.testing.assert_array_equal(solution.weights, weights)
    assert solution.converged
    assert solution.certified_gap <= 1e-12 * solution.value


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_feature_that_never_varies_goes_where_the_penalty_is_least(solver):
    features = DENSE.features.copy()
    features[:, 2] = 7.0
    data = PlacedData.of(RankingDataset.from_arrays(features, DENSE.labels, qid=DENSE.qid), Threads(1))
    pulled = Toward(np.full(N, 0.5)) + Bounds(upper=[1.0, 1.0, 0.25, 1.0, 1.0, 1.0])
    solution = SOLVERS[solver].minimize(RankingObjective(SquaredHinge(), pulled, 1.0, data))
    assert solution.converged
    assert solution.weights[2] == 0.25
    beyond_zero = L2() + Bounds([-np.inf, -np.inf, 0.125, -np.inf, -np.inf, -np.inf])
    solution = SOLVERS[solver].minimize(RankingObjective(SquaredHinge(), beyond_zero, 1.0, data))
    assert solution.converged
    assert solution.weights[2] == 0.125
