"""The report of a comparison: its results, and what they leave open, such as how many features are needed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linrank.arrays import Vector
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import QueryScaling, scaled, scaling_named
from linrank.errors import LinrankError
from linrank.experiments.comparison import Contender, JobResult
from linrank.experiments.curve import curve_content
from linrank.experiments.feature_path import feature_path
from linrank.experiments.folds import Fold, Part
from linrank.experiments.report import (
    FeatureCurve,
    Leaderboard,
    LeaderboardRow,
    QueryDifferences,
    QueryDocuments,
    QueryRow,
    ReportContent,
    Training,
    TrainingCurve,
    WeightRow,
    Weights,
    write_page,
)
from linrank.experiments.results import Results

_RESAMPLES = 50
# Of more documents than these, a share of the queries is enough for the curve and the intervals of weights.
_MOST_DOCUMENTS = 200_000
# Significant digits of features on the page: more would not be seen.
_DIGITS = 5


def write_comparison_page(results: Results) -> Path:
    """Write report.html into the folder of the results."""
    place = results.folder / "report.html"
    write_page(place, comparison_content(results))
    return place


def comparison_content(results: Results) -> ReportContent:
    """Everything the page shows; what needs the data is left out, with a note, where it is no longer there."""
    ours, baseline = _pair(results)
    notes = list(results.notes())
    try:
        whole = _whole(results.plan.folds)
        curve: FeatureCurve | None = _curve(whole, results)
        weights = _weights(results, ours)
        documents = [fold.test.load().with_columns(whole.names, fold.test.path) for fold in results.plan.folds]
    except (OSError, LinrankError) as error:
        notes.append(f"What needs the data is left out: {error}")
        curve, weights, documents = None, None, None
    return ReportContent(
        title=f"Ranking {results.plan.title}" if results.plan.title else "Comparison of rankers",
        subtitle=_subtitle(results),
        facts=_facts(results),
        leaderboard=_leaderboard(results),
        feature_curve=curve,
        weights=weights,
        queries=_queries(results, ours, baseline, documents),
        training=_training(results),
        notes=tuple(notes),
    )


def _curve(whole: RankingDataset, results: Results) -> FeatureCurve:
    path = feature_path(whole, None, cv=min(5, whole.n_queries), measure=results.plan.protocol.select)
    return curve_content(path, path.select_features(one_se=True), dense=_dense_level(results))


def _whole(folds: Sequence[Fold]) -> RankingDataset:
    """All queries of the first fold, which are all there are, or a share of them where there are many documents."""
    fold = folds[0]
    if fold.train.numbers:
        data = Part(fold.train.path, options=fold.train.options).load()
    else:
        data = RankingDataset.joined([fold.train.load(), fold.vali.load(), fold.test.load()])
    if data.n_documents <= _MOST_DOCUMENTS:
        return data
    share = _MOST_DOCUMENTS / data.n_documents
    return data.split(share, 1.0 - share)[0]


def _pair(results: Results) -> tuple[str, str]:
    """What is shown against what: the recommended method and the baseline, or the best of the others."""
    baseline, ours = results.plan.baseline, results.recommended()
    if ours == baseline:
        others = [standing.method for standing in results.standings() if standing.method != baseline]
        ours = others[0] if others else baseline
    return ours, baseline


def _dense_level(results: Results) -> float | None:
    return (
        None
        if "ranksvm" not in results.complete()
        else float(np.nanmean(results.per_query("ranksvm", results.plan.protocol.select)))
    )


def _contender(results: Results, method: str) -> Contender:
    return next(contender for contender in results.plan.contenders if contender.name == method)


def _subtitle(results: Results) -> str:
    plan = results.plan
    n_queries = len(results.per_query(plan.baseline, plan.protocol.select))
    return (
        f"{len(results.complete())} rankers on {n_queries} test queries of {len(plan.folds)} "
        f"{'folds' if len(plan.folds) > 1 else 'fold'}, settings chosen on validation queries by {plan.protocol.select}"
    )


def _facts(results: Results) -> tuple[tuple[str, str], ...]:
    plan = results.plan
    first = results.of(plan.baseline)[0]
    n_documents = sum(len(results.scores(plan.baseline, fold.name)) for fold in plan.folds)
    return (
        ("test queries", f"{len(results.per_query(plan.baseline, plan.protocol.select)):,}"),
        ("test documents", f"{n_documents:,}"),
        ("features", str(first.n_features_of)),
        ("folds", str(len(plan.folds))),
        ("chosen by", f"{plan.protocol.select} on validation"),
        ("scaling", plan.protocol.scaling),
        ("seed", str(plan.protocol.seed)),
        ("data", first.fingerprints["train"][:23] + "…"),
        ("linrank", results.recorded_versions()["linrank"]),
    )


def _leaderboard(results: Results) -> Leaderboard:
    plan, select = results.plan, results.plan.protocol.select
    recommended = results.recommended()
    rows = tuple(
        LeaderboardRow(
            standing.method,
            standing.means,
            _contender(results, standing.method).what,
            _settings(results.of(standing.method)),
            {m: d for m, d in standing.deviations.items() if d == d},  # noqa: PLR0124 - NaN with a single fold
            standing.interval,
            None if standing.method == plan.baseline else standing.difference_of[select],
            None if standing.method == plan.baseline else standing.difference_interval,
            standing.p_t,
            standing.p_randomisation,
            standing.seconds,
            standing.n_features,
            standing.n_features_of,
            standing.method == recommended,
        )
        for standing in results.standings()
    )
    return Leaderboard(plan.protocol.evaluated(), select, rows, plan.baseline)


def _settings(results: Sequence[JobResult]) -> str:
    """What was chosen, setting by setting, over the folds."""
    return "; ".join(
        f"{name} = {', '.join(dict.fromkeys(_shown(result.chosen[name]) for result in results))}"
        for name in results[0].chosen
    )


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _weights(results: Results, method: str) -> Weights | None:
    """The first fold's weights of a linear method, with intervals from queries drawn again."""
    result = results.of(method)[0]
    if result.weights is None:
        return None
    fold = results.plan.folds[0]
    train = fold.train.load()
    scaling = scaling_named(results.plan.protocol.scaling, train)
    seen = scaled(train, scaling)
    drawn = _resampled_weights(results, method, result, seen)
    spread = np.sqrt(_variances(seen))
    weights = np.asarray(result.weights)
    raw = weights if scaling is None or isinstance(scaling, QueryScaling) else scaling.fold(weights)
    low, high = np.quantile(drawn * spread, [0.025, 0.975], axis=0)
    rows = tuple(
        WeightRow(train.names[j], float(raw[j]), float(weights[j] * spread[j]), float(low[j]), float(high[j]))
        for j in np.argsort(-np.abs(weights * spread), kind="stable")
        if weights[j] or low[j] or high[j]
    )
    return Weights(method, rows, "the change of the score for one standard deviation of the feature")


