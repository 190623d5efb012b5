"""FTRL on parts of the data side by side: after each pass the states of the parts are averaged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import PCG64, Generator

from linrank.arrays import Vector
from linrank.executors.pieces import Piece, Pieces
from linrank.online.chunk_by_chunk import ChunkByChunk
from linrank.online.ftrl import FTRL, FTRLState
from linrank.online.learner import Tally

N_PARTS = 8
"""Into how many the data is cut unless told. Not by who computes: the weights depend on it."""


@dataclass(frozen=True)
class AveragedParts:
    """A learner that in each turn learns from all parts, each alone from the same state on, and averages the states.

    With n_p batches in part p, z and N become their means over the parts, each weighing n_p: a batch is a step, and
    all steps count alike. A part's sum of gradients is a part of that of the data, and is held against its part of l1,
    l1 / parts; so the objectives of the parts add up to the objective.
    """

    method: FTRL
    shuffle: bool

    def learn(self, state: FTRLState, data: Pieces, turns: range) -> Tally:
        """Learn from all parts once a turn."""
        loss = pairs = 0.0
        method = replace(self.method, l1=self.method.l1 / len(data))
        for _ in turns:
            seed = int(state.random.integers(2**63 - 1))
            # Rates that go by the number of steps go by those of one part, which is how far the mean of all has come.
            before = (state.z, state.squares, state.weights, state.batches // len(data))
            told = data.tell(learn_part, method=method, shuffle=self.shuffle, before=before, seed=seed)
            _average(state, method, told)
            for *_, of_part, weight in told:
                loss, pairs = loss + of_part, pairs + weight
        return Tally(loss, pairs)

    def value(self, tally: Tally, weights: Vector) -> float:
        return self.method.value(tally, weights)


def learn_part(
    part: Piece, *, method: FTRL, shuffle: bool, before: tuple[Vector, Vector, Vector, int], seed: int
) -> tuple[Vector, Vector, int, float, float]:
    """One part's z and squares after all of its queries; how many were batches, what they lost, what their pairs weigh.

    With `shuffle` its chunks come in a random order, and the queries of each, drawn by the seed and the part's number.
    """
    z, squares, weights, batches = before
    random = Generator(PCG64([seed, part.number]))
    state = FTRLState(z.copy(), squares.copy(), weights.copy(), np.array([batches], dtype=np.int64), random)
    order = np.arange(len(part.places))
    told = ChunkByChunk(method, shuffle).learn(state, part, random.permutation(order) if shuffle else order)
    return state.z, state.squares, state.batches - batches, told.loss, told.pairs


def _average(state: FTRLState, method: FTRL, told: list[Any]) -> None:
    """Put the mean state of the parts in place of a state, added in the order of the parts."""
    n_batches = sum(batches for _, _, batches, *_ in told)
    if n_batches == 0:
        return
    z, squares = np.zeros((2, len(state.z)))
    for of_part, of_squares, batches, *_ in told:
        z += batches / n_batches * of_part
        squares += batches / n_batches * of_squares
    state.z[:], state.squares[:] = z, squares
    state.weights[:] = method.weights_at(z, squares)
    state.clock[0] += n_batches
