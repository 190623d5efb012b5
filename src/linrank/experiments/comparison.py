"""The jobs of a comparison: every method on every fold, settings chosen on the validation part alone."""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from inspect import signature
from typing import Any

import numpy as np

from linrank._version import __version__
from linrank.arrays import Vector
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import scaled
from linrank.errors import LinrankError
from linrank.estimators.base import Ranker
from linrank.estimators.conventions import ConvergenceWarning
from linrank.estimators.searching import Tried
from linrank.experiments.checked import Checked
from linrank.experiments.contenders import Contender, as_plain, parameters_of
from linrank.experiments.folds import Fold
from linrank.experiments.protocol import Protocol
from linrank.measures import evaluate, parse_measure, within_one_standard_error
from linrank.measures.evaluation import check_measures

# Points of a training history that are kept: enough for a picture.
_HISTORY = 200
# Names of features that are kept: enough to say what a small model is made of.
_STRONGEST = 10


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
            "parts": {name: part.record() for name, part in self.fold.parts().items()},
            "contender": self.contender.record(),
            "protocol": as_plain(self.protocol.record()),
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
    """Each candidate's settings, mean of the selecting measure on the validation part, number of features, and whether
    its training converged."""
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
    """Of the training with the chosen settings; that it did not converge is said by `unfinished`."""
    job: Mapping[str, Any]
    scaling: str = "none"
    """How the features were scaled, where the protocol leaves that to the data."""
    strongest: Sequence[str] = ()
    """The names of the features with the largest weights, as the method saw them."""
    scores: Sequence[float] = ()
    """Of the test part's documents, in the order of its rows."""
    unfinished: str | None = None
    """Why the training with the chosen settings stopped before it converged, if it did."""
    passed_over: Sequence[str] = ()
    """Why candidates were refused."""
    own_features: bool = False
    """Whether its weights are of features that it transformed itself."""
    own_choices: Mapping[str, Any] = field(default_factory=dict)
    """What it chose itself, beside the settings that were chosen for it."""

    @classmethod
    def from_record(cls, record: Checked, job: Job) -> JobResult:
        """The result of a job as its file tells it, everything in it checked."""
        for name, expected in (("fold", job.fold.name), ("method", job.contender.name)):
            if record.field(name).text() != expected:
                record.field(name).refuse(f"is not {expected!r}, where the file stands")
        qids = [qid.plain() for qid in record.field("qids").each()]
        n_features_of = record.field("n_features_of").count()
        n_iter, weights = record.field("n_iter"), record.field("weights")
        known: dict[str, Any] = {
            "fold": job.fold.name,
            "method": job.contender.name,
            "key": record.field("key").text(),
            "chosen": record.field("chosen").plain_items(),
            "tried": [_tried(one, record.field("chosen")) for one in record.field("tried").each()],
            "seconds": record.field("seconds").summed(0.0),
            "seconds_in_all": record.field("seconds_in_all").summed(0.0),
            "n_iter": None if n_iter.value is None else n_iter.count(),
            "n_features": record.field("n_features").count(),
            "n_features_of": n_features_of,
            "per_query": {m: _values(record.field("per_query").field(m), len(qids)) for m in job.protocol.evaluated()},
            "means": {m: _value(record.field("means").field(m)) for m in job.protocol.evaluated()},
            "qids": qids,
            "weights": None if weights.value is None else weights.numbers(n_features_of),
            "history": [tuple(point.numbers(2)) for point in record.field("history").each()],
            "fingerprints": {name: record.field("fingerprints").field(name).text() for name in job.fold.parts()},
            "warnings": record.field("warnings").texts(),
            "job": {name: inner.value for name, inner in record.field("job").items()},
            "scaling": record.field("scaling").text(),
            "strongest": record.field("strongest").texts(),
            "unfinished": record.field("unfinished").optional_text(),
            "passed_over": record.field("passed_over").texts(),
            # Results of before there were any lack it.
            "own_features": "own_features" in record.value and record.field("own_features").flag(),
            "own_choices": record.field("own_choices").plain_items() if "own_choices" in record.value else {},
        }
        return cls(**known)

    def as_record(self) -> dict[str, Any]:
        """Everything but the scores, which have a file of their own."""
        return {field.name: getattr(self, field.name) for field in fields(self) if field.name != "scores"}


def _tried(record: Checked, chosen: Checked) -> dict[str, Any]:
    settings = record.field("settings").plain_items()
    if settings.keys() != chosen.value.keys():
        record.field("settings").refuse(f"does not have the settings of {chosen.place}")
    return {
        "settings": settings,
        "validation": _value(record.field("validation")),
        "n_features": record.field("n_features").count(),
        "converged": record.field("converged").flag(),
    }


