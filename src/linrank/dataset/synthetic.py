"""make_ranking: data that looks like a search engine's, whose best weights are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector, offsets_from_sizes
from linrank.dataset.queries import Queries
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError

MSLR_SHARES = (0.515, 0.325, 0.134, 0.019, 0.008)
"""Shares of the labels 0 to 4 in MSLR-WEB30K."""


class SyntheticRanking(NamedTuple):
    """A dataset and the weights by which its labels were made."""

    data: RankingDataset
    weights: Vector


def make_ranking(
    n_queries: int = 200,
    documents_per_query: int | tuple[int, int] = 50,
    n_features: int = 46,
    *,
    n_informative: int | None = None,
    levels: int | Sequence[float] | None = MSLR_SHARES,
    noise: float = 0.5,
    density: float = 1.0,
    correlation: float = 0.5,
    skew: bool = True,
    dtype: str = "float64",
    random_state: int = 0,
) -> SyntheticRanking:
    """Make LETOR-like data: correlated, skewed features and noisy graded labels.

    A document's utility is `x . weights + noise`, in units of the standard deviation of `x . weights`;
    its label is the level its utility falls into, cut so that the levels have the asked shares.

    Parameters
    ----------
    n_queries, n_features : sizes
    documents_per_query : a number, or (least, most) for sizes drawn evenly
    n_informative : features with a weight that is not zero; by default half of them
    levels : shares of the labels 0, 1, 2, …, from worst to best; or a number of equally frequent levels;
        or None for labels that are all different (the utility itself)
    noise : standard deviation of the labels' noise; 0 makes the data separable up to ties
    density : below 1 the result is sparse (CSR), with about this share of values; less where frequent features repeat
    correlation : 0 for independent features, towards 1 for features that follow a few common factors (dense data only)
    skew : make every second feature log-normal, as counts and lengths are (dense data only)
    dtype : "float64" or "float32"
    random_state : seed; the same seed gives the same data

    Returns
    -------
    SyntheticRanking
        `data, weights = make_ranking(...)`
    """
    _check_sizes(n_queries, documents_per_query, n_features, n_informative, correlation)
    rng = np.random.default_rng(random_state)
    sizes = sizes_of(rng, n_queries, documents_per_query)
    queries = Queries(np.arange(1, n_queries + 1).astype(str), offsets_from_sizes(sizes), None)
    weights = _weights(rng, n_features, (n_features + 1) // 2 if n_informative is None else n_informative)
    n_rows = queries.n_documents
    if density < 1.0:
        features: Any = _sparse_rows(rng, n_rows, n_features, density, dtype)
        utility = features @ weights
    else:
        features, utility = _dense_rows(rng, n_rows, weights, correlation, skew=skew, dtype=dtype)
    spread = float(utility.std()) or 1.0
    weights /= spread
    utility = utility / spread + noise * rng.standard_normal(n_rows)
    data = RankingDataset(features, labels_of(utility, levels), queries)
    return SyntheticRanking(data, weights)


def _check_sizes(
    n_queries: int, sizes: int | tuple[int, int], n_features: int, n_informative: int | None, correlation: float
) -> None:
    least, most = (sizes, sizes) if isinstance(sizes, int) else sizes
    if n_queries < 1 or n_features < 1 or not 1 <= least <= most:
        raise LinrankError(
            f"n_queries={n_queries}, documents_per_query={sizes}, n_features={n_features}: "
            "each must be at least 1, and (least, most) in order."
        )
    if not 0 <= correlation < 1:
        raise LinrankError(f"correlation={correlation}; use from 0 to below 1.")
    if n_informative is not None and not 0 <= n_informative <= n_features:
        raise LinrankError(f"n_informative={n_informative}; use from 0 to n_features={n_features}.")


def sizes_of(rng: np.random.Generator, n_queries: int, wanted: int | tuple[int, int]) -> Offsets:
    if isinstance(wanted, int):
        return np.full(n_queries, wanted, dtype=np.int64)
    return rng.integers(wanted[0], wanted[1] + 1, size=n_queries)


def _weights(rng: np.random.Generator, n_features: int, n_informative: int) -> Vector:
    weights = np.zeros(n_features)
    chosen = rng.choice(n_features, size=n_informative, replace=False)
    # Like real rankers: mostly positive weights, a few strong ones.
    weights[chosen] = rng.exponential(size=n_informative) * rng.choice([1.0, 1.0, 1.0, -1.0], size=n_informative)
    return weights


def _dense_rows(
    rng: np.random.Generator, n_rows: int, weights: Vector, correlation: float, *, skew: bool, dtype: str
) -> tuple[NDArray[Any], Vector]:
    n_features = len(weights)
    n_factors = max(1, n_features // 8)
    loadings = rng.standard_normal((n_factors, n_features)) * np.sqrt(correlation / n_factors)
    features = np.empty((n_rows, n_features), dtype=dtype)
    utility = np.empty(n_rows)
    # A part at a time, so that memory stays near that of the result.
    for start in range(0, n_rows, 65536):
        stop = min(start + 65536, n_rows)
        factors = rng.standard_normal((stop - start, n_factors))
        rows = factors @ loadings + rng.standard_normal((stop - start, n_features)) * np.sqrt(1 - correlation)
        if skew:
            np.exp(rows[:, ::2], out=rows[:, ::2])
        features[start:stop] = rows
        utility[start:stop] = rows @ weights
    return features, utility


def _sparse_rows(rng: np.random.Generator, n_rows: int, n_features: int, density: float, dtype: str) -> Any:
    a_row = max(1, round(density * n_features))
    # Zipf's law: the j-th feature is about 1 / j as frequent as the first, as words are. Repeats in a row are added up.
    columns = ((n_features + 1.0) ** rng.random(n_rows * a_row) - 1.0).astype(np.int32)
    columns = np.minimum(columns, n_features - 1)
    values = rng.exponential(size=n_rows * a_row).astype(dtype)
    starts = np.arange(0, n_rows * a_row + 1, a_row, dtype=np.int64)
    matrix = scipy.sparse.csr_array((values, columns, starts), shape=(n_rows, n_features))
    matrix.sum_duplicates()
    return matrix


def labels_of(utility: Vector, levels: int | Sequence[float] | None) -> Vector:
    if levels is None:
        return utility
    shares = np.full(levels, 1.0 / levels) if isinstance(levels, int) else np.asarray(levels, dtype=np.float64)
    if len(shares) < 1 or (shares < 0).any() or shares.sum() <= 0:
        raise LinrankError(f"levels={levels}; use shares that are not negative, such as (0.7, 0.2, 0.1), or a number.")
    cuts = np.quantile(utility, np.cumsum(shares)[:-1] / shares.sum())
    return np.searchsorted(cuts, utility, side="right").astype(np.float64)
