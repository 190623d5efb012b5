"""Conjugate gradients for one Newton step, with the Newton decrement they come by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from linrank.arrays import Vector
from linrank.objective.objective import EvaluatedPoint
from linrank.solvers.solution import Journal

# No rest is doubted more: beyond that the least eigenvalue is lost in rounding.
_LEAST_EIGENVALUE = 1e-8

Preconditioner = Callable[[Vector, Vector], object]
"""Writes an approximation of H⁻¹ times its first argument into the second."""


@dataclass(frozen=True, slots=True)
class NewtonStep:
    """A direction d with H d ≈ -g; `decrement` estimates g' H⁻¹ g / 2, what the full step would gain.

    `foretold` is that of the preconditioner alone, g' M⁻¹ g / 2, before any product.
    """

    direction: Vector
    decrement: float
    products: int
    foretold: float

    @property
    def trust(self) -> float:
        """How many times what the preconditioner foretells the decrement may be at a point nearby, twice over."""
        return 2.0 * max(1.0, self.decrement / self.foretold) if self.foretold > 0.0 else np.inf


class Doubt:
    """How many times what a preconditioner M makes of a rest that may be, as far as is known: r' H⁻¹ r / r' M⁻¹ r.

    It is at most 1 over the least eigenvalue of M⁻¹H, and conjugate gradients come by estimates of that: what one step
    leaves is rich in directions along which M is wrong, so the next one has to know of them.
    """

    def __init__(self) -> None:
        self.times = 1.0

    def learn(self, lengths: Sequence[float], ratios: Sequence[float]) -> None:
        """From the steps of a run, and how many times what it was the rest is after each: Lanczos' matrix."""
        if not lengths:
            return
        along, shrunk = 1.0 / np.asarray(lengths), np.asarray(ratios)[:-1]
        along[1:] += shrunk / np.asarray(lengths)[:-1]
        beside = np.sqrt(shrunk) / np.asarray(lengths)[:-1]
        least = float(np.linalg.eigvalsh(np.diag(along) + np.diag(beside, 1) + np.diag(beside, -1))[0])
        self.times = max(self.times, 1.0 / max(least, _LEAST_EIGENVALUE))


def newton_step(
    point: EvaluatedPoint,
    precondition: Preconditioner,
    *,
    forcing: float,
    enough: float,
    max_products: int,
    journal: Journal,
    trust: float = np.inf,
    start: Vector | None = None,
    doubt: Doubt | None = None,
) -> NewtonStep:
    """Solve H d = -g until the rest is a small share (`forcing`) of what is gained, or the gain is small `enough`.

    Where what the preconditioner foretells, `trust` times, is small enough already, it is taken at its word.

    After each step the gain so far is d' H d, and the rest is r' H⁻¹ r; with the preconditioner in place of H this
    estimates the decrement from both parts. A run that is out of time ends after any product: every direction on the
    way is one of descent.

    The rest is only as right as the preconditioner: with a `doubt` it is taken for as many times as much wherever the
    gain is to be small enough, and in the decrement.

    With a `start`, such as what a shortened step left of the last direction, the quadratic model is minimised from
    there: at first it may be above zero, and the direction is taken only where it gains.
    """
    residual = -point.gradient
    direction = np.zeros_like(residual) if start is None else start
    gained = 0.0
    products = 0
    doubts, doubt = doubt is not None, doubt or Doubt()
    lengths: list[float] = []
    ratios: list[float] = []
    if start is not None:
        curved = point.hessian_product(start)
        products += 1
        gained = 2.0 * float(residual @ start) - float(start @ curved)
        residual -= curved
    conditioned = np.empty_like(residual)
    precondition(residual, conditioned)
    descent = conditioned.copy()
    rest = float(residual @ conditioned)
    foretold = 0.5 * rest
    if trust * foretold <= enough:
        return NewtonStep(conditioned, trust * foretold, 0, foretold)
    # In place throughout: with a million features, memory that is new to the process costs more than the arithmetic.
    while products < max_products and rest > 0.0:
        curved = point.hessian_product(descent)
        products += 1
        bend = float(descent @ curved)
        if not bend > 0.0:
            break
        length = rest / bend
        gained += length * rest
        np.multiply(descent, length, out=conditioned)
        direction += conditioned
        curved *= length
        residual -= curved
        precondition(residual, conditioned)
        before, rest = rest, max(0.0, float(residual @ conditioned))
        lengths.append(length)
        ratios.append(rest / before)
        is_exact = rest <= forcing * forcing * gained
        is_enough = 0.5 * (gained + doubt.times * rest) <= enough
        if (gained > 0.0 and (is_exact or is_enough)) or journal.seconds_left == 0.0:
            break
        descent *= rest / before
        descent += conditioned
    if gained <= 0.0 and start is not None:
        # Out of time, or of products, on the way: what is certain to descend is the gradient.
        precondition(-point.gradient, direction)
    if doubts:
        doubt.learn(lengths, ratios)
    return NewtonStep(direction, 0.5 * (gained + doubt.times * rest), products, foretold)
