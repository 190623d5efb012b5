"""SmoothRank: NDCG with softened ranks by its definition, and a ranker that ends higher than it began."""

import math

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from linrank import LinrankError, RankingDataset, RankSVM, SmoothRank, make_ranking
from linrank.dataset.query_blocks import cut_into_blocks
from linrank.measures import NDCG
from linrank.objective.smoothed_ndcg import SmoothedNDCG
from linrank.solvers.annealed_ndcg import snapped

DATA, _ = make_ranking(30, 12, 5, noise=1.0, skew=False)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([SmoothRank(max_iter=8)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def softened(scores, labels, width):
    """1 - the smoothed NDCG of one query, each place and each document in turn."""
    gains = [max(0.0, 2.0**label - 1.0) for label in labels]
    discounts = [1.0 / math.log2(1.0 + rank) for rank in range(1, len(scores) + 1)]
    ideal = sum(gain * discount for gain, discount in zip(sorted(gains, reverse=True), discounts, strict=True))
    reached = 0.0
    for rank, p in enumerate(sorted(range(len(scores)), key=lambda i: -scores[i])):
        near = [math.exp(-((score - scores[p]) ** 2) / width) for score in scores]
        reached += discounts[rank] * sum(h * gain for h, gain in zip(near, gains, strict=True)) / sum(near)
    return 1.0 - reached / ideal if ideal else 0.0


def block_of(labels, group, **weights):
    data = RankingDataset.from_arrays(np.zeros((len(labels), 1)), labels, group=group, **weights)
    (block,) = cut_into_blocks(data)
    return block


@pytest.mark.parametrize("width", [100.0, 1.0, 0.01])
def test_it_is_what_the_definition_says(width):
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(-1, 4, 20).astype(float), np.round(rng.standard_normal(20), 1)
    labels[15:] = 0.0
    block = block_of(labels, [1, 6, 8, 5], query_weights=[1.0, 2.0, 0.5, 3.0])
    parts = [softened(scores[a:b], labels[a:b], width) for a, b in ((0, 1), (1, 7), (7, 15), (15, 20))]
    assert SmoothedNDCG(width).at(scores, block).value == pytest.approx(np.dot(parts, block.query_weights), abs=1e-12)


def test_a_document_twice_is_one_of_weight_two():
    twice = SmoothedNDCG(0.5).at(np.array([0.3, 0.1, 0.1, -0.4]), block_of([0.0, 2.0, 2.0, 1.0], [4]))
    weighed = block_of([0.0, 2.0, 1.0, 3.0], [4], document_weights=[1.0, 2.0, 1.0, 0.0])
    once = SmoothedNDCG(0.5).at(np.array([0.3, 0.1, -0.4, 9.0]), weighed)
    assert once.value == pytest.approx(twice.value, rel=1e-12)
    slopes = twice.slopes
    np.testing.assert_allclose(once.slopes, [slopes[0], slopes[1] + slopes[2], slopes[3], 0.0], atol=1e-12)


def test_without_width_it_is_the_measure():
    scores = np.random.default_rng(1).standard_normal(DATA.n_documents)
    (block,) = cut_into_blocks(DATA)
    assert 1.0 - SmoothedNDCG(1e-12).at(scores, block).value / DATA.n_queries == pytest.approx(
        NDCG.mean(scores, DATA), abs=1e-9
    )


def test_it_ends_above_its_start_with_the_same_bits_for_any_number_of_threads():
    start = RankSVM(C=10.0, weighting="queries").fit(DATA)
    one, two = (SmoothRank(C=10.0, n_threads=n).fit(DATA) for n in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert NDCG.mean(one.predict(DATA), DATA) > NDCG.mean(start.predict(DATA), DATA) + 0.005
    values = [line.value for line in one.history_]
    assert values[-1] < values[0]
    assert not hasattr(one, "gap_")
    assert one.solution_.converged
    assert "|w - w0|^2 / 2 + C * sum over queries of 1 - NDCG" in one.to_model().objective


def test_with_little_weight_it_stays_at_its_start_and_with_an_eval_set_it_keeps_the_best():
    with pytest.warns(UserWarning, match="every weight is zero"):
        start = RankSVM(C=1e-9, weighting="queries").fit(DATA)
    np.testing.assert_allclose(SmoothRank(C=1e-9).fit(DATA).coef_, start.coef_, atol=1e-6)
    held_out, _ = make_ranking(30, 12, 5, noise=1.0, skew=False, random_state=9)
    watched = SmoothRank(C=10.0).fit(DATA, eval_set=held_out)
    assert watched.score(held_out) == pytest.approx(max(values[-1] for values in watched.eval_history_))
    with pytest.raises(LinrankError, match="sigma=0"):
        SmoothRank(sigma=0.0).fit(DATA)


def test_weights_are_snapped_in_units_of_their_own():
    weights = np.array([0.0, 1.0, -1.0 / 3.0, 1e-12 / 3.0, 5e10 / 3.0])
    near = snapped(weights)
    np.testing.assert_allclose(near, weights, rtol=2.0**-20)
    np.testing.assert_array_equal(snapped(weights * (1.0 + 1e-14)), near)
    np.testing.assert_array_equal(snapped(near), near)
