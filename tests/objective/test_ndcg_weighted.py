"""RSRank's loss against listed pairs, its frozen slopes, and the theorem that links its weights to NDCG."""

import itertools
import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from linrank import LinrankError, RankingDataset, make_ranking
from linrank.dataset.query_blocks import cut_into_blocks
from linrank.executors.local import Threads
from linrank.measures import NDCG
from linrank.objective import ndcg_weighted, placed_blocks
from linrank.objective.ndcg_weighted import NDCGWeightedHuber, NDCGWeights
from linrank.objective.objective import RankingObjective
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.objective.sorted_pairs import PairSums

pytestmark = pytest.mark.kernels


def modified_huber(margin):
    """Value and slope."""
    if margin < -1.0:
        return -4.0 * margin, -4.0
    return (max(0.0, 1.0 - margin) ** 2, -2.0 * max(0.0, 1.0 - margin))


def gain(label):
    return max(0.0, 2.0**label - 1.0)


def discounts_of(scores, labels):
    """1 / log2(1 + rank): of equal scores the lower label comes first; equal in both, they share the mean."""
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], labels[i]))
    by_key = {}
    for rank, i in enumerate(order, start=1):
        by_key.setdefault((scores[i], labels[i]), []).append(1.0 / math.log2(1 + rank))
    return [np.mean(by_key[s, y]) for s, y in zip(scores, labels, strict=True)]


def omegas_of(scores, labels):
    """(i, j, weight) for each preference pair of one query."""
    ideal = sum(gain(y) / math.log2(1 + rank) for rank, y in enumerate(sorted(labels, reverse=True), start=1))
    if ideal == 0.0:
        return []
    b = discounts_of(scores, labels)
    return [
        (i, j, abs((gain(labels[i]) - gain(labels[j])) * (b[i] - b[j])) / ideal)
        for i, j in itertools.permutations(range(len(labels)), 2)
        if labels[i] > labels[j]
    ]


def listed(scores, labels, copies, query_weight, frozen_at=None):
    """Value and slopes of one query, each document written out as often as it weighs."""
    rows = np.repeat(np.arange(len(labels)), copies)
    frozen = scores if frozen_at is None else frozen_at
    value, slopes = 0.0, np.zeros(len(labels))
    for i, j, omega in omegas_of(frozen[rows], labels[rows]):
        at, slope = modified_huber(scores[rows[i]] - scores[rows[j]])
        value += query_weight * omega * at
        slopes[rows[i]] += query_weight * omega * slope
        slopes[rows[j]] -= query_weight * omega * slope
    return value, slopes


