"""Weights that are trained on preference pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linrank.arrays import Vector, dense_scores
from linrank.errors import LinrankError
from linrank.fusing.fusers import WeightedLegs
from linrank.fusing.pairwise import PairwiseProblem
from linrank.fusing.problem import FusionProblem
from linrank.fusing.query_ranges import over_queries
from linrank.ordering import order_descending

_ROUNDS_BY_RANK = 3
_SAMPLE = 250


@dataclass(frozen=True)
class Pairwise:
    """Exact training on all preference pairs, each query counting alike, with a pull towards equal weights.

    Minimises |u - prior|² / 2 + sum over queries of the mean over their pairs of max(0, 1 - s_i + s_j)², u the weights
    in units of the columns' spreads, the prior equal weights at the scale that fits best: the pull matters where few
    queries are judged. With `by_rank` a pair weighs |change of NDCG| if the two changed places, in the order of the
    round before.
    """

    name: str = "pairwise"
    says: str = "weights trained exactly on all preference pairs"
    by_rank: bool = False
    learns: bool = True

    def learn(self, problem: FusionProblem, counts: Vector) -> WeightedLegs:
        if not (counts * problem.training.n_pairs).any():
            # Of these queries, or of the legs that are left, there is nothing but the pull.
            return weighted(problem, problem.equal_weights * problem.spreads)
        return weighted(problem, self.minimum(problem, counts))

    def minimum(self, problem: FusionProblem, counts: Vector) -> Vector:
        """The weights in units of the columns' spreads."""
        strength = float((counts * (problem.training.n_pairs > 0)).sum())
        some = _sample(problem, counts)
        prior = self.prior(problem, some)
        found = self.problem(problem, some, strength, prior).solve()
        if some is not counts:
            # From the minimum on a sample it takes two or three passes over all.
            found = self.problem(problem, counts, strength, prior).solve(found)
        if self.by_rank:
            for _ in range(_ROUNDS_BY_RANK):
                found = self.problem(problem, counts, strength, prior, found).solve(found)
        return found

    def problem(
        self, problem: FusionProblem, counts: Vector, strength: float, prior: Vector, ranked_by: Vector | None = None
    ) -> PairwiseProblem:
        """What is minimised, over weights in units of the columns' spreads."""
        rows, ranked, query_weights = problem.training, None, _even(problem, counts)
        if ranked_by is not None:
            ranked, query_weights = _by_rank(problem, counts, ranked_by)
        # Where the engine takes no negative weight of a leg, it takes none of a signal.
        low = np.where(problem.idle_signals | problem.engine.limits.non_negative, 0.0, -np.inf)
        high = np.where(problem.idle_signals, 0.0, np.inf)
        return PairwiseProblem(rows, query_weights, strength, prior, low, high, ranked)

    def prior(self, problem: FusionProblem, counts: Vector) -> Vector:
        """Equal weights, at the scale that minimises the loss: where its slope, which rises, is 0."""
        direction = problem.equal_weights * problem.spreads
        direction /= np.linalg.norm(direction)
        query_weights = _even(problem, counts)
        if direction @ problem.training.sums(np.zeros_like(direction), query_weights).gradient >= 0.0:
            # Equal weights are no better than none.
            return np.zeros_like(direction)
        low, high, scale = 0.0, np.inf, 1.0
        for _ in range(40):
            at = problem.training.sums(scale * direction, query_weights)
            slope, bend = float(direction @ at.gradient), float(direction @ at.curvature @ direction)
            low, high = (scale, high) if slope < 0.0 else (low, scale)
            step = -slope / bend if bend > 0.0 else 0.0
            inside = low < scale + step < high
            reached = scale + step if inside else (2.0 * scale if np.isinf(high) else (low + high) / 2.0)
            if abs(reached - scale) <= 1e-6 * scale:
                break
            scale = reached
        return direction * scale


def check_pairs(problem: FusionProblem) -> None:
    """Refuse judgements of which nothing can be learnt."""
    if problem.training.n_pairs.any():
        return
    if problem.unjudged == "irrelevant":
        raise LinrankError(
            "no query has candidates of different labels, so that there is nothing to learn from. Judge more."
        )
    raise LinrankError(
        f"no query has judged candidates of different labels, and unjudged ones are not trained on ({problem.unjudged}"
        "), so that there is nothing to learn from. Judge more, or use unjudged='irrelevant' (--unjudged irrelevant)."
    )


def weighted(problem: FusionProblem, found: Vector) -> WeightedLegs:
    """Weights in units of the columns' spreads, as the engine takes them."""
    weights = found / problem.spreads
    # Nothing is better than no order at all, by the loss; some order is wanted all the same.
    weights = weights if weights.any() else problem.equal_weights
    return WeightedLegs(tuple(problem.engine.in_units(weights).tolist()))


def _sample(problem: FusionProblem, counts: Vector) -> Vector:
    """The queries that count, a few hundred of them where there are thousands."""
    drawn = problem.candidates.queries.drawn(2) if len(counts) > 2 * _SAMPLE else np.zeros(0, dtype=np.int64)
    drawn = drawn[(counts * problem.training.n_pairs)[drawn] > 0]
    if len(drawn) <= 2 * _SAMPLE:
        return counts
    made = np.zeros_like(counts)
    made[drawn[:_SAMPLE]] = counts[drawn[:_SAMPLE]]
    return made


def _even(problem: FusionProblem, counts: Vector) -> Vector:
    """What the queries' pairs weigh where each query counts alike, and all of them 1."""
    rows = problem.training
    return counts * rows.even_weights() / max(float((counts * (rows.n_pairs > 0)).sum()), 1.0)


def _by_rank(problem: FusionProblem, counts: Vector, weights: Vector) -> tuple[tuple[Vector, Vector], Vector]:
    """Gains over the ideal DCG and discounts of the order by these weights, of the rows; and what queries weigh beside
    that.
    """
    rows = problem.training
    # What is not trained on stands last, and gains nothing.
    there, starts = ~np.isnan(rows.labels), rows.starts
    gains = np.where(there, np.exp2(np.maximum(rows.labels, 0.0)) - 1.0, 0.0)
    discounts = np.empty(len(gains))
    cutoff = problem.measure.cutoff or len(gains) or 1

    def rank(first: int, last: int) -> None:
        these = slice(int(starts[first]), int(starts[last]))
        local, sizes = starts[first : last + 1] - starts[first], np.diff(starts[first : last + 1])
        places = np.arange(local[-1]) - np.repeat(local[:-1], sizes)
        by_place = np.where(places < cutoff, 1.0 / np.log2(places + 2.0), 0.0)
        order, ordered = np.empty(len(places), dtype=np.int64), np.empty(len(places))
        order_descending(gains[these], local, order, ordered)
        of_query = np.repeat(np.arange(len(sizes)), sizes)
        ideal = np.bincount(of_query, ordered * by_place, minlength=len(sizes))
        gains[these] /= np.where(ideal > 0.0, ideal, 1.0)[of_query]
        scores = np.where(there[these], dense_scores(rows.features[these], weights * rows.scales), -np.inf)
        order_descending(scores, local, order, ordered)
        discounts[these][order] = by_place

    over_queries(rank, starts)
    return (gains, discounts), counts * (rows.n_pairs > 0) / max(1.0, float((counts * (rows.n_pairs > 0)).sum()))
