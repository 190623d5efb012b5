"""The logistic loss on pairs, alike or weighed by their change of NDCG, against listed pairs."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from linrank import LinrankError, RankingDataset, make_ranking
from linrank.dataset.query_blocks import cut_into_blocks
from linrank.executors.local import Threads
from linrank.measures import NDCG
from linrank.objective import placed_blocks
from linrank.objective.logistic_pairs import Logistic, NDCGWeightedLogistic
from linrank.objective.objective import RankingObjective
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.objective.sorted_pairs import PairSums
from strategies import datasets

pytestmark = pytest.mark.kernels

LOSSES = [Logistic(), NDCGWeightedLogistic()]


def logistic(margin):
    """Value, slope and second derivative of log(1 + e^-margin)."""
    small = math.exp(-abs(margin))
    chance = (small if margin > 0 else 1.0) / (1 + small)
    return max(0.0, -margin) + math.log1p(small), -chance, small / (1 + small) ** 2


def gain(label):
    return max(0.0, 2.0**label - 1.0)


def changes_of_ndcg(scores, labels):
    """(i, j, change) for each preference pair of one query, and its NDCG: of equal scores the lower label is first."""
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], labels[i]))
    by_key = {}
    for rank, i in enumerate(order, start=1):
        by_key.setdefault((scores[i], labels[i]), []).append(1.0 / math.log2(1 + rank))
    b = [np.mean(by_key[s, y]) for s, y in zip(scores, labels, strict=True)]
    ideal = sum(gain(y) / math.log2(1 + rank) for rank, y in enumerate(sorted(labels, reverse=True), start=1))
    if ideal == 0.0:
        return [], 0.0
    pairs = [
        (i, j, abs((gain(labels[i]) - gain(labels[j])) * (b[i] - b[j])) / ideal)
        for i, j in itertools.permutations(range(len(labels)), 2)
        if labels[i] > labels[j]
    ]
    return pairs, sum(gain(y) * discount for y, discount in zip(labels, b, strict=True)) / ideal


def listed(scores, block, *, by_ndcg, frozen_at=None):
    """Value, slopes, curvature matrix and sum of NDCG, each document written out as often as it weighs."""
    n = len(scores)
    value, slopes, curvature, ndcg = 0.0, np.zeros(n), np.zeros((n, n)), 0.0
    frozen = scores if frozen_at is None else frozen_at
    for q, query_weight in enumerate(block.query_weights):
        rows = np.arange(block.query_starts[q], block.query_starts[q + 1])
        rows = np.repeat(rows, block.document_weights[rows].astype(int))
        pairs, of_query = changes_of_ndcg(frozen[rows], block.labels[rows])
        ndcg += query_weight * of_query
        if not by_ndcg:
            every = itertools.permutations(range(len(rows)), 2)
            pairs = [(i, j, 1.0) for i, j in every if block.labels[rows[i]] > block.labels[rows[j]]]
        for i, j, change in pairs:
            at, slope, bend = logistic(scores[rows[i]] - scores[rows[j]])
            edge = np.eye(n)[rows[i]] - np.eye(n)[rows[j]]
            value += query_weight * change * at
            slopes += query_weight * change * slope * edge
            curvature += query_weight * change * bend * np.outer(edge, edge)
    return value, slopes, curvature, ndcg


def block_of(labels, group=None, **weights):
    labels = np.asarray(labels, dtype=float)
    data = RankingDataset.from_arrays(np.zeros((len(labels), 1)), labels, group=group or [len(labels)], **weights)
    (block,) = cut_into_blocks(data)
    return block


@st.composite
def scored_queries(draw):
    """Few queries, some of one document or of equal labels; scores with ties, near or very far apart."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = rng.integers(1, draw(st.sampled_from([2, 8, 14])), size=draw(st.integers(1, 3)))
    n = int(sizes.sum())
    levels = draw(st.sampled_from([1, 2, 4, None]))
    labels = rng.random(n) * 2 if levels is None else rng.integers(draw(st.sampled_from([0, -1])), levels, size=n) / 1.0
    scores = rng.integers(-4, 5, size=n) / 2 if draw(st.booleans()) else 3 * rng.standard_normal(n)
    weights = {}
    if draw(st.booleans()):
        weights["document_weights"] = rng.integers(0, 4, size=n) / 1.0
        weights["query_weights"] = rng.integers(0, 3, size=len(sizes)) / 2
    return scores * draw(st.sampled_from([0.0, 1.0, 400.0])), block_of(labels, sizes.tolist(), **weights)


