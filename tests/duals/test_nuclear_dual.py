"""RegRankSVM's solver, against its objective written out pair by pair."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrank import LinrankError, RankingDataset, make_ranking
from linrank.dataset.query_blocks import cut_into_blocks
from linrank.duals import nuclear_dual, singular_values
from linrank.duals.nuclear_dual import NuclearDual
from linrank.duals.pair_rectangles import OffsetHinge, Rectangles
from linrank.duals.singular_values import shrink
from linrank.executors.local import Threads
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import Hinge, SquaredHinge
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.solvers.smoothed_newton import SmoothedNewton
from oracles import dense, listed_pairs
from strategies import datasets

SETTINGS = st.tuples(
    st.sampled_from([0.01, 0.3, 2.0]), st.sampled_from([0.05, 0.5, 5.0]), st.sampled_from([0.1, 1.0, 4.0])
)


def objective_of(data, C, executor):
    return RankingObjective(Hinge(), L2(), C, PlacedData.of(data, executor))


def solved(data, C, nuclear, coupling, tolerance=1e-6, n_threads=1, **settings):
    with Threads(n_threads) as executor:
        solver = NuclearDual(nuclear, coupling, tolerance, keep_dual=True, **settings)
        return solver.minimize(objective_of(data, C, executor))


def dense_shrunk(matrix, threshold):
    """The formula, by the full decomposition."""
    left, sizes, right = np.linalg.svd(matrix, full_matrices=False)
    return left @ np.diag(np.maximum(0.0, sizes - threshold)) @ right


class Problem:
    """The problem in its slowest, plainest form: every pair a variable, every query a documents x documents matrix.

    A document of weight 2 is two documents, and a query of weight 2 two queries; weights here are whole numbers.
    """

    def __init__(self, data, C, nuclear, coupling):
        self.C, self.nuclear, self.coupling = C, nuclear, coupling
        copies = np.ones(data.n_documents) if data.document_weights is None else data.document_weights
        rows, qid = [], []
        for number, query in enumerate(data.queries.ids):
            times = 1 if data.query_weights is None else int(data.query_weights[number])
            of_query = np.flatnonzero(data.qid == query)
            for again in range(times):
                for row in of_query:
                    rows += [row] * int(copies[row])
                    qid += [f"{query} {again}"] * int(copies[row])
        self.features = dense(data.features)[rows]
        labels, qid = data.labels[rows], np.array(qid)
        self.pairs = [
            (i, j)
            for i, j in itertools.product(range(len(rows)), repeat=2)
            if qid[i] == qid[j] and labels[i] > labels[j]
        ]
        self.queries = [np.flatnonzero(qid == query) for query in np.unique(qid)]
        self.differences = np.array([self.features[i] - self.features[j] for i, j in self.pairs])
        self.differences = self.differences.reshape(len(self.pairs), self.features.shape[1])

    def matrices(self, alpha):
        whole = np.zeros((len(self.features), len(self.features)))
        for value, (i, j) in zip(alpha, self.pairs, strict=True):
            whole[i, j] = value
        return [whole[np.ix_(rows, rows)] for rows in self.queries]

    def value_and_slope(self, alpha):
        """f with the best A, and its gradient in alpha: Xu et al. (2018), eq. 15, 18 and 19."""
        weights = alpha @ self.differences
        value = 0.5 * weights @ weights - alpha.sum()
        slope = self.differences @ weights - 1.0
        offsets = np.zeros((len(self.features), len(self.features)))
        for rows, matrix in zip(self.queries, self.matrices(alpha), strict=True):
            shrunk = dense_shrunk(matrix, self.nuclear / (2 * self.coupling))
            value += self.nuclear * np.linalg.svd(shrunk, compute_uv=False).sum()
            value += self.coupling * np.sum((matrix - shrunk) ** 2)
            offsets[np.ix_(rows, rows)] = 2 * self.coupling * (matrix - shrunk)
        return value, slope + np.array([offsets[i, j] for i, j in self.pairs])

    def gap(self, alpha):
        """f minus the dual's value at w = sum alpha (x_i - x_j) and Z = 2 coupling (alpha - A)."""
        _, slope = self.value_and_slope(alpha)
        return np.maximum(alpha * slope, (alpha - self.C) * slope).sum()

    def solved(self, tolerance=1e-7, most=5000):
        """Accelerated projected gradient on the pairs, which begins anew where it points uphill."""
        alpha = ahead = np.full(len(self.pairs), self.C / 2)
        bend = np.linalg.norm(self.differences, 2) ** 2 + 2 * self.coupling if self.pairs else 1.0
        speed = 1.0
        for _ in range(most):
            _, slope = self.value_and_slope(ahead)
            following = np.clip(ahead - slope / bend, 0.0, self.C)
            if (ahead - following) @ (following - alpha) > 0.0:
                speed = 1.0
            faster = (1 + np.sqrt(1 + 4 * speed**2)) / 2
            ahead = following + (speed - 1) / faster * (following - alpha)
            alpha, speed = following, faster
            if self.gap(alpha) <= tolerance * max(abs(self.value_and_slope(alpha)[0]), 1e-300):
                break
        return alpha


