"""What looks odd about legs: said, since nobody would see it in the weights."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt

import numpy as np

from linrank.arrays import Vector
from linrank.fusing.candidate_kernels import put_into
from linrank.fusing.problem import FusionProblem


def oddities(problem: FusionProblem) -> tuple[str, ...]:
    """Legs that are alike, unjudged, tell nothing apart, are upside down or lack hits; a sentence each."""
    return (*_shallow(problem), *_absent(problem), *_unjudged(problem), *_alike(problem), *_odd_scores(problem))


def _shallow(problem: FusionProblem) -> Iterator[str]:
    """Runs that end before the depth: the engine normalises over more hits than were trained on."""
    depth = problem.candidates.depth
    most = max(int(np.diff(leg.starts).max(initial=0)) for leg in problem.candidates.legs)
    if most < depth:
        yield (
            f"no leg brings more than {most:,} hits of a query, and the depth is {depth:,}: give deeper runs, or depth "
            f"{most:,}, unless there are no more"
        )


def _absent(problem: FusionProblem) -> Iterator[str]:
    """Legs that bring nothing for some queries, as a run that was cut short does."""
    for leg in problem.candidates.legs:
        absent = np.flatnonzero(np.diff(leg.starts) == 0)
        if len(absent):
            query = problem.candidates.query_ids[int(absent[0])]
            yield (
                f"leg {leg.name} brings nothing for {len(absent):,} of {problem.n_queries:,} judged queries, such as "
                f"{query!r}: if it would, give its whole run"
            )


def _unjudged(problem: FusionProblem) -> Iterator[str]:
    """Legs none of whose documents is judged, as where one writes ids otherwise."""
    candidates = problem.candidates
    judged = candidates.documents[problem.is_judged]
    for place, leg in enumerate(candidates.legs):
        if len(leg.documents) and not (problem.is_judged & ~np.isneginf(_alone(problem, place))).any():
            theirs, ours = (candidates.document_ids[int(each)] for each in (leg.documents[0], judged[0]))
            yield (
                f"no document that leg {leg.name} brings is judged, such as {theirs!r}; judged are such as {ours!r}: "
                "if it writes ids otherwise, nothing of what is said of it is so"
            )


def _alike(problem: FusionProblem) -> Iterator[str]:
    legs = problem.candidates.legs
    for place, leg in enumerate(legs):
        for other in legs[:place]:
            if np.array_equal(leg.documents, other.documents) and np.array_equal(leg.starts, other.starts):
                yield f"legs {other.name} and {leg.name} bring the same documents in the same order: one will do"


def _odd_scores(problem: FusionProblem) -> Iterator[str]:
    for place, leg in enumerate(problem.candidates.legs):
        heads = leg.starts[:-1][np.diff(leg.starts) > 0]
        if (np.maximum.reduceat(leg.scores, heads) == np.minimum.reduceat(leg.scores, heads)).all():
            yield f"leg {leg.name} gives all its hits of a query one score: it says what it brings, and no more"
        elif said := _upside_down(problem, place):
            yield said


def _upside_down(problem: FusionProblem, place: int) -> str | None:
    """Whether a leg alone would be better the other way round, by more than two standard errors."""
    alone = _alone(problem, place)
    # (What the leg did not bring is not in the list, whichever way round it is.)
    turned_round = np.where(np.isneginf(alone), alone, -alone)
    straight, turned = (problem.measured(problem.given(scores)) for scores in (alone, turned_round))
    gains = turned - straight
    gains = gains[~np.isnan(gains)]
    if len(gains) < 2 or gains.mean() <= 2.0 * gains.std(ddof=1) / sqrt(len(gains)):
        return None
    return (
        f"leg {problem.candidates.legs[place].name} would be better upside down ({problem.measure} "
        f"{np.nanmean(turned):.4f} against {np.nanmean(straight):.4f}): if its scores are distances, or those of "
        "SQLite's bm25(), of which the lowest is best, give them with the other sign"
    )


def _alone(problem: FusionProblem, place: int) -> Vector:
    """The scores of one leg; -inf where it did not bring a document."""
    candidates, leg = problem.candidates, problem.candidates.legs[place]
    made = np.full((candidates.n_rows, 1), -np.inf)
    put_into(made, 0, candidates.starts, leg.starts, candidates.rows[place], leg.scores)
    return made[:, 0]
