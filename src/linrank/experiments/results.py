"""A folder of results: one file a method and fold, written as each is done."""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from linrank._version import __version__
from linrank.arrays import Vector
from linrank.errors import DataFormatError, LinrankError
from linrank.experiments.checked import Checked, check_file_name
from linrank.experiments.comparison import Job, JobResult
from linrank.experiments.contenders import Contender
from linrank.experiments.folds import Fold
from linrank.experiments.protocol import Protocol
from linrank.experiments.running import Watch, check_for_cluster, run_jobs
from linrank.experiments.standings import Standing, sparsest_near_best, standings
from linrank.files import replacing

FORMAT = "linrank-comparison"
SCHEMA_VERSION = 3
_PLAN = "comparison.json"
_SCORES = ".scores.npy"
_NPY_HEADER = re.compile(
    rb"\x93NUMPY\x01\0..\{'descr': '<f8', 'fortran_order': False, 'shape': \(([0-9]{1,15}),\), \} *\n", re.DOTALL
)


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

    def contender(self, name: str) -> Contender:
        return next(contender for contender in self.contenders if contender.name == name)

    def check(self) -> None:
        """Refuse what cannot work, before any work."""
        names = [contender.name for contender in self.contenders]
        if len(set(names)) < len(names):
            raise LinrankError(f"a method is named twice: {', '.join(names)}.")
        if self.baseline not in names:
            raise LinrankError(f"the baseline {self.baseline!r} is not among the methods: {', '.join(names)}.")
        for fold in self.folds:
            check_file_name(fold.name, "a fold")
        for contender in self.contenders:
            contender.check()

    def record(self) -> dict[str, Any]:
        """The plan as JSON has it, with the versions of what it is run by. No field of it names code."""
        return {
            "format": FORMAT,
            "schema_version": SCHEMA_VERSION,
            "title": self.title,
            "baseline": self.baseline,
            "protocol": self.protocol.record(),
            "contenders": [{**contender.record(), "what": contender.what} for contender in self.contenders],
            "folds": [
                {"name": fold.name, **{name: part.record() for name, part in fold.parts().items()}}
                for fold in self.folds
            ],
            "versions": versions(),
        }

    @classmethod
    def from_record(cls, record: Checked, own: Mapping[str, Any]) -> Plan:
        """The plan of a results folder; `own` are the estimators that it can only name."""
        folds = tuple(Fold.from_record(fold) for fold in record.field("folds").each())
        contenders = tuple(Contender.from_record(one, own) for one in record.field("contenders").each())
        protocol = Protocol.from_record(record.field("protocol"))
        plan = cls(folds, contenders, protocol, record.field("baseline").text(), record.field("title").text())
        for kind, names in (("folds", [f.name for f in folds]), ("contenders", [c.name for c in contenders])):
            if not names or len(set(names)) < len(names):
                record.field(kind).refuse("are none, or one is named twice")
        if plan.baseline not in [contender.name for contender in contenders]:
            record.field("baseline").refuse(f"is {plan.baseline!r}, which is not among the contenders")
        return plan


