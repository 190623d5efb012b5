"""A folder of results: one file a method and fold, written as each is done; and what they say taken together."""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from linrank._version import __version__
from linrank.arrays import Vector
from linrank.errors import DataFormatError, LinrankError
from linrank.experiments.comparison import Contender, Job, JobResult, Protocol, run_jobs
from linrank.experiments.folds import Fold, Part
from linrank.files import replacing
from linrank.measures import bootstrap_interval, holm, paired_t_test, randomisation_test

FORMAT = "linrank-comparison"
_PLAN = "comparison.json"
_PARTS = ("train", "vali", "test")


@dataclass(frozen=True)
class Plan:
    """What is compared, on what, and how."""

    folds: tuple[Fold, ...]
    contenders: tuple[Contender, ...]
    protocol: Protocol
    baseline: str
    title: str = ""

    def jobs(self) -> list[Job]:
        """Every contender on every fold; a fold's together, so that its data is read once."""
        return [Job(fold, contender, self.protocol) for fold in self.folds for contender in self.contenders]

    def check(self) -> None:
        """Refuse what cannot work, before any work."""
        names = [contender.name for contender in self.contenders]
        if len(set(names)) < len(names):
            raise LinrankError(f"a method is named twice: {', '.join(names)}.")
        if self.baseline not in names:
            raise LinrankError(f"the baseline {self.baseline!r} is not among the methods: {', '.join(names)}.")
        for contender in self.contenders:
            contender.check()

    def record(self) -> dict[str, Any]:
        """The plan as JSON has it, with the versions of what it is run by."""
        return {
            "format": FORMAT,
            "title": self.title,
            "baseline": self.baseline,
            "protocol": asdict(self.protocol),
            "contenders": [asdict(contender) for contender in self.contenders],
            "folds": [
                {"name": fold.name, **{part: getattr(fold, part).record() for part in _PARTS}} for fold in self.folds
            ],
            "versions": versions(),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Plan:
        """The plan of a results folder."""
        protocol: dict[str, Any] = {
            name: tuple(v) if isinstance(v, list) else v for name, v in record["protocol"].items()
        }
        folds = [
            Fold(fold["name"], **{part: Part.from_record(fold[part]) for part in _PARTS}) for fold in record["folds"]
        ]
        contenders = tuple(Contender(**contender) for contender in record["contenders"])
        return cls(tuple(folds), contenders, Protocol(**protocol), record["baseline"], record["title"])


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
    p_t: float | None
    p_randomisation: float | None
    p_of_measures: Mapping[str, float]
    """Student's t-test of each measure, corrected within the measure."""
    seconds: float
    n_features: float
    n_features_of: int


class Results:
    """The folder, and the results in it.

    A result is taken over if it is of the very same job: method, settings, data and protocol. With `as_found`, as it
    is for someone who only reads them, every one of the plan's is, wherever the data may be now.
    """

    def __init__(self, folder: str | os.PathLike[str], plan: Plan, *, as_found: bool = False) -> None:
        self.folder = Path(folder)
        self.plan = plan
        stored = {job.name: self._stored(job, as_found=as_found) for job in plan.jobs()}
        self._done = {name: result for name, result in stored.items() if result is not None}

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Results:
        """Read the results of a folder that `linrank compare` wrote."""
        place = Path(folder) / _PLAN
        try:
            record = json.loads(place.read_text(encoding="utf-8"))
        except OSError as error:
            raise DataFormatError(
                str(place), None, f"cannot be read: {error.strerror}. Name a results folder."
            ) from None
        except ValueError as error:
            raise DataFormatError(str(place), None, f"is not JSON: {error}. Run the comparison again.") from None
        if not isinstance(record, dict) or record.get("format") != FORMAT:
            raise DataFormatError(str(place), None, "was not written by linrank compare. Name a results folder.")
        return cls(folder, Plan.from_record(record), as_found=True)

    def run(self, n_processes: int, watch: Callable[[Job, JobResult | Exception | None], object]) -> dict[str, str]:
        """Do what is not done yet, keeping each result as it comes; return what failed, and why."""
        self.folder.mkdir(parents=True, exist_ok=True)
        _write_json(self.folder / _PLAN, self.plan.record())
        failures: dict[str, str] = {}

        def keep(job: Job, outcome: JobResult | Exception | None) -> None:
            if isinstance(outcome, Exception):
                failures[job.name] = f"{type(outcome).__name__}: {outcome}"
            elif outcome is not None:
                self._store(job, outcome)
                self._done[job.name] = outcome
            watch(job, outcome)

        run_jobs([job for job in self.plan.jobs() if job.name not in self._done], n_processes, keep)
        return failures

    def recorded_versions(self) -> dict[str, str]:
        """The versions the results were made by."""
        record = json.loads((self.folder / _PLAN).read_text(encoding="utf-8"))
        found: dict[str, str] = record["versions"]
        return found

    @property
    def n_done(self) -> int:
        return len(self._done)

    def of(self, method: str) -> list[JobResult]:
        """A method's results, fold by fold."""
        names = [f"{fold.name}/{method}" for fold in self.plan.folds]
        return [self._done[name] for name in names if name in self._done]

    def complete(self) -> list[str]:
        """The methods that have been run on every fold, in the order of the plan."""
        names = [contender.name for contender in self.plan.contenders]
        return [name for name in names if len(self.of(name)) == len(self.plan.folds)]

    def per_query(self, method: str, measure: str) -> Vector:
        """The values of all test queries, fold after fold; NaN where a query is skipped."""
        values = [value for result in self.of(method) for value in result.per_query[measure]]
        return np.array([math.nan if value is None else value for value in values])

    def standings(self, baseline: str | None = None) -> list[Standing]:
        """The leaderboard, the best first, each method tested against the baseline with Holm's correction."""
        against = baseline or self.plan.baseline
        methods = self.complete()
        if against not in methods:
            raise LinrankError(
                f"{against!r} has not been run on every fold; there are {', '.join(methods) or 'none'}. "
                "Choose another baseline, or let the comparison finish."
            )
        measures = self.plan.protocol.evaluated()
        rivals = [method for method in methods if method != against]
        tests = {measure: self._corrected(rivals, against, measure) for measure in measures}
        select = self.plan.protocol.select
        made = []
        for method in methods:
            results = self.of(method)
            ours, theirs = self.per_query(method, select), self.per_query(against, select)
            p_values = {measure: tests[measure][0][method] for measure in measures} if method != against else {}
            made.append(
                Standing(
                    method,
                    {measure: _mean(results, measure) for measure in measures},
                    {measure: _deviation(results, measure) for measure in measures},
                    bootstrap_interval(ours),
                    {measure: self._difference(method, against, measure) for measure in measures},
                    bootstrap_interval(ours - theirs),
                    p_values.get(select),
                    tests[select][1][method] if method != against else None,
                    p_values,
                    float(np.mean([result.seconds for result in results])),
                    float(np.mean([result.n_features for result in results])),
                    results[0].n_features_of,
                )
            )
        return sorted(made, key=lambda standing: -standing.means[select])

    def recommended(self) -> str:
        """The method with the fewest features among those within one standard error of the best.

        The standard error is that of the difference over the same queries: methods that see the same queries rise and
        fall together.
        """
        select = self.plan.protocol.select
        standings = self.standings()
        best = self.per_query(standings[0].method, select)

        def is_near(standing: Standing) -> bool:
            behind = best - self.per_query(standing.method, select)
            behind = behind[~np.isnan(behind)]
            # Nothing is ranked by a model without features.
            return standing.n_features > 0 and bool(
                behind.mean() <= behind.std(ddof=1) / math.sqrt(max(1, len(behind)))
            )

        near = [standing for standing in standings if standing is standings[0] or is_near(standing)]
        return min(near, key=lambda standing: (standing.n_features, -standing.means[select])).method

    def notes(self) -> list[str]:
        """What a reader should know: warnings during training, method by method."""
        said = []
        for method in self.complete():
            kinds = [
                {"a fit did not converge" if "converge" in warning else warning for warning in result.warnings}
                for result in self.of(method)
            ]
            for kind in sorted(set().union(*kinds)):
                count = sum(kind in of_fold for of_fold in kinds)
                said.append(f"{method}: {kind} ({count} of {len(kinds)} folds)")
        return said

    def _difference(self, method: str, against: str, measure: str) -> float:
        return float(np.nanmean(self.per_query(method, measure) - self.per_query(against, measure)))

    def _corrected(
        self, rivals: Sequence[str], against: str, measure: str
    ) -> tuple[dict[str, float], dict[str, float]]:
        """Holm-corrected p-values of the t-test and of the randomisation test, a method each."""
        theirs = self.per_query(against, measure)
        pairs = [(self.per_query(method, measure), theirs) for method in rivals]
        by_t: Any = holm([paired_t_test(*pair).p_value for pair in pairs]) if pairs else []
        by_chance: Any = [math.nan] * len(rivals)
        if pairs and measure == self.plan.protocol.select:
            by_chance = holm([randomisation_test(*pair).p_value for pair in pairs])
        return dict(zip(rivals, map(float, by_t), strict=True)), dict(zip(rivals, map(float, by_chance), strict=True))

    def _place(self, job: Job) -> Path:
        return self.folder / job.fold.name / f"{job.contender.name}.json"

    def _store(self, job: Job, result: JobResult) -> None:
        place = self._place(job)
        place.parent.mkdir(exist_ok=True)
        with replacing(place.with_suffix(".scores.npy"), "wb") as file:
            np.save(file, np.asarray(result.scores))
        _write_json(place, asdict(replace(result, scores=())))

    def _stored(self, job: Job, *, as_found: bool) -> JobResult | None:
        """The result of a job that was done before, if its file is whole."""
        try:
            result = JobResult(**json.loads(self._place(job).read_text(encoding="utf-8")))
            return result if as_found or result.key == job.key() else None
        except (OSError, ValueError, TypeError):
            return None

    def scores(self, method: str, fold: str) -> Vector:
        """The scores of a fold's test documents, in the order of its rows."""
        scores: Vector = np.load(self.folder / fold / f"{method}.scores.npy")
        return scores


def differences(first: JobResult, second: JobResult) -> list[str]:
    """What two runs of the same job disagree about, time aside."""
    said = []
    for name in ("chosen", "tried", "n_features", "per_query", "weights", "fingerprints"):
        ours, theirs = (json.loads(json.dumps(getattr(result, name))) for result in (first, second))
        if ours != theirs:
            said.append(name)
    return said


def versions() -> dict[str, str]:
    """The versions that decide the last bits."""
    found = {"linrank": __version__, "python": platform.python_version(), "machine": platform.machine()}
    for package in ("numpy", "scipy", "numba", "scikit-learn", "lightgbm", "xgboost"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def _mean(results: Sequence[JobResult], measure: str) -> float:
    return float(np.mean(_values(results, measure)))


def _deviation(results: Sequence[JobResult], measure: str) -> float:
    return float(np.std(_values(results, measure), ddof=1)) if len(results) > 1 else math.nan


def _values(results: Sequence[JobResult], measure: str) -> list[float]:
    """A fold's mean, NaN where the measure skips every query of it."""
    return [math.nan if result.means[measure] is None else result.means[measure] for result in results]


def _write_json(place: Path, record: Mapping[str, Any]) -> None:
    with replacing(place) as file:
        file.write(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
