"""The leaderboard: each method's means, its test against the baseline, and the method to use."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from linrank.errors import LinrankError
from linrank.experiments.remarks import MARK, remarks_of
from linrank.measures import bootstrap_interval, holm, randomisation_test, within_one_standard_error

if TYPE_CHECKING:
    from linrank.experiments.comparison import JobResult
    from linrank.experiments.results import Results


@dataclass(frozen=True)
class Standing:
    """One method's line of the leaderboard; values are means over folds, tests are over all test queries."""

    method: str
    means: Mapping[str, float]
    deviations: Mapping[str, float]
    interval: tuple[float, float]
    """Bootstrap over queries, of the selecting measure."""
    difference_of: Mapping[str, float]
    """From the baseline, of each measure: the mean over all test queries."""
    difference_interval: tuple[float, float]
    p_of_measures: Mapping[str, float]
    """Of each measure's difference: Fisher's randomisation test, with Holm's correction within the measure. None of the
    baseline's."""
    seconds: float
    n_features: float
    n_features_of: int
    is_linear: bool
    remarks: tuple[str, ...] = ()
    """What must be known of its trainings and its choices: one sentence each."""

    @property
    def marked(self) -> str:
        """The method, with a mark where there is something to know of it."""
        return f"{self.method} {MARK}" if self.remarks else self.method


def standings(results: Results, baseline: str, measures: Sequence[str]) -> list[Standing]:
    """The leaderboard, the best by the selecting measure first."""
    methods = results.complete()
    if baseline not in methods:
        raise LinrankError(
            f"{baseline!r} has not been run on every fold; there are {', '.join(methods) or 'none'}. "
            "Choose another baseline, or let the comparison finish."
        )
    select = results.plan.protocol.select
    tests = {measure: _p_values(results, baseline, measure) for measure in measures}
    made = []
    for method in methods:
        of_method = results.of(method)
        ours, theirs = results.per_query(method, select), results.per_query(baseline, select)
        made.append(
            Standing(
                method,
                {measure: float(np.mean(_fold_means(of_method, measure))) for measure in (*measures, select)},
                {measure: _deviation(of_method, measure) for measure in measures},
                bootstrap_interval(ours),
                {measure: _difference(results, method, baseline, measure) for measure in (*measures, select)},
                bootstrap_interval(ours - theirs),
                {} if method == baseline else {measure: tests[measure][method] for measure in measures},
                float(np.mean([result.seconds for result in of_method])),
                float(np.mean([result.n_features for result in of_method])),
                of_method[0].n_features_of,
                all(result.weights is not None for result in of_method),
                remarks_of(of_method),
            )
        )
    return sorted(made, key=lambda standing: -standing.means[select])


def sparsest_near_best(results: Results, among: Iterable[Standing]) -> Standing | None:
    """The method with the fewest features among those within one standard error of the best, which comes first."""
    select = results.plan.protocol.select
    listed = list(among)
    if not listed:
        return None
    best = results.per_query(listed[0].method, select)
    near = [
        standing
        for standing in listed
        # Nothing is ranked by a model without features.
        if standing is listed[0]
        or (standing.n_features > 0 and within_one_standard_error(results.per_query(standing.method, select), best))
    ]
    return min(near, key=lambda standing: (standing.n_features, -standing.means[select]))


def _p_values(results: Results, baseline: str, measure: str) -> dict[str, float]:
    rivals = [method for method in results.complete() if method != baseline]
    if not rivals:
        return {}
    theirs = results.per_query(baseline, measure)
    tests = [randomisation_test(results.per_query(method, measure), theirs).p_value for method in rivals]
    return dict(zip(rivals, map(float, holm(tests)), strict=True))


def _difference(results: Results, method: str, baseline: str, measure: str) -> float:
    return float(np.nanmean(results.per_query(method, measure) - results.per_query(baseline, measure)))


def _deviation(results: Sequence[JobResult], measure: str) -> float:
    return float(np.std(_fold_means(results, measure), ddof=1)) if len(results) > 1 else math.nan


def _fold_means(results: Sequence[JobResult], measure: str) -> list[float]:
    """A fold's mean, NaN where the measure skips every query of it."""
    return [math.nan if result.means[measure] is None else result.means[measure] for result in results]
