"""Weights for classes of queries, with a penalty on how far they are from the weights of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.errors import LinrankError
from linrank.fusing.columns import columns_of
from linrank.fusing.evaluation import Standing
from linrank.fusing.fusers import WeightedLegs
from linrank.fusing.problem import FusionProblem
from linrank.fusing.trained_weights import Pairwise, weighted
from linrank.measures import SIGNIFICANT, bootstrap_interval, randomisation_test
from linrank.showing import text_table

_QUERY = ("query", "qid", "query_id", "id")
# How strongly a class's own queries are trusted beside the weights of all.
STRENGTHS = (1.0, 10.0, 100.0)
# A column of more different numbers is cut into three classes.
_MOST_NUMBERS = 6


@dataclass(frozen=True)
class ClassWeights:
    """The weights of one class of queries."""

    name: str
    n_queries: int
    weights: tuple[float, ...]


@dataclass(frozen=True)
class ByClass:
    """Whether classes of queries need weights of their own.

    Attributes
    ----------
    column : what tells the classes apart
    differ : whether weights of their own are better on held-out queries by more than chance, than what is deployed for
        all queries and than weights for all that are learnt alike
    classes : their weights, those of all where they do not differ; empty where these are fused by ranks
    gain, gain_interval : the mean measure on held-out queries with weights a class minus that of the better of the two
    p_value : of no difference, by randomisation, times the number of strengths that were tried; the larger of the two
    legs : whose weights they are
    """

    column: str
    differ: bool
    classes: tuple[ClassWeights, ...]
    gain: float
    gain_interval: tuple[float, float]
    p_value: float
    legs: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, texts and numbers, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        low, high = self.gain_interval
        said = f"{self.gain:+.4f} (95 % interval {low:+.4f} to {high:+.4f}, p = {self.p_value:.3g})"
        if not self.differ:
            return f"by {self.column}: one set of weights for all classes; weights of their own: {said}"
        rows = [(self.column, "queries", *self.legs)]
        rows += [
            (each.name, str(each.n_queries), *(f"{weight:.6g}" for weight in each.weights)) for each in self.classes
        ]
        table = "\n".join(f"  {line}" for line in text_table(rows).splitlines())
        return f"by {self.column}: weights of their own are worth it, {said}\n{table}"


def read_classes(table: Any, column: str) -> dict[str, str]:
    """The class of each query of a table of queries, by a column of it."""
    columns = columns_of(table)
    found = columns.find((column.lower(),))
    if found is None:
        raise LinrankError(f"{columns.source}: there is no column {column!r}; there are {', '.join(columns.names)}.")
    values = columns.columns[found]
    names = [str(value) for value in values.tolist()]
    if len(set(names)) > _MOST_NUMBERS:
        # Texts are classes, however many.
        with suppress(LinrankError):
            names = _cut(columns.numbers_of(found))
    known: dict[str, str] = {}
    for query, name in zip(map(str, columns.ids(_QUERY).tolist()), names, strict=True):
        if known.setdefault(query, name) != name:
            raise LinrankError(
                f"{columns.source}: query {query!r} has two values of {column!r}, {known[query]!r} and {name!r}. "
                "Keep one of them."
            )
    return known


def classes_of(query_ids: Sequence[str], known: Mapping[str, str], column: str) -> list[str]:
    """The class of each query; "" for one of which none is known."""
    classes = [known.get(query, "") for query in query_ids]
    if len(set(classes)) < 2:
        only = repr(classes[0]) if classes[0] else "none of them is in the table"
        raise LinrankError(f"column {column!r} has one class for all judged queries: {only}. Name another.")
    return classes


def _cut(numbers: Vector) -> list[str]:
    low, high = np.quantile(numbers, [1 / 3, 2 / 3])
    return [f"at most {low:g}" if n <= low else (f"above {high:g}" if n > high else f"to {high:g}") for n in numbers]


def learn_by_class(
    problem: FusionProblem, classes: list[str], column: str, deployed: Standing, n_folds: int, seed: int
) -> ByClass:
    """Weights a class: |u - those of all|² / 2 + strength x mean loss of the class's queries, the strength by folds.

    They are taken only where they are better on held-out queries by more than chance than what is `deployed` for all,
    and than weights for all: else to weigh at all might be what is better.
    """
    names = sorted(set(classes))
    of_query = np.array([names.index(each) for each in classes])
    ones, method = np.ones(problem.n_queries), Pairwise()
    parts = problem.candidates.queries.dealt(n_folds, seed)
    values = np.full((1 + len(STRENGTHS), problem.n_queries), np.nan)
    for fold in range(n_folds):
        out, kept = parts == fold, np.where(parts == fold, 0.0, 1.0)
        start = method.minimum(problem, kept)
        values[0, out] = problem.per_query(weighted(problem, start))[out]
        for place, strength in enumerate(STRENGTHS, start=1):
            for number in range(len(names)):
                there = out & (of_query == number)
                learnt = _of_class(problem, kept * (of_query == number), strength, start)
                values[place, there] = problem.per_query(learnt)[there]
    best = 1 + int(np.argmax([np.nanmean(row) for row in values[1:]]))
    rivals = (values[0], deployed.per_query)
    tests = [randomisation_test(values[best], rival, random_state=seed) for rival in rivals]
    p_value = min(1.0, max(test.p_value for test in tests) * len(STRENGTHS))
    differ = bool(min(test.difference for test in tests) > 0.0 and p_value <= SIGNIFICANT)
    gains = values[best] - rivals[int(np.argmin([test.difference for test in tests]))]
    of_all = deployed.fuser.weights if isinstance(deployed.fuser, WeightedLegs) else ()
    start, made = method.minimum(problem, ones), []
    for number, name in enumerate(names):
        counts = ones * (of_query == number)
        weights = _of_class(problem, counts, STRENGTHS[best - 1], start).weights if differ else of_all
        made.append(ClassWeights(name or "(none)", int(counts.sum()), weights))
    interval = bootstrap_interval(gains, random_state=seed)
    return ByClass(column, differ, tuple(made), float(np.nanmean(gains)), interval, p_value, problem.candidates.names)


def _of_class(problem: FusionProblem, counts: NDArray[Any], strength: float, start: Vector) -> WeightedLegs:
    if not (counts * problem.training.n_pairs).any():
        return weighted(problem, start)
    return weighted(problem, Pairwise().problem(problem, counts, strength, start).solve())
