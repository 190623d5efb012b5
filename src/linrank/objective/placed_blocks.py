"""How the rows of a block are multiplied: in one task that has them in cache, or in many, each with a chunk of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from linrank.arrays import Vector
from linrank.dataset.features import Features
from linrank.dataset.query_blocks import QueryBlock
from linrank.executors.local import Threads
from linrank.objective.pair_losses import LossAtScores, PairLoss


@dataclass(frozen=True, slots=True)
class PlacedBlock:
    """A block that one task computes with from the scores to the gradient, while its features are in cache."""

    block: QueryBlock
    is_spread: ClassVar[bool] = False

    def scores(self, weights: Vector) -> Vector:
        return self.block.features.product(weights, np.empty(self.block.n_documents))

    def loss_at(self, scores: Vector, loss: PairLoss) -> LossAtScores:
        return loss.at(scores, self.block)

    def add_transposed(self, slopes: Vector, total: Vector) -> None:
        """Add sum_i slopes_i x_i to `total`."""
        self.block.features.transposed_product(slopes, total)

    def add_squares(self, slopes: Vector, total: Vector) -> None:
        """Add sum_i slopes_i x_i ** 2, feature by feature, to `total`."""
        self.block.features.transposed_square_product(slopes, total)


@dataclass(frozen=True, slots=True)
class SpreadQuery(PlacedBlock):
    """One query whose rows are spread over chunks: these give scores and take slopes, and the loss is computed here."""

    chunks: Sequence[Features]
    bounds: tuple[int, ...]
    executor: Threads
    is_spread: ClassVar[bool] = True

    @classmethod
    def of(cls, block: QueryBlock, n_chunks: int, executor: Threads) -> SpreadQuery:
        bounds = tuple(int(bound) for bound in np.linspace(0, block.n_documents, n_chunks + 1))
        chunks = [block.features.rows(a, b) for a, b in pairwise(bounds)]
        return cls(block, executor.place(chunks), bounds, executor)

    def split(self, column: Vector) -> list[Vector]:
        """A column of the query as one part a chunk."""
        return [column[a:b] for a, b in pairwise(self.bounds)]

    def scores(self, weights: Vector) -> Vector:
        executor = self.executor
        return np.concatenate(executor.gather(executor.map(_scores_of_chunk, self.chunks, weights=weights)))

    def loss_at(self, scores: Vector, loss: PairLoss) -> LossAtScores:
        """The loss at the scores, its two sweeps side by side."""
        over: Any = getattr(loss, "over", None)
        if over is not None:
            loss = replace(loss, over=replace(over, both=self.executor.both))  # type: ignore[type-var]
        return loss.at(scores, self.block)

    def add_transposed(self, slopes: Vector, total: Vector) -> None:
        total += self.executor.total(_transposed_chunk, self.chunks, self.split(slopes))

    def add_squares(self, slopes: Vector, total: Vector) -> None:
        total += self.executor.total(_square_transposed_chunk, self.chunks, self.split(slopes))


Shard = tuple[PlacedBlock, ...]


# Tasks: module-level functions whose inputs are arguments, so that they can travel to another process.


def _scores_of_chunk(chunk: Features, *, weights: Vector) -> Vector:
    return chunk.product(weights, np.empty(chunk.n_rows))


def _transposed_chunk(chunk: Features, slopes: Vector) -> Vector:
    return chunk.transposed_product(slopes, np.zeros(chunk.n_features))


def _square_transposed_chunk(chunk: Features, slopes: Vector) -> Vector:
    return chunk.transposed_square_product(slopes, np.zeros(chunk.n_features))
