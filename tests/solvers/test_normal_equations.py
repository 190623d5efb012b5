"""The normal equations, their solutions for every gamma, left-out queries, and conjugate gradients to the same end."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import oracles
from linrank import LinrankError, RankingDataset, make_ranking
from linrank.dataset.query_blocks import cut_into_blocks
from linrank.executors.local import Threads
from linrank.objective import placed_blocks, placement
from linrank.objective.least_squares import LeastSquares
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.solvers import normal_equations, ridge_cg
from linrank.solvers.normal_equations import GramRidge, LeftOut, NormalEquations
from linrank.solvers.ridge_cg import RidgeCG, hessian_diagonal
from strategies import datasets


def objective_of(data, gamma=1.0, pair_weight="document", executor=None):
    return RankingObjective(LeastSquares(pair_weight), L2(gamma), 1.0, PlacedData.of(data, executor or Threads(1)))


def spread(data, gamma=1.0, pair_weight="document"):
    """The objective and its normal equations with every query in chunks, and the chunks in small tiles."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placed_blocks, "LARGE_QUERY_BYTES", 0)
        patch.setattr(placement, "cut_into_blocks", lambda data: cut_into_blocks(data, block_bytes=1))
        patch.setattr(normal_equations, "_TILE_BYTES", 200)
        patch.setattr(normal_equations, "_FEWEST_ROWS", 1)
        objective = objective_of(data, gamma, pair_weight)
        return objective, NormalEquations.of(objective)


def slow_equations(data, pair_weight="document", left_out=None):
    """G, b and y'Ly of all queries but one, query by query, in the plainest way."""
    X, n = oracles.dense(data.features), data.n_features
    documents = np.ones(data.n_documents) if data.document_weights is None else data.document_weights
    gram, right, square = np.zeros((n, n)), np.zeros(n), 0.0
    for number, query in enumerate(data.queries.ids):
        rows = np.flatnonzero(data.qid == query)
        weights = documents[rows]
        mass = weights.sum()
        if query == left_out or mass == 0.0:
            continue
        scale = 1.0 if data.query_weights is None else data.query_weights[number]
        scale *= mass if pair_weight == "pair" else 1.0
        centring = np.diag(weights) - np.outer(weights, weights) / mass
        gram += scale * X[rows].T @ centring @ X[rows]
        right += scale * X[rows].T @ centring @ data.labels[rows]
        square += scale * data.labels[rows] @ centring @ data.labels[rows]
    return gram, right, square


@pytest.mark.parametrize("pair_weight", ["document", "pair"])
@given(data=datasets(weighted=True, max_documents=20))
def test_the_normal_equations_are_those_of_the_objective(pair_weight, data):
    gram, right, square = slow_equations(data, pair_weight)
    size = 1e-11 * (1 + np.abs(oracles.dense(data.features)).max() ** 2 * data.n_documents**2)
    for equations in (
        NormalEquations.of(objective_of(data, pair_weight=pair_weight)),
        spread(data, pair_weight=pair_weight)[1],
    ):
        np.testing.assert_allclose(equations.gram, gram, rtol=1e-10, atol=size)
        np.testing.assert_allclose(equations.right, right, rtol=1e-10, atol=size)
        assert equations.square == pytest.approx(square, rel=1e-10, abs=1e-10)
        np.testing.assert_array_equal(equations.gram, equations.gram.T)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_large_offsets_of_the_features_do_not_cost_digits(form):
    data, _ = make_ranking(10, 12, 4)
    # Multiples of 2^-10, so that adding the offset is exact.
    X = np.round(data.features * 1024) / 1024
    offset = X + 2.0**20 * np.arange(4)
    expected, _, _ = slow_equations(RankingDataset.from_arrays(X, data.labels, qid=data.qid))
    moved = RankingDataset.from_arrays(form(offset), data.labels, qid=data.qid)
    np.testing.assert_allclose(NormalEquations.of(objective_of(moved)).gram, expected, rtol=1e-8)
    alone, _, _ = slow_equations(RankingDataset.from_arrays(X, data.labels, group=[120]))
    single = RankingDataset.from_arrays(form(offset), data.labels, group=[120])
    np.testing.assert_allclose(spread(single)[1].gram, alone, rtol=1e-8)


