"""Evaluating scores by many measures at once: each query is sorted once, and queries are spread over threads."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector, for_kernels
from linrank.dataset.ranking_dataset import UNJUDGED, RankingDataset
from linrank.dataset.stored_dataset import StoredDataset
from linrank.errors import LinrankError, UnusableNumberError
from linrank.executors.pieces import FROM_FILES, Piece, Pieces, to_travel
from linrank.measures.judgements import Judged, judged
from linrank.measures.measures import Measure
from linrank.measures.parsing import DEFAULT_MEASURES, parse_measures
from linrank.measures.ranked_queries import RankedQueries, has_exponential_gain
from linrank.measures.significance import bootstrap_interval
from linrank.reading.partitions import PartitionedDataset
from linrank.reading.scan import scan
from linrank.threads import number_of_threads

# Documents a task takes on: small enough for a processor's cache, large enough that starting it costs nothing.
_RANGE_DOCUMENTS = 1 << 15

# 2^y is a float64 up to 2^1023; this leaves room for sums over any number of documents.
_LARGEST_EXPONENT = 960


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """The values of several measures for the same scores.

    Attributes
    ----------
    query_ids : ndarray of shape (n_queries,)
    per_query : mapping from each measure to its value of each query, NaN where it is skipped
    mean : mapping from each measure to its mean over queries; pairwise accuracy's is over all pairs
    weights : mapping from measures whose mean is not over queries alike to the weight of each: its pairs
    """

    query_ids: NDArray[Any]
    per_query: Mapping[Measure, Vector]
    mean: Mapping[Measure, float]
    weights: Mapping[Measure, Vector]

    @classmethod
    def joined(cls, parts: Sequence[Evaluation]) -> Evaluation:
        """The evaluation of all queries from those of some of them each, by the same measures."""
        first = parts[0]
        per_query = {m: np.concatenate([part.per_query[m] for part in parts]) for m in first.measures}
        weights = {m: np.concatenate([part.weights[m] for part in parts]) for m in first.weights}
        means = {m: _mean(values, weights.get(m)) for m, values in per_query.items()}
        return cls(np.concatenate([part.query_ids for part in parts]), per_query, means, weights)

    @property
    def measures(self) -> tuple[Measure, ...]:
        return tuple(self.mean)

    def interval(
        self, measure: Measure | str, level: float = 0.95, n_resamples: int = 2000, random_state: int = 0
    ) -> tuple[float, float]:
        """Return a bootstrap confidence interval of the mean, from queries drawn with replacement.

        Parameters
        ----------
        measure : one of those evaluated
        level : share of resamples that lie within, between 0 and 1
        n_resamples : how often as many queries as there are are drawn
        random_state : the same gives the same interval
        """
        (wanted,) = parse_measures(measure)
        if wanted not in self.per_query:
            known = ", ".join(map(str, self.measures))
            raise LinrankError(f"{wanted} was not evaluated; there are {known}. Add it to the measures.")
        return bootstrap_interval(
            self.per_query[wanted],
            weights=self.weights.get(wanted),
            level=level,
            n_resamples=n_resamples,
            random_state=random_state,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists and numbers under the measures' names, for JSON; None stands for a skipped query."""
        return {
            "queries": self.query_ids.tolist(),
            "mean": {str(measure): _or_none(value) for measure, value in self.mean.items()},
            "per_query": {str(m): [_or_none(v) for v in values.tolist()] for m, values in self.per_query.items()},
        }

    def __repr__(self) -> str:
        means = ", ".join(f"{measure}={value:.4f}" for measure, value in self.mean.items())
        return f"Evaluation({means}; {len(self.query_ids)} queries)"


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


