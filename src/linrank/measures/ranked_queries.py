"""Whole queries put in order of score once, and every measure computed from that order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np

from linrank.arrays import Offsets, Vector
from linrank.dataset.unretrieved import Unretrieved
from linrank.errors import LinrankError
from linrank.measures import measure_kernels as kernels
from linrank.measures.measures import Measure
from linrank.ordering import order_ascending, order_descending

Arguments = ParamSpec("Arguments")
Value = TypeVar("Value")

# What a pair of documents with equal scores counts.
_TIE_COUNTS = {"wrong": 0.0, "half": 0.5, "right": 1.0}

# Labels that are whole numbers below this are grades, and are sorted by counting.
_MOST_GRADES = 32


def _once(
    method: Callable[Concatenate[RankedQueries, Arguments], Value],
) -> Callable[Concatenate[RankedQueries, Arguments], Value]:
    """Keep what a method returns for each of its arguments, as long as its object lives."""

    @wraps(method)
    def kept(self: RankedQueries, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Value:
        key = (method.__name__, *arguments, *named.items())
        if key not in self.kept:
            self.kept[key] = method(self, *arguments, **named)
        return self.kept[key]  # type: ignore[no-any-return]

    return kept


class PairCounts(NamedTuple):
    """Of each query's pairs of documents: how many differ in label, and of those, how they stand by score."""

    pairs: Offsets
    concordant: Offsets
    tied: Offsets
    score_pairs: Offsets  # that differ in score, whatever their labels


