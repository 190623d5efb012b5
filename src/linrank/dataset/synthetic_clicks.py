"""make_clicks: sparse data like an advertiser's, whose labels are rates of clicks."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from linrank.arrays import Vector, offsets_from_sizes
from linrank.dataset.queries import Queries
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.synthetic import SyntheticRanking
from linrank.errors import LinrankError


def make_clicks(
    n_rows: int = 2_000,
    n_features: int = 10_000,
    *,
    n_queries: int = 1,
    nonzero: float = 20.0,
    click_rate: float = 0.03,
    views: float = 10.0,
    views_spread: float = 1.0,
    effect: float = 1.0,
    random_state: int = 0,
) -> SyntheticRanking:
    """Make data for the estimation of click-through rates: rows of a few ones, labels that are clicks over views.

    A row is an advertisement in a context, shown `v` times and clicked `c` of them: `v` is log-normal, rounded, at
    least 1; `c` is binomial with `log odds = log odds of click_rate + effect (x . weights)`, `x . weights` having the
    standard deviation 1. The label is c / v: mostly 0 where views are few, of many levels where they are many.

    Parameters
    ----------
    n_rows, n_features, n_queries : sizes; rows are dealt evenly to the queries
    nonzero : features of a row that are 1, on average. Half of them are frequent, by Zipf's law, as words are; half are
        rare, as the ids of users and advertisements are
    click_rate : clicks of a view where x . weights is 0
    views, views_spread : the median of the views of a row, and the standard deviation of their logarithm
    effect : how far the features tell; 0 for not at all
    random_state : seed; the same seed gives the same data

    Returns
    -------
    SyntheticRanking
        `data, weights = make_clicks(...)`
    """
    if not 1 <= n_queries <= n_rows or n_features < 1 or not 1.0 <= nonzero <= n_features:
        raise LinrankError(
            f"n_rows={n_rows}, n_queries={n_queries}, n_features={n_features}, nonzero={nonzero}: use at least 1 of "
            "each, a row for each query, and no more non-zero features than there are."
        )
    if not 0.0 < click_rate < 1.0 or views < 1.0:
        raise LinrankError(f"click_rate={click_rate}, views={views}; use a rate between 0 and 1, and 1 view or more.")
    rng = np.random.default_rng(random_state)
    features = _ones(rng, n_rows, n_features, nonzero)
    weights = rng.standard_normal(n_features)
    weights /= float((features @ weights).std()) or 1.0
    log_odds = np.log(click_rate / (1.0 - click_rate)) + effect * (features @ weights)
    shown = np.maximum(1, np.round(views * np.exp(views_spread * rng.standard_normal(n_rows)))).astype(np.int64)
    labels: Vector = rng.binomial(shown, 1.0 / (1.0 + np.exp(-log_odds))) / shown
    sizes = np.full(n_queries, n_rows // n_queries)
    sizes[: n_rows % n_queries] += 1
    queries = Queries(np.arange(1, n_queries + 1).astype(str), offsets_from_sizes(sizes), None)
    return SyntheticRanking(RankingDataset(features, labels, queries), weights)


def _ones(rng: np.random.Generator, n_rows: int, n_features: int, nonzero: float) -> Any:
    counts = 1 + rng.poisson(nonzero - 1.0, size=n_rows)
    total = int(counts.sum())
    frequent = (n_features + 1.0) ** rng.random(total) - 1.0
    rare = n_features * rng.random(total)
    columns = np.minimum(np.where(rng.random(total) < 0.5, frequent, rare).astype(np.int32), n_features - 1)
    matrix = scipy.sparse.csr_array((np.ones(total), columns, offsets_from_sizes(counts)), shape=(n_rows, n_features))
    # A feature that was drawn twice for a row is there once.
    matrix.sum_duplicates()
    matrix.data[:] = 1.0
    return matrix
