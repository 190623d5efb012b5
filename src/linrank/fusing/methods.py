"""Methods: how a fuser is chosen from judged queries, and the ways of fusing that everyone compares with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector, dense_scores
from linrank.errors import LinrankError
from linrank.fusing.fusers import CombMNZ, Fuser, ReciprocalRanks, WeightedLegs
from linrank.fusing.pairwise import PairwiseProblem
from linrank.fusing.problem import FusionProblem
from linrank.measures import within_one_standard_error

# From no trust in the data, which is equal weights, to nothing but the data.
STRENGTHS = (0.0, 0.1, 1.0, 10.0, 1000.0)
RANK_CONSTANTS = (1, 2, 5, 10, 20, 40, 60, 100, 200)
_GRID_STEPS = 10
_MOST_GRID_POINTS = 1001
_INNER_FOLDS = 3
_ROUNDS_BY_RANK = 3
# With as many queries a pull towards equal weights has nothing left to add.
_ENOUGH_QUERIES = 1000
_SAMPLE = 500


class Method(Protocol):
    """A way of choosing a fuser."""

    @property
    def name(self) -> str: ...
    @property
    def says(self) -> str: ...
    @property
    def learns(self) -> bool:
        """Whether it has anything to learn from judgements."""
        ...

    def learn(self, problem: FusionProblem, counts: Vector, *, like: Fuser | None = None) -> Fuser:
        """The fuser for queries that count so often, 0 for those that are held out.

        `like` is what was learnt of all of them: what was chosen for it beside the weights is not chosen again.
        """
        ...


@dataclass(frozen=True)
class Fixed:
    """A fuser that learns nothing."""

    name: str
    says: str
    fuser: Fuser
    learns: bool = False

    def learn(self, problem: FusionProblem, counts: Vector, *, like: Fuser | None = None) -> Fuser:  # noqa: ARG002
        return self.fuser


@dataclass(frozen=True)
class BestOf:
    """The best of several fusers on the queries given; the first of equal ones."""

    name: str
    says: str
    choices: tuple[Fuser, ...]
    learns: bool = True

    def learn(self, problem: FusionProblem, counts: Vector, *, like: Fuser | None = None) -> Fuser:  # noqa: ARG002
        means = [mean(problem.per_query(choice), counts) for choice in self.choices]
        return self.choices[int(np.argmax(means))]


@dataclass(frozen=True)
class TrainedWeights(WeightedLegs):
    """Weights, and how strongly the data was trusted in training."""

    strength: float = 0.0


@dataclass(frozen=True)
class Pairwise:
    """Exact training on all preference pairs, each query counting alike, with a pull towards equal weights.

    Minimises |u - prior|² / 2 + strength x mean over queries of the mean over their pairs of max(0, 1 - s_i + s_j)², u
    the weights in units of the columns' spreads, the prior equal weights at the scale that fits best; the strength is
    chosen on held-out queries. With `by_rank` a pair weighs |change of NDCG| if the two changed places, in the order of
    the round before.
    """

    name: str = "pairwise"
    says: str = "weights trained exactly on all preference pairs"
    by_rank: bool = False
    learns: bool = True

    def learn(self, problem: FusionProblem, counts: Vector, *, like: Fuser | None = None) -> Fuser:
        if isinstance(like, TrainedWeights):
            return self.trained(problem, counts, like.strength)
        queries = np.flatnonzero((counts > 0) & (problem.training.n_pairs > 0))
        if len(queries) == 0:
            raise LinrankError(
                "no query has candidates of different labels, so that there is nothing to learn from. Judge more."
            )
        return self.trained(problem, counts, self._strength(problem, counts, queries))

    def _strength(self, problem: FusionProblem, counts: Vector, queries: NDArray[Any]) -> float:
        """How strongly to trust these queries, found out once; by pairs that weigh alike, whatever is trained then."""
        known = problem.strengths
        if (key := counts.tobytes()) not in known:
            known[key] = Pairwise().held_out_strength(problem, counts, queries)
        return known[key]

    def held_out_strength(self, problem: FusionProblem, counts: Vector, queries: NDArray[Any]) -> float:
        """The best on held-out queries of folds of those given, the smallest of equal ones."""
        if len(queries) >= _ENOUGH_QUERIES or len(queries) < _INNER_FOLDS:
            return STRENGTHS[-1] if len(queries) >= _ENOUGH_QUERIES else STRENGTHS[0]
        parts = _dealt(problem, counts, _INNER_FOLDS)
        values = np.zeros((len(STRENGTHS), problem.n_queries))
        for part in range(_INNER_FOLDS):
            held_out = parts == part
            kept = np.where(held_out, 0.0, counts)
            if not (kept * problem.training.n_pairs).any():
                continue
            prior = self.prior(problem, kept)
            for place, strength in enumerate(STRENGTHS):
                found = problem.measured(self.trained(problem, kept, strength, prior).scores(problem))
                values[place, held_out] = found[held_out]
        means = [mean(row, counts) for row in values]
        return STRENGTHS[int(np.argmax(means))]

    def trained(
        self, problem: FusionProblem, counts: Vector, strength: float, prior: Vector | None = None
    ) -> TrainedWeights:
        """At a strength that is given."""
        some = _sample(problem, counts)
        prior = self.prior(problem, some) if prior is None else prior
        found = self.problem(problem, some, strength, prior).solve() if strength > 0.0 else prior
        if strength > 0.0 and some is not counts:
            # From the minimum on a sample it takes two or three passes over all.
            found = self.problem(problem, counts, strength, prior).solve(found)
        if self.by_rank and strength > 0.0:
            for _ in range(_ROUNDS_BY_RANK):
                found = self.problem(problem, counts, strength, prior, found).solve(found)
        weights = found / problem.spreads
        if not weights.any():
            # Nothing is better than no order at all, by the loss; some order is wanted all the same.
            weights = problem.equal_weights
        return TrainedWeights(tuple(problem.engine.in_units(weights).tolist()), strength)

    def problem(
        self, problem: FusionProblem, counts: Vector, strength: float, prior: Vector, ranked_by: Vector | None = None
    ) -> PairwiseProblem:
        """What is minimised, over weights in units of the columns' spreads."""
        rows, ranked, query_weights = problem.training, None, _even(problem, counts)
        if ranked_by is not None:
            ranked, query_weights = _by_rank(problem, counts, ranked_by)
        low = np.full(len(prior), 0.0 if problem.engine.limits.non_negative else -np.inf)
        # Where the engine takes no negative weight of a leg, it takes none of a signal.
        return PairwiseProblem(rows, query_weights, strength, prior, low, np.full(len(prior), np.inf), ranked)

    def prior(self, problem: FusionProblem, counts: Vector) -> Vector:
        """Equal weights, at the scale that minimises the loss: where its slope, which rises, is 0."""
        direction = problem.equal_weights * problem.spreads
        direction /= np.linalg.norm(direction)
        query_weights = _even(problem, counts)
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


