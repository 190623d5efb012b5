"""The report of a comparison: everything on the page is about the recommended ranker, on the same queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import scaled
from linrank.errors import LinrankError
from linrank.experiments.compare import Comparison
from linrank.experiments.comparison import JobResult
from linrank.experiments.comparison_curve import compared_curve, compared_curve_content
from linrank.experiments.comparison_weights import compared_weights
from linrank.experiments.final import described, parts_as_compared
from linrank.experiments.folds import whole_data
from linrank.experiments.report import (
    Leaderboard,
    LeaderboardRow,
    QueryDifferences,
    QueryDocuments,
    QueryRow,
    ReportContent,
    Training,
    TrainingCurve,
)
from linrank.experiments.results import Results
from linrank.model import LinearModel

_T = TypeVar("_T")
# Significant digits of features on the page: more would not be seen.
_DIGITS = 5
# Features of documents on the page, at most.
_MOST_COLUMNS = 1000


def comparison_content(comparison: Comparison) -> ReportContent:
    """Everything the page shows; what cannot be shown is missing with the reason."""
    results = comparison.results
    missing: dict[str, str] = {}

    def unless_it_cannot(name: str, make: Callable[[], _T]) -> _T | None:
        try:
            return make()
        except (OSError, LinrankError) as error:
            missing[name] = f"This could not be made. {error}"
            return None

    model = None
    # First, since it is refused where the baseline was not run on every fold: there is no page then.
    if comparison.recommended_linear is not None:
        model = unless_it_cannot("model", comparison.recommended_model)
    tests = unless_it_cannot("documents", lambda: _test_parts(results))
    curve = unless_it_cannot("feature_curve", lambda: compared_curve_content(comparison, compared_curve(comparison)))
    weights = None
    if comparison.recommended_linear is None:
        missing["weights"] = "None of these rankers is a weighted sum of features."
    else:
        weights = unless_it_cannot("weights", lambda: compared_weights(comparison, whole_data(results.plan.folds)))
    queries = _queries(results, tests)
    if queries is None:
        missing["queries"] = "One ranker was compared: there is none to hold it against."
    training = _training(results)
    if training is None:
        missing["training"] = "None of these rankers tells its objective step by step."
    return ReportContent(
        title=f"Ranking {results.plan.title}" if results.plan.title else "Comparison of rankers",
        subtitle=_subtitle(results),
        facts=_facts(results),
        leaderboard=_leaderboard(comparison, model),
        feature_curve=curve,
        weights=weights,
        queries=queries,
        training=training,
        notes=("Documents are left out. " + missing["documents"],) if tests is None else (),
        missing=missing,
    )


def _test_parts(results: Results) -> list[RankingDataset]:
    return [parts_as_compared(results, fold)["test"] for fold in results.plan.folds]


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
        ("scaling", results.scaling()),
        ("seed", str(plan.protocol.seed)),
        ("data", first.fingerprints["train"][:23] + "…"),
        ("linrank", results.versions["linrank"]),
    )


def _leaderboard(comparison: Comparison, model: LinearModel | None) -> Leaderboard:
    results = comparison.results
    plan, select = results.plan, results.plan.protocol.select
    recommended, linear = comparison.recommended, comparison.recommended_linear
    standings = results.standings()
    rows = tuple(
        LeaderboardRow(
            standing.method,
            standing.means,
            plan.contender(standing.method).what,
            _settings(results.of(standing.method)),
            {m: d for m, d in standing.deviations.items() if d == d},  # noqa: PLR0124 - NaN with a single fold
            standing.interval,
            None if standing.method == plan.baseline else standing.difference_of[select],
            None if standing.method == plan.baseline else standing.difference_interval,
            standing.p_of_measures.get(select),
            standing.seconds,
            standing.n_features,
            standing.n_features_of,
            standing.method == recommended,
            uses=_only_feature(results.of(standing.method)),
            described=described(linear, model) if standing.method == linear else "",
            model_features=None if model is None or standing.method != linear else int(np.count_nonzero(model.used)),
            best_linear=standing.method == linear != recommended,
            remarks=standing.remarks,
        )
        for standing in standings
    )
    rule = "It has the fewest features of all rankers within one standard error of that."
    return Leaderboard(plan.protocol.evaluated(), select, rows, plan.baseline, rule)


def _only_feature(results: Sequence[JobResult]) -> str:
    """Which feature a ranker of one feature ranks by, fold by fold where they differ."""
    if any(result.n_features != 1 or not result.strongest for result in results):
        return ""
    counts = Counter(result.strongest[0] for result in results)
    if len(counts) == 1:
        return f"feature {results[0].strongest[0]}"
    return "feature " + ", ".join(f"{name} on {count}" for name, count in counts.most_common()) + " folds"


def _settings(results: Sequence[JobResult]) -> str:
    """What was chosen, setting by setting, over the folds."""
    folds = [{**result.chosen, **result.own_choices} for result in results]
    return "; ".join(
        f"{name} = {', '.join(dict.fromkeys(_shown(chosen.get(name)) for chosen in folds))}" for name in folds[0]
    )


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _pair(results: Results) -> tuple[str, str]:
    """What is shown against what: the recommended ranker, and the baseline or the best of the others."""
    ours, baseline = results.recommended(), results.plan.baseline
    if ours != baseline:
        return ours, baseline
    return ours, next((standing.method for standing in results.standings() if standing.method != ours), ours)


def _queries(results: Results, documents: Sequence[RankingDataset] | None) -> QueryDifferences | None:
    """Every test query under both rankers; its documents with the features that either of them weighs."""
    ours, other = _pair(results)
    if ours == other:
        return None
    select = results.plan.protocol.select
    first, second = results.of(ours), results.of(other)
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
        select, ours, other, tuple(rows), names, _by_fold(first, columns), _by_fold(second, columns)
    )


def _weighed(
    first: Sequence[JobResult], second: Sequence[JobResult], documents: Sequence[RankingDataset] | None
) -> tuple[tuple[str, ...], Any]:
    """The features that have a weight in any fold of either method; none where there are too many to show."""
    linear = [result.weights for result in (*first, *second) if result.weights is not None]
    if documents is None or not linear:
        return (), np.zeros(0, dtype=np.int64)
    columns = np.flatnonzero(np.any(np.array(linear) != 0, axis=0))
    if len(columns) > _MOST_COLUMNS:
        columns = columns[:0]
    return tuple(documents[0].names[column] for column in columns), columns


def _by_fold(results: Sequence[JobResult], columns: Any) -> tuple[tuple[float, ...], ...] | None:
    # Weights of features that it transformed itself say nothing of those that are shown.
    if any(result.weights is None or result.own_features for result in results) or not len(columns):
        return None
    return tuple(tuple(np.asarray(result.weights)[columns].tolist()) for result in results)


def _documents(
    results: Results, a: JobResult, b: JobResult, data: RankingDataset, columns: Any
) -> list[QueryDocuments]:
    """A fold's test queries with their documents, features as the methods saw them."""
    fold = next(fold for fold in results.plan.folds if fold.name == a.fold)
    scaling = results.plan.protocol.choice(fold.train.load())
    features = scaled(data, scaling).features
    ours, theirs = (results.scores(result.method, a.fold) for result in (a, b))
    for name, scores in ((a.method, ours), (b.method, theirs)):
        if len(scores) != data.n_documents:
            raise LinrankError(
                f"{a.fold}: {len(scores)} scores of {name} for {data.n_documents} documents. Run the comparison again."
            )
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
