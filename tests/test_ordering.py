"""The shared sort equals NumPy's stable one, query by query."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrank.arrays import offsets_from_sizes
from linrank.ordering import order_ascending, order_descending

pytestmark = pytest.mark.kernels


def ordered(kernel, scores, query_starts):
    order, sorted_scores = np.full(len(scores), -1), np.full(len(scores), np.nan)
    kernel(scores, query_starts, order, sorted_scores)
    np.testing.assert_array_equal(sorted_scores, scores[order])
    return order


@st.composite
def scored_queries(draw):
    sizes = draw(st.lists(st.sampled_from([0, 1, 2, 3, 11, 12, 13, 24, 25, 49, 100, 300]), min_size=1, max_size=6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_values = draw(st.sampled_from([1, 2, 10, 10**9]))
    scores = rng.integers(0, n_values, size=sum(sizes)) / 7 - 0.5
    if draw(st.booleans()):
        scores.sort()
    scores[scores == scores.max(initial=0)] = draw(st.sampled_from([np.inf, -np.inf, 0.0, -0.0]))
    scores[rng.random(len(scores)) < draw(st.sampled_from([0.0, 0.0, 0.1, 0.9, 1.0]))] = np.nan
    return scores, offsets_from_sizes(np.array(sizes))


@given(scored_queries())
def test_rows_ascend_by_score_and_ties_keep_the_order_given(data):
    scores, starts = data
    order = ordered(order_ascending, scores, starts)
    for start, stop in itertools.pairwise(starts):
        expected = start + np.argsort(scores[start:stop], kind="stable")
        np.testing.assert_array_equal(order[start:stop], expected)


@given(scored_queries())
def test_rows_descend_by_score_and_ties_keep_the_order_given(data):
    scores, starts = data
    order = ordered(order_descending, scores, starts)
    for start, stop in itertools.pairwise(starts):
        expected = start + np.argsort(-scores[start:stop], kind="stable")
        np.testing.assert_array_equal(order[start:stop], expected)


def test_rows_outside_the_queries_are_left_alone():
    scores = np.array([3.0, 2.0, 1.0, 0.0])
    order, sorted_scores = np.full(4, -1), np.zeros(4)
    order_ascending(scores, np.array([1, 3]), order, sorted_scores)
    assert order.tolist() == [-1, 2, 1, -1]
    assert sorted_scores.tolist() == [0.0, 1.0, 2.0, 0.0]