@pytest.mark.parametrize("loss", LOSSES, ids=["alike", "by NDCG"])
@given(scored_queries())
def test_value_and_slopes_equal_those_of_listed_pairs(loss, drawn):
    scores, block = drawn
    found = loss.at(scores, block)
    value, slopes, _, ndcg = listed(scores, block, by_ndcg=loss != Logistic())
    assert found.value == pytest.approx(value, rel=1e-12, abs=1e-13)
    np.testing.assert_allclose(found.slopes, slopes, rtol=1e-11, atol=1e-13)
    assert found.sums.get("ndcg", ndcg) == pytest.approx(ndcg, rel=1e-12, abs=1e-13)
    assert ("ndcg" in found.sums) == (loss != Logistic())


@given(scored_queries())
def test_the_curvature_is_that_of_listed_pairs(drawn):
    scores, block = drawn
    curvature = Logistic().at(scores, block).curvature
    _, _, expected, _ = listed(scores, block, by_ndcg=False)
    np.testing.assert_allclose(curvature.matrix_product(np.eye(len(scores))), expected, atol=1e-13)
    np.testing.assert_allclose(curvature.diagonal(), np.diag(expected), atol=1e-13)
    direction = np.random.default_rng(0).standard_normal(len(scores))
    np.testing.assert_allclose(curvature.product(direction), expected @ direction, atol=1e-12)


@given(scored_queries(), st.sampled_from([0.01, 1.0, 30.0]))
def test_the_parabolas_lie_above_the_loss_with_its_weights_held(drawn, length):
    scores, block = drawn
    at = NDCGWeightedLogistic().at(scores, block)
    step = length * np.random.default_rng(0).standard_normal(len(scores))
    matrix = at.curvature.matrix_product(np.eye(len(scores)))
    np.testing.assert_allclose(at.curvature.product(step), matrix @ step, atol=1e-11 * length)
    np.testing.assert_allclose(at.curvature.diagonal(), np.diag(matrix), atol=1e-13)
    moved, _, _, _ = listed(scores + step, block, by_ndcg=True, frozen_at=scores)
    promised = at.value + at.slopes @ step + 0.5 * step @ matrix @ step
    assert moved <= promised + 1e-9 * (1 + abs(promised))


@pytest.mark.parametrize("margin", [0.0, 1e-7, 1e-4, 0.3, -2.0, 40.0])
def test_the_parabola_of_a_pair_touches_its_loss_on_both_sides(margin):
    at = NDCGWeightedLogistic().at(np.array([margin, 0.0]), block_of([1, 0]))
    change = 1 - 1 / math.log2(3)
    bend = at.curvature.diagonal()[0] / change
    assert bend == pytest.approx(math.tanh(margin / 2) / (2 * margin) if margin else 0.25, rel=1e-9)
    value, slope, _ = logistic(margin)
    across = value + slope * (-2 * margin) + 0.5 * bend * (2 * margin) ** 2
    assert across == pytest.approx(logistic(-margin)[0], rel=1e-9)


def test_values_that_can_be_worked_out_by_hand():
    for block in (block_of([3.0]), block_of([1, 1, 1]), block_of([1, 2], [1, 1])):
        at = Logistic().at(np.arange(block.n_documents) / 1.0, block)
        assert at.value == 0.0
        assert not at.slopes.any()
    # Three pairs, tied: log 2 each; slopes of 1/2 a pair.
    at = Logistic().at(np.zeros(3), block_of([2, 0, 1]))
    assert at.value == pytest.approx(3 * math.log(2))
    np.testing.assert_allclose(at.slopes, [-1.0, 1.0, 0.0], atol=1e-15)
    weighted = block_of([1, 0], document_weights=[2.0, 3.0], query_weights=[0.5])
    assert Logistic().at(np.array([0.0, math.log(3)]), weighted).value == pytest.approx(3 * math.log(4))


