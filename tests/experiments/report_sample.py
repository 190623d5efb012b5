"""A report as a real comparison would fill it: three rankers, a feature curve, weights, queries and training."""

from dataclasses import replace
from functools import cache

import numpy as np

from linrank import RankingDataset, RankSVM, __version__, feature_path, make_ranking
from linrank.dataset.features import scores_of
from linrank.experiments.report import (
    CurvePoint,
    FeatureCurve,
    Leaderboard,
    LeaderboardRow,
    QueryDifferences,
    QueryDocuments,
    QueryRow,
    ReportContent,
    Shape,
    Training,
    TrainingCurve,
    WeightRow,
    Weights,
)
from linrank.measures import bootstrap_interval, holm, parse_measure, randomisation_test

MEASURES = ("NDCG@10", "MAP", "P@5")
NAMES = (
    *(f"bm25({part})" for part in ("title", "body", "anchor", "url")),
    *(f"lm({part})" for part in ("title", "body", "anchor", "url")),
    *(f"tf-idf({part})" for part in ("title", "body", "anchor", "url")),
    *("pagerank", "inlinks", "outlinks", "clicks", "dwell time", "age in days", "url depth", "url length"),
    *("dense similarity", "title match", "phrase match", "query coverage", "spam score", "language match"),
)
# What one of a feature is worth in the units of training: engines do not scale.
UNITS = np.geomspace(0.01, 100.0, len(NAMES))
COSTS = np.array([2.0] * 12 + [0.5] * 8 + [9.0] + [1.0] * 5)
# Text that would end a script, a tag or an attribute, or has no UTF-8.
HOSTILE = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(1)> \"quoted\" & 'so' \u2028 \ud800 文"


@cache
def sample() -> ReportContent:
    data, _ = make_ranking(160, (12, 30), len(NAMES), n_informative=9, noise=0.6, random_state=5)
    train, scaled_test = replace(data, feature_names=NAMES).split(0.5, 0.5, random_state=1)
    test = replace(scaled_test, features=scaled_test.features * UNITS)
    arrays = {"X": train.features, "y": train.labels, "qid": train.qid}
    path = feature_path(
        **arrays,
        costs=COSTS,
        n_steps=30,
        smallest=1e-4,
        eval_set=(scaled_test.features, scaled_test.labels),
        eval_qid=scaled_test.qid,
    )
    chosen = path.select_features(max_features=12)
    dense = RankSVM(C=0.1).fit(**arrays).coef_
    single = np.zeros(len(NAMES))
    single[NAMES.index("tf-idf(body)")] = 1.0
    rankers = {
        "RankSVM": dense / UNITS,
        f"RankSVM, {chosen.n_features} features": chosen.weights / UNITS,
        "tf-idf(body) alone": single,
    }
    return ReportContent(
        title="Ranking the help pages",
        subtitle="Three rankers on queries none of them was trained on",
        facts=(
            ("queries", f"{test.n_queries}"),
            ("documents", f"{test.n_documents:,}"),
            ("features", f"{test.n_features}"),
            ("trained on", f"{train.n_queries} queries"),
            ("data", data.fingerprint()[:23]),
            ("linrank", __version__),
        ),
        leaderboard=_leaderboard(rankers, test),
        feature_curve=_curve(path, chosen, test, dense / UNITS),
        weights=_weights(train, dense),
        queries=_queries(test, rankers),
        training=_training(arrays),
        notes=("Labels are made up: the data comes from make_ranking.", "Intervals are of 95 %, by bootstrap."),
    )


def _values(measure: str, weights: np.ndarray, data: RankingDataset) -> np.ndarray:
    return parse_measure(measure).per_query(scores_of(data.features, weights), data)


def _leaderboard(rankers: dict[str, np.ndarray], test: RankingDataset) -> Leaderboard:
    main = {name: _values("NDCG@10", weights, test) for name, weights in rankers.items()}
    baseline = "RankSVM"
    others = [name for name in rankers if name != baseline]
    by_swaps = [randomisation_test(main[name], main[baseline]).p_value for name in others]
    by_randomisation = dict(zip(others, holm(by_swaps), strict=True))
    what = (
        "w.w / 2 + C sum max(0, 1 - w.(x_i - x_j))²",
        "the same, on features an L1 penalty leaves",
        "one signal",
    )
    rows = []
    for (name, weights), kind in zip(rankers.items(), what, strict=True):
        rest = {}
        if name != baseline:
            differences = main[name] - main[baseline]
            rest = {
                "difference": float(differences.mean()),
                "difference_interval": bootstrap_interval(differences),
                "p_value": float(by_randomisation[name]),
            }
        rows.append(
            LeaderboardRow(
                name,
                {measure: float(np.nanmean(_values(measure, weights, test))) for measure in MEASURES},
                what=kind,
                settings="C=0.1, loss=squared_hinge, tol=1e-6",
                deviations=dict.fromkeys(MEASURES, 0.0123),
                interval=bootstrap_interval(main[name]),
                seconds=0.0421 if name == baseline else 1.73,
                n_features=int(np.count_nonzero(weights)),
                n_features_of=len(NAMES),
                recommended=name not in (baseline, "tf-idf(body) alone"),
                **rest,
            )
        )
    return Leaderboard(MEASURES, "NDCG@10", tuple(rows), baseline)


