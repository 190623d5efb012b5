"""Boosting of weak rankers equals its slow, obvious form, and does not go round in circles."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrank.boosting import Boosting, WeakRankers

pytestmark = pytest.mark.kernels

QUERIES = 5
DOCUMENTS = 4


def concordance(labels):
    """A measure of each query for scores of all: the share of its pairs that the scores put in the order of labels."""

    def measure(scores):
        values = []
        for query in range(QUERIES):
            part = slice(query * DOCUMENTS, (query + 1) * DOCUMENTS)
            s, y = scores[part], labels[part]
            pairs = [(i, j) for i in range(DOCUMENTS) for j in range(DOCUMENTS) if y[i] > y[j]]
            values.append(sum((s[i] > s[j]) + 0.5 * (s[i] == s[j]) for i, j in pairs) / max(1, len(pairs)))
        return np.array(values)

    return measure


def slow_boost(columns, measure, query_weights, tolerance, max_rounds):
    """Each round tries every ranker, in order of its mean on the reweighted queries; lists and sums only."""
    strengths = [0.0] * len(columns)
    picked = []

    def scores(of):
        return sum((a * column for a, column in zip(of, columns, strict=True)), np.zeros(len(columns[0])))

    def mean(values):
        return sum(v * e for v, e in zip(query_weights, values, strict=True)) / sum(query_weights)

    while len(picked) < max_rounds:
        now = measure(scores(strengths))
        chances = list(query_weights) if not picked else [
            v * math.exp(-e) for v, e in zip(query_weights, now, strict=True)
        ]  # fmt: skip
        alone = [sum(p * e for p, e in zip(chances, measure(column), strict=True)) / sum(chances) for column in columns]
        for ranker in sorted(range(len(columns)), key=lambda k: (-round(alone[k], 12), k)):
            r = min(alone[ranker], 1 - 1e-9)
            if r <= 0:
                continue
            trial = list(strengths)
            trial[ranker] += 0.5 * math.log((1 + r) / (1 - r))
            if mean(measure(scores(trial))) > mean(now) + tolerance + 1e-12:
                strengths = trial
                picked.append(ranker)
                break
        else:
            return strengths, picked
    return strengths, picked


def problem(seed, n_rankers=6, levels=3):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, levels, size=QUERIES * DOCUMENTS).astype(float)
    # Whole numbers, of which none is twice another: no two sums of them are equal but for rounding.
    columns = rng.permuted(np.tile(np.array([1.0, 3.0, 7.0, 17.0]), (n_rankers, QUERIES)), axis=1)
    measure = concordance(labels)
    table = np.array([measure(column) for column in columns])
    return columns, measure, WeakRankers(table, lambda k: columns[k])


@given(seed=st.integers(0, 10**6), tolerance=st.sampled_from([0.0, 1e-7, 0.0213]), weighted=st.booleans())
def test_boosting_equals_the_listed_form(seed, tolerance, weighted):
    columns, measure, rankers = problem(seed)
    query_weights = np.random.default_rng(seed).integers(1, 4, QUERIES) * 1.0 if weighted else np.ones(QUERIES)
    boosted = Boosting(7, tolerance).boost(rankers, measure, query_weights)
    strengths, picked = slow_boost(columns, measure, query_weights, tolerance, 7)
    assert [line.ranker for line in boosted.history[1:]] == picked
    np.testing.assert_allclose(boosted.weights, strengths, rtol=1e-10)


@given(seed=st.integers(0, 999))
def test_the_first_weak_ranker_is_the_best_alone_by_brute_force(seed):
    columns, measure, rankers = problem(seed)
    means = [float(np.mean(measure(column))) for column in columns]
    boosted = Boosting(1).boost(rankers, measure, np.ones(QUERIES))
    if len(boosted.history) > 1:
        line = boosted.history[1]
        assert means[line.ranker] == pytest.approx(max(means))
        assert line.alone == pytest.approx(max(means))
        assert line.strength == pytest.approx(0.5 * math.log((1 + line.alone) / (1 - line.alone)), rel=1e-6)


@given(seed=st.integers(0, 999))
def test_every_round_raises_the_training_measure_and_its_lines_are_true(seed):
    columns, measure, rankers = problem(seed)
    boosted = Boosting(20).boost(rankers, measure, np.ones(QUERIES))
    scores = np.zeros(QUERIES * DOCUMENTS)
    for line in boosted.history:
        if line.ranker >= 0:
            scores = scores + line.strength * columns[line.ranker]
        values = measure(scores)
        assert line.measure == pytest.approx(values.mean())
        assert line.value == pytest.approx(np.exp(-values).sum())
    measures = [line.measure for line in boosted.history]
    assert all(later > earlier for earlier, later in pairwise(measures))


def test_a_ranker_that_is_best_in_every_round_is_not_picked_for_ever():
    labels = np.tile([0.0, 1.0, 2.0, 3.0], QUERIES)
    measure = concordance(labels)
    # The first is nearly right everywhere, the second only knows the pair the first has wrong.
    strong = np.tile([0.0, 1.0, 30.0, 29.0], QUERIES)
    weak = np.tile([0.0, 0.0, 0.0, 9.0], QUERIES)
    table = np.array([measure(strong), measure(weak)])
    boosted = Boosting(100).boost(WeakRankers(table, lambda k: (strong, weak)[k]), measure, np.ones(QUERIES))
    assert [line.ranker for line in boosted.history] == [-1, 0, 1]
    assert boosted.history[-1].tried == 2
    assert boosted.history[-1].measure == 1.0
    assert boosted.message == "no weak ranker raises the training measure"


def test_of_equal_rankers_the_first_is_taken():
    labels = np.tile([0.0, 1.0, 2.0, 3.0], QUERIES)
    measure = concordance(labels)
    table = np.array([measure(-labels), measure(labels), measure(labels)])
    boosted = Boosting().boost(
        WeakRankers(table, lambda k: labels * (-1.0 if k == 0 else 1.0)), measure, np.ones(QUERIES)
    )
    assert [line.ranker for line in boosted.history] == [-1, 1]
    assert np.isfinite(boosted.weights).all()


def test_without_queries_there_is_nothing_to_add():
    boosted = Boosting().boost(
        WeakRankers(np.empty((2, 0)), lambda k: np.zeros(3)), lambda scores: np.empty(0), np.empty(0)
    )
    assert not boosted.weights.any()
    assert len(boosted.history) == 1