def _resampled_weights(results: Results, method: str, result: JobResult, train: RankingDataset) -> Any:
    """The weights when as many queries as there are are drawn with replacement, once a row."""
    rng = np.random.default_rng(results.plan.protocol.seed)
    contender = _contender(results, method)
    drawn = []
    for _ in range(_RESAMPLES):
        numbers = rng.integers(train.n_queries, size=train.n_queries)
        part = _with_repeats(train, numbers)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ranker = contender.make(**result.chosen)
            if "random_state" in ranker.get_params():
                ranker.set_params(random_state=results.plan.protocol.seed)
            drawn.append(ranker.fit(part.features, part.labels, qid=part.qid).coef_)
    return np.array(drawn)


def _with_repeats(data: RankingDataset, numbers: Any) -> RankingDataset:
    """The given queries, a query that is given twice being two queries."""
    queries = data.queries
    rows = [queries.rows_of(np.array([number])) for number in numbers]
    group = [len(of_query) for of_query in rows]
    order = np.concatenate(rows)
    return RankingDataset.from_arrays(data.features[order], data.labels[order], group=group)


def _variances(data: RankingDataset) -> Vector:
    features = data.features
    mean = np.asarray(features.mean(axis=0)).ravel()
    squares = features.multiply(features) if data.is_sparse else np.square(features, dtype=np.float64)
    variances: Vector = np.maximum(np.asarray(squares.mean(axis=0)).ravel() - mean**2, 0.0)
    return variances