def _curve(path, chosen, test: RankingDataset, dense: np.ndarray) -> FeatureCurve:
    steps = path.by_size()
    points = []
    for step in steps:
        low, high = step.interval()
        weights = {name: float(value) for name, value in zip(NAMES, step.weights / UNITS, strict=True) if value}
        measures = {name: float(np.nanmean(_values(name, step.weights / UNITS, test))) for name in MEASURES}
        points.append(CurvePoint(step.n_features, step.mean, weights, step.cost, low, high, measures))
    cheapest = path.select_features(one_se=True)
    return FeatureCurve(
        "NDCG@10",
        tuple(points),
        chosen=next(place for place, step in enumerate(steps) if step is chosen),
        one_standard_error=next(place for place, step in enumerate(steps) if step is cheapest),
        dense=float(np.nanmean(_values("NDCG@10", dense, test))),
        cost_unit="ms",
        spreads=dict(zip(NAMES, test.features.std(axis=0).tolist(), strict=True)),
    )


def _weights(train: RankingDataset, scaled: np.ndarray) -> Weights:
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(30):
        again = np.bincount(rng.integers(0, train.n_queries, train.n_queries), minlength=train.n_queries)
        drawn = train.subset(again > 0)
        ranker = RankSVM(C=0.1).fit(drawn.features, drawn.labels, qid=drawn.qid, query_weight=again[again > 0])
        draws.append(ranker.coef_)
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    rows = zip(NAMES, (scaled / UNITS).tolist(), scaled.tolist(), low.tolist(), high.tolist(), strict=True)
    return Weights(
        "RankSVM",
        tuple(WeightRow(*row) for row in rows),
        "the change of the score for one standard deviation of the feature",
    )


def _queries(test: RankingDataset, rankers: dict[str, np.ndarray]) -> QueryDifferences:
    baseline, ours = list(rankers)[:2]
    kept = np.flatnonzero(rankers[baseline])
    scores = {name: scores_of(test.features, rankers[name]) for name in (ours, baseline)}
    values = {name: parse_measure("NDCG@10").per_query(scores[name], test) for name in (ours, baseline)}
    rows = []
    for number, query in enumerate(test.queries.ids.tolist()):
        if np.isnan(values[ours][number]):
            continue
        members = test.queries.rows_of(np.array([number]))
        documents = QueryDocuments(
            labels=test.labels[members].tolist(),
            scores_ours=scores[ours][members].tolist(),
            scores_baseline=scores[baseline][members].tolist(),
            ids=[f"page-{query}-{place:02d}" for place in range(len(members))],
            features=test.features[np.ix_(members, kept)].tolist(),
        )
        rows.append(QueryRow(str(query), float(values[ours][number]), float(values[baseline][number]), documents))
    return QueryDifferences(
        "NDCG@10",
        ours,
        baseline,
        tuple(rows),
        tuple(NAMES[place] for place in kept),
        [rankers[ours][kept].tolist()],
        [rankers[baseline][kept].tolist()],
    )


def _training(arrays) -> Training:
    curves = []
    for name, settings in {"RankSVM": {"C": 0.1}, "RankSVM, hinge": {"C": 0.1, "loss": "hinge"}}.items():
        history = RankSVM(**settings).fit(**arrays).history_
        # Made up, so that the page is the same every time; the objective is as it was.
        seconds = [0.0004 * 2**step.number for step in history]
        curves.append(TrainingCurve(name, seconds, [step.value for step in history], f"{len(history)} iterations"))
    return Training(tuple(curves))


def hostile_content() -> ReportContent:
    """Hostile text wherever there is text."""
    documents = QueryDocuments([1, 0], [0.2, 0.1], [0.1, 0.2], [HOSTILE, "b"], [[1.0], [0.0]])
    rows = (QueryRow(HOSTILE, 0.5, 0.4, documents),)
    return ReportContent(
        HOSTILE,
        HOSTILE,
        ((HOSTILE, HOSTILE),),
        Leaderboard(
            (HOSTILE,),
            HOSTILE,
            (LeaderboardRow(HOSTILE, {HOSTILE: 0.5}, HOSTILE, HOSTILE, {HOSTILE: 0.1}, remarks=(HOSTILE,)),),
            HOSTILE,
        ),
        FeatureCurve(HOSTILE, (CurvePoint(1, 0.5, {HOSTILE: 1.0}, measures={HOSTILE: 0.5}),), cost_unit=HOSTILE),
        Weights(HOSTILE, (WeightRow(HOSTILE, 1.0, 1.0),), HOSTILE, shapes=(Shape(HOSTILE, (0.0, 1.0), (0.0, 2.0)),)),
        QueryDifferences(HOSTILE, HOSTILE, HOSTILE, rows, (HOSTILE,), [[1.0]], [[-1.0]]),
        Training((TrainingCurve(HOSTILE, [0.1], [1.0], HOSTILE),)),
        (HOSTILE,),
    )
