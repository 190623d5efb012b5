"""make_shaped_ranking: raw features like a web search engine's, and labels made by curves and products of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector, offsets_from_sizes
from linrank.dataset.queries import Queries
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.synthetic import MSLR_SHARES, labels_of, sizes_of
from linrank.errors import LinrankError

# What share of a feature's variance, on the scale of its scores, all documents of a query have in common.
_OF_QUERIES = 0.3

SHAPES: dict[str, Callable[[Vector], Vector]] = {
    "line": lambda t: t,
    "saturating": lambda t: np.tanh(2.0 * t + 1.5),
    "threshold": lambda t: 1.0 / (1.0 + np.exp(-12.0 * (t - 0.7))),
    "u": lambda t: np.minimum(np.abs(t - 0.3), 2.0),
}
"""What becomes of a feature's position t, which has about mean 0 and variance 1; "product" is that of two positions."""


class ShapedRanking(NamedTuple):
    """A dataset, and what its labels were made of."""

    data: RankingDataset
    utility: Vector
    """Without noise, with mean 0 in each query."""
    shares: dict[str, float]
    """What each kind of effect contributes to the utility's variance within queries; they add up to 1."""
    effects: tuple[str, ...]
    """The kind of effect of each feature, "" for those that have none."""


def make_shaped_ranking(
    n_queries: int = 500,
    documents_per_query: int | tuple[int, int] = 40,
    n_features: int = 40,
    *,
    shares: Mapping[str, float] | None = None,
    n_informative: int | None = None,
    noise: float = 0.5,
    correlation: float = 0.2,
    levels: int | Sequence[float] | None = MSLR_SHARES,
    dtype: str = "float32",
    random_state: int = 0,
) -> ShapedRanking:
    """Make data with raw features like MSLR's, of which lines tell only a part.

    Features are, in turn, scores between 0 and 1, heavy-tailed numbers in units of their own, counts, numbers that are
    mostly 0, and lengths. Each has a position t, a rising function of its value, and the utility is a sum of what
    becomes of positions: t itself ("line"), tanh(2 t + 1.5) ("saturating"), a step near 0.7 ("threshold"),
    min(|t - 0.3|, 2) ("u"), and t_i t_j of two features ("product"). A document's label is the level that its utility
    plus noise falls into, as in `make_ranking`.

    Parameters
    ----------
    n_queries, n_features : sizes
    documents_per_query : a number, or (least, most) for sizes drawn evenly
    shares : how much of the utility's variance within queries is of each kind; by default 0.3 of lines, 0.25
        saturating, 0.2 of thresholds, 0.25 of u and none of products. What they are in the end, with features that are
        correlated, is returned.
    n_informative : features with an effect; by default half of them
    noise : standard deviation of the labels' noise, in that of the utility
    correlation : 0 for independent features, towards 1 for features that follow a few common factors
    levels : as of `make_ranking`
    dtype : "float32" or "float64"
    random_state : seed; the same seed gives the same data

    Returns
    -------
    ShapedRanking
        `data, utility, shares, effects = make_shaped_ranking(...)`
    """
    default = {"line": 0.3, "saturating": 0.25, "threshold": 0.2, "u": 0.25, "product": 0.0}
    asked = {**dict.fromkeys(default, 0.0), **(default if shares is None else shares)}
    _check(asked, set(default), n_queries, n_features, correlation)
    rng = np.random.default_rng(random_state)
    sizes = sizes_of(rng, n_queries, documents_per_query)
    queries = Queries(np.arange(1, n_queries + 1).astype(str), offsets_from_sizes(sizes), None)
    features, positions = _rows(rng, queries, n_features, correlation)
    effects = _effects(rng, asked, n_features, (n_features + 1) // 2 if n_informative is None else n_informative)
    parts = {kind: _part(rng, kind, positions[:, np.array(effects) == kind]) for kind in asked if kind in effects}
    centred = {kind: _centred(part, queries) for kind, part in parts.items()}
    scaled = {kind: np.sqrt(asked[kind]) * part / (part.std() or 1.0) for kind, part in centred.items()}
    utility = np.sum(list(scaled.values()), axis=0) if scaled else np.zeros(queries.n_documents)
    variance = float(utility @ utility) or 1.0
    noisy = utility + noise * (utility.std() or 1.0) * rng.standard_normal(len(utility))
    data = RankingDataset(features.astype(dtype), labels_of(noisy, levels), queries)
    return ShapedRanking(
        data, utility, {kind: float(part @ utility) / variance for kind, part in scaled.items()}, effects
    )


def _check(asked: Mapping[str, float], known: set[str], n_queries: int, n_features: int, correlation: float) -> None:
    if set(asked) != known or min(asked.values()) < 0 or not 0 < sum(asked.values()) < np.inf:
        raise LinrankError(f"shares={dict(asked)}; use numbers from 0 for some of {', '.join(sorted(known))}.")
    if n_queries < 1 or n_features < 1:
        raise LinrankError(f"n_queries={n_queries}, n_features={n_features}: each must be at least 1.")
    if not 0 <= correlation < 1:
        raise LinrankError(f"correlation={correlation}; use from 0 to below 1.")


def _rows(
    rng: np.random.Generator, queries: Queries, n_features: int, correlation: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Raw features, and where each value is on a scale with about mean 0 and variance 1."""
    n_factors = max(1, n_features // 8)
    loadings = rng.standard_normal((n_factors, n_features)) / np.sqrt(n_factors)

    def drawn(n_rows: int) -> NDArray[np.float64]:
        factors = rng.standard_normal((n_rows, n_factors)) @ loadings
        own = rng.standard_normal((n_rows, n_features))
        return np.asarray(np.sqrt(correlation) * factors + np.sqrt(1.0 - correlation) * own)

    of_queries, of_documents = drawn(queries.n_queries), drawn(queries.n_documents)
    latent = np.sqrt(_OF_QUERIES) * of_queries[queries.of_rows()] + np.sqrt(1.0 - _OF_QUERIES) * of_documents
    features, positions = np.empty_like(latent), np.empty_like(latent)
    units = 10.0 ** rng.integers(-3, 5, size=n_features)
    for column in range(n_features):
        features[:, column], positions[:, column] = _margin(column % 5, latent[:, column], float(units[column]))
    return features, positions


def _margin(kind: int, latent: Vector, unit: float) -> tuple[Vector, Vector]:
    """A raw feature, and its position: a function of the raw value alone, rising with it."""
    if kind == 0:
        return 1.0 / (1.0 + np.exp(-1.7 * latent)), latent
    if kind == 1:
        return unit * np.exp(1.5 * latent), latent
    if kind == 2:
        counts = np.floor(np.exp(1.0 + 1.2 * latent))
        position = np.log(counts + 0.5) - 1.0
    elif kind == 3:
        # Seven of ten are 0.
        counts = np.maximum(np.exp(latent) - np.exp(0.52), 0.0)
        position = np.log(counts + np.exp(0.52))
    else:
        counts = np.floor(300.0 * np.exp(0.8 * latent))
        position = np.log(counts + 1.0)
    return counts, (position - position.mean()) / (position.std() or 1.0)


def _effects(
    rng: np.random.Generator, asked: Mapping[str, float], n_features: int, n_informative: int
) -> tuple[str, ...]:
    """Features drawn for each kind in turn, products in twos."""
    kinds = [kind for kind, share in asked.items() if share > 0]
    fewest = sum(2 if kind == "product" else 1 for kind in kinds)
    if not fewest <= n_informative <= n_features:
        raise LinrankError(
            f"n_informative={n_informative}; use from {fewest}, for {', '.join(kinds)}, to n_features={n_features}."
        )
    order = rng.permutation(n_features).tolist()
    effects = [""] * n_features
    left = n_informative
    for turn in range(n_informative):
        kind = kinds[turn % len(kinds)]
        size = 2 if kind == "product" else 1
        if left < size:
            break
        for _ in range(size):
            effects[order.pop()] = kind
        left -= size
    return tuple(effects)


def _part(rng: np.random.Generator, kind: str, positions: NDArray[np.float64]) -> Vector:
    """The sum of what becomes of some features, each with a size and mostly a positive sign."""
    if kind == "product":
        shaped = np.clip(positions[:, ::2], -3, 3) * np.clip(positions[:, 1::2], -3, 3)
    else:
        shaped = SHAPES[kind](positions)
    n_terms = shaped.shape[1]
    sizes = (0.5 + rng.exponential(size=n_terms)) * rng.choice([1.0, 1.0, 1.0, -1.0], size=n_terms)
    part: Vector = (shaped / shaped.std(axis=0)) @ sizes
    return part


def _centred(values: Vector, queries: Queries) -> Vector:
    """Less the mean of each query, whose rows stand together here."""
    means = np.add.reduceat(values, queries.starts[:-1]) / np.diff(queries.starts)
    centred: Vector = values - np.repeat(means, np.diff(queries.starts))
    return centred
