"""Every solver stops where its optimality condition holds, at the same minimum."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, sparse

from linrank import RankingDataset, make_ranking, read
from linrank.executors.local import Threads
from linrank.objective import placed_blocks
from linrank.objective.concave_penalties import MCP
from linrank.objective.objective import EvaluatedPoint, RankingObjective
from linrank.objective.pair_losses import Hinge, SquaredHinge
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.solvers import newton_cg, solution
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.regularization_path import regularization_path
from linrank.solvers.reweighted_l1 import ReweightedL1
from linrank.solvers.smoothed_newton import SmoothedNewton
from linrank.solvers.tron import TRON


def objective_of(data, loss=None, C=1.0, executor=None):
    return RankingObjective(loss or SquaredHinge(), L2(), C, PlacedData.of(data, executor or Threads(1)))


def shapes():
    rng = np.random.default_rng(0)
    few, _ = make_ranking(30, 15, 8)
    many, _ = make_ranking(5, 60, 8, levels=None)
    thin, _ = make_ranking(30, 15, 40, density=0.1)
    single, _ = make_ranking(1, 300, 6, levels=30)
    tied = RankingDataset.from_arrays(
        rng.integers(0, 2, size=(60, 4)) / 1.0, rng.integers(0, 3, size=60), qid=rng.integers(0, 6, size=60)
    )
    weighted = RankingDataset.from_arrays(
        few.features, few.labels, qid=few.qid, document_weights=rng.random(450), query_weights=rng.random(30)
    )
    return {
        "few levels": few,
        "many levels": many,
        "sparse": thin,
        "one query": single,
        "ties": tied,
        "weights": weighted,
    }


SHAPES = shapes()


def minimum(objective):
    """The least value, by a general-purpose method on the same function."""
    found = optimize.minimize(
        lambda w: (objective.at(w).value, objective.at(w).gradient),
        np.zeros(objective.data.n_features),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-9},
    )
    return found.fun


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("solver", [NewtonCG(1e-12), TRON(1e-8)], ids=["newton", "tron"])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_smooth_solvers_reach_the_least_value(name, solver, C):
    objective = objective_of(SHAPES[name], C=C)
    solution = solver.minimize(objective)
    assert solution.converged
    assert solution.value <= minimum(objective) * (1 + 1e-9)
    assert solution.value == objective.at(solution.weights).value
    # The bound is half the squared gradient, or a nearer one; f - min f can be no larger.
    half_square = 0.5 * np.sum(objective.at(solution.weights).gradient ** 2)
    assert solution.value - minimum(objective) <= solution.certified_gap + 1e-9 * solution.value
    assert solution.certified_gap <= half_square * (1 + 1e-9)


def hinge_dual(data, C):
    """The hinge RankSVM's least value, from its dual over listed pairs."""
    X = data.features.toarray() if sparse.issparse(data.features) else data.features
    differences = np.array(
        [
            X[i] - X[j]
            for i, j in itertools.permutations(range(data.n_documents), 2)
            if data.qid[i] == data.qid[j] and data.labels[i] > data.labels[j]
        ]
    )

    def negative(alpha):
        weights = alpha @ differences
        return 0.5 * weights @ weights - alpha.sum(), differences @ weights - 1.0

    found = optimize.minimize(
        negative, np.zeros(len(differences)), jac=True, method="L-BFGS-B", bounds=[(0, C)] * len(differences),
        options={"maxiter": 20000, "maxfun": 10**6, "ftol": 1e-16, "gtol": 1e-9},
    )  # fmt: skip
    return -found.fun


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("density", [1.0, 0.3])
def test_the_hinge_solution_meets_its_dual(C, density):
    data, _ = make_ranking(6, 10, 5, density=density)
    solution = SmoothedNewton(1e-7).minimize(objective_of(data, Hinge(), C))
    least = hinge_dual(data, C)
    assert solution.converged
    assert solution.value == pytest.approx(least, rel=2e-6)
    assert solution.value - solution.certified_gap <= least * (1 + 1e-9)
    assert solution.value == pytest.approx(objective_of(data, Hinge(), C).at(solution.weights).value, rel=1e-12)


def test_mq2008_reaches_the_known_minimum(letor):
    reaches_the_known_minimum(letor.path("MQ2008", "Fold1", "train.txt"), letor.known["MQ2008"])


def test_sparse_data_reaches_the_known_minimum(made_letor):
    name = "LightGBM-lambdarank"
    reaches_the_known_minimum(made_letor.path(name, "rank.train"), made_letor.known[name])


def reaches_the_known_minimum(path, known):
    objective = objective_of(read(path))
    assert objective.at(np.zeros(known.n_features)).value == known.n_pairs
    for solver in (NewtonCG(1e-12), TRON(1e-7)):
        assert solver.minimize(objective).value == pytest.approx(known.least_value, rel=1e-10)


def test_the_newton_decrement_estimates_the_gap():
    data, _ = make_ranking(200, 20, 20)
    objective = objective_of(data)
    least = NewtonCG(1e-13).minimize(objective).value
    for tolerance in (1e-2, 1e-4, 1e-6):
        solution = NewtonCG(tolerance).minimize(objective)
        assert solution.value - least <= 3 * tolerance * least
        assert solution.value - least <= solution.certified_gap


