"""Curves as steps, for engines that take trees: each curve is one tree, and its leaves are the steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from linrank.errors import LinrankError
from linrank.exporting.curves import Piecewise
from linrank.exporting.weighted_sum import WeightedSum

# The thresholds that an engine has where some are asked for, ascending as those are.
Held: TypeAlias = Callable[[Any], Any]

# Of a curve on average: a file of more is of no use to any engine.
_MOST_STEPS = 65_536


@dataclass(frozen=True, eq=False)
class Steps:
    """f(x) = value_0 before the first threshold, and value_k from threshold k on; all are numbers of float32."""

    thresholds: Any
    values: Any

    @classmethod
    def of(cls, curve: Piecewise, rise: float, held: Held) -> Steps:
        """Each segment in as few equal steps as rise by `rise` at most, halfway between them: right at every knot."""
        exact = curve.rounded()
        at, values = [np.empty(0, dtype=np.float32)], [np.empty(0)]
        for k, change in enumerate(np.diff(exact.values).tolist()):
            n_steps = int(np.ceil(abs(change) / rise * (1.0 - 1e-12))) if change else 0
            number = np.arange(n_steps)
            between = exact.knots[k] + (number + 0.5) / max(1, n_steps) * (exact.knots[k + 1] - exact.knots[k])
            # What is rounded onto the knot itself would have it on the wrong side.
            at.append(
                np.maximum(between.astype(np.float32), np.nextafter(np.float32(exact.knots[k]), np.float32(np.inf)))
            )
            values.append(exact.values[k] + (number + 1) / max(1, n_steps) * change)
        thresholds = held(np.concatenate(at))
        # Where several are one for the engine, what comes after the last of them holds.
        kept = np.append(np.diff(thresholds) > 0, True)[: len(thresholds)]
        after = np.concatenate(values)[kept]
        return cls(thresholds[kept], np.append(exact.values[0], after).astype(np.float32))

    def at(self, x: Any) -> Any:
        """F of some values, as float32."""
        return self.values[np.searchsorted(self.thresholds, np.asarray(x, dtype=np.float32), side="right")]

    def largest_error(self, curve: Piecewise) -> float:
        """The most that the steps are from the curve: at a knot, or on either side of a threshold."""
        points = np.concatenate([curve.knots, self.thresholds.astype(np.float64)])
        sides = [self.values[np.searchsorted(self.thresholds, points, side=side)] for side in ("left", "right")]
        return float(np.abs(np.stack(sides).astype(np.float64) - curve.at(points)).max())


@dataclass(frozen=True, eq=False)
class SteppedSum(WeightedSum):
    """shift + sum of weight_j times the steps of feature j.

    Attributes
    ----------
    steps : of each feature
    largest_error : how far a sum of steps may be from a sum of curves, whatever the document
    """

    steps: tuple[Steps, ...] = ()
    largest_error: float = 0.0

    @classmethod
    def with_steps(cls, ranking: WeightedSum, steps: Any, held: Held) -> SteppedSum:
        """About `steps` a feature, at least one a segment, and most where a curve times its weight moves scores most.

        Where feature j moves scores by v_j from its least value to its largest, in all, its steps are of size
        proportional to sqrt(v_j): of all that are so many together, these have the least sum of largest errors.
        """
        if isinstance(steps, bool) or not isinstance(steps, int) or not 1 <= steps <= _MOST_STEPS:
            raise LinrankError(f"steps={steps!r}; use a whole number from 1 to {_MOST_STEPS:,}.")
        curves = [curve for curve in ranking.curves if isinstance(curve, Piecewise)]
        sizes = np.abs(ranking.weights)
        moves = sizes * [np.abs(np.diff(curve.values)).sum() for curve in curves]
        if not moves.any():
            raise LinrankError("every curve of the model is flat: it ranks nothing. Train with a weaker penalty.")
        rises = np.sqrt(moves) * np.sqrt(moves).sum() / (steps * len(curves)) / sizes
        made = tuple(Steps.of(curve, rise, held) for curve, rise in zip(curves, rises.tolist(), strict=True))
        errors = (size * each.largest_error(curve) for size, each, curve in zip(sizes, made, curves, strict=True))
        return cls(**vars(ranking), steps=made, largest_error=float(sum(errors)))

    def said_of_steps(self) -> str:
        """How many steps there are, and what they do to scores."""
        leaves = sum(len(each.values) for each in self.steps)
        return (
            f"curves are {leaves:,} steps in {len(self):,} trees: a score may be off by {self.largest_error:.3g}, and "
            "documents that differ by less than twice that may change places. More steps are nearer (steps), and data "
            "says what becomes of its order"
        )

    def curved(self, rows: Any, *, rounded: bool = False) -> Any:  # noqa: ARG002 - steps are rounded already
        return np.stack([each.at(rows[:, j]) for j, each in enumerate(self.steps)], axis=1)
