"""The protocol of a comparison: every method on every fold, settings chosen on the validation part alone."""

from __future__ import annotations

import hashlib
import inspect
import itertools
import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from multiprocessing import get_context
from typing import Any

import numpy as np

from linrank._version import __version__
from linrank.arrays import Vector
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import scaled, scaling_named
from linrank.errors import LinrankError
from linrank.experiments.folds import Fold
from linrank.measures import evaluate, parse_measure
from linrank.threads import number_of_threads

# Points of a training history that are kept: enough for a picture.
_HISTORY = 200


@dataclass(frozen=True)
class Contender:
    """A method, its fixed settings, and the settings to choose among on the validation part.

    `estimator` is where its class is, as `package.module:Class`: any that has fit(X, y, qid=…) and predict(X).
    """

    name: str
    estimator: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    what: str = ""
    """A line that says what it minimises, for readers."""

    def make(self, **chosen: Any) -> Any:
        """The estimator with the fixed settings and some chosen ones."""
        module, _, name = self.estimator.partition(":")
        return getattr(import_module(module), name)(**{**self.settings, **chosen})

    def candidates(self) -> Iterator[dict[str, Any]]:
        """Every combination of the grid, the last setting changing fastest."""
        for values in itertools.product(*self.grid.values()):
            yield dict(zip(self.grid, values, strict=True))

    def check(self) -> None:
        """Refuse settings the method does not have, before any work."""
        known = inspect.signature(type(self.make())).parameters
        for name in (*self.settings, *self.grid):
            if name not in known:
                raise LinrankError(f"{self.name} has no setting {name!r}; it has {', '.join(known)}.")


@dataclass(frozen=True)
class Protocol:
    """How contenders are chosen and measured.

    `fewest` chooses, instead of the best on the validation part, the one with the fewest features among those whose
    mean difference from the best is within one standard error of that difference.
    """

    measures: tuple[str, ...] = ("ndcg@1", "ndcg@3", "ndcg@5", "ndcg@10", "map")
    select: str = "ndcg@10"
    scaling: str = "none"
    fewest: bool = False
    seed: int = 0

    def evaluated(self) -> tuple[str, ...]:
        """All measures there are values of, the one that selects among them."""
        return self.measures if self.select in self.measures else (*self.measures, self.select)


