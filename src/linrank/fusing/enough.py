"""Whether there are enough judgements: what could be detected, how quality grows with them, and what to judge next."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets, Vector
from linrank.fusing.candidates import Candidates
from linrank.fusing.engine import FusionEngine
from linrank.fusing.fusers import WeightedLegs
from linrank.fusing.methods import Method
from linrank.fusing.problem import FusionProblem
from linrank.fusing.scored import EngineCandidates

# A gain is found 4 times of 5 at the level of 5 %: the normal quantiles of 0.975 and of 0.8.
_FOUND = 1.959964 + 0.841621
_REPEATS = 3
_TOP = 10


@dataclass(frozen=True)
class CurvePoint:
    """The mean measure on held-out queries of what so many judged queries teach, and its standard error over draws."""

    n_queries: int
    mean: float
    deviation: float


@dataclass(frozen=True)
class ToJudge:
    """A query to judge next, why, and the documents that its order hinges on."""

    query: str
    why: str
    documents: tuple[str, ...]


def smallest_gain(differences: Vector) -> float:
    """The smallest mean gain that these many queries find 4 times of 5: 2.8 x standard deviation / sqrt(n)."""
    known = differences[~np.isnan(differences)]
    return float(_FOUND * known.std(ddof=1) / math.sqrt(len(known))) if len(known) > 1 else math.inf


def queries_needed(differences: Vector) -> int | None:
    """How many queries it takes to find the gain that was seen, if it is the true one; None where there is none."""
    known = differences[~np.isnan(differences)]
    gain = float(known.mean()) if len(known) else 0.0
    if len(known) < 2 or gain <= 0.0:
        return None
    return math.ceil((_FOUND * float(known.std(ddof=1)) / gain) ** 2)


def learning_curve(problem: FusionProblem, method: Method, n_folds: int, seed: int) -> tuple[CurvePoint, ...]:
    """What is learnt of 10, 20, 40 … queries, measured on the fold that is held out."""
    parts = problem.candidates.queries.dealt(n_folds, seed)
    largest = int(min((parts != fold).sum() for fold in range(n_folds)))
    sizes = [size for size in (10, 20, 40, 80, 160, 320, 640, 1280) if size < largest]
    made = []
    for size in (*sizes, largest):
        means = []
        for repeat in range(_REPEATS if size < largest else 1):
            values = np.full(problem.n_queries, np.nan)
            for fold in range(n_folds):
                out = parts == fold
                drawn = problem.candidates.queries.drawn(seed + 1 + repeat)
                counts = np.zeros(problem.n_queries)
                counts[drawn[~out[drawn]][:size]] = 1.0
                if not (counts * problem.training.n_pairs).any():
                    continue
                values[out] = problem.per_query(method.learn(problem, counts))[out]
            means.append(float(np.nanmean(values)))
        made.append(CurvePoint(size, float(np.mean(means)), float(np.std(means))))
    return tuple(made)


def to_judge(
    problem: FusionProblem, unjudged: Candidates, engine: FusionEngine, drawn: Sequence[Vector], weights: Vector, n: int
) -> tuple[ToJudge, ...]:
    """The queries whose first ten change most with the weights that are still possible; unjudged ones first.

    Of queries that are judged, only those count whose first ten have documents that nobody judged.
    """
    made: list[tuple[float, ToJudge]] = []
    if unjudged.n_queries:
        for query, share, documents in _wavering(unjudged, engine, drawn, weights, np.zeros(unjudged.n_rows, bool)):
            depend = f"; {share:.0%} of its first {_TOP} depend on which weights are right" if drawn else ""
            why = f"not judged{depend}"
            made.append((1.0 + share, ToJudge(unjudged.query_ids[query], why, documents)))
    for query, share, documents in _wavering(problem.candidates, engine, drawn, weights, problem.is_judged):
        if documents:
            why = f"{len(documents)} of its first {_TOP} are not judged"
            made.append(
                (
                    len(documents) / _TOP * 0.5 + 0.5 * share,
                    ToJudge(problem.candidates.query_ids[query], why, documents),
                )
            )
    made.sort(key=lambda each: -each[0])
    return tuple(each for _, each in made[:n])


def _wavering(
    candidates: Candidates, engine: FusionEngine, drawn: Sequence[Vector], weights: Vector, known: NDArray[np.bool_]
) -> Iterator[tuple[int, float, tuple[str, ...]]]:
    """For each query: how much of its first ten differs under other weights, and which of them are not `known`."""
    seen = EngineCandidates(engine, candidates)
    scores, *drawn_scores = (seen.scores(WeightedLegs(tuple(each))) for each in (weights, *list(drawn)[:20]))
    order, others = _ordered(candidates, scores), [_ordered(candidates, other) for other in drawn_scores]
    for query in range(candidates.n_queries):
        first, last = int(candidates.starts[query]), int(candidates.starts[query + 1])
        top = order[first : min(last, first + _TOP)]
        top = top[~np.isneginf(scores[top])]
        if len(top) == 0:
            continue
        same = [len(np.intersect1d(top, other[first : first + len(top)])) / len(top) for other in others]
        new = [row for row in top.tolist() if not known[row]]
        documents = tuple(candidates.document_ids[int(candidates.documents[row])] for row in new)
        yield query, 1.0 - float(np.mean(same)) if same else 0.0, documents


def _ordered(candidates: Candidates, scores: Vector) -> Offsets:
    of_query = np.repeat(np.arange(candidates.n_queries), np.diff(candidates.starts))
    return np.lexsort((-scores, of_query))
