"""The squared hinge over an L1 ball: inside it, down to its least value, with a gap that is true."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, sparse

import oracles
from linrank import LinrankError, RankingDataset, make_ranking
from linrank.executors.local import Threads
from linrank.objective.l1_ball import L1Ball
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import L1, L2
from linrank.objective.placement import PlacedData
from linrank.solvers.frank_wolfe import FrankWolfe
from linrank.solvers.proximal_gradient import ProximalGradient, largest_l1
from strategies import datasets

DATA, _ = make_ranking(12, 8, 6)


def objective_of(data, radius, executor=None):
    return RankingObjective(SquaredHinge(), L1Ball(radius), 1.0, PlacedData.of(data, executor or Threads(1)))


def least_value(data, radius):
    """The minimum over w = u - v with u, v >= 0 and sum(u + v) <= radius, over listed pairs."""
    pairs = oracles.listed_pairs(data)
    X = oracles.dense(data.features)
    differences = np.array([X[i] - X[j] for i, j, _ in pairs])
    n = X.shape[1]

    def value_and_gradient(parts):
        short = np.maximum(0.0, 1.0 - differences @ (parts[:n] - parts[n:]))
        gradient = -2.0 * short @ differences / len(pairs)
        return np.mean(short**2), np.concatenate([gradient, -gradient])

    found = optimize.minimize(
        value_and_gradient, np.zeros(2 * n), jac=True, method="SLSQP", bounds=[(0, None)] * (2 * n),
        constraints={"type": "ineq", "fun": lambda parts: radius - parts.sum(), "jac": lambda parts: -np.ones(2 * n)},
        options={"maxiter": 1000, "ftol": 1e-14},
    )  # fmt: skip
    return len(pairs) * found.fun


@pytest.mark.parametrize("radius", [0.1, 0.5, 2.0])
def test_it_nears_the_least_value_and_its_gap_is_true(radius):
    objective = objective_of(DATA, radius)
    least = least_value(DATA, radius)
    for tolerance in (1e-1, 1e-2, 1e-3):
        solution = FrankWolfe(tolerance).minimize(objective)
        assert solution.converged
        assert solution.certified_gap <= tolerance * solution.value
        assert -1e-7 * least <= solution.value - least <= solution.certified_gap + 1e-7 * least
        assert np.sum(np.abs(solution.weights)) <= radius * (1 + 1e-12)
        point = objective.at(solution.weights)
        vertex_value = -radius * np.max(np.abs(point.gradient))
        assert solution.certified_gap == pytest.approx(
            max(0.0, point.gradient @ solution.weights - vertex_value), rel=1e-6, abs=1e-9 * least
        )
        assert solution.certified_gap == pytest.approx(objective.penalty.gap(point.weights, -point.gradient))


@given(data=datasets(weighted=True), radius=st.sampled_from([0.01, 1.0, 30.0]))
def test_whatever_the_data_the_weights_stay_in_the_ball_and_the_value_never_rises(data, radius):
    solution = FrankWolfe(1e-2, max_iterations=50).minimize(objective_of(data, radius))
    assert np.sum(np.abs(solution.weights)) <= radius * (1 + 1e-12)
    values = [line.value for line in solution.history]
    assert values == sorted(values, reverse=True)
    assert np.count_nonzero(solution.weights) < len(solution.history)


def test_with_the_norm_of_the_penalised_solution_it_reaches_the_same_loss():
    objective = objective_of(DATA, 1.0)
    top = largest_l1(objective.at(np.zeros(6)))
    penalised = ProximalGradient(1e-10).minimize(objective.with_penalty(L1(0.1 * top))).weights
    loss = objective.at(penalised).value
    ball = L1Ball(float(np.sum(np.abs(penalised))))
    solution = FrankWolfe(1e-4, max_iterations=50_000).minimize(objective.with_penalty(ball))
    assert solution.converged
    assert loss * (1 - 1e-8) <= solution.value <= loss * (1 + 1e-4)


def test_each_step_is_to_the_least_point_of_its_segment():
    objective = objective_of(DATA, 2.0)
    visited = []
    FrankWolfe(1e-3, max_iterations=20).minimize(objective, watch=lambda line, weights: visited.append(weights))
    assert len(visited) > 5
    for before, after in pairwise(visited):
        gradient = objective.at(before).gradient
        steepest = np.argmax(np.abs(gradient))
        vertex = np.zeros(6)
        vertex[steepest] = -2.0 * np.sign(gradient[steepest])
        on_line = optimize.minimize_scalar(
            lambda step, a=before, b=vertex: objective.at(a + step * (b - a)).value, bounds=(0, 1), method="bounded",
            options={"xatol": 1e-10},
        )  # fmt: skip
        gained = objective.at(before).value - on_line.fun
        assert objective.at(before).value - objective.at(after).value >= gained * (1 - 1e-4)


def test_dense_and_sparse_agree_and_any_number_of_threads_gives_the_same_bits():
    data, _ = make_ranking(60, 20, 12)
    found = []
    for n_threads in (1, 2, 3):
        with Threads(n_threads) as executor:
            found.append(FrankWolfe(1e-2).minimize(objective_of(data, 1.0, executor)).weights)
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()
    thin = RankingDataset.from_arrays(sparse.csr_array(data.features), data.labels, qid=data.qid)
    np.testing.assert_allclose(FrankWolfe(1e-2).minimize(objective_of(thin, 1.0)).weights, found[0], rtol=1e-6)


def test_data_that_can_be_ordered_without_loss_ends_at_zero_loss():
    data = RankingDataset.from_arrays(np.arange(8.0)[:, None], np.arange(8), qid=[1] * 8)
    solution = FrankWolfe().minimize(objective_of(data, 5.0))
    assert solution.value == pytest.approx(0.0, abs=1e-9)
    assert solution.converged


def test_a_start_in_the_ball_is_used_and_one_outside_is_scaled_to_its_border():
    objective = objective_of(DATA, 1.0)
    cold = FrankWolfe(1e-2).minimize(objective)
    warm = FrankWolfe(1e-2).minimize(objective, cold.weights)
    assert len(warm.history) == 1
    outside = FrankWolfe(1e9).minimize(objective, np.arange(1.0, 7.0))
    np.testing.assert_allclose(outside.weights, np.arange(1.0, 7.0) / 21.0, rtol=1e-14)
    visited = []
    FrankWolfe(1e-9, 50).minimize(objective, np.ones(6), watch=lambda line, weights: visited.append(weights))
    assert max(np.sum(np.abs(weights)) for weights in visited) <= 1.0 + 1e-12


def test_a_penalty_that_is_no_ball_is_refused():
    with pytest.raises(LinrankError, match="must be an L1Ball"):
        FrankWolfe().minimize(objective_of(DATA, 1.0).with_penalty(L2()))


def test_data_without_pairs_has_zero_weights():
    data = RankingDataset.from_arrays(np.ones((3, 2)), [1, 1, 1], qid=[1, 1, 2])
    solution = FrankWolfe().minimize(objective_of(data, 1.0))
    assert solution.weights.tolist() == [0.0, 0.0]
    assert solution.converged
