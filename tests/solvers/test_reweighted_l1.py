"""Concave penalties: downhill all the way, to where the first-order condition holds."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import optimize, sparse

import oracles
from linrank import LinrankError, RankingDataset, make_ranking
from linrank.executors.local import Threads
from linrank.objective.concave_penalties import MCP, Log, Lp
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import L1, L2
from linrank.objective.placement import PlacedData
from linrank.solvers.proximal_gradient import ProximalGradient, largest_l1
from linrank.solvers.reweighted_l1 import ReweightedL1

DATA, _ = make_ranking(12, 8, 6)


def objective_of(data, penalty, executor=None):
    return RankingObjective(SquaredHinge(), penalty, 1.0, PlacedData.of(data, executor or Threads(1)))


LOSS = objective_of(DATA, L2(0.0))
TOP = largest_l1(LOSS.at(np.zeros(6)))
PENALTIES = [MCP(0.1 * TOP, 2.0 / TOP), Log(0.1 * TOP, 0.1), Lp(0.03 * TOP, 0.5, 1e-3)]


def slow_objective(penalty, weights):
    scores = oracles.dense(DATA.features) @ weights
    value, slopes, _ = oracles.loss_at_scores(DATA, scores, oracles.squared_hinge)
    return value + penalty.value(weights), oracles.dense(DATA.features).T @ slopes


@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: type(p).__name__)
def test_the_first_order_condition_holds_where_it_stops(penalty):
    solution = ReweightedL1(1e-7).minimize(LOSS.with_penalty(penalty))
    assert solution.converged
    value, gradient = slow_objective(penalty, solution.weights)
    assert solution.value == pytest.approx(value, rel=1e-12)
    slopes = penalty.slopes(solution.weights)
    assert 0 < np.count_nonzero(solution.weights) < 6
    for weight, slope, pull in zip(solution.weights, gradient, slopes, strict=True):
        if weight:
            assert slope == pytest.approx(-np.sign(weight) * pull, abs=2e-7 * TOP)
        else:
            assert abs(slope) <= pull + 2e-7 * TOP


@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: type(p).__name__)
def test_no_point_nearby_is_lower(penalty):
    solution = ReweightedL1(1e-8).minimize(LOSS.with_penalty(penalty))
    rng = np.random.default_rng(0)
    for _ in range(30):
        nearby = solution.weights + 1e-4 * rng.standard_normal(6)
        assert slow_objective(penalty, nearby)[0] >= solution.value * (1 - 1e-12)
    support = solution.weights != 0.0

    def on_support(part):
        weights = np.zeros(6)
        weights[support] = part
        return slow_objective(penalty, weights)[0]

    polished = optimize.minimize(on_support, solution.weights[support], method="Nelder-Mead", options={"maxiter": 200})
    assert polished.fun >= solution.value * (1 - 1e-9)


@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: type(p).__name__)
def test_the_objective_never_rises_and_begins_at_the_l1_solution(penalty):
    first = ProximalGradient().minimize(LOSS.with_penalty(L1(penalty.strength))).weights
    visited = []
    objective = LOSS.with_penalty(penalty)
    solution = ReweightedL1(1e-7).minimize(objective, watch=lambda line, weights: visited.append(weights))
    assert visited[0].tobytes() == first.tobytes()
    values = [line.value for line in solution.history]
    assert len(values) > 2
    assert all(after <= before * (1 + 1e-13) for before, after in pairwise(values))
    assert solution.value < slow_objective(penalty, first)[0]
    given_start = ReweightedL1(1e-7).minimize(objective, first)
    assert given_start.weights.tobytes() == solution.weights.tobytes()


def test_a_concave_penalty_shrinks_large_weights_less_than_l1_does():
    l1 = ProximalGradient(1e-9).minimize(LOSS.with_penalty(L1(0.1 * TOP))).weights
    solution = ReweightedL1(1e-7).minimize(LOSS.with_penalty(PENALTIES[0]))
    assert np.count_nonzero(solution.weights) <= np.count_nonzero(l1)
    assert LOSS.at(solution.weights).value < LOSS.at(l1).value
    knee = PENALTIES[0].shape * PENALTIES[0].strength
    free = np.abs(solution.weights) > knee
    assert free.any()
    # Beyond the knee nothing pulls: the loss alone decides.
    assert np.abs(LOSS.at(solution.weights).gradient[free]).max() < 1e-6 * TOP


def test_an_mcp_with_a_far_knee_is_the_l1_penalty():
    l1 = ProximalGradient(1e-12).minimize(LOSS.with_penalty(L1(0.1 * TOP))).weights
    solution = ReweightedL1(1e-8).minimize(LOSS.with_penalty(MCP(0.1 * TOP, 1e9)))
    np.testing.assert_allclose(solution.weights, l1, rtol=1e-4, atol=1e-8)


def test_at_the_largest_l1_everything_stays_zero():
    for penalty in (MCP(TOP, 1.0 / TOP), Log(TOP, 0.1)):
        solution = ReweightedL1().minimize(LOSS.with_penalty(penalty))
        assert solution.weights.tolist() == [0.0] * 6
        assert solution.converged


@pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: type(p).__name__)
def test_dense_and_sparse_agree_and_any_number_of_threads_gives_the_same_bits(penalty):
    found = []
    for n_threads in (1, 2, 3):
        with Threads(n_threads) as executor:
            found.append(ReweightedL1().minimize(objective_of(DATA, penalty, executor)).weights)
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()
    thin = RankingDataset.from_arrays(sparse.csr_array(DATA.features), DATA.labels, qid=DATA.qid)
    np.testing.assert_allclose(ReweightedL1().minimize(objective_of(thin, penalty)).weights, found[0], rtol=1e-6)


def test_data_without_pairs_has_zero_weights():
    data = RankingDataset.from_arrays(np.ones((3, 2)), [1, 1, 1], qid=[1, 1, 2])
    solution = ReweightedL1().minimize(objective_of(data, PENALTIES[0]))
    assert solution.weights.tolist() == [0.0, 0.0]
    assert solution.converged


def test_a_penalty_that_is_not_concave_is_refused():
    for penalty in (L1(1.0), L2()):
        with pytest.raises(LinrankError, match="must be a concave one"):
            ReweightedL1().minimize(LOSS.with_penalty(penalty))
