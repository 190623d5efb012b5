"""ListNet's cross entropy against its definition, each document written out as often as it weighs."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from linrank import RankingDataset, make_ranking
from linrank.dataset.query_blocks import cut_into_blocks
from linrank.executors.local import Threads
from linrank.objective import placed_blocks
from linrank.objective.list_losses import TopOneCrossEntropy
from linrank.objective.objective import RankingObjective
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from strategies import datasets

pytestmark = pytest.mark.kernels


def softmax(values):
    powers = [math.exp(value) for value in values]
    return [power / sum(powers) for power in powers]


def written_out(scores, labels, copies, query_weight):
    """Value, slopes and curvature of one query."""
    n = len(labels)
    rows = np.repeat(np.arange(n), copies)
    value, slopes, curvature = 0.0, np.zeros(n), np.zeros((n, n))
    if len(rows) == 0:
        return value, slopes, curvature
    wanted, found = softmax(labels[rows]), softmax(scores[rows])
    for a, i in enumerate(rows):
        value -= query_weight * wanted[a] * math.log(found[a])
        slopes[i] += query_weight * (found[a] - wanted[a])
        curvature[i, i] += query_weight * found[a]
        for b, j in enumerate(rows):
            curvature[i, j] -= query_weight * found[a] * found[b]
    return value, slopes, curvature


def over_queries(scores, block):
    value, slopes, curvature = 0.0, np.zeros(len(scores)), np.zeros((len(scores), len(scores)))
    for q, weight in enumerate(block.query_weights):
        rows = slice(block.query_starts[q], block.query_starts[q + 1])
        copies = block.document_weights[rows].astype(int)
        of_query, slopes[rows], curvature[rows, rows] = written_out(scores[rows], block.labels[rows], copies, weight)
        value += of_query
    return value, slopes, curvature


def block_of(labels, group=None, **weights):
    labels = np.asarray(labels, dtype=float)
    data = RankingDataset.from_arrays(np.zeros((len(labels), 1)), labels, group=group or [len(labels)], **weights)
    (block,) = cut_into_blocks(data)
    return block


def loss_at(scores, block):
    return TopOneCrossEntropy().at(np.asarray(scores, dtype=float), block)


@st.composite
def scored_queries(draw):
    """Few queries, some of one document, of equal labels, or without weights; scores with ties."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = rng.integers(1, draw(st.sampled_from([2, 9])), size=draw(st.integers(1, 4)))
    n = int(sizes.sum())
    labels = rng.integers(-1, draw(st.sampled_from([0, 2, 4])), size=n) * draw(st.sampled_from([1.0, 0.7]))
    scores = rng.integers(-4, 5, size=n) / 2 if draw(st.booleans()) else 2 * rng.standard_normal(n)
    weights = {}
    if draw(st.booleans()):
        weights["document_weights"] = rng.integers(0, 4, size=n) / 1.0
        weights["query_weights"] = rng.integers(0, 3, size=len(sizes)) / 2
    return scores, block_of(labels, sizes.tolist(), **weights)


@given(scored_queries())
def test_value_slopes_and_curvature_are_those_of_repeated_documents(drawn):
    scores, block = drawn
    found = loss_at(scores, block)
    value, slopes, curvature = over_queries(scores, block)
    assert found.value == pytest.approx(value, rel=1e-12, abs=1e-13)
    np.testing.assert_allclose(found.slopes, slopes, atol=1e-13)
    np.testing.assert_allclose(found.curvature.matrix_product(np.eye(len(scores))), curvature, atol=1e-13)
    np.testing.assert_allclose(found.curvature.diagonal(), np.diag(curvature), atol=1e-13)
    direction = np.random.default_rng(0).standard_normal(len(scores))
    np.testing.assert_allclose(found.curvature.product(direction), curvature @ direction, atol=1e-12)


def test_values_that_can_be_worked_out_by_hand():
    assert loss_at([5.0], block_of([3.0])).value == 0.0
    assert loss_at([0.3, 0.3, 0.3], block_of([2, 2, 2])).value == pytest.approx(math.log(3))
    # Chances 1/4 and 3/4 by the scores, 1/3 and 2/3 by the labels.
    assert loss_at([0.0, math.log(3)], block_of([0.0, math.log(2)])).value == pytest.approx(
        math.log(4) - 2 / 3 * math.log(3)
    )
    weighted = block_of([0.0, math.log(2)], document_weights=[4.0, 1.0], query_weights=[0.5])
    # Four documents of chance 1/6 each by the labels, and one of 1/3; all of 1/5 by the scores.
    assert loss_at([7.0, 7.0], weighted).value == pytest.approx(0.5 * math.log(5))
    np.testing.assert_allclose(loss_at([7.0, 7.0], weighted).slopes, 0.5 * np.array([4 / 5 - 4 / 6, 1 / 5 - 1 / 3]))


def test_equal_labels_want_equal_scores_and_one_document_wants_nothing():
    block = block_of([1, 1, 1, 0], [3, 1])
    at = loss_at([0.0, 1.0, 2.0, 9.0], block)
    assert at.slopes[0] < 0 < at.slopes[2]
    assert at.slopes[3] == 0.0
    assert not loss_at([4.0, 4.0, 4.0, 9.0], block).slopes.any()


