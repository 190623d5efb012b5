"""Squared hinge + L1: the minimum of listed pairs, its gap, and where weights are exactly zero."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from scipy import optimize, sparse

import oracles
from linrank import RankingDataset, make_ranking
from linrank.executors.local import Threads
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import L1, L2
from linrank.objective.placement import PlacedData
from linrank.solvers.proximal_gradient import ProximalGradient, largest_l1
from strategies import datasets

DATA, _ = make_ranking(12, 8, 6)


def objective_of(data, penalty=None, C=1.0, executor=None):
    return RankingObjective(SquaredHinge(), penalty or L2(0.0), C, PlacedData.of(data, executor or Threads(1)))


def strongest(objective):
    return largest_l1(objective.at(np.zeros(objective.data.n_features)))


def least_value(data, thresholds):
    """The minimum over w = u - v with u, v >= 0, where |w| is u + v: smooth, and over listed pairs."""
    pairs = oracles.listed_pairs(data)
    X = oracles.dense(data.features)
    differences = np.array([X[i] - X[j] for i, j, _ in pairs])
    pair_weights = np.array([weight for _, _, weight in pairs])
    n = X.shape[1]

    def value_and_gradient(parts):
        short = np.maximum(0.0, 1.0 - differences @ (parts[:n] - parts[n:]))
        gradient = -2.0 * (pair_weights * short) @ differences
        value = pair_weights @ short**2 + np.sum(thresholds * (parts[:n] + parts[n:]))
        return value, np.concatenate([gradient + thresholds, thresholds - gradient])

    found = optimize.minimize(
        value_and_gradient, np.zeros(2 * n), jac=True, method="L-BFGS-B", bounds=[(0, None)] * (2 * n),
        options={"maxiter": 20000, "maxfun": 10**6, "ftol": 1e-16, "gtol": 1e-10},
    )  # fmt: skip
    return found.fun


@pytest.mark.parametrize("share", [0.5, 0.05, 0.002])
@pytest.mark.parametrize("scaled", [False, True], ids=["one strength", "feature costs"])
def test_it_reaches_the_least_value_over_listed_pairs(share, scaled):
    loss = objective_of(DATA)
    scales = np.array([1.0, 0.2, 3.0, 1.0, 0.5, 2.0]) if scaled else None
    penalty = L1(share * strongest(loss), scales)
    solution = ProximalGradient(1e-9).minimize(loss.with_penalty(penalty))
    least = least_value(DATA, np.broadcast_to(penalty.thresholds, 6))
    assert solution.converged
    assert solution.value == pytest.approx(least, rel=1e-7)
    assert solution.value == pytest.approx(loss.at(solution.weights).value + penalty.value(solution.weights))


@given(data=datasets(weighted=True))
def test_the_gap_holds_whatever_the_data(data):
    loss = objective_of(data)
    assume(strongest(loss) > 0.0)
    l1 = 0.1 * strongest(loss)
    least = least_value(data, np.full(data.n_features, l1))
    solution = ProximalGradient(1e-3).minimize(loss.with_penalty(L1(l1)))
    assert solution.converged
    assert solution.certified_gap <= 1e-3 * solution.value
    assert solution.value - solution.certified_gap <= least * (1 + 1e-9)


@given(data=datasets(weighted=True))
def test_the_dual_value_is_that_of_the_listed_pairs(data):
    weights = np.random.default_rng(0).standard_normal(data.n_features)
    penalty = L1(0.7, np.linspace(0.5, 2.0, data.n_features))
    point = objective_of(data, penalty).at(weights)
    X = oracles.dense(data.features)
    alphas, limits, divisors = [], np.zeros(data.n_features), []
    for i, j, weight in oracles.listed_pairs(data):
        if weight > 0.0:
            alphas.append(2.0 * weight * max(0.0, 1.0 - (X[i] - X[j]) @ weights))
            divisors.append(4.0 * weight)
            limits += alphas[-1] * (X[i] - X[j])
    alphas, divisors = np.array(alphas), np.array(divisors)

    def dual(factor):
        return np.sum(factor * alphas - (factor * alphas) ** 2 / divisors)

    with np.errstate(divide="ignore"):
        most = np.min(penalty.thresholds / np.abs(np.where(np.abs(limits) < 1e-12, 0.0, limits)))
    tried = point.dual_value()
    best = max([dual(factor) for factor in np.linspace(0.0, min(most, 10.0), 4001)])
    assert tried >= best - 1e-9 * (1.0 + abs(best))
    assert tried == pytest.approx(best, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("C", [1.0, 0.25])
def test_at_the_largest_l1_and_above_everything_is_zero_and_below_it_is_not(C):
    loss = objective_of(DATA, C=C)
    top = strongest(loss)
    for strength in (top, 1.5 * top):
        solution = ProximalGradient().minimize(loss.with_penalty(L1(strength)))
        assert solution.weights.tolist() == [0.0] * 6
        assert solution.certified_gap <= 1e-12 * solution.value
    below = ProximalGradient(1e-10).minimize(loss.with_penalty(L1(0.99 * top)))
    assert np.count_nonzero(below.weights) == 1


def test_the_optimality_conditions_hold_at_the_solution():
    loss = objective_of(DATA)
    l1 = 0.1 * strongest(loss)
    solution = ProximalGradient(1e-12).minimize(loss.with_penalty(L1(l1)))
    gradient = loss.at(solution.weights).gradient
    zero = solution.weights == 0.0
    assert 0 < np.count_nonzero(zero) < 6
    assert np.all(np.abs(gradient[zero]) <= l1)
    np.testing.assert_allclose(gradient[~zero], -l1 * np.sign(solution.weights[~zero]), rtol=1e-4)


def test_the_subgradient_rule_ends_it_where_features_are_free():
    loss = objective_of(DATA)
    free = L1(0.1 * strongest(loss), np.array([0.0, 1.0, 1.0, 0.0, 1.0, 1.0]))
    objective = loss.with_penalty(free)
    solution = ProximalGradient(1e-4, subgradient_tolerance=1e-5).minimize(objective)
    assert "subgradient" in solution.message
    assert np.abs(objective.at(solution.weights).least_subgradient).max() <= 1e-5
    assert solution.value == pytest.approx(least_value(DATA, free.thresholds), rel=1e-9)


def test_the_objective_never_rises_and_features_on_any_scale_are_as_easy():
    l1 = 0.01 * strongest(objective_of(DATA))
    solution = ProximalGradient(1e-8).minimize(objective_of(DATA, L1(l1)))
    values = [line.value for line in solution.history]
    assert all(after <= before * (1 + 1e-12) for before, after in pairwise(values))
    scales = np.array([1e-4, 1.0, 1e4, 10.0, 0.1, 1e3])
    stretched = RankingDataset.from_arrays(DATA.features * scales, DATA.labels, qid=DATA.qid)
    same = ProximalGradient(1e-8).minimize(objective_of(stretched, L1(l1, scales)))
    assert same.value == pytest.approx(solution.value, rel=1e-7)
    assert same.iterations < 1.5 * solution.iterations


def test_dense_and_sparse_agree_and_any_number_of_threads_gives_the_same_bits():
    data, _ = make_ranking(60, 20, 12)
    penalty = L1(0.02 * strongest(objective_of(data)))
    found = []
    for n_threads in (1, 2, 3):
        with Threads(n_threads) as executor:
            objective = objective_of(data, penalty, executor=executor)
            found.append(ProximalGradient(1e-8).minimize(objective).weights)
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()
    thin = RankingDataset.from_arrays(sparse.csr_array(data.features), data.labels, qid=data.qid)
    usual, again = (ProximalGradient(1e-12).minimize(objective_of(of, penalty)).weights for of in (data, thin))
    np.testing.assert_allclose(again, usual, rtol=1e-5)


def test_a_start_near_the_solution_saves_work():
    objective = objective_of(DATA, L1(0.01 * strongest(objective_of(DATA))))
    cold = ProximalGradient().minimize(objective)
    warm = ProximalGradient().minimize(objective, cold.weights)
    assert warm.iterations < cold.iterations
    assert warm.value <= cold.value


def test_data_without_pairs_has_zero_weights():
    data = RankingDataset.from_arrays(np.ones((3, 2)), [1, 1, 1], qid=[1, 1, 2])
    solution = ProximalGradient().minimize(objective_of(data, L1(1.0)))
    assert solution.weights.tolist() == [0.0, 0.0]
    assert solution.converged