@dataclass(frozen=True)
class Search:
    """Weights of the best mean measure itself: the grid's best, then steps of ever smaller size."""

    grid: BestOf
    name: str = "search"
    says: str = "weights of the highest measure, by search from the grid's best"
    learns: bool = True

    def learn(self, problem: FusionProblem, counts: Vector, *, like: Fuser | None = None) -> Fuser:  # noqa: ARG002
        # From the grid every time: to start from what was found before would make weights look surer than they are.
        start = self.grid.learn(problem, counts)
        assert isinstance(start, WeightedLegs)
        units = np.where(problem.equal_weights > 0.0, problem.equal_weights, 1.0 / problem.spreads)
        point = np.array(start.weights) / units
        point /= np.abs(point).sum()
        best, value = start, mean(problem.per_query(start), counts)
        lowest = 0.0 if problem.engine.limits.non_negative else -np.inf
        for step in (0.05, 0.02, 0.01):
            moved = True
            while moved:
                moved = False
                for column in range(len(point)):
                    for sign in (step, -step):
                        tried = point.copy()
                        tried[column] = max(lowest, tried[column] + sign)
                        if not tried.any():
                            continue
                        tried /= np.abs(tried).sum()
                        fuser = WeightedLegs(tuple(problem.engine.in_units(tried * units).tolist()))
                        found = mean(problem.per_query(fuser), counts)
                        if found > value + 1e-9:
                            point, best, value, moved = tried, fuser, found, True
        return best


@dataclass(frozen=True)
class Chosen:
    """The first of several methods, unless another is better on held-out queries by more than a standard error."""

    methods: tuple[Method, ...]
    name: str = "auto"
    learns: bool = True

    @property
    def says(self) -> str:
        first, *others = (method.name for method in self.methods)
        return f"{first}, unless {' or '.join(others)} is better on held-out queries by more than a standard error"

    def learn(self, problem: FusionProblem, counts: Vector, *, like: Fuser | None = None) -> Fuser:  # noqa: ARG002
        return self.chosen(problem, counts).learn(problem, counts)

    def chosen(self, problem: FusionProblem, counts: Vector) -> Method:
        """Which it is."""
        parts = _dealt(problem, counts, _INNER_FOLDS)
        values = np.full((len(self.methods), problem.n_queries), np.nan)
        for part in range(_INNER_FOLDS):
            held_out = parts == part
            kept = np.where(held_out, 0.0, counts)
            if not (kept * problem.training.n_pairs).any():
                return self.methods[0]
            for place, method in enumerate(self.methods):
                values[place, held_out] = problem.per_query(method.learn(problem, kept))[held_out]
        means = [mean(row, counts) for row in values]
        best = int(np.argmax(means))
        return self.methods[0 if within_one_standard_error(values[0], values[best]) else best]