def _values(record: Checked, size: int) -> list[float | None]:
    """One value a query, None where the measure skips it."""
    values = [_value(element) for element in record.each()]
    if len(values) != size:
        record.refuse(f"has {len(values)} values for {size} queries")
    return values


def _value(record: Checked) -> float | None:
    return None if record.value is None else record.summed()


def run_job(job: Job) -> JobResult:
    """Choose on the validation part, train once more with what was chosen, then look at the test part."""
    started = time.perf_counter()
    train = job.fold.train.load()
    vali = job.fold.vali.load().with_columns(train.names, job.fold.vali.path)
    with job.fold.vali.naming():
        check_measures([parse_measure(job.protocol.select)], vali)
    with job.fold.train.naming():
        scaling = job.protocol.choice(train, job.contender.make())
    seen, watched = scaled(train, scaling), scaled(vali, scaling)
    with job.fold.train.naming():
        tried, passed_over = _search(job, seen, watched)
        place = _choice(tried, fewest=job.protocol.fewest)
        made = made_for(job.contender, job.protocol, job.n_threads, **tried[place].settings)
        before = time.perf_counter()
        with _listening() as heard:
            ranker = fitted(job.contender.name, made, seen, watched)
        seconds = time.perf_counter() - before
    test = job.fold.test.load().with_columns(train.names, job.fold.test.path)
    scores = predicted(ranker, scaled(test, scaling))
    with job.fold.test.naming():
        evaluation = evaluate(scores, test, job.protocol.evaluated(), n_threads=job.n_threads)
    weights = linear_weights(ranker, train.n_features)
    plain = evaluation.to_dict()
    return JobResult(
        job.fold.name,
        job.contender.name,
        job.key(),
        as_plain(tried[place].settings),
        [one.as_record() for one in tried],
        seconds,
        time.perf_counter() - started,
        None if (n_iter := getattr(ranker, "n_iter_", None)) is None else int(n_iter),
        number_of_features(ranker, train.n_features),
        train.n_features,
        plain["per_query"],
        plain["mean"],
        plain["queries"],
        None if weights is None else weights.tolist(),
        _thinned_history(ranker),
        {"train": train.fingerprint(), "vali": vali.fingerprint(), "test": test.fingerprint()},
        heard.others,
        job.record(),
        "none" if scaling is None else scaling.kind,
        [] if weights is None else _strongest(weights, train.names),
        scores.tolist(),
        heard.unfinished,
        passed_over,
        getattr(ranker, "transform_", None) is not None,
        as_plain(getattr(ranker, "choices_", {})),
    )


@dataclass
class _Heard:
    """What a training warned of: that it did not converge, and anything else."""

    unfinished: str | None = None
    others: Sequence[str] = ()


@contextmanager
def _listening() -> Iterator[_Heard]:
    """Keep the warnings of a training; they are there when it has ended."""
    heard = _Heard()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield heard
    unfinished = [str(one.message) for one in caught if issubclass(one.category, ConvergenceWarning)]
    heard.unfinished = unfinished[0] if unfinished else None
    heard.others = sorted({str(one.message) for one in caught if not issubclass(one.category, ConvergenceWarning)})


@dataclass(frozen=True)
class _Candidate:
    settings: dict[str, Any]
    per_query: Vector
    mean: float
    n_features: int
    converged: bool = True

    def as_tried(self) -> Tried:
        return Tried(self.settings, None if np.isnan(self.mean) else self.mean)

    def as_record(self) -> dict[str, Any]:
        return {
            "settings": as_plain(self.settings),
            "validation": self.as_tried().mean,
            "n_features": self.n_features,
            "converged": self.converged,
        }


def _search(job: Job, train: RankingDataset, vali: RankingDataset) -> tuple[list[_Candidate], list[str]]:
    """Fit every candidate, each from where the last ended if the method can, and measure it on the validation part.

    Settings that the method refuses on this data, such as a rate that diverges, are passed over; the reasons come
    second.
    """
    measure = parse_measure(job.protocol.select)
    ranker = made_for(job.contender, job.protocol, job.n_threads)
    if "warm_start" in parameters_of(ranker) and "warm_start" not in job.contender.settings:
        ranker.set_params(warm_start=True)
    tried: list[_Candidate] = []
    refused: list[LinrankError] = []
    for settings in _settings_to_try(job, tried):
        if settings:
            ranker.set_params(**settings)
        try:
            with _listening() as heard:
                scores = predicted(fitted(job.contender.name, ranker, train, vali), vali)
        except LinrankError as error:
            refused.append(error)
            continue
        evaluation = evaluate(scores, vali, [measure], n_threads=job.n_threads)
        n_features = number_of_features(ranker, train.n_features)
        of_queries, mean = evaluation.per_query[measure], evaluation.mean[measure]
        tried.append(_Candidate(settings, of_queries, mean, n_features, heard.unfinished is None))
    if not tried and refused:
        raise refused[0]
    return tried, [str(error) for error in refused]