@given(scored_queries(), st.integers(0, 99))
@pytest.mark.parametrize("loss", LOSSES, ids=["alike", "by NDCG"])
def test_the_order_of_rows_and_a_constant_change_nothing_even_with_ties(loss, drawn, seed):
    scores, block = drawn
    rng = np.random.default_rng(seed)
    starts = block.query_starts
    order = np.concatenate([rng.permutation(np.arange(a, b)) for a, b in itertools.pairwise(starts)])
    mixed = block_of(
        block.labels[order],
        np.diff(starts).tolist(),
        document_weights=block.document_weights[order],
        query_weights=block.query_weights,
    )
    # In eighths, so that a constant does not make ties of what were none.
    scores = np.round(8 * scores) / 8
    usual, other = loss.at(scores, block), loss.at(scores[order] + 4.0, mixed)
    assert other.value == pytest.approx(usual.value, rel=1e-11, abs=1e-12)
    np.testing.assert_allclose(other.slopes, usual.slopes[order], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("apart", [599.9, 600.1, 1e4, 1e9])
def test_scores_however_far_apart_lose_no_digits(apart):
    # Two documents close together at either end: with one exponential a document, or with one a pair.
    scores, labels = np.array([0.0, 0.7, apart, apart + 0.5]), [1, 2, 1, 2]
    block = block_of(labels)
    at = Logistic().at(scores, block)
    margins = [0.7, 0.7 - apart, apart + 0.5, (apart + 0.5) - apart]
    value, slope, bend = np.transpose([logistic(margin) for margin in margins])
    assert at.value == pytest.approx(value.sum(), rel=1e-12)
    slopes = [-slope[0] - slope[2], slope[0] + slope[1], -slope[1] - slope[3], slope[2] + slope[3]]
    np.testing.assert_allclose(at.slopes, slopes, rtol=1e-12)
    np.testing.assert_allclose(at.curvature.diagonal(), [bend[0], bend[0], bend[3], bend[3]], rtol=1e-12)


def test_small_losses_keep_their_digits():
    at = Logistic().at(np.array([50.0, 0.0]), block_of([1, 0]))
    assert at.value == pytest.approx(math.exp(-50), rel=1e-12)
    assert at.slopes[0] == pytest.approx(-math.exp(-50), rel=1e-12)


@given(st.integers(0, 999))
def test_the_total_is_ndcg(seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, size=20) / 1.0
    labels[[0, 8]] = 1.0
    data = RankingDataset.from_arrays(rng.standard_normal((20, 1)), labels, group=[8, 12])
    at = NDCGWeightedLogistic().at(data.features[:, 0], *cut_into_blocks(data))
    assert at.sums["ndcg"] == pytest.approx(NDCG.per_query(data.features[:, 0], data).sum())


def objective_of(data, loss, executor=None):
    return RankingObjective(loss, L2(), 0.75, PlacedData.of(data, executor or Threads(1)))


@given(datasets(weighted=True, max_documents=15))
def test_with_features_of_any_kind_it_is_the_sum_over_the_pairs(data):
    weights = np.random.default_rng(0).standard_normal(data.n_features)
    X = oracles.dense(data.features)
    value, slopes, curvature = oracles.loss_at_scores(data, X @ weights, logistic)
    objective = objective_of(data, Logistic())
    point = objective.at(weights)
    hessian = np.eye(len(weights)) + 0.75 * X.T @ curvature @ X
    assert point.value == pytest.approx(0.5 * weights @ weights + 0.75 * value, rel=1e-11)
    np.testing.assert_allclose(point.gradient, weights + 0.75 * X.T @ slopes, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(point.hessian_product(weights), hessian @ weights, rtol=1e-9, atol=1e-9)
    everything = objective.data.sample(data.n_documents)
    np.testing.assert_allclose(point.sampled_hessian(everything), hessian, rtol=1e-9, atol=1e-9)
    crude = 1 + 0.75 * np.diag(curvature) @ X**2
    np.testing.assert_allclose(point.crude_hessian_diagonal(), crude, rtol=1e-10)


@pytest.mark.parametrize("loss", LOSSES, ids=["alike", "by NDCG"])
@pytest.mark.parametrize("density", [1.0, 0.3], ids=["dense", "sparse"])
@pytest.mark.parametrize("large", [False, True], ids=["many queries", "one large query"])
def test_any_number_of_threads_gives_the_same_bits(loss, density, large, monkeypatch):
    if large:
        monkeypatch.setattr(placed_blocks, "LARGE_QUERY_BYTES", 1000)
    data, weights = make_ranking(1 if large else 40, 400 if large else 20, 12, density=density)
    results = []
    for n_threads in (1, 2, 5):
        with Threads(n_threads) as executor:
            point = objective_of(data, loss, executor).at(weights)
            arrays = point.gradient, point.hessian_product(weights), point.crude_hessian_diagonal()
            results.append((point.value, tuple(point.sums.items()), *(array.tobytes() for array in arrays)))
    assert results[0] == results[1] == results[2]


def test_pairs_of_neighbouring_labels_alone_are_refused():
    with pytest.raises(LinrankError, match="Use pairs='all'"):
        NDCGWeightedLogistic(PairSums("adjacent")).at(np.zeros(2), block_of([0, 1]))