@given(data=datasets(weighted=True, max_documents=20), power=st.integers(-8, 8))
def test_cholesky_eigenvectors_and_conjugate_gradients_agree(data, power):
    gamma = 10.0**power
    gram, right, _ = slow_equations(data)
    objective = objective_of(data, gamma)
    equations = NormalEquations.of(objective)
    weights = equations.solution(gamma)
    # The residual says how exact a solution is, whatever the condition of the matrix.
    for found in (weights, equations.path(np.array([1.0, gamma]))[1]):
        residual = gram @ found + gamma * found - right
        assert np.abs(residual).max() <= 1e-11 * (np.abs(gram).max() + gamma) * (1e-6 + np.abs(found).max())
    solution = RidgeCG(1e-16).minimize(objective)
    least = objective.at(weights).value
    assert solution.value - least <= 1e-10 * (least + 1e-6)
    exact = GramRidge().minimize(objective)
    assert exact.value == least
    assert len(exact.history) == 2
    assert exact.history[0].value == pytest.approx(0.5 * slow_equations(data)[2], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("pair_weight", ["document", "pair"])
@given(data=datasets(weighted=True, max_documents=12, max_queries=4), steps=st.sampled_from([0, 2, 30]))
def test_left_out_scores_are_those_of_a_ranker_trained_without_the_query(pair_weight, data, steps):
    gammas = np.array([1e-3, 1.0, 1e3])
    X = oracles.dense(data.features)
    expected = np.zeros((data.n_documents, 3))
    documents = np.ones(data.n_documents) if data.document_weights is None else data.document_weights
    for query in data.queries.ids:
        rows = np.flatnonzero(data.qid == query)
        gram, right, _ = slow_equations(data, pair_weight, left_out=query)
        mean = X[rows].T @ documents[rows] / (documents[rows].sum() or 1.0)
        for k, gamma in enumerate(gammas):
            weights = np.linalg.solve(gram + gamma * np.eye(X.shape[1]), right)
            expected[rows, k] = (X[rows] - mean) @ weights
    objective = objective_of(data, pair_weight=pair_weight)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(normal_equations, "_LEFT_OUT_STEPS", steps)
        equations = NormalEquations.of(objective)
        left_out = LeftOut(equations, gammas, equations.path(gammas), pair_weight == "pair")
        parts = [left_out.scores(placed) for shard in objective.data.shards for placed in shard]
        scores = np.concatenate([scores for of_block in parts for scores in of_block])
    np.testing.assert_allclose(data.queries.ungrouped(scores), expected, rtol=1e-5, atol=1e-5)


def test_the_weights_without_a_large_query_are_those_of_the_others():
    data, _ = make_ranking(3, 40, 5)
    objective, equations = spread(data)
    gammas = np.array([0.1, 10.0])
    left_out = LeftOut(equations, gammas, equations.path(gammas), by_pair=False)
    for (query,), name in zip(objective.data.shards, data.queries.ids, strict=True):
        others = data.subset(data.queries.ids != name)
        expected = NormalEquations.of(objective_of(others)).path(gammas)
        scores = np.column_stack(list(left_out.scores(query)))
        np.testing.assert_allclose(scores, query.block.features.to_dense() @ expected.T, rtol=1e-8, atol=1e-9)


def test_many_features_are_summed_a_few_matrices_at_a_time(monkeypatch):
    data, _ = make_ranking(40, 10, 6)
    usual = NormalEquations.of(objective_of(data)).gram
    monkeypatch.setattr(normal_equations, "_SUMS_BYTES", 1)
    assert NormalEquations.of(objective_of(data)).gram.tobytes() == usual.tobytes()


@pytest.mark.parametrize("density", [1.0, 0.3])
def test_any_number_of_threads_gives_the_same_bits(density):
    data, _ = make_ranking(100, 20, 10, density=density)
    found = []
    for n_threads in (1, 2, 3):
        with Threads(n_threads) as executor:
            objective = objective_of(data, executor=executor)
            found.append((GramRidge().minimize(objective).weights.tobytes(),
                          RidgeCG().minimize(objective).weights.tobytes()))  # fmt: skip
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("pair_weight", ["document", "pair"])
@given(data=datasets(weighted=True))
def test_the_preconditioner_is_the_diagonal(pair_weight, data):
    expected = np.diag(slow_equations(data, pair_weight)[0]) + 0.5
    for objective in (objective_of(data, 0.5, pair_weight), spread(data, 0.5, pair_weight)[0]):
        np.testing.assert_allclose(hessian_diagonal(objective), expected, rtol=1e-6, atol=1e-6 * expected.max())


def test_conjugate_gradients_stop_where_the_bound_is_below_the_tolerance():
    data, _ = make_ranking(50, 20, 300, density=0.05)
    objective = objective_of(data, 0.1)
    least = GramRidge().minimize(objective).value
    for tolerance in (1e-2, 1e-6, 1e-12):
        solution = RidgeCG(tolerance).minimize(objective)
        assert solution.converged
        assert solution.certified_gap <= tolerance * solution.value
        assert solution.value - least <= solution.certified_gap + 1e-12 * least
        point = objective.at(solution.weights)
        assert solution.value == point.value
        assert solution.certified_gap == pytest.approx(point.gradient @ point.gradient / 0.2)


def test_conjugate_gradients_go_on_where_rounding_has_parted_the_residual_from_the_gradient(monkeypatch):
    data, _ = make_ranking(20, 15, 6)
    objective = objective_of(data)
    monkeypatch.setattr(ridge_cg, "_RUN_OUT", 0.1)
    solution = RidgeCG(1e-14).minimize(objective)
    assert solution.converged
    assert solution.value == pytest.approx(GramRidge().minimize(objective).value, rel=1e-13)


def test_time_iterations_the_watcher_and_ctrl_c_end_conjugate_gradients():
    data, _ = make_ranking(50, 20, 300, density=0.05)
    objective = objective_of(data, 1e-6)
    assert "out of time" in RidgeCG(max_seconds=0.0).minimize(objective).message
    assert "out of iterations" in RidgeCG(max_iterations=3).minimize(objective).message
    assert "validation" in RidgeCG().minimize(objective, watch=lambda line, _: line.number == 2).message
    assert "rounding" in RidgeCG(1e-300).minimize(objective_of(data, 1.0)).message

    def press_ctrl_c(line, weights):
        if line.number == 2:
            raise KeyboardInterrupt

    solution = RidgeCG().minimize(objective, watch=press_ctrl_c)
    assert solution.interrupted
    assert len(solution.history) == 3


def test_a_warm_start_saves_steps():
    data, _ = make_ranking(50, 20, 300, density=0.05)
    objective = objective_of(data, 0.1)
    cold = RidgeCG(1e-8).minimize(objective)
    assert RidgeCG(1e-8).minimize(objective, cold.weights).iterations < cold.iterations


def test_other_losses_are_refused():
    data, _ = make_ranking(3, 5, 2)
    other = RankingObjective(SquaredHinge(), L2(), 1.0, PlacedData.of(data, Threads(1)))
    for solver in (GramRidge(), RidgeCG()):
        with pytest.raises(LinrankError, match="least squares"):
            solver.minimize(other)
