"""Minimising on wide data, where documents can be told apart exactly: a diagonal, and ever larger C."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from linrank import RankingDataset, make_ranking
from linrank.executors.local import Threads
from linrank.objective import pair_losses, placed_blocks
from linrank.objective.objective import EvaluatedPoint, RankingObjective
from linrank.objective.pair_losses import SmoothedHinge, SquaredHinge
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.solvers.conjugate_gradient import Doubt, newton_step
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.rising_strength import Solved, rising_strengths, start_for
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
    np.testing.assert_allclose(np.divide([*strengths[1:], 1e3], strengths), 2.0)
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


def test_where_few_documents_have_a_partner_products_have_the_bits_of_products_over_all(monkeypatch):
    for objective in (separable(1), separable(30), separable(1, kind="dense")):
        point = objective.at(NewtonCG(1e-4).minimize(objective).weights)
        direction = np.random.default_rng(0).standard_normal(objective.data.n_features)
        fewer = point.hessian_product(direction)
        assert any(state.copied for state in point.states)
        monkeypatch.setattr(pair_losses, "_FEW", np.inf)
        over_all = objective.at(point.weights)
        np.testing.assert_array_equal(fewer, over_all.hessian_product(direction))
        assert not any(state.copied for state in over_all.states)
        np.testing.assert_array_equal(point.crude_hessian_diagonal(), over_all.crude_hessian_diagonal())
        monkeypatch.undo()


@pytest.mark.parametrize("spread", [False, True], ids=["in blocks", "spread"])
@pytest.mark.parametrize("loss", [SquaredHinge(), SmoothedHinge(0.3)], ids=["squared", "rounded"])
def test_the_curvature_of_few_documents_is_that_of_their_pairs_listed(loss, spread, monkeypatch):
    if spread:
        monkeypatch.setattr(placed_blocks, "LARGE_QUERY_BYTES", 1)
    objective = replace(separable(3, levels=4), loss=loss)
    point = objective.at(5.0 * NewtonCG(1e-3).minimize(separable(3, levels=4)).weights)
    direction = np.random.default_rng(1).standard_normal(objective.data.n_features)
    total = direction.copy()
    for block in objective.data.blocks:
        X = block.features.to_dense().astype(float)
        scores = X @ point.weights
        for a, b in pairwise(block.query_starts):
            for i in range(a, b):
                for j in range(a, b):
                    if block.labels[i] > block.labels[j]:
                        difference = X[i] - X[j]
                        bend = bend_of(loss, scores[i] - scores[j])
                        total += objective.C * bend * (difference @ direction) * difference
    np.testing.assert_allclose(point.hessian_product(direction), total, rtol=1e-9, atol=1e-9 * np.abs(total).max())
    assert any(state.copied for state in point.states)


def bend_of(loss, margin):
    if isinstance(loss, SquaredHinge):
        return 2.0 if margin < 1.0 else 0.0
    return 1.0 / loss.width if 1.0 - loss.width <= margin < 1.0 else 0.0


def separable(n_queries, levels=2, kind="sparse", C=10.0):
    """Documents that are in the right order with room to spare but for a few."""
    data, _ = make_ranking(n_queries, 600 // n_queries, 30, density=0.5, levels=levels, noise=0.05)
    matrix = data.features if kind == "sparse" else data.features.toarray()
    data = RankingDataset.from_arrays(matrix, data.labels, group=data.queries.sizes)
    return RankingObjective(SquaredHinge(), L2(), C, PlacedData.of(data, Threads(1)))


def test_where_the_solutions_of_two_C_point_to_is_nearer_than_the_last():
    solved = [Solved.at(wide(C).at(NewtonCG(1e-8).minimize(wide(C)).weights)) for C in (0.25, 0.5)]
    objective = wide(1.0)
    least = NewtonCG(1e-8).minimize(objective).value
    begun = start_for(objective, solved)
    assert begun.value - least < 0.2 * (objective.at(solved[-1].weights).value - least)
    np.testing.assert_array_equal(start_for(objective, solved[1:]).weights, solved[1].weights)


def test_a_start_that_is_higher_than_the_last_solution_is_not_taken():
    last = Solved.at(wide(0.5).at(NewtonCG(1e-8).minimize(wide(0.5)).weights))
    astray = Solved.at(wide(0.25).at(last.weights + 1.0))
    np.testing.assert_array_equal(start_for(wide(1.0), [astray, last]).weights, last.weights)


def test_the_doubt_is_one_over_the_least_eigenvalue():
    rng = np.random.default_rng(0)
    root = rng.standard_normal((12, 12))
    matrix = root @ root.T + 0.05 * np.eye(12)
    scale = np.diag(matrix)
    x, residual, lengths, ratios = np.zeros(12), rng.standard_normal(12), [], []
    descent = residual / scale
    for _ in range(12):
        rest = residual @ (residual / scale)
        length = rest / (descent @ matrix @ descent)
        x += length * descent
        residual = residual - length * (matrix @ descent)
        ratio = residual @ (residual / scale) / rest
        descent = residual / scale + ratio * descent
        lengths.append(length)
        ratios.append(ratio)
    doubt = Doubt()
    doubt.learn(lengths, ratios)
    half = np.sqrt(scale)
    assert doubt.times == pytest.approx(1.0 / np.linalg.eigvalsh(matrix / np.outer(half, half))[0], rel=1e-6)
    doubt.learn([1.0], [0.5])
    assert doubt.times > 1.0
    doubt.learn([], [])


@pytest.mark.parametrize("C", [1e-2, 1.0, 1e2])
def test_on_wide_data_converged_means_as_near_as_the_tolerance_says(C):
    objective = wide(C)
    least = NewtonCG(1e-11).minimize(objective).value
    found = NewtonCG(1e-6).minimize(objective)
    assert found.converged
    assert found.value - least <= 3.0 * max(found.estimated_gap, 1e-9 * least)
    assert found.value - least <= 2e-6 * least
