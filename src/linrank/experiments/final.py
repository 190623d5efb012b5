"""The model to use: the recommended method, trained on everything with the settings that the folds agree on."""

from __future__ import annotations

import json
import math
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from linrank.dataset.applied_scaling import Scaling
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import scaled
from linrank.errors import LinrankError
from linrank.experiments.comparison import fitted, linear_weights, made_for, number_of_features
from linrank.experiments.contenders import as_plain, parameters_of
from linrank.experiments.folds import Fold, whole_data
from linrank.experiments.results import Results
from linrank.measures import within_one_standard_error
from linrank.model import LinearModel

FILE = "recommended.json"


@dataclass(frozen=True)
class Trained:
    """A method trained on every query of the comparison.

    Attributes
    ----------
    method : str
    settings : mapping
        What was chosen, by `final_settings`.
    ranker : estimator
        Trained on features that were scaled by `scaling`.
    scaling : Scaling or None
    model : LinearModel or None
        The same as a model file has it; None where the ranker is not a weighted sum of features.
    """

    method: str
    settings: Mapping[str, Any]
    ranker: Any
    scaling: Scaling | None
    model: LinearModel | None


def final_settings(results: Results, method: str) -> dict[str, Any]:
    """The settings with the best mean on the folds' validation parts, which together are a cross-validation.

    Where the protocol asks for the fewest features, those with the fewest within one standard error, over folds, of the
    best. Settings that a fold refused do not count. With a single fold they are those chosen on it.
    """
    of_method = results.of(method)
    if len(of_method) == 1:
        return dict(of_method[0].chosen)
    tried: dict[str, list[Mapping[str, Any]]] = {}
    for result in of_method:
        for one in result.tried:
            tried.setdefault(json.dumps(one["settings"], sort_keys=True), []).append(one)
    measured = {name: [one for one in of if one["validation"] is not None] for name, of in tried.items()}
    everywhere = [of for of in measured.values() if len(of) == len(of_method)]
    if not everywhere:
        return dict(of_method[0].chosen)
    values = [np.array([one["validation"] for one in of]) for of in everywhere]
    sizes = [float(np.mean([one["n_features"] for one in of])) for of in everywhere]
    best = max(range(len(everywhere)), key=lambda place: values[place].mean())
    if results.plan.protocol.fewest:
        near = [
            place
            for place in range(len(everywhere))
            if place == best or (sizes[place] and within_one_standard_error(values[place], values[best]))
        ]
        best = min(near, key=lambda place: (sizes[place], -values[place].mean()))
    return dict(everywhere[best][0]["settings"])


def parts_as_compared(results: Results, fold: Fold) -> dict[str, RankingDataset]:
    """The three parts of a fold, refused where they are no longer what was compared on."""
    train = fold.train.load()
    parts = {"train": train}
    for name in ("vali", "test"):
        part = fold.parts()[name]
        parts[name] = part.load().with_columns(train.names, part.path)
    expected = next(result for result in results.of(results.complete()[0]) if result.fold == fold.name).fingerprints
    for name, data in parts.items():
        if data.fingerprint() != expected[name]:
            raise LinrankError(
                f"{fold.parts()[name].path or 'the data'}: the {name} part of {fold.name} has changed since it was "
                "compared on. Run the comparison again."
            )
    return parts


def train_on_everything(results: Results, method: str) -> Trained:
    """Train a method on all queries, with the settings of `final_settings`; warnings are the caller's to hear."""
    plan = results.plan
    parts_as_compared(results, plan.folds[0])
    data = whole_data(plan.folds)
    settings = final_settings(results, method)
    with settings_of_folder(results, method):
        ranker = unfitted(results, method, settings)
        scaling = plan.protocol.choice(data, ranker)
        started = time.perf_counter()
        fitted(method, ranker, scaled(data, scaling))
        seconds = time.perf_counter() - started
    return Trained(method, settings, ranker, scaling, _model(results, method, settings, ranker, scaling, data, seconds))


@contextmanager
def settings_of_folder(results: Results, method: str) -> Iterator[None]:
    """Refuse the settings of one of our methods that nobody could train with: a folder from elsewhere may name any."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, LinrankError) or results.plan.contender(method).method is None or results.folder is None:
            raise
        raise LinrankError(
            f"{results.folder}: {method!r} cannot be trained with its settings ({error!r}). Run the comparison again."
        ) from error


def unfitted(results: Results, method: str, settings: Mapping[str, Any]) -> Any:
    """The estimator for all queries: one that was stopped by its patience runs as long as it did on the folds."""
    ranker = made_for(results.plan.contender(method), results.plan.protocol, None, **settings)
    known = parameters_of(ranker)
    lengths = [result.n_iter for result in results.of(method) if result.n_iter]
    if known.get("patience") is not None and "max_iter" in known and lengths:
        ranker.set_params(patience=None, max_iter=max(1, round(float(np.mean(lengths)))))
    return ranker


def stored_model(results: Results) -> LinearModel | None:
    """The model that the folder has, if it is of these very results: what is in the folder may be anybody's."""
    method = results.recommended_linear()
    if results.folder is None or method is None or not results.place(FILE).exists():
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LinearModel.load(results.place(FILE))
    expected = {"comparison": results.key(method), "chosen": as_plain(final_settings(results, method))}
    said = {name: model.training.get(name) for name in expected}
    return model if said == expected and model.n_features == results.of(method)[0].n_features_of else None


def described(method: str, model: LinearModel | None) -> str:
    """A ranker in a few words: its name, and how many features or which one."""
    if model is None:
        return method
    used = np.flatnonzero(model.used)
    if len(used) == 1:
        return f"{method}, feature {model.feature_names[used[0]]} alone"
    return f"{method} with {len(used)} of {model.n_features} features"


def _model(
    results: Results,
    method: str,
    settings: Mapping[str, Any],
    ranker: Any,
    scaling: Scaling | None,
    data: RankingDataset,
    seconds: float,
) -> LinearModel | None:
    weights = linear_weights(ranker, data.n_features)
    if weights is None:
        return None
    select = results.plan.protocol.select
    solution = getattr(ranker, "solution_", None)
    known = {
        "comparison": results.key(method),
        f"{select} on test queries": float(np.nanmean(results.per_query(method, select))),
        "chosen": as_plain(settings),
        "objective": getattr(ranker, "objective_", None),
        "iterations": getattr(ranker, "n_iter_", None),
        "converged": getattr(solution, "converged", None),
        "message": getattr(solution, "message", None),
        "tried": [one.record() for one in getattr(ranker, "tried_", ())] or None,
        "expected": getattr(ranker, "expected_", None),
        "remarks": list(getattr(ranker, "remarks_", ())) or None,
        "features_used": number_of_features(ranker, data.n_features),
        "queries": data.n_queries,
        "documents": data.n_documents,
        "training_seconds": round(seconds, 4),
    }
    training = {name: as_plain(value) for name, value in known.items() if _is_told(value)}
    extra: dict[str, Any] = {
        "feature_names": data.names,
        "scaling": scaling,
        "training": training,
        "data_fingerprint": data.fingerprint(),
    }
    if hasattr(ranker, "to_model"):
        made: LinearModel = ranker.to_model(**extra)
        return made
    told = {name: as_plain(value) for name, value in parameters_of(ranker).items() if _is_told(value)}
    return LinearModel(weights, method=method, parameters=told, **extra)


def _is_told(value: Any) -> bool:
    return value is not None and not (isinstance(value, float) and not math.isfinite(value))
