"""FTRL on data that is larger than memory: chunk after chunk, in each turn all queries of one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linrank.arrays import Offsets, Vector
from linrank.executors.pieces import Piece
from linrank.online.ftrl import FTRL, FTRLState
from linrank.online.learner import Tally
from linrank.online.queries_by_label import QueriesByLabel


@dataclass(frozen=True)
class ChunkByChunk:
    """A learner whose turns are chunks, by their numbers; the queries of each may be shuffled."""

    method: FTRL
    shuffle: bool

    def learn(self, state: FTRLState, data: Piece, turns: Offsets) -> Tally:
        """Learn from all queries of the chunks, one chunk after the other."""
        loss, pairs = 0.0, 0.0
        for chunk in data.chunks(turns.tolist()):
            order = np.arange(chunk.n_queries)
            told = self.method.learn(
                state, QueriesByLabel.of(chunk), state.random.permutation(order) if self.shuffle else order
            )
            loss, pairs = loss + told.loss, pairs + told.pairs
        return Tally(loss, pairs)

    def value(self, tally: Tally, weights: Vector) -> float:
        return self.method.value(tally, weights)