@st.composite
def scored_queries(draw):
    """Scores with many ties and margins of exactly 1, and a dataset of few queries."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = rng.integers(1, draw(st.sampled_from([2, 8, 15])), size=draw(st.integers(1, 4)))
    n = int(sizes.sum())
    levels = draw(st.sampled_from([1, 2, 3, 5, None]))
    labels = rng.random(n) * 2 if levels is None else rng.integers(draw(st.sampled_from([0, -2])), levels, size=n) / 1.0
    steps = draw(st.sampled_from([0.5, 0.25, np.pi / 8]))
    scores = rng.integers(-8, 9, size=n) * steps if draw(st.booleans()) else rng.standard_normal(n) * 3
    weighted = draw(st.booleans())
    data = RankingDataset.from_arrays(
        np.zeros((n, 1)),
        labels,
        group=sizes,
        document_weights=rng.integers(0, 4, size=n) / 1.0 if weighted else None,
        query_weights=rng.integers(0, 3, size=len(sizes)) / 2 if weighted else None,
    )
    (block,) = cut_into_blocks(data)
    return scores * draw(st.sampled_from([1.0, 0.0])), block


def queries_of(block):
    for q, weight in enumerate(block.query_weights):
        yield slice(block.query_starts[q], block.query_starts[q + 1]), weight


@given(scored_queries())
def test_value_and_slopes_equal_those_of_listed_pairs(drawn):
    scores, block = drawn
    found = NDCGWeightedHuber().at(scores, block)
    value = 0.0
    for rows, weight in queries_of(block):
        of_query, slopes = listed(scores[rows], block.labels[rows], block.document_weights[rows].astype(int), weight)
        value += of_query
        np.testing.assert_allclose(found.slopes[rows], slopes, rtol=1e-10, atol=1e-12)
    assert found.value == pytest.approx(value, rel=1e-11, abs=1e-12)


@given(st.integers(0, 999))
def test_slopes_are_the_derivative_with_the_weights_frozen(seed):
    rng = np.random.default_rng(seed)
    scores, labels = rng.standard_normal(9) * 1.5, rng.integers(0, 4, size=9) / 1.0
    (block,) = cut_into_blocks(RankingDataset.from_arrays(np.zeros((9, 1)), labels, group=[9]))
    slopes = NDCGWeightedHuber().at(scores, block).slopes
    once = np.ones(9, dtype=int)
    for i, nudge in enumerate(1e-6 * np.eye(9)):
        ahead, behind = (listed(scores + way * nudge, labels, once, 1.0, frozen_at=scores)[0] for way in (1, -1))
        assert slopes[i] == pytest.approx((ahead - behind) / 2e-6, abs=1e-7)


@given(scored_queries())
def test_the_curvature_bounds_the_frozen_loss(drawn):
    scores, block = drawn
    at = NDCGWeightedHuber().at(scores, block)
    identity = np.eye(len(scores))
    matrix = at.curvature.matrix_product(identity)
    expected = np.zeros_like(matrix)
    for rows, weight in queries_of(block):
        copies = np.repeat(np.arange(rows.start, rows.stop), block.document_weights[rows].astype(int))
        for i, j, omega in omegas_of(scores[copies], block.labels[copies]):
            edge = identity[copies[i]] - identity[copies[j]]
            expected += 2.0 * weight * omega * np.outer(edge, edge)
    np.testing.assert_allclose(matrix, expected, atol=1e-12)
    np.testing.assert_allclose(at.curvature.diagonal(), np.diag(expected), atol=1e-12)
    step = np.random.default_rng(0).standard_normal(len(scores))
    copies, ahead = block.document_weights.astype(int), scores + step
    moved = sum(
        listed(ahead[rows], block.labels[rows], copies[rows], weight, frozen_at=scores[rows])[0]
        for rows, weight in queries_of(block)
    )
    assert moved <= at.value + at.slopes @ step + 0.5 * step @ matrix @ step + 1e-10


@given(scored_queries(), st.integers(0, 99))
def test_the_order_of_rows_and_a_constant_change_nothing_even_with_ties(drawn, seed):
    scores, block = drawn
    rng = np.random.default_rng(seed)
    order = np.concatenate([rng.permutation(np.arange(rows.start, rows.stop)) for rows, _ in queries_of(block)])
    data = RankingDataset.from_arrays(
        np.zeros((len(order), 1)),
        block.labels[order],
        group=np.diff(block.query_starts),
        document_weights=block.document_weights[order],
        query_weights=block.query_weights,
    )
    (mixed,) = cut_into_blocks(data)
    usual = NDCGWeightedHuber().at(scores, block)
    other = NDCGWeightedHuber().at(scores[order] + 4.0, mixed)
    assert other.value == pytest.approx(usual.value, rel=1e-11, abs=1e-12)
    np.testing.assert_allclose(other.slopes, usual.slopes[order], rtol=1e-9, atol=1e-12)


def test_a_document_in_two_halves_is_the_document():
    labels, scores = np.array([0.0, 2.0, 1.0, 0.0]), np.array([0.5, 0.2, -0.3, 0.1])
    halves = RankingDataset.from_arrays(
        np.zeros((5, 1)), labels[[0, 1, 1, 2, 3]], group=[5], document_weights=[1.0, 0.25, 0.75, 1.0, 1.0]
    )
    whole = RankingDataset.from_arrays(np.zeros((4, 1)), labels, group=[4])
    one, two = (
        NDCGWeightedHuber().at(given, *cut_into_blocks(data))
        for given, data in ((scores, whole), (scores[[0, 1, 1, 2, 3]], halves))
    )
    assert two.value == pytest.approx(one.value)
    np.testing.assert_allclose(np.add.reduceat(two.slopes, [0, 1, 3, 4]), one.slopes)


def test_very_large_labels_and_margins_do_not_overflow():
    data = RankingDataset.from_arrays(np.zeros((3, 1)), [3000.0, 2999.0, 0.0], group=[3])
    at = NDCGWeightedHuber().at(np.array([-1e3, 0.0, 1e3]), *cut_into_blocks(data))
    b = 1 / np.log2([4, 3, 2])
    omega = np.array([0.5 * (b[1] - b[0]), b[2] - b[0], 0.5 * (b[2] - b[1])]) / (1 + 0.5 * b[1])
    assert at.value == pytest.approx(4 * omega @ [1e3, 2e3, 1e3], rel=1e-9)
    np.testing.assert_allclose(
        at.slopes, 4 * np.array([-omega[0] - omega[1], omega[0] - omega[2], omega[1] + omega[2]]), rtol=1e-9
    )


def test_queries_of_one_level_or_without_a_positive_label_weigh_nothing():
    data = RankingDataset.from_arrays(np.zeros((6, 1)), [1, 1, 1, -1, 0, -2], group=[3, 3])
    at = NDCGWeightedHuber().at(np.array([0.0, 1.0, 2.0] * 2), *cut_into_blocks(data))
    assert at.value == 0.0
    assert not at.slopes.any()


def objective_of(data, executor=None):
    return RankingObjective(NDCGWeightedHuber(), L2(0.0), 1.0, PlacedData.of(data, executor or Threads(1)))


@pytest.mark.parametrize("large", [False, True], ids=["many queries", "one large query"])
def test_any_number_of_threads_gives_the_same_bits(large, monkeypatch):
    if large:
        monkeypatch.setattr(placed_blocks, "LARGE_QUERY_BYTES", 1000)
    data, weights = make_ranking(1 if large else 40, 400 if large else 20, 12)
    results = []
    for n_threads in (1, 2, 5):
        with Threads(n_threads) as executor:
            point = objective_of(data, executor).at(weights)
            results.append((point.value, point.gradient.tobytes(), point.hessian_product(weights).tobytes()))
    assert results[0] == results[1] == results[2]
    X = data.features
    slopes = np.concatenate(
        [NDCGWeightedHuber().at(block.features.to_dense() @ weights, block).slopes
         for block in cut_into_blocks(data)]
    )  # fmt: skip
    np.testing.assert_allclose(point.gradient, X.T @ slopes, rtol=1e-9)


def test_dense_and_sparse_features_agree():
    data, weights = make_ranking(10, 20, 6, density=0.4)
    X = sparse.csr_array(data.features)
    given = [RankingDataset.from_arrays(features, data.labels, qid=data.qid) for features in (X, X.toarray())]
    thin, full = (objective_of(features).at(weights) for features in given)
    assert thin.value == pytest.approx(full.value, rel=1e-12)
    np.testing.assert_allclose(thin.gradient, full.gradient, rtol=1e-10)


def test_what_cannot_be_weighed_is_refused(monkeypatch):
    data = RankingDataset.from_arrays(np.zeros((3, 1)), [0, 1, 2], group=[3], document_weights=[50.0, 1.0, 1.0])
    (block,) = cut_into_blocks(data)
    with pytest.raises(LinrankError, match="Use pairs='all'"):
        NDCGWeightedHuber(PairSums("adjacent")).at(np.zeros(3), block)
    monkeypatch.setattr(ndcg_weighted, "_MOST_RANKS", 51)
    with pytest.raises(LinrankError, match="weigh 52 together"):
        NDCGWeightedHuber().at(np.zeros(3), block)


# Theorem 1 of Sun et al. (2009), with this library's weights and measure. A classifier that puts documents in an order
# loses omega on every preference pair it has the wrong way round; that loss is at least what the order lacks in NDCG.


def loss_and_shortfall(labels, scores):
    data = RankingDataset.from_arrays(np.zeros((len(labels), 1)), labels, group=[len(labels)])
    (block,) = cut_into_blocks(data)
    gains, discounts = NDCGWeights.of(scores, block, PairSums()).by_row()
    wrong = (labels[:, None] > labels) & (scores[:, None] < scores)
    loss = np.abs((gains[:, None] - gains) * (discounts[:, None] - discounts))[wrong].sum()
    return loss, 1.0 - NDCG.per_query(scores, data)[0]


def labels_and_orders(longest):
    return st.lists(st.integers(0, 4), min_size=2, max_size=longest).flatmap(
        lambda labels: st.tuples(st.just(np.array(labels, float)), st.permutations(np.arange(len(labels)) / 1.0))
    )


@given(labels_and_orders(12))
def test_theorem_1_the_ndcg_regret_is_at_most_the_weighted_pairwise_regret(drawn):
    labels, scores = drawn[0], np.array(drawn[1])
    if not labels.any():
        labels[0] = 1.0
    # With known labels the best loss and the best shortfall are 0: both regrets are what is computed.
    loss, shortfall = loss_and_shortfall(labels, scores)
    assert -1e-12 <= shortfall <= loss + 1e-12
    assert (shortfall < 1e-12) == (loss < 1e-12)


def test_theorem_1_is_an_equality_for_one_wrong_pair_of_neighbours_and_strict_for_two():
    loss, shortfall = loss_and_shortfall(np.array([2.0, 1.0, 0.0]), np.array([2.0, 3.0, 1.0]))
    assert loss == pytest.approx(shortfall)
    loss, shortfall = loss_and_shortfall(np.array([2.0, 1.0, 0.0]), np.array([1.0, 3.0, 2.0]))
    assert loss > shortfall + 0.01


def regrets(draws, chances):
    """For every order: the shortfall in NDCG, and the loss, beyond the least of any order; and the loss itself."""
    orders = itertools.permutations(range(draws.shape[1]))
    expected = [chances @ [loss_and_shortfall(labels, np.array(order, float)) for labels in draws] for order in orders]
    losses, shortfalls = np.transpose(expected)
    return shortfalls - shortfalls.min(), losses - losses.min(), losses


@given(st.integers(2, 4), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_with_uncertain_labels_the_expected_loss_bounds_the_ndcg_regret(n, n_draws, seed):
    rng = np.random.default_rng(seed)
    draws = rng.integers(0, 4, size=(n_draws, n)) / 1.0
    draws[:, 0] += 1.0
    of_ndcg, _, losses = regrets(draws, rng.dirichlet(np.ones(n_draws)))
    assert np.all(of_ndcg <= losses + 1e-12)


def test_with_uncertain_labels_the_regret_among_orders_does_not():
    of_ndcg, of_pairs, _ = regrets(np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]), np.array([0.4, 0.6]))
    assert np.max(of_ndcg - of_pairs) == pytest.approx(0.0905, abs=1e-4)


# Definition 1 lets a classifier prefer either document of every pair, in circles too: its positions are 1 + the number
# of documents preferred to each, equal ones among them. The least loss is then smaller than that of any order.


@cache
def all_classifiers(n):
    """beats[c, i, j]: classifier c prefers i to j; every way to choose between the two of each pair."""
    pairs = list(itertools.combinations(range(n), 2))
    beats = np.zeros((2 ** len(pairs), n, n), dtype=bool)
    for c, choices in enumerate(itertools.product((False, True), repeat=len(pairs))):
        for (i, j), first in zip(pairs, choices, strict=True):
            beats[c, i, j], beats[c, j, i] = first, not first
    return beats


def losses_and_gains(beats, labels):
    """Sun et al.'s equations 3, 4 and 7, for each classifier; the gain is NDCG where its positions are an order."""
    discounts = 1.0 / np.log2(2.0 + beats.sum(axis=1))
    gains = 2.0**labels - 1.0
    ideal = np.sort(gains)[::-1] @ (1.0 / np.log2(np.arange(2.0, len(labels) + 2.0)))
    weights = np.abs((gains[:, None] - gains) * (discounts[:, :, None] - discounts[:, None, :])) / ideal
    wrong = (labels[:, None] > labels) & beats.transpose(0, 2, 1)
    return (weights * wrong).sum(axis=(1, 2)), discounts @ gains / ideal