@dataclass(frozen=True)
class Job:
    """One contender on one fold."""

    fold: Fold
    contender: Contender
    protocol: Protocol
    n_threads: int = 1

    @property
    def name(self) -> str:
        return f"{self.fold.name}/{self.contender.name}"

    def record(self) -> dict[str, Any]:
        """Everything the result depends on."""
        return {
            "linrank": __version__,
            "fold": self.fold.name,
            "parts": {part: getattr(self.fold, part).record() for part in ("train", "vali", "test")},
            "contender": _as_plain({**asdict(self.contender), "what": ""}),
            "protocol": _as_plain(asdict(self.protocol)),
        }

    def key(self) -> str:
        """A hash of the record: a job with the same key need not be done again."""
        text = json.dumps(self.record(), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class JobResult:
    """What a contender did on a fold; None stands for a query that a measure skips."""

    fold: str
    method: str
    key: str
    chosen: Mapping[str, Any]
    tried: Sequence[Mapping[str, Any]]
    """Settings, mean of the selecting measure on the validation part, and number of features of each candidate."""
    seconds: float
    """Of one fit with the chosen settings, from nothing."""
    seconds_in_all: float
    n_iter: int | None
    n_features: int
    n_features_of: int
    per_query: Mapping[str, Sequence[float | None]]
    means: Mapping[str, float]
    qids: Sequence[Any]
    weights: Sequence[float] | None
    """Of the features as the method saw them, which is scaled where the protocol scales; None if it is not linear."""
    history: Sequence[tuple[float, float]]
    fingerprints: Mapping[str, str]
    warnings: Sequence[str]
    job: Mapping[str, Any]
    scores: Sequence[float] = ()
    """Of the test part's documents, in the order of its rows."""


def run_job(job: Job) -> JobResult:
    """Choose on the validation part, train once more with what was chosen, then look at the test part."""
    started = time.perf_counter()
    train = job.fold.train.load()
    vali = job.fold.vali.load().with_columns(train.names, job.fold.vali.path)
    scaling = scaling_named(job.protocol.scaling, train)
    seen, watched = scaled(train, scaling), scaled(vali, scaling)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tried = _search(job, seen, watched)
        place = _choice(tried, fewest=job.protocol.fewest)
        before = time.perf_counter()
        ranker = _fitted(job, _maker(job)(**tried[place].settings), seen, watched)
        seconds = time.perf_counter() - before
    test = job.fold.test.load().with_columns(train.names, job.fold.test.path)
    scores = _predicted(ranker, scaled(test, scaling))
    evaluation = evaluate(scores, test, job.protocol.evaluated(), n_threads=job.n_threads)
    weights = getattr(ranker, "coef_", None)
    plain = evaluation.to_dict()
    return JobResult(
        job.fold.name,
        job.contender.name,
        job.key(),
        _as_plain(tried[place].settings),
        [{"settings": _as_plain(one.settings), "validation": one.mean, "n_features": one.n_features} for one in tried],
        seconds,
        time.perf_counter() - started,
        None if (n_iter := getattr(ranker, "n_iter_", None)) is None else int(n_iter),
        _number_of_features(ranker),
        train.n_features,
        plain["per_query"],
        plain["mean"],
        plain["queries"],
        None if weights is None else np.asarray(weights).tolist(),
        _thinned_history(ranker),
        {"train": train.fingerprint(), "vali": vali.fingerprint(), "test": test.fingerprint()},
        sorted({str(one.message) for one in caught}),
        job.record(),
        scores.tolist(),
    )


def run_jobs(
    jobs: Sequence[Job], n_processes: int, watch: Callable[[Job, JobResult | Exception | None], object]
) -> None:
    """Run jobs in so many processes; `watch` hears of each when it starts (None), and when it ends or fails."""
    n_threads = max(1, number_of_threads(None) // n_processes)
    waiting = [replace(job, n_threads=n_threads) for job in reversed(jobs)]
    if n_processes == 1:
        for job in reversed(waiting):
            watch(job, None)
            watch(job, _outcome(job))
        return
    running: dict[Future[JobResult | Exception], Job] = {}
    # Spawned: a forked child of a process with threads may hang.
    with ProcessPoolExecutor(n_processes, mp_context=get_context("spawn")) as pool:
        try:
            while waiting or running:
                while waiting and len(running) < n_processes:
                    job = waiting.pop()
                    watch(job, None)
                    running[pool.submit(_outcome, job)] = job
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    watch(running.pop(future), future.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _outcome(job: Job) -> JobResult | Exception:
    """A method that fails on a fold is told of at the end; the others go on."""
    try:
        return run_job(job)
    except Exception as error:  # noqa: BLE001
        return error


@dataclass(frozen=True)
class _Candidate:
    settings: dict[str, Any]
    per_query: Vector
    mean: float
    n_features: int


def _search(job: Job, train: RankingDataset, vali: RankingDataset) -> list[_Candidate]:
    """Fit every candidate, each from where the last ended if the method can, and measure it on the validation part.

    Settings that the method refuses on this data, such as a rate that diverges, are passed over with a warning.
    """
    measure = parse_measure(job.protocol.select)
    make = _maker(job)
    ranker = make()
    if "warm_start" in ranker.get_params():
        ranker.set_params(warm_start=True)
    tried = []
    refused: LinrankError | None = None
    for settings in job.contender.candidates():
        ranker.set_params(**settings)
        try:
            _fitted(job, ranker, train, vali)
        except LinrankError as error:
            refused = error
            warnings.warn(f"settings were passed over: {error}", UserWarning, stacklevel=2)
            continue
        evaluation = evaluate(_predicted(ranker, vali), vali, [measure], n_threads=job.n_threads)
        tried.append(
            _Candidate(settings, evaluation.per_query[measure], evaluation.mean[measure], _number_of_features(ranker))
        )
    if not tried and refused is not None:
        raise refused
    return tried


def _choice(tried: Sequence[_Candidate], *, fewest: bool) -> int:
    """The best candidate, the first of equals; or the one with the fewest features within one standard error of it."""
    best = max(range(len(tried)), key=lambda place: tried[place].mean)
    if not fewest:
        return best

    def is_near(one: _Candidate) -> bool:
        behind = tried[best].per_query - one.per_query
        behind = behind[~np.isnan(behind)]
        error = behind.std(ddof=1) / np.sqrt(len(behind)) if len(behind) > 1 else 0.0
        return bool(behind.mean() <= error)

    near = [place for place, one in enumerate(tried) if place == best or (one.n_features and is_near(one))]
    return min(near, key=lambda place: (tried[place].n_features, -tried[place].mean))


def _maker(job: Job) -> Callable[..., Any]:
    """What makes the estimator, with the seed and the threads of this job where it has any."""

    def make(**chosen: Any) -> Any:
        made = job.contender.make(**chosen)
        known = made.get_params()
        common = {"random_state": job.protocol.seed, "n_threads": job.n_threads}
        return made.set_params(
            **{name: value for name, value in common.items() if name in known and name not in job.contender.settings}
        )

    return make


def _fitted(job: Job, ranker: Any, train: RankingDataset, vali: RankingDataset) -> Any:
    """Train; a method with patience watches the validation part."""
    known = inspect.signature(ranker.fit).parameters
    given = {"sample_weight": train.document_weights, "query_weight": train.query_weights}
    for name, weights in given.items():
        if weights is not None and name not in known:
            raise LinrankError(f"{job.contender.name} does not take weights of this kind ({name}). Leave them out.")
    watching = {}
    if ranker.get_params().get("patience") is not None and "eval_set" in known:
        watching = {"eval_set": [(vali.features, vali.labels)], "eval_qid": [vali.qid]}
    weighing = {name: weights for name, weights in given.items() if weights is not None}
    return ranker.fit(train.features, train.require_labels(), qid=train.qid, **weighing, **watching)


def _predicted(ranker: Any, data: RankingDataset) -> Vector:
    if "qid" in inspect.signature(ranker.predict).parameters:
        scores: Vector = ranker.predict(data.features, qid=data.qid)
        return scores
    plain: Vector = ranker.predict(data.features)
    return plain


def _number_of_features(ranker: Any) -> int:
    weights = getattr(ranker, "coef_", None)
    return int(
        getattr(ranker, "feature_count_", ranker.n_features_in_) if weights is None else np.count_nonzero(weights)
    )


def _thinned_history(ranker: Any) -> list[tuple[float, float]]:
    """Seconds and value after each iteration, where a method keeps them."""
    lines = [line for line in getattr(ranker, "history_", ()) if hasattr(line, "seconds") and hasattr(line, "value")]
    places = np.unique(np.linspace(0, len(lines) - 1, min(len(lines), _HISTORY)).astype(np.int64))
    return [(float(lines[place].seconds), float(lines[place].value)) for place in places]


def _as_plain(value: Any) -> Any:
    """Lists, dictionaries, numbers and text, as JSON has them."""
    if isinstance(value, Mapping):
        return {str(name): _as_plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_as_plain(inner) for inner in value]
    return value.item() if isinstance(value, np.generic) else value
