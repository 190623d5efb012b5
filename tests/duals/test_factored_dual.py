"""The factored dual equals its listed form, and no step ever raises it."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from linrank import RankingDataset, make_ranking
from linrank.duals import factored_dual_kernels as kernels
from linrank.duals.factored_dual import FactoredDual, FactoredObjective, _Work, mark_documents, random_start
from oracles import dense, hinge, listed_pairs, loss_at_scores
from strategies import datasets

pytestmark = pytest.mark.kernels

ANY_DATA = st.one_of(datasets(), datasets(weighted=True))


def listed_multipliers(data, C, factors):
    """(i, j, a_ij, largest a_ij) for each pair, from vectors u of the documents as given."""
    rank = factors.shape[1]
    return [(i, j, C / rank * weight * (factors[i] @ factors[j]), C * weight) for i, j, weight in listed_pairs(data)]


def listed_value(data, C, factors):
    """w and |w|² / 2 - sum a_ij, pair by pair."""
    X = dense(data.features)
    weights, total = np.zeros(X.shape[1]), 0.0
    for i, j, multiplier, _ in listed_multipliers(data, C, factors):
        weights += multiplier * (X[i] - X[j])
        total += multiplier
    return weights, 0.5 * weights @ weights - total


def listed_gradient(data, C, factors):
    """The derivative of the value by each u_i, pair by pair."""
    scores = dense(data.features) @ listed_value(data, C, factors)[0]
    gradient = np.zeros_like(factors)
    for i, j, weight in listed_pairs(data):
        pull = C / factors.shape[1] * weight * (scores[i] - scores[j] - 1.0)
        gradient[i] += pull * factors[j]
        gradient[j] += pull * factors[i]
    return gradient


def given_order(data, column):
    return data.queries.ungrouped(column)


def random_point(data, C, rank, seed):
    objective = FactoredObjective.of(data, C, rank)
    return objective.at(np.random.default_rng(seed).choice([0.0, 0.3, 0.7, 1.0], size=(data.n_documents, rank)))


@given(data=ANY_DATA, rank=st.integers(1, 4), C=st.sampled_from([1e-3, 1.0, 50.0]))
def test_weights_and_value_are_those_of_the_listed_pairs(data, rank, C):
    point = random_point(data, C, rank, 0)
    weights, value = listed_value(data, C, given_order(data, point.factors))
    np.testing.assert_allclose(point.weights, weights, rtol=1e-9, atol=1e-9 * (1 + np.abs(weights).max()))
    assert point.value == pytest.approx(value, rel=1e-9, abs=1e-9)


@given(data=ANY_DATA, rank=st.integers(1, 4))
def test_the_gradient_is_that_of_the_listed_pairs(data, rank):
    point = random_point(data, 0.5, rank, 1)
    block = point.objective.data
    scores = block.features.product(point.weights, np.empty(block.n_documents))
    gradient = np.empty_like(point.factors)
    columns = np.empty((kernels.ROWS_OF_COLUMNS, block.n_documents))
    tables = np.empty((kernels.TABLES, block.most_levels + 1, rank))
    for query, (a, b) in enumerate(pairwise(block.query_starts.tolist())):
        columns[0, : b - a] = scores[a:b]
        steepest = kernels.gradient_of_query(
            point.factors[a:b], block.document_weights[a:b], block.levels[a:b], block.level_counts[query], columns,
            tables, gradient[a:b],
        )  # fmt: skip
        assert steepest == np.abs(gradient[a:b][block.document_weights[a:b] > 0]).max(initial=0.0)
        gradient[a:b] *= point.objective.scale * block.query_weights[query] * block.document_weights[a:b, None]
    expected = listed_gradient(data, 0.5, given_order(data, point.factors))
    np.testing.assert_allclose(
        given_order(data, gradient), expected, rtol=1e-8, atol=1e-9 * (1 + np.abs(expected).max())
    )


def test_the_listed_gradient_is_the_derivative_of_the_value():
    data, _ = make_ranking(3, 6, 4, levels=3)
    factors = np.random.default_rng(0).random((18, 2))
    gradient = listed_gradient(data, 0.1, factors)
    for place in np.ndindex(factors.shape):
        beside = [factors.copy() for _ in range(2)]
        beside[0][place] += 1e-6
        beside[1][place] -= 1e-6
        slope = (listed_value(data, 0.1, beside[0])[1] - listed_value(data, 0.1, beside[1])[1]) / 2e-6
        assert gradient[place] == pytest.approx(slope, rel=1e-4, abs=1e-6)


@given(data=ANY_DATA, rank=st.integers(1, 3), C=st.sampled_from([1e-4, 0.1, 1e3]), query=st.integers(0, 4))
def test_a_visit_goes_as_far_towards_the_projected_step_as_the_objective_falls(data, rank, C, query):
    point = random_point(data, C, rank, 2)
    before, value = given_order(data, point.factors).copy(), point.value
    of_query = data.queries.of_rows() == query % data.n_queries
    gradient = listed_gradient(data, C, before)
    weights = np.ones(data.n_documents) if data.document_weights is None else data.document_weights
    _Work(point).visit(np.array([query % data.n_queries]))
    after = given_order(data, point.factors)
    assert np.array_equal(after[~of_query], before[~of_query])
    counted = of_query & (weights > 0)
    if not gradient[counted].any():
        assert np.array_equal(after[counted], before[counted])
        return
    slopes = gradient[counted] / weights[counted, None]
    end = np.clip(before[counted] - slopes / np.abs(slopes).max(), 0.0, 1.0)
    way, gone = end - before[counted], after[counted] - before[counted]
    if not way.any():
        assert not gone.any()
        return
    step = (gone * way).sum() / (way * way).sum()
    np.testing.assert_allclose(gone, step * way, atol=1e-9)
    assert 0.0 < step <= 1.0 + 1e-9

    def along(part):
        trial = before.copy()
        trial[counted] += part * way
        return listed_value(data, C, trial)[1]

    noise = 1e-9 * (1.0 + abs(value) + abs(along(1.0)))
    on_the_way = [along(part) for part in np.linspace(0.0, step, 7)]
    assert all(later <= earlier + noise for earlier, later in pairwise(on_the_way))
    assert step >= 1.0 - 1e-9 or along(min(1.0, 1.05 * step)) >= on_the_way[-1] - noise


@pytest.mark.parametrize(
    ("coefficients", "expected"),
    [
        ((-1.0, 0.0, 0.0, 0.0), 1.0),
        ((-1.0, 1.0, 0.0, 0.0), 0.5),
        ((-1.0, 1e9, 0.0, 0.0), 0.5e-9),
        ((-1.0, 0.0, 0.0, 16.0), 0.25),
        ((-1.0, 0.0, 1.0, 0.0), 3.0**-0.5),
    ],
)
def test_the_best_step_is_where_the_polynomial_turns(coefficients, expected):
    assert kernels.best_step(*coefficients) == pytest.approx(expected, rel=1e-6)


@given(slope=st.floats(-1e3, -1e-3), rest=st.tuples(*[st.floats(-1e4, 1e4)] * 2), fourth=st.floats(0.0, 1e4))
def test_no_step_is_uphill(slope, rest, fourth):
    step = kernels.best_step(slope, *rest, fourth)
    assert 0.0 < step <= 1.0
    assert step * (slope + step * (rest[0] + step * (rest[1] + step * fourth))) < 0.0


@pytest.mark.parametrize("C", [1e-5, 1e-2, 10.0, 1e6])
@pytest.mark.parametrize("one_query", [False, True], ids=["query by query", "all at once"])
@given(data=ANY_DATA, rank=st.integers(1, 3), seed=st.integers(0, 9))
def test_the_objective_never_rises_and_the_weights_follow(one_query, C, data, rank, seed):
    if one_query:
        data = RankingDataset.from_arrays(data.features, data.labels, group=[data.n_documents])
    objective = FactoredObjective.of(data, C, rank)
    start = random_start(objective, mark_documents(objective.data.features, seed))
    seen = []
    FactoredDual(0.0, max_iterations=9, seed=seed).minimize(
        objective, start, watch=lambda line, weights: seen.append((line.value, weights, start.factors.copy()))
    )
    values = np.array([value for value, *_ in seen])
    assert np.all(np.isfinite(values))
    assert np.all(np.diff(values) <= 1e-9 * np.abs(values[1:]))
    # After eight epochs of small changes: nothing is taken anew before the ninth.
    value, weights, factors = seen[min(8, len(seen) - 1)]
    expected_weights, expected_value = listed_value(data, C, given_order(data, factors))
    # C is up to 1e6, and so are the numbers that cancel in the weights.
    largest = np.abs(dense(data.features)).max() * C * sum(pair[2] for pair in listed_pairs(data))
    np.testing.assert_allclose(weights, expected_weights, rtol=1e-6, atol=1e-12 * (1 + largest))
    assert value == pytest.approx(expected_value, rel=1e-6, abs=1e-9)


@given(data=ANY_DATA, rank=st.integers(1, 4), C=st.sampled_from([1e-4, 1.0, 100.0]))
def test_every_multiplier_is_in_the_box_and_the_gap_is_certified(data, rank, C):
    objective = FactoredObjective.of(data, C, rank)
    start = random_start(objective, mark_documents(objective.data.features, 0))
    solution = FactoredDual(max_iterations=20).minimize(objective, start)
    vectors = given_order(data, start.vectors())
    for i, j, multiplier, largest in listed_multipliers(data, C, given_order(data, start.factors)):
        assert vectors[i] @ vectors[j] == pytest.approx(multiplier, rel=1e-9, abs=1e-12)
        assert -1e-12 <= multiplier <= largest * (1 + 1e-12)
    scores = dense(data.features) @ solution.weights
    primal = 0.5 * solution.weights @ solution.weights + C * loss_at_scores(data, scores, hinge)[0]
    assert solution.certified_gap == pytest.approx(primal + solution.value, rel=1e-6, abs=1e-7 * (1 + primal))


def test_it_stops_where_the_projected_gradient_vanishes():
    data, _ = make_ranking(4, 8, 5, levels=3)
    objective = FactoredObjective.of(data, 0.01, 3)
    start = random_start(objective, mark_documents(objective.data.features, 0))
    first = np.abs(listed_gradient(data, 0.01, start.factors)).max()
    solution = FactoredDual(1e-14, max_iterations=5_000).minimize(objective, start)
    assert solution.converged
    gradient = listed_gradient(data, 0.01, start.factors)
    projected = start.factors - np.clip(start.factors - gradient, 0.0, 1.0)
    assert np.abs(projected).max() < 1e-4 * first
    assert solution.gradient_norm < 1e-3 * solution.history[1].gradient_norm


@given(data=ANY_DATA, rank=st.integers(1, 4), C=st.sampled_from([1e-4, 100.0]))
def test_the_start_has_the_best_length_up_to_that_of_the_box(data, rank, C):
    objective = FactoredObjective.of(data, C, rank)
    start = random_start(objective, mark_documents(objective.data.features, 0))
    assert start.factors.min() >= 0.0
    assert start.factors.max() < 1.0
    for share in (0.0, 0.5, 0.9, 0.99):
        assert start.value <= objective.at(share * start.factors).value + 1e-12


def test_marks_are_those_of_the_rows_whatever_holds_them():
    data, _ = make_ranking(5, 20, 12, density=0.3)
    full = data.features.toarray()
    layouts = [data.features, full, full.astype(np.float32), sparse.csr_array(full.astype(np.float32))]
    sets = [RankingDataset.from_arrays(layout, data.labels, group=[20] * 5) for layout in layouts]
    marks = [mark_documents(made.grouped_features(), 7) for made in sets]
    for other in marks[1:]:
        assert np.array_equal(other, marks[0])
    zeros = RankingDataset.from_arrays(np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]]), [0, 1, 2], group=[3])
    first, second, third = mark_documents(zeros.grouped_features(), 7)
    assert first == second != third
    assert mark_documents(zeros.grouped_features(), 8)[0] != first


def few_epochs(data, **settings):
    return FactoredDual(0.0, max_iterations=5, **settings).minimize(FactoredObjective.of(data, 1e-3, 3)).weights


def test_the_order_of_rows_and_queries_does_not_matter():
    data, _ = make_ranking(30, (2, 20), 6)
    order = np.random.default_rng(0).permutation(data.n_documents)
    mixed = RankingDataset.from_arrays(data.features[order], data.labels[order], qid=data.qid[order])
    np.testing.assert_allclose(few_epochs(mixed), few_epochs(data), rtol=1e-8)
    assert not np.allclose(few_epochs(data, seed=1), few_epochs(data), rtol=1e-4)


def test_dense_sparse_and_float32_agree():
    data, _ = make_ranking(30, 12, 40, density=0.2)
    full = data.features.toarray()
    usual = few_epochs(data)
    for features, tolerance in ((full, 1e-8), (full.astype(np.float32), 1e-3)):
        other = RankingDataset.from_arrays(features, data.labels, group=[12] * 30)
        np.testing.assert_allclose(few_epochs(other), usual, rtol=tolerance, atol=tolerance * np.abs(usual).max())


def test_a_weight_is_a_repetition():
    data, _ = make_ranking(20, 10, 6)
    repeats = np.random.default_rng(0).integers(0, 4, size=data.n_documents)
    weighted = RankingDataset.from_arrays(data.features, data.labels, qid=data.qid, document_weights=repeats)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(data.n_documents), repeats))
    repeated = RankingDataset.from_arrays(data.features[rows], data.labels[rows], qid=data.qid[rows])
    np.testing.assert_allclose(few_epochs(weighted), few_epochs(repeated), rtol=1e-8)


def test_a_weight_of_all_queries_is_a_larger_C():
    data, _ = make_ranking(20, 10, 6)
    weighted = RankingDataset.from_arrays(data.features, data.labels, qid=data.qid, query_weights=np.full(20, 4.0))
    four = FactoredDual(0.0, max_iterations=5).minimize(FactoredObjective.of(data, 4e-3, 3)).weights
    np.testing.assert_allclose(few_epochs(weighted), four, rtol=1e-9)


def test_inputs_are_not_written_to():
    for data in (make_ranking(5, 10, 4)[0], make_ranking(5, 10, 9, density=0.5)[0]):
        before = data.fingerprint()
        few_epochs(data)
        assert data.fingerprint() == before


def test_queries_without_pairs_leave_the_weights_at_zero():
    data = RankingDataset.from_arrays(
        np.ones((6, 2)), [1, 1, 0, 1, 0, 1], group=[2, 2, 1, 1], document_weights=[1, 1, 0, 1, 1, 1]
    )
    solution = FactoredDual().minimize(FactoredObjective.of(data, 1.0, 2))
    assert solution.converged
    assert solution.value == 0.0
    assert not solution.weights.any()
