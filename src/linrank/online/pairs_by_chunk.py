"""Sampled pairs of data that is larger than memory: chunk after chunk, from each as many as its share of all pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from linrank.arrays import Offsets, Vector
from linrank.executors.pieces import Piece
from linrank.online.learner import Tally, Turns
from linrank.online.queries_by_label import QueriesByLabel
from linrank.online.sampled_pairs import PairSampler, SampledPairs, SampledState


@dataclass(frozen=True, eq=False)
class ChunksOfPairs:
    """Chunks that are not loaded, and what the pairs of each weigh together."""

    piece: Piece
    weights: Vector

    @classmethod
    def of(cls, piece: Piece, *, by_query: bool) -> ChunksOfPairs:
        """Of the data, only judgements are read for it."""
        chunks = piece.chunks(features=False)
        weights = [PairSampler.of(QueriesByLabel.of(chunk), by_query=by_query).weight for chunk in chunks]
        return cls(piece, np.array(weights))

    @property
    def weight(self) -> float:
        """Of all pairs together: 0 if there is none."""
        return float(self.weights.sum())

    def deal(self, n_pairs: int, random: Generator) -> tuple[Offsets, Offsets]:
        """Some chunks in random order, and how many pairs to draw from each: together, exactly those asked for.

        A chunk has its share of them, rounded up or down; which is drawn, so that its mean is the share itself.
        """
        order = random.permutation(len(self.weights))
        ends = np.cumsum(self.weights[order])
        # One draw for all chunks, where they stand on one line: systematic sampling.
        bounds = np.floor(ends / ends[-1] * n_pairs + random.random()).astype(np.int64)
        counts = np.diff(np.minimum(bounds, n_pairs), prepend=0)
        return order[counts > 0], counts[counts > 0]


@dataclass(frozen=True)
class PairsByChunk:
    """A learner that goes through all chunks in each stretch of turns; one is in memory, and the next as it is read."""

    method: SampledPairs

    def learn(self, state: SampledState, data: ChunksOfPairs, turns: Turns) -> Tally:
        """Draw a pair in each turn, chunk after chunk, and take a step."""
        # Chunks are dealt by a generator of their own: from a single chunk, the pairs drawn are those of memory.
        order, counts = data.deal(len(turns), state.random.spawn(1)[0])
        loss = 0.0
        for chunk, n_pairs in zip(data.piece.chunks(order.tolist()), counts.tolist(), strict=True):
            pairs = PairSampler.of(QueriesByLabel.of(chunk), by_query=self.method.by_query)
            loss += self.method.learn(state, pairs, range(n_pairs)).loss
        return Tally(loss, float(len(turns)))

    def value(self, tally: Tally, weights: Vector) -> float:
        return self.method.value(tally, weights)