@given(scored_queries())
def test_the_least_value_is_where_the_scores_are_the_labels(drawn):
    scores, block = drawn
    least = loss_at(scores, block).sums["least"]
    assert loss_at(block.labels, block).value == pytest.approx(least, rel=1e-12, abs=1e-12)
    assert least <= loss_at(scores, block).value + 1e-12


@given(scored_queries(), st.integers(0, 99))
def test_the_order_of_rows_and_a_constant_change_nothing(drawn, seed):
    scores, block = drawn
    rng = np.random.default_rng(seed)
    starts = block.query_starts
    order = np.concatenate([rng.permutation(np.arange(a, b)) for a, b in itertools.pairwise(starts)])
    mixed = block_of(
        block.labels[order] - 3.0,
        np.diff(starts).tolist(),
        document_weights=block.document_weights[order],
        query_weights=block.query_weights,
    )
    usual, other = loss_at(scores, block), loss_at(scores[order] + 4.0, mixed)
    assert other.value == pytest.approx(usual.value, rel=1e-11, abs=1e-12)
    np.testing.assert_allclose(other.slopes, usual.slopes[order], atol=1e-12)


def test_a_document_in_two_parts_is_the_document():
    labels, scores, parts = np.array([0.0, 2.0, 1.0]), np.array([0.5, 0.2, -0.3]), [0, 1, 1, 2]
    whole = loss_at(scores, block_of(labels))
    halves = loss_at(scores[parts], block_of(labels[parts], document_weights=[1.0, 0.25, 0.75, 1.0]))
    assert halves.value == pytest.approx(whole.value)
    np.testing.assert_allclose(np.add.reduceat(halves.slopes, [0, 1, 3]), whole.slopes)


def test_very_large_labels_and_scores_do_not_overflow():
    at = loss_at([-1e3, 0.0, 1e3], block_of([3000.0, 2999.0, -3000.0]))
    first = math.e / (1 + math.e)
    assert at.value == pytest.approx(2e3 * first + 1e3 * (1 - first))
    np.testing.assert_allclose(at.slopes, [-first, first - 1, 1], atol=1e-12)
    # A document that counts for nothing does not decide which numbers are too small.
    weightless = loss_at([1e5, 0.0, 1.0], block_of([1e5, 0.0, 1.0], document_weights=[0.0, 1.0, 1.0]))
    assert weightless.value == pytest.approx(loss_at([0.0, 1.0], block_of([0.0, 1.0])).value)


def objective_of(data, executor=None):
    return RankingObjective(TopOneCrossEntropy(), L2(), 0.75, PlacedData.of(data, executor or Threads(1)))


@given(datasets(weighted=True))
def test_with_features_of_any_kind_it_is_the_sum_over_the_queries(data):
    weights = np.random.default_rng(0).standard_normal(data.n_features)
    X = oracles.dense(data.features)
    documents = (2 * data.document_weights).astype(int)
    value, slopes, curvature = 0.0, np.zeros(len(X)), np.zeros((len(X), len(X)))
    for number, query in enumerate(data.queries.ids):
        rows = np.flatnonzero(data.qid == query)
        part, slopes[rows], curvature[np.ix_(rows, rows)] = written_out(
            X[rows] @ weights, data.labels[rows], documents[rows], data.query_weights[number]
        )
        # The weights are halves: half as many copies have as much less to choose among.
        value += part - data.query_weights[number] * math.log(2) * (documents[rows].sum() > 0)
    objective = objective_of(data)
    point = objective.at(weights)
    hessian = np.eye(len(weights)) + 0.75 * X.T @ curvature @ X
    assert point.value == pytest.approx(0.5 * weights @ weights + 0.75 * value, rel=1e-11, abs=1e-11)
    np.testing.assert_allclose(point.gradient, weights + 0.75 * X.T @ slopes, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(point.hessian_product(weights), hessian @ weights, rtol=1e-9, atol=1e-9)
    everything = objective.data.sample(data.n_documents)
    np.testing.assert_allclose(point.sampled_hessian(everything), hessian, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("density", [1.0, 0.3], ids=["dense", "sparse"])
@pytest.mark.parametrize("large", [False, True], ids=["many queries", "one large query"])
def test_any_number_of_threads_gives_the_same_bits(density, large, monkeypatch):
    if large:
        monkeypatch.setattr(placed_blocks, "LARGE_QUERY_BYTES", 1000)
    data, weights = make_ranking(1 if large else 40, 400 if large else 20, 12, density=density)
    results = []
    for n_threads in (1, 2, 5):
        with Threads(n_threads) as executor:
            point = objective_of(data, executor).at(weights)
            arrays = point.gradient, point.hessian_product(weights), point.crude_hessian_diagonal()
            results.append((point.value, tuple(point.sums.items()), *(array.tobytes() for array in arrays)))
    assert results[0] == results[1] == results[2]
