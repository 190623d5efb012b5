"""Intervals and tests against SciPy, against full enumeration, and on data whose answer is known."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrank.errors import LinrankError
from linrank.measures import (
    MAP,
    NDCG,
    Judgements,
    PairwiseAccuracy,
    bootstrap_interval,
    evaluate,
    holm,
    paired_t_test,
    randomisation_test,
)

VALUES = st.lists(st.integers(0, 8).map(lambda eighths: eighths / 8), min_size=2, max_size=9)


def two_rankers(n=60, better_by=0.0, seed=0):
    rng = np.random.default_rng(seed)
    first = rng.random(n)
    return first, first - better_by + rng.normal(0, 0.1, n)


def test_the_t_test_is_scipys():
    from scipy.stats import ttest_rel

    for better_by in (0.0, 0.01, 0.05):
        first, second = two_rankers(better_by=better_by)
        ours, theirs = paired_t_test(first, second), ttest_rel(first, second)
        assert ours.statistic == pytest.approx(theirs.statistic, rel=1e-12)
        assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-9)
        assert ours.difference == pytest.approx(np.mean(first - second), rel=1e-12)
        assert ours.n_queries == 60


def test_a_t_test_without_spread_is_certain():
    assert paired_t_test([0.5, 0.25], [0.5, 0.25]).p_value == 1.0
    worse = paired_t_test([0.5, 0.25], [1.0, 0.75])
    assert (worse.p_value, worse.statistic) == (0.0, -math.inf)
    same = paired_t_test([0.25, 0.5, 1.0], [0.25, 0.5, 1.0])
    assert (same.difference, same.p_value, same.statistic) == (0.0, 1.0, 0.0)


@given(VALUES, st.randoms(use_true_random=False))
def test_the_randomisation_test_of_few_queries_goes_through_all_swaps(first, random):
    second = random.sample(first, len(first))
    differences = np.array(first) - second
    means = [abs(np.dot(signs, differences)) for signs in itertools.product([1, -1], repeat=len(first))]
    expected = np.mean(np.array(means) >= abs(differences.sum()))
    assert randomisation_test(first, second).p_value == expected


def test_the_randomisation_test_of_many_queries_agrees_with_the_t_test():
    first, second = two_rankers(better_by=0.02)
    drawn = randomisation_test(first, second, n_resamples=20_000)
    assert drawn.p_value == pytest.approx(paired_t_test(first, second).p_value, abs=0.01)
    assert drawn == randomisation_test(first, second, n_resamples=20_000)
    assert drawn != randomisation_test(first, second, n_resamples=20_000, random_state=1)
    assert drawn.p_value == pytest.approx(randomisation_test(second, first, n_resamples=20_000).p_value, abs=1e-12)


def test_a_drawn_p_value_is_never_zero():
    first, _ = two_rankers()
    assert randomisation_test(first, first - 1, n_resamples=99).p_value == 0.01


def test_equal_rankers_do_not_differ():
    first, _ = two_rankers()
    assert randomisation_test(first, first).p_value == 1.0


@pytest.mark.parametrize("test", [paired_t_test, randomisation_test])
def test_skipped_queries_are_left_out_of_both(test):
    first, second = two_rankers()
    holes = np.arange(60) % 7 == 0
    with_holes = test(np.where(holes, np.nan, first), np.where(holes, np.nan, second))
    assert with_holes == test(first[~holes], second[~holes])
    with pytest.raises(LinrankError, match="query 0 is skipped for one ranker only"):
        test(np.where(holes, np.nan, first), second)
    with pytest.raises(LinrankError, match="60 and 59 values"):
        test(first, second[1:])


def test_holms_adjustment_of_a_textbook_case():
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02], rtol=1e-12)
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]
    assert holm([]).tolist() == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_rejects_what_the_step_down_procedure_rejects(p_values):
    for level in (0.01, 0.05, 0.5):
        rejected = [False] * len(p_values)
        for step, place in enumerate(np.argsort(p_values, kind="stable")):
            if p_values[place] * (len(p_values) - step) > level:
                break
            rejected[place] = True
        assert (holm(p_values) <= level).tolist() == rejected


def test_the_interval_of_normal_values_is_the_normal_one():
    values = np.random.default_rng(5).normal(0.4, 0.2, 1000)
    low, high = bootstrap_interval(values, n_resamples=4000)
    half = 1.96 * values.std() / math.sqrt(1000)
    assert low == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert high == pytest.approx(values.mean() + half, abs=0.1 * half)
    assert (low, high) == bootstrap_interval(values, n_resamples=4000)
    assert (low, high) != bootstrap_interval(values, n_resamples=4000, random_state=1)
    narrower = bootstrap_interval(values, n_resamples=4000, level=0.5)
    assert low < narrower[0] < narrower[1] < high


def test_an_interval_leaves_out_skipped_queries_and_weighs_the_others():
    values, weights = np.array([0.25, np.nan, 0.75]), np.array([10.0, 0.0, 10.0])
    assert bootstrap_interval(values) == bootstrap_interval(values, weights=weights) == bootstrap_interval([0.25, 0.75])
    low, high = bootstrap_interval([0.0, 1.0], weights=[1, 3], level=0.4)
    assert (low, high) == (0.75, 0.75)
    assert bootstrap_interval([0.5, 0.5, 0.5]) == (0.5, 0.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bootstrap_interval([1, 2], level=95), "level is 95"),
        (lambda: bootstrap_interval([np.nan]), "every query is skipped"),
        (lambda: bootstrap_interval([1, 2], n_resamples=0), "n_resamples is 0"),
        (lambda: bootstrap_interval([[1, 2]]), "one number a query"),
        (lambda: paired_t_test([1], [2]), "at least two queries"),
        (lambda: randomisation_test([np.nan], [np.nan]), "every query is skipped"),
        (lambda: holm([0.5, 1.5]), "between 0 and 1"),
    ],
)
def test_what_cannot_be_tested_is_refused(call, message):
    with pytest.raises(LinrankError, match=message):
        call()


def test_an_evaluation_carries_intervals_and_goes_to_json():
    labels, scores, qid = [0, 1, 2, 0, 0, 1, 0], [1, 2, 3, 1, 2, 0, 5], list("aaabbbc")
    evaluation = evaluate(scores, Judgements.from_arrays(labels, qid=qid), [NDCG(empty="skip") @ 3, PairwiseAccuracy])
    assert evaluation.measures == (NDCG(empty="skip") @ 3, PairwiseAccuracy)
    assert repr(evaluation) == "Evaluation(ndcg(empty=skip)@3=0.7500, pairwise_accuracy=0.6000; 3 queries)"
    low, high = evaluation.interval("ndcg(empty=skip)@3")
    assert low <= evaluation.mean[NDCG(empty="skip") @ 3] <= high
    assert evaluation.interval(PairwiseAccuracy) == bootstrap_interval([1.0, 0.0], weights=[3, 2])
    with pytest.raises(LinrankError, match="map was not evaluated; there are ndcg"):
        evaluation.interval(MAP)
    read_back = json.loads(json.dumps(evaluation.to_dict()))
    assert read_back["queries"] == ["a", "b", "c"]
    assert read_back["per_query"]["pairwise_accuracy"] == [1.0, 0.0, None]
    assert read_back["mean"]["pairwise_accuracy"] == 0.6