class Results:
    """The results of a plan, and the folder they are kept in; without one they are kept in memory alone.

    A result is taken over if it is of the very same job: method, settings, data and protocol. With `as_found`, as it
    is for someone who only reads them, every one of the plan's is, wherever the data may be now.
    """

    def __init__(self, folder: str | os.PathLike[str] | None, plan: Plan, *, as_found: bool = False) -> None:
        self.folder = None if folder is None else Path(folder)
        self.plan = plan
        self.versions = versions()
        """What the results were made by."""
        self._standings: dict[tuple[str, tuple[str, ...]], list[Standing]] = {}
        stored = {job.name: self._stored(job, as_found=as_found) for job in plan.jobs()}
        self._done = {name: result for name, result in stored.items() if result is not None}
        self._check_queries()

    @classmethod
    def open(cls, folder: str | os.PathLike[str], own: Mapping[str, Any] | None = None) -> Results:
        """Read the results of a folder that `linrank compare` wrote: nothing in it is ever run, and all is checked.

        `own` are the estimators that were compared as objects, by name: they are needed to train again, not to read.
        """
        place = Path(folder) / _PLAN
        try:
            record = Checked.read(place)
        except OSError as error:
            raise DataFormatError(
                str(place), None, f"cannot be read: {error.strerror}. Name a results folder."
            ) from None
        if not isinstance(record.value, dict) or record.value.get("format") != FORMAT:
            raise DataFormatError(str(place), None, "was not written by linrank compare. Name a results folder.")
        if record.value.get("schema_version") != SCHEMA_VERSION:
            raise DataFormatError(
                str(place),
                None,
                f"has schema version {record.value.get('schema_version')!r}; this linrank reads {SCHEMA_VERSION}. "
                "Run the comparison again.",
            )
        opened = cls(folder, Plan.from_record(record, own or {}), as_found=True)
        record.field("versions").field("linrank")
        opened.versions = {name: version.text() for name, version in record.field("versions").items()}
        return opened

    def against(self, baseline: str) -> Results:
        """The same results, tested against another method."""
        other = Results.__new__(Results)
        other.__dict__ |= self.__dict__ | {"plan": replace(self.plan, baseline=baseline)}
        return other

    def run(self, n_processes: int, watch: Watch, executor: Any = None) -> dict[str, str]:
        """Do what is not done yet, keeping each result as it comes; return what failed, and why."""
        if executor is not None:
            check_for_cluster(self.plan.folds)
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.write(_PLAN, json.dumps(self.plan.record(), indent=1, ensure_ascii=False) + "\n")
        failures: dict[str, str] = {}

        def keep(job: Job, outcome: JobResult | Exception | None) -> None:
            if isinstance(outcome, Exception):
                failures[job.name] = f"{type(outcome).__name__}: {outcome}"
            elif outcome is not None:
                self._store(job, outcome)
                self._done[job.name] = outcome
                self._standings.clear()
            watch(job, outcome)

        run_jobs([job for job in self.plan.jobs() if job.name not in self._done], n_processes, keep, executor)
        return failures

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

    def key(self, method: str) -> str:
        """A hash of everything a method's results depend on."""
        return hashlib.sha256(" ".join(result.key for result in self.of(method)).encode()).hexdigest()

    def per_query(self, method: str, measure: str) -> Vector:
        """The values of all test queries, fold after fold; NaN where a query is skipped."""
        values = [value for result in self.of(method) for value in result.per_query[measure]]
        return np.array([math.nan if value is None else value for value in values])

    def standings(self, measures: Sequence[str] | None = None) -> list[Standing]:
        """The leaderboard, the best first, each method tested against the baseline; worked out once."""
        asked = tuple(measures or self.plan.protocol.evaluated())
        key = (self.plan.baseline, asked)
        if key not in self._standings:
            self._standings[key] = standings(self, self.plan.baseline, asked)
        return self._standings[key]

    def recommended(self) -> str:
        """The method with the fewest features among those within one standard error of the best."""
        found = sparsest_near_best(self, self.standings())
        if found is None:
            raise LinrankError("no method has been run on every fold. Let the comparison finish.")
        return found.method

    def recommended_linear(self) -> str | None:
        """The recommended method, or the one that the same rule finds among those that are linear."""
        recommended = self.recommended()
        linear = [standing for standing in self.standings() if standing.is_linear]
        if recommended in [standing.method for standing in linear]:
            return recommended
        found = sparsest_near_best(self, linear)
        return None if found is None else found.method

    def scaling(self) -> str:
        """How features were scaled: what the protocol says, and what that came to where it leaves it to the data."""
        said = self.plan.protocol.scaling
        if self.plan.protocol.transform != "none":
            said = f"{said}, transform {self.plan.protocol.transform}"
        kinds = list(dict.fromkeys(result.scaling for result in self.of(self.plan.baseline)))
        return said if kinds == [said] else f"{said}: {' and '.join(kinds)}"

    def scores(self, method: str, fold: str) -> Vector:
        """The scores of a fold's test documents, in the order of its rows."""
        result = self._done.get(f"{fold}/{method}")
        if result is None:
            raise LinrankError(f"{method!r} has not been run on {fold!r}. Let the comparison finish.")
        if len(result.scores) or self.folder is None:
            return np.asarray(result.scores, dtype=np.float64)
        place = self.place(fold, f"{method}{_SCORES}")
        try:
            scores = _scores_of(place.read_bytes())
        except (OSError, ValueError) as error:
            raise DataFormatError(str(place), None, f"holds no scores: {error}. Run the comparison again.") from None
        if not np.isfinite(scores).all():
            raise DataFormatError(str(place), None, "must hold one finite number a document. Run the comparison again.")
        return scores

    def place(self, *names: str) -> Path:
        """A file of the folder, refused where a link in a folder from elsewhere leads out of it."""
        if self.folder is None:
            raise LinrankError("these results are kept in memory. Pass out=… to linrank.compare, or name a file.")
        place = self.folder.joinpath(*names)
        if not place.resolve().is_relative_to(self.folder.resolve()):
            raise LinrankError(f"{place}: leads out of the results folder, to {place.resolve()}. Remove the link.")
        return place

    def write(self, name: str, text: str) -> None:
        """Write a file of the folder."""
        with replacing(self.place(name)) as file:
            file.write(text)

    def _store(self, job: Job, result: JobResult) -> None:
        if self.folder is None:
            return
        self.place(job.fold.name).mkdir(exist_ok=True)
        with replacing(self.place(job.fold.name, f"{job.contender.name}{_SCORES}"), "wb") as file:
            np.save(file, np.asarray(result.scores, dtype="<f8"))
        with replacing(self.place(job.fold.name, f"{job.contender.name}.json")) as file:
            file.write(json.dumps(result.as_record(), indent=1, ensure_ascii=False) + "\n")

    def _stored(self, job: Job, *, as_found: bool) -> JobResult | None:
        """The result of a job that was done before; half a file is as good as none where it can be done again."""
        if self.folder is None:
            return None
        try:
            result = JobResult.from_record(Checked.read(self.place(job.fold.name, f"{job.contender.name}.json")), job)
        except OSError:
            return None
        except DataFormatError:
            if as_found:
                raise
            return None
        return result if as_found or result.key == job.key() else None

    def _check_queries(self) -> None:
        """Methods are compared query by query: refuse results of one fold that are not of the same queries."""
        for fold in self.plan.folds:
            of_fold = [result for result in self._done.values() if result.fold == fold.name]
            for result in of_fold[1:]:
                if _measured(result) != _measured(of_fold[0]):
                    raise DataFormatError(
                        str(self.place(fold.name, f"{result.method}.json")),
                        None,
                        f"is of other queries or features than {fold.name}/{of_fold[0].method}.json. "
                        "Run the comparison again.",
                    )


def _scores_of(content: bytes) -> Vector:
    """The numbers of a .npy file as we write it; NumPy reads its header as Python's words, and believes its sizes."""
    found = _NPY_HEADER.match(content)
    numbers = content[found.end() :] if found else b""
    if found is None or len(numbers) != 8 * int(found[1]):
        raise ValueError("it is not one float64 a document, as NumPy writes them")
    return np.frombuffer(numbers, dtype="<f8").astype(np.float64)


def _measured(result: JobResult) -> tuple[Any, ...]:
    """What the methods of a fold have in common: the queries, which of them a measure skips, and the features."""
    skipped = {measure: [value is None for value in values] for measure, values in result.per_query.items()}
    return list(result.qids), skipped, result.n_features_of


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
