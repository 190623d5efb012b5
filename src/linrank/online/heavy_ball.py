"""Heavy ball on a stream of query blocks: a step for each, the weights averaged as they go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from linrank.arrays import Vector
from linrank.dataset.query_blocks import QueryBlock
from linrank.objective.least_squares import LeastSquares
from linrank.objective.pair_losses import LossAtScores
from linrank.online.learner import Tally, Turns

# The weights are averaged as they go, the t-th by (1 + _RECENT) / (t + _RECENT): the first ones fade away.
_RECENT = 4
# It is the averaging that helps; momenta from 0 to 0.9 change the result by a factor of two at most, either way.
STREAM_MOMENTUM = 0.5


@dataclass(eq=False)
class Stream:
    """All that the stochastic method remembers between blocks: `weights`, averaged, are what it has learnt."""

    weights: Vector
    last: Vector
    """The weights of the last step alone."""
    velocity: Vector
    batches: int = 0
    mass: float = 0.0
    """Of all documents so far; it is what the data's share of the gradient is divided by, and gamma's too."""
    squared_curvatures: float = 0.0
    learning_rate: float = 0.0

    @classmethod
    def starting_at(cls, weights: Vector) -> Stream:
        return cls(weights.copy(), weights.copy(), np.zeros_like(weights))


@dataclass(frozen=True)
class StochasticHeavyBall:
    """A step of gradient descent with momentum for every block of queries, averaged: eGDM on a stream.

    Follows the mean over the documents seen so far of F. eGDM's rates are right only where every step sees the same
    Hessian, and diverge on blocks. In place of the power iteration each block tells the curvature along its own
    gradient, |H_b g| / |g|, by a second product while it is in cache. The learning rate is one over the root mean
    square of these, and never more than two over the block's own: beyond that a step makes its own block worse.
    """

    loss: LeastSquares
    gamma: float
    momentum: float = STREAM_MOMENTUM
    prior: Vector | float = 0.0
    """Where the penalty gamma / 2 |w - prior|² is least."""

    def learn(self, state: Stream, data: Sequence[QueryBlock], turns: Turns) -> Tally:
        """Take a step for each block."""
        losses = [self._step(state, data[turn]) for turn in turns]
        return Tally(sum(losses), sum(self.loss.mass(data[turn]) for turn in turns))

    def value(self, tally: Tally, weights: Vector) -> float:
        """F, its first part as some blocks told it."""
        away = weights - self.prior
        return tally.loss + 0.5 * self.gamma * float(away @ away)

    def _step(self, stream: Stream, block: QueryBlock) -> float:
        """Take one step; return the block's loss before it."""
        scores = block.features.product(stream.last, np.empty(block.n_documents))
        at = self.loss.at(scores, block)
        mass = self.loss.mass(block)
        if mass == 0.0:
            return 0.0
        stream.batches += 1
        stream.mass += mass
        # Every block is divided by the mean mass, not by its own: documents count alike whatever block they are in.
        share, gamma = stream.mass / stream.batches, self.gamma / stream.mass
        gradient = block.features.transposed_product(at.slopes, np.zeros(len(stream.last))) / share
        gradient += gamma * (stream.last - self.prior)
        curvature = self._curvature_along(gradient, block, at) / share
        stream.squared_curvatures += curvature**2
        usual = float(np.sqrt(stream.squared_curvatures / stream.batches))
        stream.learning_rate = 1.0 / (max(usual, 0.5 * curvature) + gamma)
        stream.velocity *= self.momentum
        stream.velocity -= (1.0 - self.momentum) * stream.learning_rate * gradient
        stream.last += stream.velocity
        stream.weights += (stream.last - stream.weights) * ((1.0 + _RECENT) / (stream.batches + _RECENT))
        return at.value

    def _curvature_along(self, gradient: Vector, block: QueryBlock, at: LossAtScores) -> float:
        length = float(np.linalg.norm(gradient))
        if length == 0.0 or at.curvature is None:
            return 0.0
        curved = at.curvature.product(block.features.product(gradient, np.empty(block.n_documents)))
        return float(np.linalg.norm(block.features.transposed_product(curved, np.zeros(len(gradient))))) / length