def worst_excess(draws, chances):
    """How far the NDCG regret of an order exceeds its loss beyond the least of any classifier, at the worst order."""
    beats = all_classifiers(draws.shape[1])
    losses, gains = np.tensordot(chances, [losses_and_gains(beats, labels) for labels in draws], 1)
    orders = np.array([len(set(positions)) == beats.shape[1] for positions in beats.sum(axis=1)])
    return np.max(gains[orders].max() - gains[orders] - (losses[orders] - losses.min()))


def random_distribution(rng, n):
    draws = rng.integers(0, 5, size=(rng.integers(1, 5), n)) / 1.0
    draws[~draws.any(axis=1), 0] = 1.0
    return draws, rng.dirichlet(np.ones(len(draws)))


def test_the_losses_of_orders_are_those_of_this_library():
    labels = np.array([2.0, 0.0, 1.0, 2.0])
    beats = all_classifiers(4)
    for classifier, loss, gain in zip(beats, *losses_and_gains(beats, labels), strict=True):
        scores = classifier.sum(axis=1) / 1.0
        if len(set(scores)) == 4:
            assert (loss, 1.0 - gain) == pytest.approx(loss_and_shortfall(labels, scores))


def excesses(n):
    rng = np.random.default_rng(0)
    return np.array([worst_excess(*random_distribution(rng, n)) for _ in range(1200)])


