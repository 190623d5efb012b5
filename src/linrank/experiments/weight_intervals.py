"""weight_intervals: how far each weight moves when the queries are drawn again."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError, MissingDependencyError
from linrank.showing import Rows, html_table, shown, text_table

RESAMPLES = 50
_MOST_PRINTED = 20


@dataclass(frozen=True, slots=True)
class WeightInterval:
    """One weight and its interval; times `spread`, all three are in units that features share.

    Attributes
    ----------
    feature : str
    weight, low, high : float
        On the feature as it is given.
    spread : float
        The feature's standard deviation over documents: `weight * spread` is the change of the score for one of it.
    """

    feature: str
    weight: float
    low: float
    high: float
    spread: float


@dataclass(frozen=True, repr=False)
class WeightIntervals:
    """The intervals of all weights, the feature that moves scores most first; prints as a table.

    Attributes
    ----------
    rows : tuple of WeightInterval
    level : float
        The share of resamples that lie within.
    """

    rows: tuple[WeightInterval, ...]
    level: float

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, feature: str) -> WeightInterval:
        for row in self.rows:
            if row.feature == feature:
                return row
        raise KeyError(feature)

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row a feature, by name."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingDependencyError("pandas", "pandas", "intervals as a DataFrame") from None
        return pd.DataFrame(
            [(row.weight, row.low, row.high, row.spread) for row in self.rows],
            columns=["weight", "low", "high", "spread"],
            index=pd.Index([row.feature for row in self.rows], name="feature"),
        )

    def _table(self) -> Rows:
        head = ("feature", "weight", "low", "high", "weight x spread")
        return [
            head,
            *(
                (row.feature, shown(row.weight), shown(row.low), shown(row.high), shown(row.weight * row.spread))
                for row in self.rows[:_MOST_PRINTED]
            ),
        ]

    def __repr__(self) -> str:
        more = f"\nand {len(self.rows) - _MOST_PRINTED} more" if len(self.rows) > _MOST_PRINTED else ""
        return text_table(self._table()) + more

    def _repr_html_(self) -> str:
        caption = f"{len(self.rows)} weights with {self.level:.0%} intervals, the first {_MOST_PRINTED} at most"
        return html_table(self._table(), caption)


def weight_intervals(
    ranker: Any,
    X: Any,
    y: Any = None,
    *,
    qid: Any = None,
    group: Any = None,
    level: float = 0.95,
    n_resamples: int = RESAMPLES,
    random_state: int = 0,
) -> WeightIntervals:
    """Bootstrap intervals of a linear ranker's weights: it is trained again on queries drawn with replacement.

    The intervals of the report's page are these, times the features' standard deviations.

    Parameters
    ----------
    ranker : a linear ranker, trained or not; it stays as it is
    X, y, qid, group : the data to train on, as for `fit`; or a RankingDataset alone
    level : share of resamples within the interval, between 0 and 1
    n_resamples : how often as many queries as there are are drawn, each time training once
    random_state : of the drawing; the same gives the same intervals

    Examples
    --------
    >>> from linrank import RankSVM, make_ranking, weight_intervals
    >>> data, _ = make_ranking(50, 10, 3)
    >>> intervals = weight_intervals(RankSVM(), data, n_resamples=20)
    >>> all(row.low <= row.high for row in intervals.rows)
    True
    """
    from sklearn.base import clone

    if not 0 < level < 1 or n_resamples < 2:
        raise LinrankError(
            f"level={level}, n_resamples={n_resamples}: use a level between 0 and 1, and at least 2 resamples."
        )
    data = X if isinstance(X, RankingDataset) else RankingDataset.from_arrays(X, y, qid=qid, group=group)

    if getattr(ranker, "transforms", None) is not None:
        raise LinrankError(
            "weight_intervals compares weights of features as they are. Transform the data first, and pass a ranker "
            "without transforms: linrank.dataset.scaling.scaled(data, ranker.transform_)."
        )

    def weights_on(part: RankingDataset) -> Vector:
        trained = clone(ranker).fit(part)
        if not hasattr(trained, "coef_"):
            raise LinrankError(f"a {type(ranker).__name__} has no weights. Pass a linear ranker.")
        return np.asarray(trained.coef_)

    weights, spreads = weights_on(data), standard_deviations(data)
    drawn = weight_resamples(weights_on, data, n_resamples, random_state)
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    rows = tuple(
        WeightInterval(data.names[j], float(weights[j]), float(low[j]), float(high[j]), float(spreads[j]))
        for j in np.argsort(-np.abs(weights * spreads), kind="stable").tolist()
    )
    return WeightIntervals(rows, level)


def weight_resamples(
    weights_on: Callable[[RankingDataset], Vector], data: RankingDataset, n_resamples: int, random_state: int
) -> NDArray[np.float64]:
    """The weights when as many queries as there are are drawn with replacement, once a row."""
    rng, order = np.random.default_rng(random_state), data.queries.drawn(random_state)
    drawn = []
    for _ in range(n_resamples):
        part = with_repeats(data, order[rng.integers(data.n_queries, size=data.n_queries)])
        with warnings.catch_warnings():
            # What is to be said of the training was said of that on all the data.
            warnings.simplefilter("ignore")
            drawn.append(weights_on(part))
    return np.array(drawn)


def with_repeats(data: RankingDataset, numbers: NDArray[np.int64]) -> RankingDataset:
    """The given queries, a query that is given twice being two queries."""
    rows = [data.queries.rows_of(np.array([number])) for number in numbers]
    order = np.concatenate(rows)
    return RankingDataset.from_arrays(
        data.features[order],
        data.labels[order],
        group=[len(of_query) for of_query in rows],
        document_weights=None if data.document_weights is None else data.document_weights[order],
        query_weights=None if data.query_weights is None else data.query_weights[numbers],
    )


def standard_deviations(data: RankingDataset) -> Vector:
    """Of each feature over all documents."""
    features = data.features
    if not data.is_sparse:
        return np.asarray(features.std(axis=0, dtype=np.float64))
    mean = np.asarray(features.mean(axis=0, dtype=np.float64)).ravel()
    squares = np.asarray(features.multiply(features).mean(axis=0)).ravel()
    deviations: Vector = np.sqrt(np.maximum(squares - mean**2, 0.0))
    return deviations