@pytest.mark.parametrize("density", [1.0, 0.05], ids=["dense", "sparse"])
def test_samples_and_diagonals_lead_to_the_same_minimum(density, monkeypatch):
    data, _ = make_ranking(800, 20, 30, density=density)
    plain = TRON(1e-9).minimize(objective_of(data)).value
    assert NewtonCG(1e-12).minimize(objective_of(data)).value == pytest.approx(plain, rel=1e-11)
    monkeypatch.setattr(newton_cg, "_RUNG", 3)
    started = NewtonCG(1e-12).start_from_samples(objective_of(data))
    assert objective_of(data).at(started).value < plain * 1.05
    monkeypatch.setattr(newton_cg, "MOST_FEATURES_IN_A_MATRIX", 1)
    assert NewtonCG(1e-12).minimize(objective_of(data)).value == pytest.approx(plain, rel=1e-11)
    monkeypatch.setattr(placed_blocks, "LARGE_QUERY_BYTES", 100)
    single = RankingDataset.from_arrays(data.features[:3000], data.labels[:3000], group=[3000])
    assert objective_of(single).data.shards[0].is_spread
    assert NewtonCG(1e-12).minimize(objective_of(single)).value == pytest.approx(
        TRON(1e-9).minimize(objective_of(single)).value, rel=1e-11
    )


@pytest.mark.parametrize("solver", [NewtonCG(), TRON(), SmoothedNewton()], ids=["newton", "tron", "smoothed"])
def test_any_number_of_threads_gives_the_same_weights(solver):
    data, _ = make_ranking(100, 20, 10)
    loss = Hinge() if isinstance(solver, SmoothedNewton) else SquaredHinge()
    weights = []
    for n_threads in (1, 2, 3):
        with Threads(n_threads) as executor:
            weights.append(solver.minimize(objective_of(data, loss, executor=executor)).weights.tobytes())
    assert weights[0] == weights[1] == weights[2]


def test_every_C_of_a_path_is_solved():
    data, _ = make_ranking(100, 20, 10)
    objective = objective_of(data)
    Cs = [2.0**power for power in (-15, -8, -3, 0, 4, 10)]
    steps = list(regularization_path(objective, reversed(Cs), solver=NewtonCG(1e-10)))
    assert [step.C for step in steps] == Cs
    for step in steps:
        alone = NewtonCG(1e-10).minimize(objective.with_C(step.C))
        assert step.solution.value == pytest.approx(alone.value, rel=1e-8)


def test_a_start_near_the_solution_saves_work():
    data, _ = make_ranking(100, 20, 10)
    objective = objective_of(data)
    cold = NewtonCG().minimize(objective)
    warm = NewtonCG().minimize(objective, cold.weights)
    assert warm.iterations < cold.iterations
    assert warm.value <= cold.value * (1 + 1e-12)


@pytest.mark.parametrize("solver", [NewtonCG, TRON, SmoothedNewton])
def test_time_iterations_and_the_watcher_end_it(solver):
    data, _ = make_ranking(50, 20, 10)
    objective = objective_of(data, Hinge() if solver is SmoothedNewton else SquaredHinge(), C=100.0)
    assert "out of time" in solver(1e-15, max_seconds=0.0).minimize(objective).message
    assert "validation" in solver(1e-15).minimize(objective, watch=lambda line, weights: True).message
    if solver is not SmoothedNewton:
        assert "out of iterations" in solver(1e-15, max_iterations=1).minimize(objective, np.zeros(10)).message


@pytest.mark.parametrize("solver", [NewtonCG, TRON, SmoothedNewton, ReweightedL1])
def test_a_run_ends_soon_after_its_time(solver, monkeypatch):
    data, _ = make_ranking(50, 20, 40)
    # Directions of very different curvature, along no feature: conjugate gradients need many products.
    axes = np.linalg.qr(np.random.default_rng(0).standard_normal((40, 40)))[0]
    data = replace(data, features=data.features @ (axes * np.geomspace(1.0, 1e-3, 40)) @ axes.T)
    objective = objective_of(data, Hinge() if solver is SmoothedNewton else SquaredHinge(), C=1e4)
    if solver is ReweightedL1:
        objective = objective.with_penalty(MCP(10.0, 0.1))
    # A clock on which every pass over the features takes one second.
    passes = []
    for of, name in ((RankingObjective, "at"), (EvaluatedPoint, "hessian_product")):
        plain = getattr(of, name)
        monkeypatch.setattr(of, name, lambda *given, plain=plain: passes.append(0) or plain(*given))
    monkeypatch.setattr(newton_cg, "MOST_FEATURES_IN_A_MATRIX", 0)
    monkeypatch.setattr(solution.time, "perf_counter", lambda: float(len(passes)))
    assert "out of time" in solver(1e-15, max_seconds=4.5).minimize(objective).message
    assert len(passes) <= 8


def test_history_is_one_line_an_iteration_with_falling_values():
    data, _ = make_ranking(50, 20, 10)
    lines = []
    solution = NewtonCG().minimize(objective_of(data), watch=lambda line, weights: lines.append(line))
    assert tuple(lines) == solution.history
    values = [line.value for line in lines]
    assert values == sorted(values, reverse=True)
    assert str(lines[0]).startswith("iter   0  f ")
    assert sum(line.inner for line in lines) == solution.inner_iterations


def test_data_without_pairs_has_zero_weights():
    data = RankingDataset.from_arrays(np.ones((3, 2)), [1, 1, 1], qid=[1, 1, 2])
    for solver, loss in ((NewtonCG(), SquaredHinge()), (TRON(), SquaredHinge()), (SmoothedNewton(), Hinge())):
        solution = solver.minimize(objective_of(data, loss))
        assert solution.weights.tolist() == [0.0, 0.0]
        assert solution.converged
