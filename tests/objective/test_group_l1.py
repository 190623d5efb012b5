"""The group lasso: its claims against plain ones, and its minimum against another solver's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import optimize

from linrank import LinrankError, make_ranking
from linrank.executors.local import Threads
from linrank.objective.group_l1 import GroupL1
from linrank.objective.logistic_pairs import Logistic
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import L1
from linrank.objective.placement import PlacedData
from linrank.solvers.choice import default_solver, solver_for
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.proximal_gradient import ProximalGradient

GROUPS = np.array([0, 0, 1, 2, 2, 2])
VECTORS = hnp.arrays(np.float64, 6, elements=st.floats(-3, 3))
DATA, _ = make_ranking(20, 12, 6, random_state=4)


def objective_of(penalty, loss, executor=None):
    return RankingObjective(loss, penalty, 0.05, PlacedData.of(DATA, executor or Threads(1)))


@given(weights=VECTORS, step=st.floats(0.01, 2))
def test_the_proximal_step_minimises_distance_plus_penalty(weights, step):
    penalty = GroupL1(GROUPS, 0.7)
    shrunk = penalty.shrunk(weights, step)

    def total(point):
        return 0.5 * np.sum((point - weights) ** 2) / step + penalty.value(point)

    rng = np.random.default_rng(0)
    for _ in range(20):
        assert total(shrunk) <= total(shrunk + 0.01 * rng.standard_normal(6)) + 1e-12


def test_slopes_have_all_the_room_there_is_where_squares_are_penalised_too():
    slopes = np.array([3.0, 4.0, 1.0, 0.0, 0.0, 0.0])
    # Of the thresholds sqrt(2), 1 and sqrt(3) the first group's length of 5 leaves least.
    assert GroupL1(GROUPS, 1.0).room(slopes) == pytest.approx(np.sqrt(2) / 5)
    assert GroupL1(GROUPS, 1.0, ridge=0.5).room(slopes) == np.inf
    assert GroupL1(GROUPS, 1.0, ridge=0.5).conjugate(slopes) == pytest.approx((5 - np.sqrt(2)) ** 2)


@given(weights=VECTORS, slopes=VECTORS, ridge=st.sampled_from([0.0, 0.5]))
def test_the_gap_is_never_negative_and_the_conjugate_never_below_what_it_bounds(weights, slopes, ridge):
    penalty = GroupL1(GROUPS, 0.7, ridge)
    assert penalty.gap(weights, slopes) >= 0.0
    assert penalty.conjugate(slopes) >= slopes @ weights - penalty.value(weights) - 1e-12
    within = min(1.0, penalty.room(slopes)) * slopes
    assert np.isfinite(penalty.conjugate(within))


@pytest.mark.parametrize("loss", [SquaredHinge(), Logistic()], ids=str)
@pytest.mark.parametrize("ridge", [0.0, 1.0])
@pytest.mark.parametrize("strength", [0.05, 0.6, 500.0])
def test_the_minimum_is_that_of_another_solver(loss, ridge, strength):
    objective = objective_of(GroupL1(GROUPS, strength, ridge), loss)
    assert default_solver(objective) is ProximalGradient
    solution = solver_for(objective, tolerance=1e-9).minimize(objective)
    assert solution.converged

    def value(weights):
        # A corner that is rounded a little, for a solver that wants slopes.
        lengths = np.sqrt(np.bincount(GROUPS, weights**2) + 1e-14)
        point = objective.at(weights)
        slopes = point.gradient + strength * (np.sqrt(np.bincount(GROUPS)) / lengths)[GROUPS] * weights
        corners = strength * np.sqrt(np.bincount(GROUPS)) @ lengths
        return 0.5 * ridge * weights @ weights + objective.C * point.loss_value + corners, slopes

    least = optimize.minimize(
        value, np.full(6, 0.1), jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}
    ).fun
    assert solution.value <= least * (1 + 1e-7)
    assert solution.value - solution.certified_gap <= least
    for group in range(3):
        assert len({bool(weight) for weight in solution.weights[group == GROUPS]}) == 1
    assert solution.weights.any() == (strength < 500.0)


def test_groups_of_one_are_l1():
    alone, l1 = objective_of(GroupL1(np.arange(6), 0.4), SquaredHinge()), objective_of(L1(0.4), SquaredHinge())
    a, b = (ProximalGradient(1e-9).minimize(one) for one in (alone, l1))
    np.testing.assert_allclose(a.weights, b.weights, atol=1e-8)


def test_any_number_of_threads_gives_the_same_weights():
    found = []
    for n_threads in (1, 3):
        with Threads(n_threads) as executor:
            found.append(ProximalGradient().minimize(objective_of(GroupL1(GROUPS), SquaredHinge(), executor)).weights)
    assert found[0].tobytes() == found[1].tobytes()


def test_what_cannot_work_is_refused():
    with pytest.raises(LinrankError, match="whole numbers from 0, one a feature"):
        GroupL1(np.array([0.5, 1.0]))
    with pytest.raises(LinrankError, match="corners or bounds"):
        NewtonCG().minimize(objective_of(GroupL1(GROUPS), SquaredHinge()))