def listed_dual(data, solution):
    """The solution's dual variables in the order of `listed_pairs`."""
    found = {}
    order = data.queries.order if data.queries.order is not None else np.arange(data.n_documents)
    rectangles = Rectangles.of(cut_into_blocks(data))
    for q, matrix in enumerate(solution.dual):
        rows = order[rectangles.rows[rectangles.row_starts[q] : rectangles.row_starts[q + 1]]]
        columns = order[rectangles.columns[rectangles.column_starts[q] : rectangles.column_starts[q + 1]]]
        found |= {(i, j): matrix[r, c] for r, i in enumerate(rows) for c, j in enumerate(columns)}
    return found


@pytest.mark.kernels
@given(datasets(max_queries=3, max_documents=5), SETTINGS)
def test_it_finds_the_minimum_of_the_formula(data, settings):
    problem = Problem(data, *settings)
    solution = solved(data, *settings)
    alpha = problem.solved()
    least = problem.value_and_slope(alpha)[0]
    assert solution.value == pytest.approx(least, rel=1e-5, abs=1e-12)
    np.testing.assert_allclose(solution.weights, alpha @ problem.differences, rtol=1e-2, atol=1e-2)
    own = listed_dual(data, solution)
    of_pairs = np.array([own.pop((i, j)) for i, j, _ in listed_pairs(data)])
    assert not any(own.values()), "a cell that is no pair has no dual variable"
    assert np.all(of_pairs >= 0.0)
    assert np.all(of_pairs <= settings[0])
    features = dense(data.features)
    weights = sum(
        (a * (features[i] - features[j]) for a, (i, j, _) in zip(of_pairs, listed_pairs(data), strict=True)),
        np.zeros(data.n_features),
    )
    np.testing.assert_allclose(solution.weights, weights, rtol=1e-8, atol=1e-10)


@given(datasets(max_queries=3, max_documents=5), SETTINGS, st.sampled_from([1e-1, 1e-2, 1e-3]))
def test_the_gap_is_a_bound_on_what_is_left(data, settings, tolerance):
    solution = solved(data, *settings, tolerance=tolerance)
    problem = Problem(data, *settings)
    least = problem.value_and_slope(problem.solved())[0]
    assert solution.converged
    assert solution.certified_gap <= tolerance * abs(solution.value)
    assert solution.value - least <= solution.certified_gap + 1e-6 * abs(least)


@pytest.mark.kernels
@given(datasets(max_queries=2, max_documents=4, weighted=True), SETTINGS)
def test_weights_are_repetitions(data, settings):
    twice = RankingDataset.from_arrays(
        data.features,
        data.labels,
        qid=data.qid,
        document_weights=2 * data.document_weights,
        query_weights=data.query_weights,
    )
    problem = Problem(twice, *settings)
    least = problem.value_and_slope(problem.solved())[0]
    solution = solved(twice, *settings)
    assert solution.value == pytest.approx(least, rel=1e-5, abs=1e-12)
    own = listed_dual(twice, solution)
    for i, j, weight in listed_pairs(twice):
        assert 0.0 <= own.get((i, j), 0.0) <= settings[0] * weight * (1 + 1e-12)