def evaluate(
    scores: Any,
    dataset: Any,
    measures: str | Measure | Iterable[str | Measure] = DEFAULT_MEASURES,
    *,
    qid: Any = None,
    group: Any = None,
    docids: Any = None,
    n_threads: int | None = None,
    executor: Any = None,
) -> Evaluation:
    """Evaluate scores by several measures, sorting each query once.

    Parameters
    ----------
    scores : array of shape (n_documents,), or a trained ranker or model
        In the order of the dataset's rows; higher is better. Infinite ones are fine, NaN is an error. A ranker scores
        the documents itself: of a file chunk after chunk, and of their scores only what measures say is kept.
    dataset : RankingDataset or Judgements, what `linrank.scan` returns, or labels, one a row; for a ranker also the
        path of a .linrank file or of a folder of Parquet files
    measures : Measure, text, or several of them
        Such as `[NDCG @ 10, MAP]` or "ndcg@1,3,5,10 map mrr", the default.
    qid, group : with plain labels, the query of each row, or the sizes of consecutive queries
    docids : with plain labels, one text a row, for ties that are broken by them
    n_threads : int, optional
        All available ones unless given. The result is the same to the last bit for any number.
    executor : DaskExecutor
        With a ranker and data in files: whose workers read, score and measure. The result is the same.

    Returns
    -------
    Evaluation
        With `per_query`, `mean` and `interval`.
    """
    wanted = parse_measures(measures)
    if hasattr(scores, "predict"):
        return _evaluate_ranker(scores, dataset, wanted, n_threads, executor)
    if executor is not None:
        raise LinrankError("an executor scores and measures data by a ranker or model. Pass that in place of scores.")
    if isinstance(dataset, StoredDataset) and qid is None and group is None and docids is None:
        return _evaluate_file(scores, dataset, wanted, n_threads)
    dataset = judged(dataset, qid, group, docids)
    queries = dataset.queries
    check_measures(wanted, dataset)
    checked = _checked_scores(scores, queries.n_documents)
    grouped_scores = for_kernels(queries.grouped(checked))
    grouped_labels = for_kernels(queries.grouped(np.ascontiguousarray(dataset.labels, dtype=np.float64)))
    docids = _grouped_docids(dataset) if any(measure.ties == "docid" for measure in wanted) else None
    unretrieved = dataset.unretrieved
    per_query = {measure: np.empty(queries.n_queries) for measure in wanted}
    weights = {measure: np.empty(queries.n_queries) for measure in wanted if measure.name == "pairwise_accuracy"}

    def evaluate_range(first: int, last: int) -> None:
        start, stop = queries.starts[first], queries.starts[last]
        ranked = RankedQueries(
            grouped_scores[start:stop],
            grouped_labels[start:stop],
            queries.starts[first : last + 1] - start,
            None if docids is None else docids[start:stop],
            None if unretrieved is None else unretrieved.between(first, last),
        )
        for measure, values in per_query.items():
            values[first:last] = ranked.per_query(measure)
        for pairs in weights.values():
            pairs[first:last] = ranked.pair_counts(None).pairs

    _for_each_range(evaluate_range, _query_ranges(queries.starts), n_threads)
    means = {measure: _mean(values, weights.get(measure)) for measure, values in per_query.items()}
    return Evaluation(queries.ids, per_query, means, weights)


def _evaluate_ranker(
    ranker: Any, dataset: Any, measures: Sequence[Measure], n_threads: int | None, executor: Any
) -> Evaluation:
    """What measures say of the scores by a ranker; where the data is not loaded, chunk by chunk."""
    dataset = scan(dataset) if isinstance(dataset, str | os.PathLike) else dataset
    if isinstance(dataset, RankingDataset) and executor is None:
        return evaluate(ranker.predict(dataset), dataset, measures, n_threads=n_threads)
    if not isinstance(dataset, StoredDataset | PartitionedDataset):
        raise LinrankError(
            f"a ranker is measured on a dataset, not on {type(dataset).__name__}. Or pass its scores."
            if executor is None
            else FROM_FILES
        )
    _check_file(dataset, measures)
    n_threads = n_threads if executor is None else 1
    common = {"ranker": to_travel(ranker), "measures": measures, "n_threads": n_threads}
    return Evaluation.joined(Pieces.of(dataset, executor).tell(measure_documents, **common))


def measure_documents(piece: Piece, *, ranker: Any, measures: Sequence[Measure], n_threads: int | None) -> Evaluation:
    """What measures say of the queries of one piece."""
    chunks = piece.chunks(to_train=False)
    return Evaluation.joined(
        [evaluate(ranker.predict(chunk), chunk, measures, n_threads=n_threads) for chunk in chunks]
    )


def _check_file(dataset: StoredDataset | PartitionedDataset, measures: Sequence[Measure]) -> None:
    dataset.require_labels()
    if any(measure.ties == "docid" for measure in measures):
        raise LinrankError(
            f"{dataset.source}: ties are broken by document ids, which are not read from a file that is not loaded. "
            f"Load it: linrank.read({dataset.source!r})"
        )