class RankedQueries:
    """Consecutive whole queries, their documents in order of descending score; what measures share is computed once.

    Parameters
    ----------
    scores, labels : of the documents, each query's together
    query_starts : where each query starts in them, and where the last one ends
    docids : of the same documents, for ties that are broken by them
    unretrieved : labels of the queries' judged documents that are not among these
    """

    def __init__(
        self,
        scores: Vector,
        labels: Vector,
        query_starts: Offsets,
        docids: Sequence[str] | None = None,
        unretrieved: Unretrieved | None = None,
    ) -> None:
        self.labels = labels
        self.query_starts = query_starts
        self.sizes = np.diff(query_starts)
        self.longest = int(self.sizes.max())
        self.docids = docids
        self.unretrieved = unretrieved
        self.kept: dict[tuple[Any, ...], Any] = {}
        self.order = np.empty(len(scores), dtype=np.int64)
        self.ranked_scores = np.empty(len(scores))
        order_descending(scores, query_starts, self.order, self.ranked_scores)

    def per_query(self, measure: Measure) -> Vector:
        """The measure's value of each query; NaN where it is skipped."""
        values = _VALUES[measure.name](self, measure)
        if measure.empty is not None:
            values[self._is_empty(measure)] = np.nan if measure.empty == "skip" else measure.empty
        return values

    def _is_empty(self, measure: Measure) -> Any:
        if measure.name in ("kendall_tau", "auc"):
            return self.pair_counts(measure.rel).pairs == 0
        best = self.best_labels() if _is_of_the_list(measure) else self.best_judged_labels()
        return best <= 0.0 if measure.rel is None else best < measure.rel

    @_once
    def tie_starts(self, single: bool = False) -> Offsets:
        """Where each run of documents of one query and one score starts, and where the last one ends.

        In single precision there are more ties, and the same order: rounding puts no score above a higher one.
        """
        with np.errstate(over="ignore"):
            scores = self.ranked_scores.astype(np.float32) if single else self.ranked_scores
        starts = np.ones(len(scores) + 1, dtype=bool)
        starts[1:-1] = scores[1:] != scores[:-1]
        starts[self.query_starts] = True
        return np.flatnonzero(starts)

    @_once
    def ranked_labels(self, ties: str | None) -> Vector:
        """The labels in order of score, tied documents in the order that `ties` says."""
        ranked = self.labels[self.order]
        # trec_eval keeps scores in single precision.
        tie_starts = self.tie_starts(single=ties == "docid") if ties in ("worst", "docid") else self.query_starts
        if ties not in ("worst", "docid") or len(tie_starts) > len(ranked):
            return ranked
        within = np.empty_like(self.order)
        ascending = np.empty_like(ranked)
        if ties == "worst":
            order_ascending(ranked, tie_starts, within, ascending)
            return ascending
        order_ascending(self._docid_keys(), tie_starts, within, ascending)
        return ranked[within]

    def _docid_keys(self) -> Vector:
        """Numbers that put tied documents in descending order of their ids; only those that are tied have one."""
        if self.docids is None:
            raise LinrankError(
                "some documents of a query have equal scores (in single precision, as in trec_eval), and the measure "
                "orders them by document id, but the data has none. Pass docids (of a table, name its docid=… column; "
                "text has them in comments, 'docid = …'), or choose ndcg(linear) or map(ties=file)."
            )
        sizes = np.diff(self.tie_starts(single=True))
        tied = np.flatnonzero(np.repeat(sizes > 1, sizes))
        texts = np.array([self.docids[document] for document in self.order[tied].tolist()])
        keys = np.zeros(len(self.order))
        keys[tied] = -np.unique(texts, return_inverse=True)[1]
        return keys

    def expected(self, ranked_values: Vector, ties: str | None) -> Vector:
        """Where ties are averaged, the mean of the tied documents' values in place of each."""
        tie_starts = self.tie_starts() if ties == "average" else self.query_starts
        if ties != "average" or len(tie_starts) > len(ranked_values):
            return ranked_values
        sizes = np.diff(tie_starts)
        return np.repeat(np.add.reduceat(ranked_values, tie_starts[:-1]) / sizes, sizes)

    @_once
    def best_labels(self) -> Vector:
        return np.maximum.reduceat(self.labels, self.query_starts[:-1])

    @_once
    def judged(self) -> tuple[Vector, Offsets]:
        """Each query's labels, those of documents that nothing retrieved too; and where each query starts in them."""
        missed = self.unretrieved
        if missed is None or not len(missed.labels):
            return self.labels, self.query_starts
        places = np.repeat(self.query_starts[1:], np.diff(missed.starts))
        return np.insert(self.labels, places, missed.labels), self.query_starts + missed.starts

    @_once
    def best_judged_labels(self) -> Vector:
        labels, starts = self.judged()
        return np.maximum.reduceat(labels, starts[:-1])

    @_once
    def labels_descending(self) -> tuple[Vector, Offsets]:
        """Each query's labels from the highest to the lowest, and the documents they belong to."""
        return _descending(self.labels, self.query_starts)

    @_once
    def ideal_gains(self, exponential: bool, of_the_list: bool) -> tuple[Vector, Offsets]:
        """Each query's gains from the highest to the lowest, of its list or of all that is judged; and their starts."""
        labels, starts = (self.labels, self.query_starts) if of_the_list else self.judged()
        descending = np.empty_like(labels)
        counts = np.zeros(_MOST_GRADES, dtype=np.int64)
        if not kernels.count_labels_descending(labels, starts, counts, descending):
            descending = (self.labels_descending() if labels is self.labels else _descending(labels, starts))[0]
        gains = np.empty_like(labels)
        kernels.fill_gains(descending, exponential, gains)
        return gains, starts

    @_once
    def ranked_gains(self, exponential: bool, ties: str | None) -> Vector:
        gains = np.empty_like(self.labels)
        kernels.fill_gains(self.ranked_labels(ties), exponential, gains)
        return self.expected(gains, ties)

    @_once
    def discounts(self, kind: int, n_ranks: int) -> tuple[Vector, Vector]:
        numerators, divisors = np.empty(n_ranks), np.empty(n_ranks)
        kernels.fill_discounts(kind, numerators, divisors)
        return numerators, divisors

    @_once
    def ranked_relevance(self, rel: float, ties: str | None) -> Vector:
        return self.expected((self.ranked_labels(ties) >= rel).astype(np.float64), ties)

    @_once
    def n_relevant(self, rel: float) -> Vector:
        """How many relevant documents each query has, retrieved or not."""
        labels, starts = self.judged()
        return np.add.reduceat((labels >= rel).astype(np.float64), starts[:-1])

    def sums(self, ranked_values: Vector, discounts: tuple[Vector, Vector]) -> Vector:
        """Each query's sum over the first documents, as many as there are discounts, of value times discount."""
        return _discounted(ranked_values, self.query_starts, discounts)

    @_once
    def pair_counts(self, rel: float | None) -> PairCounts:
        """Count pairs of documents that differ in label or, given `rel`, of which only one is relevant."""
        if rel is None:
            descending, label_order = self.labels_descending()
            levels = np.empty_like(self.order)
            kernels.count_levels(descending, label_order, self.query_starts, levels)
        else:
            levels = (self.labels < rel).astype(np.int64)
        seen, in_tie, in_query = np.zeros((3, max(self.longest, 2) + 1), dtype=np.int64)
        counts = PairCounts(*(np.empty(len(self.sizes), dtype=np.int64) for _ in range(4)))
        kernels.count_pairs(levels[self.order], self.ranked_scores, self.query_starts, seen, in_tie, in_query, *counts)
        return counts