def _queries(
    results: Results, ours: str, baseline: str, documents: Sequence[RankingDataset] | None
) -> QueryDifferences | None:
    """Every test query under both methods; its documents with the features that either of them weighs."""
    if ours == baseline:
        return None
    select = results.plan.protocol.select
    first, second = results.of(ours), results.of(baseline)
    names, columns = _weighed(first, second, documents)
    rows: list[QueryRow] = []
    for number, (a, b) in enumerate(zip(first, second, strict=True)):
        lists = None if documents is None else _documents(results, a, b, documents[number], columns)
        values = zip(a.qids, a.per_query[select], b.per_query[select], strict=True)
        rows += [
            QueryRow(str(qid), x, y, None if lists is None else lists[place], number)
            for place, (qid, x, y) in enumerate(values)
            if x is not None and y is not None
        ]
    return QueryDifferences(
        select, ours, baseline, tuple(rows), names, _by_fold(first, columns), _by_fold(second, columns)
    )


def _weighed(
    first: Sequence[JobResult], second: Sequence[JobResult], documents: Sequence[RankingDataset] | None
) -> tuple[tuple[str, ...], Any]:
    """The features that have a weight in any fold of either method; none where there are too many to show."""
    linear = [result.weights for result in (*first, *second) if result.weights is not None]
    if documents is None or not linear:
        return (), np.zeros(0, dtype=np.int64)
    columns = np.flatnonzero(np.any(np.array(linear) != 0, axis=0))
    if len(columns) > 1000:
        columns = columns[:0]
    return tuple(documents[0].names[column] for column in columns), columns


def _by_fold(results: Sequence[JobResult], columns: Any) -> tuple[tuple[float, ...], ...] | None:
    if results[0].weights is None or not len(columns):
        return None
    return tuple(tuple(np.asarray(result.weights)[columns].tolist()) for result in results)


def _documents(
    results: Results, a: JobResult, b: JobResult, data: RankingDataset, columns: Any
) -> list[QueryDocuments]:
    """A fold's test queries with their documents, features as the methods saw them."""
    fold = next(fold for fold in results.plan.folds if fold.name == a.fold)
    scaling = scaling_named(results.plan.protocol.scaling, fold.train.load())
    features = scaled(data, scaling).features
    ours, theirs = (results.scores(result.method, a.fold) for result in (a, b))
    ids = data.docids
    made = []
    for number in range(data.n_queries):
        rows = data.queries.rows_of(np.array([number]))
        block = features[rows][:, columns] if len(columns) else None
        if block is not None and data.is_sparse:
            block = block.toarray()
        made.append(
            QueryDocuments(
                data.labels[rows].tolist(),
                [_rounded(value) for value in ours[rows]],
                [_rounded(value) for value in theirs[rows]],
                None if ids is None else [ids[row] for row in rows],
                None if block is None else [[_rounded(value) for value in line] for line in block.tolist()],
            )
        )
    return made


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _training(results: Results) -> Training | None:
    """The first fold's objective against time, of the methods that keep it."""
    curves = []
    for method in results.complete():
        history = results.of(method)[0].history
        if len(history) > 1:
            seconds, values = zip(*history, strict=True)
            curves.append(TrainingCurve(method, seconds, values))
    return Training(tuple(curves)) if curves else None
