"""Wide data that can be separated: the solution of a smaller C is where that of a larger one begins."""

from __future__ import annotations

from linrank.objective.objective import EvaluatedPoint

# How many times stiffer than the penalty the loss may be, for a document, where a minimum is looked for from zero.
_STIFF = 512.0
_FACTOR = 4.0


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
