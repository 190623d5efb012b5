"""Minimising on wide data, where documents can be told apart exactly: a diagonal, and ever larger C."""

import numpy as np
import pytest

from linrank import make_ranking
from linrank.executors.local import Threads
from linrank.objective.objective import EvaluatedPoint, RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.solvers.conjugate_gradient import newton_step
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.rising_strength import rising_strengths
from linrank.solvers.solution import Journal
from linrank.solvers.tron import TRON


def wide(C, executor=None, levels=2):
    """Fewer documents than features: with a large C every pair is in the right order, by a margin of 1."""
    data, _ = make_ranking(1, 400, 2_500, density=0.02, levels=levels, noise=1.0)
    return RankingObjective(SquaredHinge(), L2(), C, PlacedData.of(data, executor or Threads(1)))


@pytest.mark.parametrize("levels", [2, None], ids=["two labels", "all different"])
@pytest.mark.parametrize("C", [1e-6, 1e-2])
def test_wide_data_reaches_the_least_value(C, levels):
    objective = wide(C, levels=levels)
    least = TRON(1e-9, max_iterations=2000).minimize(objective).value
    assert NewtonCG(1e-11).minimize(objective).value == pytest.approx(least, rel=1e-8)


def test_a_large_C_ends_near_the_shortest_weights_that_leave_no_loss():
    milder = NewtonCG(1e-8).minimize(wide(1.0))
    objective = wide(10.0)
    (scores,) = objective.at(milder.weights).states[0].scores
    labels = objective.data.blocks[0].labels
    # Longer by as much as the closest pair lacks: a margin of 1 for all, and so a bound on the least value at any C.
    separating = milder.weights / (scores[labels == 1].min() - scores[labels == 0].max())
    found = NewtonCG().minimize(objective)
    assert found.converged
    assert milder.value < found.value <= 0.5 * float(separating @ separating)
    assert objective.at(separating).loss_value == pytest.approx(0.0, abs=1e-20)


def test_the_solutions_of_smaller_C_save_work(monkeypatch):
    products = []
    plain = EvaluatedPoint.hessian_product
    monkeypatch.setattr(EvaluatedPoint, "hessian_product", lambda *given: products.append(0) or plain(*given))
    objective = wide(1.0)
    risen = NewtonCG().minimize(objective)
    n_risen = len(products)
    from_zero = NewtonCG().minimize(objective, np.zeros(objective.data.n_features))
    assert n_risen < 0.6 * (len(products) - n_risen)
    assert risen.value < from_zero.value


def test_strengths_rise_up_to_C_and_only_where_the_loss_is_stiff():
    assert rising_strengths(wide(1e-6).start()) == []
    strengths = rising_strengths(wide(1e3).start())
    assert len(strengths) > 2
    np.testing.assert_allclose(np.divide([*strengths[1:], 1e3], strengths), 4.0)
    assert rising_strengths(wide(1e3).start().with_C(strengths[0])) == []


def test_steps_solved_for_from_anywhere_are_the_same():
    point = wide(1e-2).start()
    diagonal = point.crude_hessian_diagonal()

    def solved(start):
        return newton_step(
            point, lambda residual, out: np.divide(residual, diagonal, out=out), forcing=1e-9, enough=0.0,
            max_products=500, journal=Journal(), start=start,
        )  # fmt: skip

    direction = solved(None).direction
    for start in (0.5 * direction, -3.0 * direction, np.random.default_rng(0).standard_normal(len(direction))):
        again = solved(start.copy())
        np.testing.assert_allclose(again.direction, direction, atol=1e-5 * np.abs(direction).max())
        assert again.decrement == pytest.approx(solved(None).decrement, rel=1e-8)


def test_a_start_that_only_climbs_is_left_for_the_gradient():
    point = wide(1e-2).start()
    diagonal = point.crude_hessian_diagonal()
    step = newton_step(
        point, lambda residual, out: np.divide(residual, diagonal, out=out), forcing=0.1, enough=0.0, max_products=1,
        journal=Journal(), start=1e6 * point.gradient,
    )  # fmt: skip
    assert float(step.direction @ point.gradient) < 0.0


def test_any_number_of_threads_gives_the_same_weights_at_a_large_C():
    weights = []
    for n_threads in (1, 2, 3):
        with Threads(n_threads) as executor:
            weights.append(NewtonCG().minimize(wide(1e3, executor)).weights.tobytes())
    assert weights[0] == weights[1] == weights[2]


def test_a_run_out_of_time_on_the_way_to_its_C_says_so():
    solution = NewtonCG(max_seconds=0.0).minimize(wide(1e3))
    assert "out of time" in solution.message
    assert not solution.converged