def test_theorem_1_with_cyclic_classifiers_holds_for_all_of_1200_random_distributions_of_three_documents():
    assert excesses(3).max() < 1e-12


def test_theorem_1_with_cyclic_classifiers_holds_for_almost_all_of_four():
    found = excesses(4)
    assert np.count_nonzero(found > 1e-12) <= 1
    assert found.max() < 0.003


def test_of_an_odd_number_of_documents_a_circle_loses_nothing_so_the_loss_itself_is_the_regret():
    in_a_circle = np.array([[[False, True, False], [False, False, True], [True, False, False]]])
    for labels in ([2.0, 1.0, 0.0], [0.0, 3.0, 1.0]):
        losses, _ = losses_and_gains(in_a_circle, np.array(labels))
        assert losses == pytest.approx(0.0)


def test_of_four_documents_theorem_1_with_cyclic_classifiers_fails_by_a_little():
    draws = np.array([[0.0, 1.0, 2.0, 1.0], [2.0, 2.0, 1.0, 0.0], [1.0, 2.0, 2.0, 0.0]])
    assert worst_excess(draws, np.array([0.55, 0.05, 0.4])) == pytest.approx(0.0019, abs=1e-4)


def test_a_table_of_discounts_has_every_rank_there_may_be_and_no_more_than_memory_bears(monkeypatch):
    monkeypatch.setattr(ndcg_weighted, "_discounts_of_ranks", lambda n_ranks: n_ranks)
    for heaviest in (1.0, 2.5, 1023.0, 2.0**26):
        assert heaviest + 1 <= ndcg_weighted.discount_table(heaviest) <= 4 * (heaviest + 2)
    with pytest.raises(LinrankError, match=r"weigh 6\.71089e\+07 together, .* at most 67108864 can"):
        ndcg_weighted.discount_table(2.0**26 + 1)
