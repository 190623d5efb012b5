"""Which strength is chosen: the best, or the plainest within one standard error of it, as comparisons have it."""

import numpy as np

from linrank.estimators.choosing import best_strength

STRENGTHS = np.array([0.1, 1.0, 10.0])
# Queries differ far more from one another than the strengths do.
QUERIES = np.linspace(0.0, 1.0, 30)
LITTLE = np.tile([0.01, -0.008], 15)
MEASURES = np.array([QUERIES - 0.02, QUERIES + LITTLE - 0.0015, QUERIES])


def test_within_one_standard_error_goes_by_differences_query_by_query():
    # The first is behind on every query, though by less than the error of a mean over such queries.
    chosen = best_strength(STRENGTHS, MEASURES, one_se=True)
    assert chosen.number == 1
    assert MEASURES[0].mean() > MEASURES[2].mean() - chosen.errors[2]
    assert best_strength(STRENGTHS, MEASURES, one_se=False).number == 2
    assert best_strength(STRENGTHS, MEASURES[::-1], one_se=True, plainest_last=True).number == 1


def test_skipped_queries_are_left_out_and_nothing_measured_is_the_strength_nearest_to_one():
    some = np.column_stack([MEASURES, np.full(3, np.nan)])
    assert best_strength(STRENGTHS, some, one_se=True).number == 1
    assert best_strength(STRENGTHS, np.full((3, 4), np.nan), one_se=True).number == 1