def _dealt(problem: FusionProblem, counts: Vector, n_parts: int) -> NDArray[Any]:
    """The part that each query that counts is dealt into, -1 for the others."""
    parts = np.full(problem.n_queries, -1)
    drawn = problem.candidates.queries.drawn(1)
    drawn = drawn[counts[drawn] > 0]
    parts[drawn] = np.arange(len(drawn)) * n_parts // max(1, len(drawn))
    return parts


def _by_rank(problem: FusionProblem, counts: Vector, weights: Vector) -> tuple[tuple[Vector, Vector], Vector]:
    """Gains over the ideal DCG and discounts of the order by these weights, of the rows that are trained on; and what
    queries weigh beside that.
    """
    rows = problem.training
    labels = np.nan_to_num(problem.labels, nan=0.0)
    kept = labels if problem.unjudged == "irrelevant" else problem.labels[~np.isnan(problem.labels)]
    gains = np.exp2(np.maximum(kept[rows.order], 0.0)) - 1.0
    sizes = np.diff(rows.starts)
    of_query = np.repeat(np.arange(len(sizes)), sizes)
    scores = dense_scores(rows.features, weights)
    order = np.lexsort((-scores, of_query))
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order)) - np.repeat(rows.starts[:-1], sizes)
    cutoff = problem.measure.cutoff or len(order) or 1
    discounts = np.where(places < cutoff, 1.0 / np.log2(places + 2.0), 0.0)
    # Rows stand by label, so that the first ones are the ideal order.
    first = np.arange(len(order)) - np.repeat(rows.starts[:-1], sizes)
    ideal = np.zeros(len(sizes))
    np.add.at(ideal, of_query, np.where(first < cutoff, gains / np.log2(first + 2.0), 0.0))
    gains = gains / np.where(ideal > 0.0, ideal, 1.0)[of_query]
    return (gains, discounts), counts * (rows.n_pairs > 0) / max(1.0, float((counts * (rows.n_pairs > 0)).sum()))


def mean(values: Vector, counts: Vector) -> float:
    """The mean over queries that count so often; those that the measure skips do not."""
    there = (counts > 0.0) & ~np.isnan(values)
    return float((values[there] * counts[there]).sum() / counts[there].sum()) if there.any() else float("-inf")


def methods_for(problem: FusionProblem, *, quick: bool = False) -> dict[str, Method]:
    """Every method by name; `quick` leaves out those that go through many orders of all candidates."""
    legs = problem.candidates.leg_names
    width = problem.matrix.shape[1]

    def weighted(weights: Vector) -> WeightedLegs:
        return WeightedLegs(tuple(problem.engine.in_units(weights * problem.equal_weights).tolist()))

    made: list[Method] = [
        Fixed(f"{name} alone", f"leg {name} alone", weighted(np.eye(width)[place])) for place, name in enumerate(legs)
    ]
    ranks = tuple(ReciprocalRanks(k) for k in RANK_CONSTANTS)
    made += [
        Fixed("equal", "equal weights (CombSUM)", weighted(np.ones(width))),
        Fixed("combmnz", "CombMNZ: the sum, times the number of legs that brought it", CombMNZ()),
        Fixed("rrf60", "reciprocal ranks, k = 60", ReciprocalRanks(60)),
        BestOf("rrf", "reciprocal ranks, k chosen", ranks),
    ]
    if not quick:
        steps = grid_steps(len(legs))
        points = [np.append(point, np.zeros(width - len(legs))) for point in simplex_grid(len(legs), steps)]
        grid = BestOf("grid", f"the best of weights in steps of 1/{steps}", tuple(map(weighted, points)))
        made.append(grid)
    trained: list[Method] = [
        Pairwise(),
        Pairwise("ndcg", "pairs weighed by what they change of NDCG, trained in rounds", by_rank=True),
    ]
    if not quick:
        trained.append(Search(grid))
    made += [*trained, Chosen(tuple(trained))]
    return {method.name: method for method in made}


def grid_steps(n_legs: int) -> int:
    """Ten steps from 0 to 1, as everyone uses; fewer where that would be more than a thousand points."""
    return max(s for s in range(1, _GRID_STEPS + 1) if s == 1 or comb(s + n_legs - 1, n_legs - 1) <= _MOST_GRID_POINTS)


def simplex_grid(n: int, steps: int) -> Sequence[Vector]:
    """All weights in steps of 1 / steps that add up to 1, those nearest to equal first."""
    points = [np.array(point) / steps for point in _parts(n, steps)]
    return sorted(points, key=lambda point: (round(float(((point - 1.0 / n) ** 2).sum()), 12), point.tolist()))


def _parts(n: int, total: int) -> list[list[int]]:
    if n == 1:
        return [[total]]
    return [[first, *rest] for first in range(total + 1) for rest in _parts(n - 1, total - first)]