@pytest.mark.kernels
@given(datasets(weighted=True), SETTINGS, st.integers(0, 2**32 - 1))
def test_slopes_and_curvature_of_the_loss_are_derivatives(data, settings, seed):
    C, _, coupling = settings
    rng = np.random.default_rng(seed)
    blocks = cut_into_blocks(data)
    rectangles = Rectangles.of(blocks)
    anchors = C * rng.random(rectangles.n_cells)
    loss = OffsetHinge(rectangles, anchors, C, coupling)
    for block in blocks:
        scores = rng.standard_normal(block.n_documents)
        direction = rng.standard_normal(block.n_documents)
        at = loss.at(scores, block)
        step = 1e-6
        ahead, behind = (loss.at(scores + sign * step * direction, block) for sign in (1, -1))
        scale = 1.0 + abs(at.value)
        assert (ahead.value - behind.value) / (2 * step) == pytest.approx(at.slopes @ direction, abs=1e-6 * scale)
        # Where a pair reaches a bound, the curvature jumps: there the differences lie between the two curvatures.
        bends = [here.curvature.product(direction) for here in (at, ahead, behind)]
        if np.array_equal(bends[1], bends[2]):
            difference = (ahead.slopes - behind.slopes) / (2 * step)
            np.testing.assert_allclose(difference, bends[0], atol=1e-5 * (1 + np.abs(bends[0]).max()))
        identity = np.eye(block.n_documents)
        matrix = at.curvature.matrix_product(identity)
        np.testing.assert_allclose(matrix @ direction, bends[0], rtol=1e-9, atol=1e-9 * (1 + np.abs(matrix).max()))
        np.testing.assert_allclose(np.diagonal(matrix), at.curvature.diagonal(), rtol=1e-9)


@pytest.mark.kernels
@given(datasets(weighted=True))
def test_rectangles_hold_every_pair_once(data):
    rectangles = Rectangles.of(cut_into_blocks(data))
    order = data.queries.order if data.queries.order is not None else np.arange(data.n_documents)
    found = []
    for q, (n_rows, n_columns) in enumerate(rectangles.shapes):
        columns = order[rectangles.columns[rectangles.column_starts[q] : rectangles.column_starts[q + 1]]]
        for r in range(rectangles.row_starts[q], rectangles.row_starts[q + 1]):
            found += [(order[rectangles.rows[r]], column) for column in columns[: rectangles.ends[r]]]
        assert rectangles.cell_starts[q + 1] - rectangles.cell_starts[q] == n_rows * n_columns
    assert sorted(found) == sorted((i, j) for i, j, weight in listed_pairs(data) if weight > 0.0)
    assert rectangles.n_pairs == len(found)


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (7, 3), (40, 90), (90, 40), (270, 280)])
@pytest.mark.parametrize("threshold", [1e-9, 0.3, 3.0, 1e6])
def test_singular_values_are_shrunk_as_the_formula_says(shape, threshold):
    matrix = np.random.default_rng(0).random(shape)
    expected = dense_shrunk(matrix, threshold)
    found = shrink(matrix, threshold)
    np.testing.assert_allclose(found.matrix, expected, atol=1e-9 * np.abs(matrix).sum() ** 0.5)
    sizes = np.linalg.svd(matrix, compute_uv=False)
    assert found.norm == pytest.approx(np.maximum(0.0, sizes - threshold).sum(), rel=1e-9)
    assert found.rank == np.count_nonzero(sizes > threshold)
    assert found.complete


@pytest.mark.parametrize("shape", [(300, 400), (400, 300)])
def test_a_large_matrix_is_decomposed_near_the_last_one(shape, monkeypatch):
    monkeypatch.setattr(singular_values, "_LARGE", 200)
    rng = np.random.default_rng(0)
    low = rng.random((shape[0], 3)) @ rng.random((3, shape[1]))
    first = low + 0.1 * rng.random(shape)
    known = shrink(first, 5.0)
    assert known.basis is not None
    second = first + 0.01 * rng.standard_normal(shape)
    found = shrink(second, 5.0, known.basis)
    assert not found.complete
    np.testing.assert_allclose(found.matrix, dense_shrunk(second, 5.0), atol=1e-6)
    assert found.basis.shape == known.basis.shape
    # Many more singular values than before: the basis does not hold them, and all are looked for.
    found = shrink(10.0 * rng.standard_normal(shape), 5.0, known.basis)
    assert found.complete
    assert found.basis is None