def _settings_to_try(job: Job, tried: Sequence[_Candidate]) -> Iterator[dict[str, Any]]:
    """The contender's grid, then what lies beyond an end of it while the choice among those `tried` is there."""
    asked = []
    for settings in job.contender.candidates():
        asked.append(settings)
        yield settings
    while tried:
        chosen = tried[_choice(tried, fewest=job.protocol.fewest)].settings
        further = job.contender.beyond(chosen, [one.as_tried() for one in tried], asked)
        if further is None:
            return
        asked.append(further)
        yield further


def _choice(tried: Sequence[_Candidate], *, fewest: bool) -> int:
    """The best candidate, the first of equals; or the one with the fewest features within one standard error of it."""
    best = max(range(len(tried)), key=lambda place: tried[place].mean)
    if not fewest:
        return best

    near = [
        place
        for place, one in enumerate(tried)
        if place == best or (one.n_features and within_one_standard_error(one.per_query, tried[best].per_query))
    ]
    return min(near, key=lambda place: (tried[place].n_features, -tried[place].mean))


def made_for(contender: Contender, protocol: Protocol, n_threads: int | None, **chosen: Any) -> Any:
    """The estimator, with the seed of the protocol and some threads where it has such settings."""
    made = contender.make(**chosen)
    known = parameters_of(made)
    common = {"random_state": protocol.seed, "n_threads": n_threads}
    given = {name: value for name, value in common.items() if name in known and name not in contender.settings}
    return made.set_params(**given) if given else made


def fitted(name: str, ranker: Any, train: RankingDataset, vali: RankingDataset | None = None) -> Any:
    """Train; a method with patience watches the validation part, and one that chooses does so on it.

    Of a stranger's ranker only arrays are asked.
    """
    patient = vali is not None and parameters_of(ranker).get("patience") is not None
    if isinstance(ranker, Ranker):
        watches = vali is not None and (ranker.chooses or (patient and ranker.watches))
        return ranker.fit(train, eval_set=vali) if watches else ranker.fit(train)
    from sklearn.utils.validation import has_fit_parameter

    weights = {"sample_weight": train.document_weights, "query_weight": train.query_weights}
    given: dict[str, Any] = {kind: values for kind, values in weights.items() if values is not None}
    for kind in given:
        if not has_fit_parameter(ranker, kind):
            raise LinrankError(f"{name} does not take weights of this kind ({kind}). Leave them out.")
    if vali is not None and patient and has_fit_parameter(ranker, "eval_set"):
        given |= {"eval_set": [(vali.features, vali.labels)], "eval_qid": [vali.qid]}
    ranker.fit(train.features, train.require_labels(), qid=train.qid, **given)
    return ranker


def predicted(ranker: Any, data: RankingDataset) -> Vector:
    """One finite score a document."""
    if isinstance(ranker, Ranker):
        given = ranker.predict(data)
    else:
        # Nothing but its signature says whether a stranger's predict wants to know the queries.
        known = {"qid": data.qid} if "qid" in signature(ranker.predict).parameters else {}
        given = ranker.predict(data.features, **known)
    scores: Vector = np.asarray(given, dtype=np.float64)
    if scores.shape != (data.n_documents,) or not np.isfinite(scores).all():
        raise LinrankError(f"predict gave {scores.shape} scores, not one finite number for {data.n_documents} rows.")
    return scores


def linear_weights(ranker: Any, n_features: int) -> Vector | None:
    """One weight a feature, where the ranker is a weighted sum of them."""
    weights = getattr(ranker, "coef_", None)
    if weights is None or np.shape(weights) != (n_features,):
        return None
    found: Vector = np.asarray(weights, dtype=np.float64)
    return found


def number_of_features(ranker: Any, n_features: int) -> int:
    """How many features a trained ranker needs: those with a weight or in a product, or all unless it says."""
    weights = linear_weights(ranker, n_features)
    if weights is None:
        return int(getattr(ranker, "feature_count_", n_features))
    return int(np.count_nonzero(weights != 0.0 if (used := getattr(ranker, "used_", None)) is None else used))


def _strongest(weights: Vector, names: Sequence[str]) -> list[str]:
    order = np.argsort(-np.abs(weights), kind="stable")[:_STRONGEST]
    return [names[column] for column in order if weights[column]]


def _thinned_history(ranker: Any) -> list[tuple[float, float]]:
    """Seconds and value after each iteration, where a method keeps them."""
    lines = [line for line in getattr(ranker, "history_", ()) if hasattr(line, "seconds") and hasattr(line, "value")]
    places = np.unique(np.linspace(0, len(lines) - 1, min(len(lines), _HISTORY)).astype(np.int64))
    return [(float(lines[place].seconds), float(lines[place].value)) for place in places]
