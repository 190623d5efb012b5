"""The truncated gradient does what the paper's Algorithm 1 does, and stops where nothing moves."""

import numpy as np
import pytest

from linrank import RankingDataset, make_ranking
from linrank.executors.local import Threads
from linrank.objective.logistic_pairs import Logistic
from linrank.objective.ndcg_weighted import NDCGWeightedHuber
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import L1, Toward
from linrank.objective.placement import PlacedData
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.truncated_gradient import TruncatedGradient

DATA, _ = make_ranking(20, 15, 6, skew=False)


def objective_of(loss, l1):
    return RankingObjective(loss, L1(l1), 1.0, PlacedData.of(DATA, Threads(1)))


def algorithm_1(objective, g, eta, K, steps):
    beta = np.zeros(objective.data.n_features)
    for t in range(1, steps + 1):
        beta = beta - eta * objective.at(beta).gradient
        if t % K == 0:
            for j in range(len(beta)):
                beta[j] = max(beta[j] - eta * g, 0) if beta[j] > 0 else min(beta[j] + eta * g, 0)
    return beta


@pytest.mark.parametrize("K", [1, 3])
def test_it_takes_the_papers_steps_while_nothing_rises(K):
    objective = objective_of(NDCGWeightedHuber(), 3.0 / K)
    found = TruncatedGradient(1e-4, K, tolerance=0.0, max_iterations=20).minimize(objective)
    np.testing.assert_allclose(found.weights, algorithm_1(objective, 3.0, 1e-4, K, 20), rtol=1e-12)
    assert found.iterations == 20
    assert {line.step for line in found.history} == {1e-4}
    penalty = 3.0 / K * np.sum(np.abs(found.weights))
    assert found.value == pytest.approx(objective.at(found.weights).loss_value + penalty)


@pytest.mark.parametrize("loss", [SquaredHinge(), NDCGWeightedHuber()], ids=["fixed", "re-weighted"])
def test_it_stops_where_zero_is_almost_a_subgradient(loss):
    objective = objective_of(loss, 2.0)
    found = TruncatedGradient(1e-2, tolerance=1e-4, max_iterations=100_000).minimize(objective)
    assert found.converged
    left, at_zero = (objective.at(weights).least_subgradient for weights in (found.weights, np.zeros(6)))
    assert np.linalg.norm(left) <= 1e-3 * np.linalg.norm(at_zero)


def test_a_rate_that_is_too_large_is_lowered_until_the_objective_falls():
    objective = objective_of(NDCGWeightedHuber(), 1.0)
    found = TruncatedGradient(1e6, max_iterations=5000).minimize(objective)
    steps = [line.step for line in found.history]
    assert steps == sorted(steps, reverse=True)
    assert found.converged
    assert found.value < objective.at(np.zeros(6)).value
    small = TruncatedGradient(1e-3, max_iterations=20_000).minimize(objective)
    assert found.value == pytest.approx(small.value, rel=0.02)


def test_so_much_l1_that_nothing_moves_is_converged_at_once():
    found = TruncatedGradient().minimize(objective_of(NDCGWeightedHuber(), 1e9))
    assert found.converged
    assert found.iterations == 1
    assert not found.weights.any()


def test_a_watcher_and_a_clock_can_stop_it():
    objective = objective_of(NDCGWeightedHuber(), 1.0)
    found = TruncatedGradient().minimize(objective, watch=lambda line, _: line.number == 4)
    assert (found.iterations, found.converged) == (4, False)
    timed = TruncatedGradient(max_seconds=0.0).minimize(objective)
    assert len(timed.history) == 1
    assert "out of time" in timed.message


def test_it_goes_on_from_a_start_which_is_not_written_to():
    objective = objective_of(NDCGWeightedHuber(), 1.0)
    solver = TruncatedGradient(1e-3, tolerance=0.0, max_iterations=10)
    half = solver.minimize(objective).weights
    kept = half.copy()
    both = solver.minimize(objective, half).weights
    np.testing.assert_array_equal(half, kept)
    once = TruncatedGradient(1e-3, tolerance=0.0, max_iterations=20).minimize(objective).weights
    np.testing.assert_array_equal(both, once)


@pytest.mark.parametrize("rate", [1e-4, 10.0])
def test_a_fixed_rate_takes_the_papers_steps_whatever_the_objective_does(rate):
    objective = objective_of(NDCGWeightedHuber(), 3.0)
    found = TruncatedGradient(rate, safe=False, tolerance=0.0, max_iterations=20).minimize(objective)
    np.testing.assert_allclose(found.weights, algorithm_1(objective, 3.0, rate, 1, 20), rtol=1e-9)
    assert {line.step for line in found.history} == {rate}
    assert (found.value > found.history[0].value) == (rate == 10.0)


def test_weights_that_hardly_move_for_a_column_in_large_units_are_not_called_converged():
    """The rate is short enough for the largest column, and copies of it could go apart for the penalty's sake."""
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2, 28) * 1e12
    data = RankingDataset.from_arrays(np.column_stack([bits, bits]), rng.integers(0, 3, 28), group=[7] * 4)
    objective = RankingObjective(Logistic(), Toward(np.array([-0.3, 2.0])), 1e-7, PlacedData.of(data, Threads(1)))
    solution = TruncatedGradient().minimize(objective)
    assert solution.value > 1.4 * NewtonCG().minimize(objective).value
    assert not solution.converged
