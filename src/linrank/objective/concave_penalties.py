"""Penalties that are concave in |w_j|: they press small weights to zero and hardly shrink large ones."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from dataclasses import dataclass

import numpy as np

from linrank.arrays import Vector
from linrank.objective.penalties import L1, WeightPenalty, WithoutSmoothPart


class ConcavePenalty(WithoutSmoothPart, metaclass=ABCMeta):
    """A sum over features of p(|w_j|), with p concave and p(0) = 0; not convex, so that nothing is certified."""

    strength: float
    """The strength of the L1 penalty it is compared with, and started from."""

    @abstractmethod
    def value(self, weights: Vector) -> float:
        """The penalty at the weights."""

    @abstractmethod
    def slopes(self, weights: Vector) -> Vector:
        """The derivative p'(|w_j|) for each feature; at zero, the one from the right."""

    def tangent(self, weights: Vector) -> WeightPenalty:
        """The L1 penalty with the same slopes at the weights: plus a constant, it is nowhere below the concave one."""
        return L1(1.0, self.slopes(weights))

    def least_subgradient(self, weights: Vector, gradient: Vector) -> Vector:
        return self.tangent(weights).least_subgradient(weights, gradient)

    def conjugate(self, slopes: Vector) -> float:  # noqa: ARG002
        return np.inf

    def gap(self, weights: Vector, slopes: Vector) -> float:  # noqa: ARG002
        return np.inf

    def room(self, slopes: Vector) -> float:  # noqa: ARG002
        return 1.0


@dataclass(frozen=True)
class MCP(ConcavePenalty):
    """The minimax concave penalty: slope strength - |w| / shape as far as |w| = shape x strength, then flat.

    Sum over j of strength |w_j| - w_j² / (2 shape) before that knee, and shape x strength² / 2 beyond it.
    """

    strength: float
    shape: float

    def value(self, weights: Vector) -> float:
        sizes = np.minimum(np.abs(weights), self.shape * self.strength)
        return float(np.sum(self.strength * sizes - 0.5 * sizes * sizes / self.shape))

    def slopes(self, weights: Vector) -> Vector:
        return np.maximum(0.0, self.strength - np.abs(weights) / self.shape)


@dataclass(frozen=True)
class Log(ConcavePenalty):
    """strength x shape x the sum of log(1 + |w_j| / shape): the slope is strength at 0, half of it at |w| = shape."""

    strength: float
    shape: float

    def value(self, weights: Vector) -> float:
        return self.strength * self.shape * float(np.sum(np.log1p(np.abs(weights) / self.shape)))

    def slopes(self, weights: Vector) -> Vector:
        return self.strength / (1.0 + np.abs(weights) / self.shape)


@dataclass(frozen=True)
class Lp(ConcavePenalty):
    """strength x the sum of (|w_j| + smoothing)^power - smoothing^power, 0 < power < 1.

    Without the smoothing the slope at zero would be infinite, and a weight once zero could never leave.
    """

    strength: float
    power: float
    smoothing: float

    def value(self, weights: Vector) -> float:
        powers = (np.abs(weights) + self.smoothing) ** self.power
        return self.strength * float(np.sum(powers - self.smoothing**self.power))

    def slopes(self, weights: Vector) -> Vector:
        return self.strength * self.power * (np.abs(weights) + self.smoothing) ** (self.power - 1.0)


def usual_size(l1_solution: Vector) -> float:
    """The mean size of the weights that are not zero: where a penalty may bend, whatever the scale of the data."""
    sizes = np.abs(l1_solution[l1_solution != 0.0])
    return float(np.mean(sizes)) if len(sizes) else 1.0