def _descending(labels: Vector, starts: Offsets) -> tuple[Vector, Offsets]:
    order = np.empty(len(labels), dtype=np.int64)
    descending = np.empty_like(labels)
    order_descending(labels, starts, order, descending)
    return descending, order


def _discounted(values: Vector, starts: Offsets, discounts: tuple[Vector, Vector]) -> Vector:
    sums = np.empty(len(starts) - 1)
    kernels.discounted_sums(values, starts, *discounts, len(discounts[0]), sums)
    return sums


def _is_of_the_list(measure: Measure) -> bool:
    """Whether only the documents that are there count: so LETOR's scripts have it, and who wins a list is its own."""
    return measure.name == "wta" or measure.definition in ("letor", "letor3")


def _discounts(ranked: RankedQueries, measure: Measure, longest: int) -> tuple[Vector, Vector]:
    kind = kernels.LETOR_DISCOUNT if measure.definition == "letor" else kernels.STANDARD_DISCOUNT
    return ranked.discounts(kind, min(longest, measure.cutoff or longest))


def has_exponential_gain(measure: Measure) -> bool:
    return measure.name == "err" or measure.definition in ("standard", "letor")


def _dcg(ranked: RankedQueries, measure: Measure) -> Vector:
    gains = ranked.ranked_gains(has_exponential_gain(measure), measure.ties)
    return ranked.sums(gains, _discounts(ranked, measure, ranked.longest))


def _ideal_gains(ranked: RankedQueries, measure: Measure) -> tuple[Vector, Offsets]:
    return ranked.ideal_gains(has_exponential_gain(measure), ranked.unretrieved is None or _is_of_the_list(measure))


def _ndcg(ranked: RankedQueries, measure: Measure) -> Vector:
    gains, starts = _ideal_gains(ranked, measure)
    ideal = _discounted(gains, starts, _discounts(ranked, measure, int(np.diff(starts).max())))
    values = _share(_dcg(ranked, measure), ideal)
    if measure.definition == "letor" and measure.cutoff is not None:
        values[ranked.sizes < measure.cutoff] = 0.0
    return values


def _mean_ndcg(ranked: RankedQueries, measure: Measure) -> Vector:
    exponential = has_exponential_gain(measure)
    ideal_gains, ideal_starts = _ideal_gains(ranked, measure)
    means = np.empty(len(ranked.sizes))
    kernels.mean_ndcgs(
        ranked.ranked_gains(exponential, measure.ties),
        ideal_gains,
        ranked.query_starts,
        ideal_starts,
        *_discounts(ranked, measure, ranked.longest),
        means,
    )
    return means


