"""Least squares on pairs, against pairs that are listed one by one."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from linrank import RankingDataset, make_ranking
from linrank.dataset.query_blocks import cut_into_blocks
from linrank.executors.local import Threads
from linrank.objective import placed_blocks, placement
from linrank.objective.least_squares import Centring, LeastSquares, _centre
from linrank.objective.objective import RankingObjective
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from strategies import datasets

pytestmark = pytest.mark.kernels

WEIGHTS = ["document", "pair"]


def objective_of(data, pair_weight="document", gamma=0.75, executor=None):
    return RankingObjective(LeastSquares(pair_weight), L2(gamma), 1.0, PlacedData.of(data, executor or Threads(1)))


def weights_of(data, seed=0):
    return np.random.default_rng(seed).standard_normal(data.n_features)


def listed(data, scores, pair_weight):
    """Value, slopes and curvature matrix of the sum over all pairs, also of equal labels."""
    n = data.n_documents
    value, slopes, curvature = 0.0, np.zeros(n), np.zeros((n, n))
    documents = np.ones(n) if data.document_weights is None else data.document_weights
    for number, query in enumerate(data.queries.ids):
        rows = np.flatnonzero(data.qid == query)
        of_query = 1.0 if data.query_weights is None else data.query_weights[number]
        size = documents[rows].sum() if pair_weight == "document" else 1.0
        for i, j in itertools.combinations(rows, 2):
            weight = of_query * documents[i] * documents[j]
            if weight == 0.0:
                continue
            weight /= size
            error = scores[i] - scores[j] - (data.labels[i] - data.labels[j])
            value += 0.5 * weight * error**2
            slopes[i] += weight * error
            slopes[j] -= weight * error
            for a, b, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
                curvature[a, b] += sign * weight
    return value, slopes, curvature


@pytest.mark.parametrize("pair_weight", WEIGHTS)
@given(data=datasets(weighted=True, max_documents=12), seed=st.integers(0, 99))
def test_value_gradient_and_curvature_equal_the_sums_over_listed_pairs(pair_weight, data, seed):
    weights, direction = weights_of(data, seed), weights_of(data, seed + 1)
    X = oracles.dense(data.features)
    value, slopes, curvature = listed(data, X @ weights, pair_weight)
    hessian = X.T @ curvature @ X + 0.75 * np.eye(data.n_features)
    objective = objective_of(data, pair_weight)
    point = objective.at(weights)
    size = 1e-11 * (1 + abs(hessian).max()) * 10
    assert point.value == pytest.approx(value + 0.375 * weights @ weights, rel=1e-11)
    np.testing.assert_allclose(point.gradient, X.T @ slopes + 0.75 * weights, rtol=1e-9, atol=size)
    np.testing.assert_allclose(point.hessian_product(direction), hessian @ direction, rtol=1e-9, atol=size)
    sample = objective.data.sample(data.n_documents)
    np.testing.assert_allclose(point.sampled_hessian(sample), hessian, rtol=1e-9, atol=size)


@pytest.mark.parametrize(
    ("pair_weight", "mass"), [("document", 0.5 * 3.0 + 2.0 * 4.0), ("pair", 0.5 * 9.0 + 2.0 * 16.0)]
)
def test_what_documents_weigh_is_divided_by_the_size_or_not(pair_weight, mass):
    data = RankingDataset.from_arrays(
        np.zeros((5, 1)), [0, 1, 0, 1, 2], group=[2, 3], document_weights=[1, 2, 1, 0, 3], query_weights=[0.5, 2.0]
    )
    (block,) = cut_into_blocks(data)
    assert LeastSquares(pair_weight).mass(block) == pytest.approx(mass)


@pytest.mark.parametrize("pair_weight", WEIGHTS)
@given(data=datasets(weighted=True))
def test_diagonals_are_those_of_the_matrices(pair_weight, data):
    X = oracles.dense(data.features)
    _, _, curvature = listed(data, np.zeros(data.n_documents), pair_weight)
    crude = 0.75 + np.diag(curvature) @ X**2
    point = objective_of(data, pair_weight).at(weights_of(data))
    np.testing.assert_allclose(point.crude_hessian_diagonal(), crude, rtol=1e-9, atol=1e-10)
    exact = sum(Centring(block, pair_weight == "pair").hessian_diagonal() for block in cut_into_blocks(data))
    expected = np.diag(X.T @ curvature @ X)
    np.testing.assert_allclose(exact, expected, rtol=1e-9, atol=1e-9 * (1 + crude.max()))


@given(data=datasets(weighted=True), shift=st.sampled_from([0.0, 7.0, -1e6]))
def test_a_constant_added_to_the_scores_or_labels_of_a_query_changes_nothing(data, shift):
    block = cut_into_blocks(data)[0]
    curvature, scores = Centring(block, by_pair=False), np.random.default_rng(0).standard_normal(block.n_documents)
    moved = scores + shift * np.repeat(np.arange(block.n_queries), np.diff(block.query_starts))
    np.testing.assert_allclose(curvature.product(moved), curvature.product(scores), atol=1e-8)


def test_pairs_divided_by_the_size_and_not_differ_by_it():
    data, weights = make_ranking(1, 40, 5)
    divided, whole = (objective_of(data, pair_weight).at(weights) for pair_weight in WEIGHTS)
    assert whole.loss_value == pytest.approx(40 * divided.loss_value, rel=1e-12)


@given(data=datasets(weighted=True, max_documents=12))
def test_a_query_spread_over_chunks_is_the_same_query(data):
    weights = weights_of(data)
    usual = objective_of(data, "pair").at(weights)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(placed_blocks, "LARGE_QUERY_BYTES", 0)
        patch.setattr(placement, "cut_into_blocks", lambda data: cut_into_blocks(data, block_bytes=1))
        objective = objective_of(data, "pair")
    assert all(placed.is_spread for shard in objective.data.shards for placed in shard)
    spread = objective.at(weights)
    assert spread.value == pytest.approx(usual.value, rel=1e-12)
    np.testing.assert_allclose(spread.gradient, usual.gradient, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(spread.hessian_product(weights), usual.hessian_product(weights), rtol=1e-9, atol=1e-9)


def test_inputs_are_not_written_to():
    data, weights = make_ranking(5, 10, 4)
    before = data.features.copy(), data.labels.copy(), weights.copy()
    objective_of(data).at(weights).hessian_product(weights)
    for old, new in zip(before, (data.features, data.labels, weights), strict=True):
        np.testing.assert_array_equal(old, new)


def test_a_value_keeps_its_digits_where_scores_are_far_from_zero():
    rng = np.random.default_rng(0)
    offsets = 1e8 * rng.integers(1, 5, size=10)
    away, labels = rng.integers(0, 16, size=60) / 16, rng.integers(0, 3, size=60) / 1.0
    data = RankingDataset.from_arrays((away + offsets.repeat(6))[:, None], labels, qid=np.arange(10).repeat(6))
    near = RankingDataset.from_arrays(away[:, None], labels, qid=np.arange(10).repeat(6))
    far, close = (objective_of(d).at(np.ones(1)) for d in (data, near))
    assert far.value == pytest.approx(close.value, rel=1e-7)


def test_the_bits_do_not_depend_on_where_the_arrays_lie():
    rng, n = np.random.default_rng(0), 100
    errors, room, found = rng.standard_normal(n), np.empty(1000), set()
    starts, ones = np.array([0, 22, 47, 80, n]), np.ones(4)
    for gap in range(64):
        values, weights, centred = room[:n], room[n + gap : 2 * n + gap], room[2 * n + 2 * gap : 3 * n + 2 * gap]
        values[:], weights[:] = errors, 1.0
        found.add((_centre(values, weights, starts, ones, False, centred), centred.tobytes()))
    assert len(found) == 1
