"""Stochastic gradient descent on preference pairs drawn at random, one pair a step: Pegasos, as in sofia-ml."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.random import PCG64, Generator

from linrank.arrays import Offsets, Vector
from linrank.compiled import kernel, summing_kernel
from linrank.dataset.features import Features, SparseFeatures
from linrank.errors import LinrankError
from linrank.online.learner import Tally, Turns
from linrank.online.queries_by_label import QueriesByLabel

# Few enough for Ctrl-C to be heard at once, enough for the cost of a call not to matter.
_STEPS_A_CALL = 1 << 16
_LINES = 20
# The common factor of the weights is multiplied into them before it gets too small for a float64.
_LEAST_SCALE = 1e-100


@dataclass(frozen=True, eq=False)
class PairSampler:
    """Draws a preference pair in constant time, without listing any; each as often as it weighs.

    Documents stand query by query in order of label. One table (Walker's alias method) draws the higher document of the
    pair, for every position as often as its pairs weigh: a position is drawn evenly and kept with the chance `keep`, or
    else `other` is taken. The lower document is one of the positions `first` to `stop`: where all weigh the same it
    is found at the first guess, else by bisection of `before`, the weight of the query's documents before a position.
    """

    documents: Offsets
    first: Offsets
    stop: Offsets
    before: Vector
    keep: Vector
    other: Offsets
    weight: float
    """Of all pairs together: 0 if there is none."""
    features: Features

    @classmethod
    def of(cls, data: QueriesByLabel, *, by_query: bool) -> PairSampler:
        """Pairs of all queries alike or, `by_query`, each query alike and then its pairs."""
        n = len(data.rows)
        documents, first, stop = np.empty((3, n), dtype=np.int64)
        before, chances, keep = np.empty((3, n))
        weight = _weigh_positions(
            data.document_weights, data.query_weights, data.query_starts, data.rows, data.lower, by_query, documents,
            first, stop, before, chances,
        )  # fmt: skip
        other = np.arange(n)
        if weight > 0.0:
            _fill_alias_table(chances, weight, np.empty(n, dtype=np.int64), keep, other)
        return cls(documents, first, stop, before, keep, other, weight, data.features)

    def draw(self, shares: Vector) -> Offsets:
        """The rows (higher, lower) of one pair for each two random numbers from 0 to 1."""
        pairs = np.empty((len(shares), 2), dtype=np.int64)
        _draw_pairs(*self.columns, shares, pairs)
        return pairs

    @property
    def columns(self) -> tuple[Offsets, Offsets, Offsets, Vector, Vector, Offsets]:
        return self.documents, self.first, self.stop, self.before, self.keep, self.other


@dataclass(frozen=True)
class SampledPairs:
    """Lowers l2 / 2 w.w + the mean over drawn pairs of loss(w.(x_i - x_j)), by one step a pair.

    Step t draws a pair and moves w <- (1 - rate l2) w - rate loss'(m) (x_i - x_j), m being its margin. The rate is
    1 / (l2 t), that of Pegasos (Shalev-Shwartz et al., 2007; without its projection), unless a constant one is given.
    The loss is max(0, 1 - m) or, `logistic`, log(1 + exp(-m)). It takes `steps` steps; how near the minimum it is then
    is not known. w is kept as a number times a vector, so that a step touches only the features of its two rows.
    """

    l2: float
    steps: int
    rate: float | None = None
    logistic: bool = False
    by_query: bool = False

    def learn(self, state: SampledState, data: PairSampler, turns: Turns) -> Tally:
        """Draw a pair in each turn, whatever its number, and take a step."""
        settings = np.array([self.l2, self.rate or 0.0, self.logistic])
        loss = 0.0
        for first in range(0, len(turns), _STEPS_A_CALL):
            shares = state.random.random((len(turns[first : first + _STEPS_A_CALL]), 2))
            told = (*data.columns, shares, settings, state.counts, state.vector)
            features = data.features
            if isinstance(features, SparseFeatures):
                loss += _learn_sparse(features.values, features.columns, features.starts, *told)
            else:
                loss += _learn_dense(features.values, *told)
            if not np.isfinite(state.vector).all():
                raise LinrankError(
                    f"the weights grew without bound with learning_rate={self.rate or 'None'}, "
                    f"l2={self.l2:g}. Scale the features, or use a smaller rate or a larger l2."
                )
        return Tally(loss, float(len(turns)))

    def value(self, tally: Tally, weights: Vector) -> float:
        """The sum that is lowered, the mean taken over the pairs of some turns."""
        mean = tally.loss / tally.pairs if tally.pairs > 0.0 else 0.0
        return 0.5 * self.l2 * float(weights @ weights) + mean

    def stretches(self, weight: float) -> list[range]:
        """The turns in twenty parts; none where pairs weigh nothing together, so that there is none to draw."""
        bounds = np.unique(np.linspace(0, self.steps, _LINES + 1).round().astype(np.int64))
        return [range(*ends) for ends in pairwise(bounds.tolist())] if weight > 0.0 else []


@dataclass(eq=False)
class SampledState:
    """The weights as a number, counts[0], times a vector, after counts[1] steps."""

    counts: Vector
    vector: Vector
    random: Generator

    @classmethod
    def new(cls, n_features: int, seed: int) -> SampledState:
        return cls(np.array([1.0, 0.0]), np.zeros(n_features), Generator(PCG64(seed)))

    @property
    def weights(self) -> Vector:
        return float(self.counts[0]) * self.vector

    @property
    def batches(self) -> int:
        return int(self.counts[1])


@kernel
def _weigh_positions(  # type: ignore[no-untyped-def]
    document_weights, query_weights, query_starts, rows, lower, by_query, documents, first, stop, before, chances,
):  # fmt: skip
    """Write what draws pairs, position by position; returns the weight of all pairs."""
    total = 0.0
    for query in range(len(query_starts) - 1):
        begin, end = query_starts[query], query_starts[query + 1]
        weight, of_query = 0.0, 0.0
        for p in range(begin, end):
            documents[p] = begin + rows[p]
            first[p] = begin
            stop[p] = begin + lower[p]
            before[p] = weight
            weight += document_weights[documents[p]]
            # `lower` is at most the position itself, so the weight below it is known already.
            chances[p] = document_weights[documents[p]] * before[stop[p]]
            of_query += chances[p]
        scale = query_weights[query]
        if by_query and of_query > 0.0:
            scale /= of_query
        for p in range(begin, end):
            chances[p] *= scale
            total += chances[p]
    return total


@kernel
def _fill_alias_table(chances, total, waiting, keep, other):  # type: ignore[no-untyped-def]
    """Vose's construction: columns of equal height, each made of one position and the top of at most one other."""
    n = len(chances)
    # Positions with less than their share wait at the left end, those with more at the right end.
    n_small, n_large = 0, 0
    for p in range(n):
        keep[p] = chances[p] / total * n
        other[p] = p
        if keep[p] < 1.0:
            waiting[n_small] = p
            n_small += 1
        else:
            n_large += 1
            waiting[n - n_large] = p
    while n_small > 0 and n_large > 0:
        n_small -= 1
        small, large = waiting[n_small], waiting[n - n_large]
        other[small] = large
        keep[large] -= 1.0 - keep[small]
        if keep[large] < 1.0:
            n_large -= 1
            waiting[n_small] = large
            n_small += 1
    # What is left is full but for rounding, unless it has no chance at all.
    for k in range(n_small):
        keep[waiting[k]] = 1.0 if chances[waiting[k]] > 0.0 else 0.0
    for k in range(n - n_large, n):
        keep[waiting[k]] = 1.0


@kernel
def _draw(documents, first, stop, before, keep, other, high_share, low_share):  # type: ignore[no-untyped-def]
    """The rows of one pair, for two numbers from 0 to 1."""
    n = len(keep)
    place = high_share * n
    high = min(int(place), n - 1)
    if place - high >= keep[high]:
        high = other[high]
    target = low_share * before[stop[high]]
    left, right = first[high], stop[high] - 1
    guess = min(left + int(low_share * (stop[high] - left)), right)
    if before[guess] <= target < before[guess + 1]:
        left = guess
    else:
        while left < right:
            middle = (left + right) // 2
            if before[middle + 1] > target:
                right = middle
            else:
                left = middle + 1
    return documents[high], documents[left]


@kernel
def _draw_pairs(documents, first, stop, before, keep, other, shares, pairs):  # type: ignore[no-untyped-def]
    for draw in range(len(shares)):
        high, low = _draw(documents, first, stop, before, keep, other, shares[draw, 0], shares[draw, 1])
        pairs[draw, 0], pairs[draw, 1] = high, low


@kernel
def _step(along, settings, state):  # type: ignore[no-untyped-def]
    """Shrink the weights by a step's share; returns how much of x_i - x_j to add to the vector, and the pair's loss."""
    l2, constant_rate, logistic = settings[0], settings[1], settings[2] != 0.0
    margin = state[0] * along
    if logistic:
        smaller = math.exp(-abs(margin))
        loss = max(0.0, -margin) + math.log1p(smaller)
        pull = (smaller if margin > 0.0 else 1.0) / (1.0 + smaller)
    else:
        loss = max(0.0, 1.0 - margin)
        pull = 1.0 if margin < 1.0 else 0.0
    state[1] += 1.0
    rate = constant_rate if constant_rate > 0.0 else 1.0 / (l2 * state[1])
    # The first step of Pegasos would shrink by all there is, which is nothing yet.
    if state[1] > 1.0:
        state[0] *= 1.0 - rate * l2
    return rate * pull / state[0], loss


@kernel
def _tidy(state, vector):  # type: ignore[no-untyped-def]
    if state[0] < _LEAST_SCALE:
        for j in range(len(vector)):
            vector[j] *= state[0]
        state[0] = 1.0


@summing_kernel
def _learn_dense(  # type: ignore[no-untyped-def]
    values, documents, first, stop, before, keep, other, shares, settings, state, vector
):
    """One step for each two random numbers; returns the sum of the losses before each."""
    total = 0.0
    for step in range(len(shares)):
        high, low = _draw(documents, first, stop, before, keep, other, shares[step, 0], shares[step, 1])
        along = 0.0
        for j in range(len(vector)):
            along += vector[j] * (np.float64(values[high, j]) - np.float64(values[low, j]))
        pull, loss = _step(along, settings, state)
        total += loss
        if pull != 0.0:
            for j in range(len(vector)):
                vector[j] += pull * (np.float64(values[high, j]) - np.float64(values[low, j]))
        _tidy(state, vector)
    return total


@kernel
def _learn_sparse(  # type: ignore[no-untyped-def]
    values, columns, starts, documents, first, stop, before, keep, other, shares, settings, state, vector
):
    """`_learn_dense` for compressed rows: only the features of the two rows are read or moved."""
    total = 0.0
    for step in range(len(shares)):
        high, low = _draw(documents, first, stop, before, keep, other, shares[step, 0], shares[step, 1])
        along = 0.0
        for entry in range(starts[high], starts[high + 1]):
            along += vector[columns[entry]] * values[entry]
        for entry in range(starts[low], starts[low + 1]):
            along -= vector[columns[entry]] * values[entry]
        pull, loss = _step(along, settings, state)
        total += loss
        if pull != 0.0:
            for entry in range(starts[high], starts[high + 1]):
                vector[columns[entry]] += pull * values[entry]
            for entry in range(starts[low], starts[low + 1]):
                vector[columns[entry]] -= pull * values[entry]
        _tidy(state, vector)
    return total