def _evaluate_file(
    scores: Any, dataset: StoredDataset, measures: Sequence[Measure], n_threads: int | None
) -> Evaluation:
    """The labels are read chunk after chunk."""
    _check_file(dataset, measures)
    checked = _checked_scores(scores, dataset.n_documents)
    parts, row = [], 0
    for chunk in dataset.chunks(features=False):
        parts.append(evaluate(checked[row : row + chunk.n_documents], chunk, measures, n_threads=n_threads))
        row += chunk.n_documents
    return Evaluation.joined(parts)


def check_measures(measures: Sequence[Measure], dataset: Judged) -> None:
    """Refuse what cannot be computed, before any work."""
    labels = dataset.labels
    if labels is None:
        raise LinrankError(UNJUDGED)
    if dataset.queries.n_queries == 0:
        raise LinrankError("there are no queries to evaluate. Pass at least one document.")
    if len(labels) != dataset.queries.n_documents:
        raise LinrankError(
            f"there are {len(labels)} labels, but the queries have {dataset.queries.n_documents} documents. "
            "Pass one label a document."
        )
    highest = int(labels.argmax())
    missed = np.zeros(0) if dataset.unretrieved is None else dataset.unretrieved.labels
    best = missed.max(initial=labels[highest])
    for measure in measures:
        if measure.family.cutoff == "required" and measure.cutoff is None:
            raise LinrankError(f"{measure} needs a cut-off: {measure}@10, or {measure!r} @ 10 in Python.")
        if measure.max_label is not None and labels[highest] > measure.max_label:
            raise LinrankError(
                f"the label in row {highest} is {labels[highest]:g}, but {measure} takes {measure.max_label:g} for the "
                f"best there can be. Pass the best one, such as err(max_label={labels[highest]:g})."
            )
        if has_exponential_gain(measure) and best > _LARGEST_EXPONENT:
            place = f"the label in row {highest}" if best == labels[highest] else "the label of an unretrieved document"
            raise UnusableNumberError(
                f"{place} is {best:g}; {measure}'s gain 2^label is too large a number. "
                "Use linear gains, such as ndcg(linear), or pairwise_accuracy."
            )


def _checked_scores(scores: Any, n_documents: int) -> Vector:
    try:
        checked = np.ascontiguousarray(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise LinrankError(f"scores must be numbers ({error}). Pass one number a row.") from None
    if checked.shape != (n_documents,):
        raise LinrankError(
            f"scores have shape {checked.shape}, but there are {n_documents} documents. Pass one score a row."
        )
    missing = np.isnan(checked)
    if missing.any():
        raise LinrankError(
            f"the score in row {int(missing.argmax())} is NaN, which has no place in an order. "
            "Give every row a score; -inf puts it last."
        )
    return checked


def _grouped_docids(dataset: Judged) -> Sequence[str] | None:
    docids = dataset.docids
    order = dataset.queries.order
    return docids if docids is None or order is None else [docids[row] for row in order.tolist()]


def _query_ranges(query_starts: Offsets) -> list[tuple[int, int]]:
    """Cut the queries into ranges of about equally many documents, the same ones for any number of threads."""
    cuts = np.searchsorted(query_starts, np.arange(0, query_starts[-1], _RANGE_DOCUMENTS))
    bounds = np.unique(np.append(cuts, len(query_starts) - 1)).tolist()
    return list(itertools.pairwise(bounds))


def _for_each_range(task: Callable[[int, int], None], ranges: list[tuple[int, int]], n_threads: int | None) -> None:
    n_threads = min(number_of_threads(n_threads), len(ranges))
    if n_threads == 1:
        for first, last in ranges:
            task(first, last)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(task, *zip(*ranges, strict=True)))


def _mean(values: Vector, weights: Vector | None) -> float:
    """The mean of the values that are not NaN; summed exactly, so that the order of queries makes no difference."""
    there = ~np.isnan(values)
    if not there.any():
        return math.nan
    if weights is None:
        return math.fsum(values[there].tolist()) / int(there.sum())
    return math.fsum((values * weights)[there].tolist()) / math.fsum(weights[there].tolist())
