"""Wide data that can be separated: the solution of a smaller C is where that of a larger one begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from linrank.arrays import Vector
from linrank.objective.objective import EvaluatedPoint, RankingObjective

# How many times stiffer than the penalty the loss may be, for a document, where a minimum is looked for from zero.
_STIFF = 64.0
_FACTOR = 2.0


def rising_strengths(origin: EvaluatedPoint) -> list[float]:
    """The values of C to go through before an objective's own, ascending; none where it can be minimised from zero.

    Where there are more features than hold the documents in place, and C is large, hardly a pair counts beyond those
    that stand at the margin. A Newton step knows these alone: it lets go of all others, which come back after a small
    share of it. From the solution of a smaller C, at which more pairs count than at that of the larger one, steps are
    whole.
    """
    objective = origin.objective
    of_loss = origin.crude_hessian_diagonal() - objective.penalty.curvature(origin.weights)
    stiffness = float(of_loss.sum()) / max(1, objective.data.n_documents)
    strengths: list[float] = []
    C = objective.C
    while stiffness > _FACTOR * _STIFF:
        C, stiffness = C / _FACTOR, stiffness / _FACTOR
        strengths.insert(0, C)
    return strengths


@dataclass(frozen=True)
class Solved:
    """The solution of a C, and its loss: all that the next one needs, where the point itself may hold rows."""

    C: float
    weights: Vector
    loss_value: float

    @classmethod
    def at(cls, point: EvaluatedPoint) -> Solved:
        return cls(point.objective.C, point.weights, point.loss_value)


def start_for(objective: RankingObjective, solved: Sequence[Solved]) -> EvaluatedPoint:
    """Where the minimum for a larger C begins: at the last solution, or where the last two point to, if that is lower.

    A pair that stands at the margin lacks about (its number in the dual) / 2C, and these numbers hardly change: so the
    solutions are on a line in 1 / C.
    """
    last = solved[-1]
    if len(solved) > 1:
        before = solved[-2]
        share = (1.0 / objective.C - 1.0 / last.C) / (1.0 / last.C - 1.0 / before.C)
        ahead = objective.at(last.weights + share * (last.weights - before.weights))
        if ahead.value < objective.penalty.value(last.weights) + objective.C * last.loss_value:
            return ahead
    return objective.at(last.weights)