def test_a_large_query_ends_with_a_certificate_that_misses_no_singular_value(monkeypatch):
    monkeypatch.setattr(singular_values, "_LARGE", 8)
    monkeypatch.setattr(singular_values, "_MANY", 1)
    data, _ = make_ranking(3, 60, 5, levels=(0.6, 0.4))
    calls = []
    monkeypatch.setattr(nuclear_dual, "shrink", lambda *given: calls.append(shrink(*given)) or calls[-1])
    quick = solved(data, 0.1, 2.0, 5.0, tolerance=1e-5)
    assert not all(call.complete for call in calls), "the quick way was never taken"
    assert all(call.complete for call in calls[-3:])
    monkeypatch.setattr(singular_values, "_LARGE", 10**9)
    slow = solved(data, 0.1, 2.0, 5.0, tolerance=1e-5)
    assert quick.converged
    assert quick.value == pytest.approx(slow.value, rel=1e-5)
    np.testing.assert_array_equal(quick.ranks, slow.ranks)


@pytest.mark.parametrize(("C", "nuclear", "coupling"), [(0.01, 0.0, 1.0), (0.01, 2.0, 100.0), (1.0, 5.0, 5.0)])
def test_the_objective_never_rises(C, nuclear, coupling):
    data, _ = make_ranking(20, 20, 8, levels=3)
    solution = solved(data, C, nuclear, coupling, tolerance=1e-9)
    values = [line.value for line in solution.history]
    assert len(values) > 3
    assert np.all(np.diff(values) <= 1e-12 * np.abs(values[1:]))
    assert solution.converged


@given(datasets(), st.sampled_from([0.01, 1.0, 30.0]))
def test_without_the_nuclear_norm_it_is_the_hinge(data, C):
    solution = solved(data, C, 0.0, 1.0, tolerance=1e-8)
    with Threads(1) as executor:
        hinge = SmoothedNewton(1e-8).minimize(objective_of(data, C, executor))
    assert -solution.value == pytest.approx(hinge.value, rel=1e-6, abs=1e-10)
    np.testing.assert_allclose(
        solution.weights, hinge.weights, rtol=1e-3, atol=1e-3 * np.abs(hinge.weights).max(initial=0)
    )
    assert solution.ranks is None


def test_a_strong_nuclear_norm_leaves_no_rank_and_a_weak_one_all():
    data, _ = make_ranking(10, 20, 5, levels=(0.5, 0.5))
    ranks = [solved(data, 0.1, nuclear, 5.0).ranks for nuclear in (1e-3, 1.0, 1e3)]
    assert ranks[0].min() > 2
    assert 0 < ranks[1].sum() < ranks[0].sum()
    assert not ranks[2].any()


def test_the_result_has_the_same_bits_for_any_number_of_threads():
    data, _ = make_ranking(40, 15, 6, levels=4)
    one, three = (solved(data, 0.1, 1.0, 5.0, n_threads=n) for n in (1, 3))
    assert one.weights.tobytes() == three.weights.tobytes()
    assert all(a.tobytes() == b.tobytes() for a, b in zip(one.dual, three.dual, strict=True))


def test_too_much_memory_is_refused_before_any_work(monkeypatch):
    # Few pairs, but many cells: nearly all documents are between one that is better and one that is worse.
    labels = np.ones(1000)
    labels[[0, -1]] = 0.0, 2.0
    data = RankingDataset.from_arrays(np.arange(2000.0).reshape(1000, 2), labels, group=[1000])

    def work(*_):
        raise AssertionError("it has begun")

    monkeypatch.setattr(nuclear_dual, "_Alternation", work)
    message = r"1997 pairs, in rectangles of 998001 cells, need about 0.0399 GB; max_memory=0.03. Raise it"
    with Threads(1) as executor, pytest.raises(LinrankError, match=message):
        NuclearDual(1.0, 1.0, max_bytes=3e7).minimize(objective_of(data, 1.0, executor))


def test_another_objective_is_refused():
    data, _ = make_ranking(3, 5, 2)
    with Threads(1) as executor, pytest.raises(LinrankError, match=r"that of Hinge\(\) with L2"):
        NuclearDual(1.0, 1.0).minimize(RankingObjective(SquaredHinge(), L2(), 1.0, PlacedData.of(data, executor)))


def test_time_and_rounds_are_limits():
    data, _ = make_ranking(10, 20, 5)
    late = solved(data, 1.0, 5.0, 50.0, tolerance=1e-12, max_seconds=0.0)
    assert "out of time" in late.message
    short = solved(data, 1.0, 5.0, 50.0, tolerance=1e-12, max_iterations=3)
    assert "out of iterations" in short.message
    assert not short.converged
    assert len(short.history) == 3
