"""check: two models on the same judged documents, before one takes the place of the other."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from linrank.arrays import Vector
from linrank.checking.moves import TOP, QueryMove, Ranks
from linrank.checking.result import Check
from linrank.dataset.features import refuse_missing
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError, UnusableNumberError, naming
from linrank.exporting.arithmetic import FLOAT32
from linrank.exporting.export import as_model, scores_of_data
from linrank.exporting.order_changes import OrderChanges, order_changes
from linrank.exporting.weighted_sum import WeightedSum
from linrank.importing.import_model import import_model
from linrank.measures import Measure, bootstrap_interval, evaluate, parse_measures
from linrank.model import LinearModel
from linrank.named_weights import numbers_as_names
from linrank.reading.missing import filled
from linrank.reading.read import read

__all__ = ["Check", "check"]

# Values of a measure that are equal but for rounding.
_ROUNDING = 1e-12


def check(
    old: Any,
    new: Any,
    data: Any,
    *,
    measure: str | Measure = "ndcg@10",
    at_least: float | None = None,
    n_movers: int = 5,
    random_state: int = 0,
) -> Check:
    """Say what would change if `new` took the place of `old`: quality with an interval, movers, features, float32.

    Parameters
    ----------
    old, new : LinearModel, a trained linear ranker, or the path of a model file: linrank's, or any `import_model` reads
    data : RankingDataset, or the path of a file to read
        Judged documents. Columns are found by name. What is missing is filled as each model does.
    measure : one measure, such as "ndcg@10" or "map"
    at_least : number, optional
        The new model passes if its mean is higher by so much; a negative number allows a loss. Unless given, it passes
        unless the whole 95 % interval of the difference lies below 0.
    n_movers : how many queries and documents to name of each kind
    random_state : of the bootstrap; the same gives the same interval

    Returns
    -------
    Check
        With `passed`, `difference`, `interval` and the rest; prints as text, and as tables in a notebook.
    """
    wanted = parse_measures(measure)
    if len(wanted) != 1:
        raise LinrankError(f"measure {measure!r}: one decides. Give one, such as 'ndcg@10'.")
    if at_least is not None and not math.isfinite(at_least):
        raise LinrankError(f"at_least is {at_least}; it must be a finite number, such as 0.01.")
    if n_movers < 0:
        raise LinrankError(f"n_movers is {n_movers}; it must be 0 or more.")
    models = _model(old), _model(new)
    source = os.fspath(data) if isinstance(data, str | os.PathLike) else "the data"
    with naming("" if source == "the data" else source):
        given = _judged(data)
        judged = _with_names(given, models)
        said = _undecided(judged)
    if given.feature_names is None and not _is_numbered(judged.names):
        said.append("the data has no names of features: they are taken by position")
    before = _Seen.by(models[0], judged, f"{source}, for the old model")
    after = _Seen.by(models[1], judged, f"{source}, for the new model")
    return Check(
        **_by_measure(wanted[0], judged, before.scores, after.scores, n_movers, random_state),
        **_by_rank(judged, before.scores, after.scores, n_movers),
        **_of_models(before, after, said),
        at_least=at_least,
        n_queries=judged.n_queries,
        n_documents=judged.n_documents,
    )


@dataclass(frozen=True, eq=False)
class _Seen:
    """The documents as a model sees them: its columns, and what is missing filled by its rule; and their scores."""

    model: LinearModel
    data: RankingDataset
    n_filled: int
    scores: Vector

    @classmethod
    def by(cls, model: LinearModel, data: RankingDataset, source: str) -> _Seen:
        needed = model.used
        known = data.with_columns(model.feature_names, source, needed=needed)
        known, n_filled = filled(known, "keep" if model.missing == "error" else model.missing, needed)
        with naming(source):
            refuse_missing(known.features, known.names)
        return cls(model, known, n_filled, model.predict(known))

    @property
    def used(self) -> dict[str, None]:
        columns = np.flatnonzero(self.model.used).tolist()
        return dict.fromkeys(self.model.feature_names[column] for column in columns)

    @property
    def rules(self) -> tuple[str, str]:
        """Its scaling, and what it does with missing values."""
        scaling = self.model.scaling
        return "none" if scaling is None else scaling.kind, str(self.model.missing)


def _by_measure(
    measure: Measure, data: RankingDataset, before: Vector, after: Vector, most: int, random_state: int
) -> dict[str, Any]:
    evaluations = [evaluate(scores, data, measure) for scores in (before, after)]
    old, new = (evaluation.per_query[measure] for evaluation in evaluations)
    change = new - old
    queries = data.queries.ids.tolist()

    def largest(sign: float) -> tuple[QueryMove, ...]:
        # Stable, so that equal ones keep the order of the data.
        chosen = np.argsort(-sign * np.nan_to_num(change), kind="stable")[:most].tolist()
        return tuple(
            QueryMove(queries[query], float(old[query]), float(new[query]))
            for query in chosen
            if sign * change[query] > _ROUNDING
        )

    weights = evaluations[0].weights.get(measure)
    return {
        "measure": measure,
        "old_mean": evaluations[0].mean[measure],
        "new_mean": evaluations[1].mean[measure],
        "interval": bootstrap_interval(change, weights=weights, random_state=random_state),
        "won": int((change > _ROUNDING).sum()),
        "lost": int((change < -_ROUNDING).sum()),
        "tied": int((np.abs(change) <= _ROUNDING).sum()),
        "gains": largest(1.0),
        "losses": largest(-1.0),
    }


def _by_rank(data: RankingDataset, before: Vector, after: Vector, most: int) -> dict[str, Any]:
    ranks = Ranks.of(before, after, data.queries)
    return {
        "first_changed": ranks.n_changed(1),
        "top_changed": ranks.n_changed(TOP),
        "moves": ranks.largest_moves(data, most),
    }


def _of_models(before: _Seen, after: _Seen, said: Sequence[str]) -> dict[str, Any]:
    notes = [*said]
    for what, old, new in zip(("scaling", "missing values"), before.rules, after.rules, strict=True):
        if old != new:
            notes.append(f"{what}: {old} in the old model, {new} in the new one")
    for which, seen in (("old", before), ("new", after)):
        if seen.n_filled:
            notes.append(f"{seen.n_filled:,} missing values were filled for the {which} model: {seen.model.missing}")
    try:
        float32 = _order_in_an_engine(after)
    except LinrankError as error:
        float32 = None
        notes.append(f"the new model cannot be exported: {error}")
    old_used, new_used = before.used, after.used
    return {
        "disappeared": tuple(name for name in old_used if name not in new_used),
        "appeared": tuple(name for name in new_used if name not in old_used),
        "float32": float32,
        "notes": tuple(notes),
    }


def _order_in_an_engine(seen: _Seen) -> OrderChanges:
    scores = scores_of_data(FLOAT32, "a search engine", WeightedSum.of(seen.model), seen.data)
    return order_changes(seen.scores, scores, seen.data.queries)


def _model(given: Any) -> LinearModel:
    return import_model(given) if isinstance(given, str | os.PathLike) else as_model(given)


def _judged(data: Any) -> RankingDataset:
    if isinstance(data, str | os.PathLike):
        # What is missing is filled later, by each model's own rule.
        data = read(data, missing="keep")
    if not isinstance(data, RankingDataset):
        raise LinrankError(f"data is a {type(data).__name__}. Give the path of a file, or what linrank.read returns.")
    data.require_labels()
    return data


def _undecided(data: RankingDataset) -> list[str]:
    """What to say of queries by which no order can be told from another; data of only such is refused."""
    labels = data.queries.grouped(data.require_labels())
    starts = data.queries.starts[:-1]
    n_told = int((np.minimum.reduceat(labels, starts) < np.maximum.reduceat(labels, starts)).sum())
    if n_told == 0:
        raise UnusableNumberError(
            "no query has documents of different labels, so that any two models are equal on it. Give judged documents."
        )
    said = []
    if n_told < data.n_queries:
        said.append(f"{data.n_queries - n_told:,} queries have one label only: every order of theirs is as good")
    if n_told == 1:
        said.append("one query alone decides: the interval is none, and says nothing about others")
    return said


def _with_names(data: RankingDataset, models: Sequence[LinearModel]) -> RankingDataset:
    """The data with names for its columns: two models need not have the same columns, or as many.

    Columns without names are called by their numbers, as models of such data call them; or as both models do, where
    these agree in all names, and columns are taken by position as everywhere.
    """
    if data.feature_names is not None:
        return data
    old, new = (model.feature_names for model in models)
    names = old
    if old != new or _is_numbered(old):
        widest = max(data.n_features, *(len(known) for known in (old, new) if _is_numbered(known)), 0)
        names = numbers_as_names(widest)
    return replace(data.with_columns(names), feature_names=names)


def _is_numbered(names: Sequence[str]) -> bool:
    return all(name == str(number) for number, name in enumerate(names, start=1))