def _hits(ranked: RankedQueries, measure: Measure) -> Vector:
    """How many of the first documents are relevant."""
    assert measure.rel is not None
    assert measure.cutoff is not None
    ones = np.ones(min(ranked.longest, measure.cutoff))
    return ranked.sums(ranked.ranked_relevance(measure.rel, measure.ties), (ones, ones))


def _p(ranked: RankedQueries, measure: Measure) -> Vector:
    assert measure.cutoff is not None
    values = _hits(ranked, measure) / measure.cutoff
    if measure.definition == "letor3":
        values[ranked.sizes < measure.cutoff] = 0.0
    return values


def _recall(ranked: RankedQueries, measure: Measure) -> Vector:
    assert measure.rel is not None
    return _share(_hits(ranked, measure), ranked.n_relevant(measure.rel))


def _wta(ranked: RankedQueries, measure: Measure) -> Vector:
    best = np.repeat(ranked.best_labels(), ranked.sizes)
    wins = ranked.ranked_labels(measure.ties) == best
    return ranked.expected(wins.astype(np.float64), measure.ties)[ranked.query_starts[:-1]]


def _by_relevance(kernel: Callable[..., None]) -> Callable[[RankedQueries, Measure], Vector]:
    def values_of(ranked: RankedQueries, measure: Measure) -> Vector:
        assert measure.rel is not None
        values = np.empty(len(ranked.sizes))
        kernel(*_ranking(ranked, measure), float(measure.rel), *_depth(ranked, measure), values)
        return values

    return values_of


_sums_of_precisions = _by_relevance(kernels.sums_of_precisions)


def _map(ranked: RankedQueries, measure: Measure) -> Vector:
    assert measure.rel is not None
    return _share(_sums_of_precisions(ranked, measure), ranked.n_relevant(measure.rel))


def _err(ranked: RankedQueries, measure: Measure) -> Vector:
    assert measure.max_label is not None
    values = np.empty(len(ranked.sizes))
    misses = np.empty(ranked.longest + 1)
    scale = 2.0**measure.max_label
    kernels.expected_reciprocal_ranks(*_ranking(ranked, measure), scale, *_depth(ranked, measure), misses, values)
    return values


def _ranking(ranked: RankedQueries, measure: Measure) -> tuple[Vector, Vector, Offsets]:
    return ranked.ranked_labels(measure.ties), ranked.ranked_scores, ranked.query_starts


def _depth(ranked: RankedQueries, measure: Measure) -> tuple[bool, int]:
    return measure.ties == "average", ranked.longest if measure.cutoff is None else measure.cutoff


def _pairs_in_order(ranked: RankedQueries, measure: Measure) -> Vector:
    assert measure.ties is not None
    counts = ranked.pair_counts(measure.rel)
    return _share(counts.concordant + _TIE_COUNTS[measure.ties] * counts.tied, counts.pairs, nothing=np.nan)


def _kendall_tau(ranked: RankedQueries, measure: Measure) -> Vector:
    pairs, concordant, tied, score_pairs = ranked.pair_counts(measure.rel)
    discordant = pairs - concordant - tied
    return _share(concordant - discordant, np.sqrt(pairs.astype(np.float64) * score_pairs))


def _share(part: Any, whole: Any, nothing: float = 0.0) -> Vector:
    """Divide part by whole, and put `nothing` where there is no whole."""
    shares = np.full(len(whole), nothing)
    np.divide(part, whole, out=shares, where=whole > 0)
    return shares


_VALUES: dict[str, Callable[[RankedQueries, Measure], Vector]] = {
    "ndcg": _ndcg,
    "dcg": _dcg,
    "mean_ndcg": _mean_ndcg,
    "map": _map,
    "p": _p,
    "recall": _recall,
    "mrr": _by_relevance(kernels.reciprocal_ranks),
    "wta": _wta,
    "err": _err,
    "pairwise_accuracy": _pairs_in_order,
    "kendall_tau": _kendall_tau,
    "auc": _pairs_in_order,
}
