"""AdaRank: a linear ranker boosted from single features, for the measure it is asked for."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.boosting import Boosting, Round, WeakRankers
from linrank.dataset.applied_scaling import ColumnScaling
from linrank.dataset.features import as_features
from linrank.dataset.queries import Queries
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import fit_scaling
from linrank.errors import LinrankError
from linrank.estimators.declaring import with_settings
from linrank.estimators.linear_ranker import LinearRanker
from linrank.estimators.settings import check_limits
from linrank.estimators.watching import watcher
from linrank.measures import Measure, parse_measure
from linrank.memory import memory_bytes

# One number a feature, direction and query is kept; more than this (8 GB) is refused.
_MOST_NUMBERS = 1 << 30
# The label, the query and the place of a document that is there more than once.
_BYTES_A_COPY = 32

DIRECTIONS = {"higher": (1.0,), "lower": (-1.0,), "both": (1.0, -1.0)}


@with_settings
class AdaRank(LinearRanker):
    """Boosting of single features for a measure of ranking quality (Xu & Li, 2007: AdaRank-NDCG).

    Lowers {formula}, by the measure E_q of each query q under the scores w.x. All queries weigh the same in the first
    round, and exp(-E_q) from then on; the feature with the largest weighted mean r of the measure, taken alone, is
    added with the strength ln((1 + r) / (1 - r)) / 2. A feature stands here for its values divided by their range,
    largest minus smallest, so that its unit makes no difference; on features between 0 and 1 it is the paper's method.
    No random numbers are used.

    The paper's rule may pick the same feature for ever: more of it alone changes no order. Here a feature that does not
    raise the training measure is passed over in that round, and the next strongest is tried; it stops where none does.

    Parameters
    ----------
    measure : str
        Any whose value for a query lies between -1 and 1. Ties that the measure would leave to the order of the rows,
        or to document ids, are averaged over: the order of the rows changes nothing.
    direction : {"both", "higher", "lower"}
        Whether a feature may rank by higher values first, by lower ones, or by either. The paper's is "higher".
    max_iter : int
        Rounds; each adds one feature, or more of one.
    tol : float
        A round must raise the mean training measure by more than this; 0.001 gives fewer features.
    progress : callable
        Called with a `Round` (prints as one line) after each round.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Zero for features that were never picked.
    objective_ : float
        The sum over queries of exp(-E_q), weighted by query_weight.
    measure_ : float
        The mean training measure.
    n_iter_ : int
        Rounds.
    history_ : tuple of Round
        One before the first round, and one after each; `ranker` is the number of the feature, from 0, and where both
        directions are allowed the number of features is added to it for the second.

    Examples
    --------
    >>> from linrank import AdaRank, make_ranking
    >>> data, _ = make_ranking(100, 20, 10)
    >>> model = AdaRank("map", max_iter=3).fit(data.features, data.labels, qid=data.qid)
    >>> int((model.coef_ != 0).sum()) <= 3
    True
    """

    method = "adarank"

    measure: str = "ndcg@10"
    _: KW_ONLY
    direction: str = "both"
    max_iter: int = 100
    tol: float = 0.0
    n_threads: int | None = None
    progress: Callable[[Round], object] | None = None
    history_: tuple[Round, ...] = field(init=False)

    @property
    def objective(self) -> str:
        return super().objective.replace("ndcg@10", self.measure)

    def _check(self) -> None:
        check_limits(self, all_iterations="go on as long as a round raises the measure at all")
        signs_of(self.direction)
        if in_any_order(parse_measure(self.measure)).name == "dcg":
            raise LinrankError(f"measure={self.measure!r}; it must lie between -1 and 1. Use ndcg in place of dcg.")

    def _train(self, dataset: RankingDataset, validation: list[RankingDataset]) -> None:  # noqa: ARG002
        measure, signs = in_any_order(parse_measure(self.measure)), signs_of(self.direction)
        dataset = repeated(dataset)
        alone = SingleFeatures.of(dataset, measure, signs, self.n_threads)
        boosted = Boosting(self.max_iter, self.tol).boost(
            WeakRankers(alone.table, alone.scores_of),
            alone.measured,
            alone.query_weights,
            watch=watcher(self.progress),
        )
        self.measure_ = boosted.history[-1].measure
        self._learnt(replace(boosted, weights=alone.weights(boosted.weights)))
        if not self.coef_.any():
            warnings.warn(
                f"no feature ranks better than all documents tied, by {measure}: every weight is zero. "
                "Check that the labels of some query differ, and that one of them is relevant.",
                UserWarning,
                stacklevel=3,
            )


@dataclass(frozen=True, eq=False)
class SingleFeatures:
    """What each feature achieves as the only one, in each direction; queries without a value are left out.

    Ranker k is column k % n_features, divided by its range, with the sign `signs[k // n_features]`.
    """

    dataset: RankingDataset
    measure: Measure
    signs: tuple[float, ...]
    n_threads: int | None
    columns: Any
    scaling: ColumnScaling
    counted: NDArray[np.bool_]
    table: NDArray[np.float64]

    @classmethod
    def of(
        cls, dataset: RankingDataset, measure: Measure, signs: tuple[float, ...], n_threads: int | None
    ) -> SingleFeatures:
        scaling = fit_scaling("min-max", dataset)
        assert isinstance(scaling, ColumnScaling)
        least = int(np.argmin(scaling.scale))
        if scaling.scale[least] < np.finfo(np.float64).tiny:
            raise LinrankError(
                f"feature {dataset.names[least]!r} varies by {scaling.scale[least]:g}, whose inverse leaves float64. "
                "Multiply the column."
            )
        # Which queries have a value depends on their labels alone.
        tied = measure.per_query(np.zeros(dataset.n_documents), dataset, n_threads=n_threads)
        counted = ~np.isnan(tied)
        shape = len(signs) * dataset.n_features, int(counted.sum())
        if shape[0] * shape[1] > _MOST_NUMBERS:
            raise LinrankError(
                f"{shape[0]} single-feature rankers x {shape[1]} queries would take "
                f"{8e-9 * shape[0] * shape[1]:.0f} GB. Choose features first, with SparseRank for instance."
            )
        columns = dataset.features.tocsc() if dataset.is_sparse else dataset.features
        made = cls(dataset, measure, signs, n_threads, columns, scaling, counted, np.empty(shape))
        for ranker in range(shape[0]):
            made.table[ranker] = made.measured(made.scores_of(ranker))
        return made

    @property
    def query_weights(self) -> Vector:
        weights = self.dataset.query_weights
        return np.ones(self.table.shape[1]) if weights is None else weights[self.counted]

    def scores_of(self, ranker: int) -> Vector:
        """Score every document by one feature."""
        sign, column = divmod(ranker, self.dataset.n_features)
        values = self.columns[:, [column]]
        values = values.toarray() if self.dataset.is_sparse else values
        scores: Vector = values.ravel().astype(np.float64)
        scores *= self.signs[sign] / self.scaling.scale[column]
        return scores

    def measured(self, scores: Vector) -> Vector:
        """The measure of each query that has one."""
        return self.measure.per_query(scores, self.dataset, n_threads=self.n_threads)[self.counted]

    def weights(self, strengths: Vector) -> Vector:
        """One weight a feature as it is given, for strengths of the single-feature rankers."""
        signed = np.asarray(self.signs)[:, None] * strengths.reshape(len(self.signs), -1)
        return np.asarray(signed.sum(axis=0)) / self.scaling.scale


def in_any_order(measure: Measure) -> Measure:
    """The measure with ties averaged where they would be left to the order of the rows or to document ids."""
    return measure(ties="average") if measure.ties in ("file", "docid") else measure


def signs_of(direction: str) -> tuple[float, ...]:
    """The signs with which a feature may rank."""
    if direction not in DIRECTIONS:
        raise LinrankError(f"direction={direction!r}; use one of {', '.join(map(repr, DIRECTIONS))}.")
    return DIRECTIONS[direction]


def repeated(dataset: RankingDataset) -> RankingDataset:
    """The data with every document as often as it weighs, and without queries that do not: measures count documents."""
    if dataset.query_weights is not None and not dataset.query_weights.all():
        if not dataset.query_weights.any():
            raise LinrankError("every query weight is zero: no query counts. Give some queries a weight.")
        dataset = dataset.subset(dataset.query_weights > 0.0)
    weights = dataset.document_weights
    if weights is None or (weights == 1.0).all():
        return replace(dataset, document_weights=None)
    broken = np.flatnonzero(weights != np.floor(weights))
    if len(broken):
        raise LinrankError(
            f"sample_weight[{broken[0]}] is {weights[broken[0]]:g}; a measure counts whole documents. "
            "Use whole numbers, or query_weight."
        )
    copies, of_features = float(weights.sum()), as_features(dataset.features).n_bytes / dataset.n_documents
    if copies * (of_features + _BYTES_A_COPY) > memory_bytes():
        raise LinrankError(
            f"the sample weights add up to {copies:g}, and a document is there as often as it weighs: so many need "
            "more memory than there is. Divide the weights, or use query_weight."
        )
    rows = np.repeat(np.arange(dataset.n_documents), weights.astype(np.int64))
    queries = Queries.from_ids(dataset.queries.of_rows()[rows])
    return replace(
        dataset,
        features=dataset.features[rows],
        labels=dataset.labels[rows],
        queries=replace(queries, ids=dataset.queries.ids[queries.ids]),
        document_weights=None,
        query_weights=None if dataset.query_weights is None else dataset.query_weights[queries.ids],
    )
