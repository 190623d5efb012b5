"""MCPRank: the squared hinge on all preference pairs with a concave penalty, for fewer features at less bias."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace

import numpy as np

from linrank.arrays import Vector
from linrank.errors import LinrankError
from linrank.estimators.declaring import with_settings
from linrank.estimators.settings import check_choice, check_positive
from linrank.estimators.sparse_rank import BatchSparseRanker
from linrank.objective.concave_penalties import MCP, ConcavePenalty, Log, Lp, usual_size
from linrank.objective.objective import RankingObjective
from linrank.objective.penalties import L1, Penalty
from linrank.solvers.proximal_gradient import ProximalGradient
from linrank.solvers.reweighted_l1 import ReweightedL1
from linrank.solvers.solution import Solution, Watch

_FORMULAS = {
    "mcp": "l1 * |w_j| - w_j^2 / (2 * shape) up to |w_j| = shape * l1, constant beyond",
    "log": "l1 * shape * log(1 + |w_j| / shape)",
    "lp": "l1 * ((|w_j| + smoothing)^shape - smoothing^shape)",
}
_DEFAULT_POWER = 0.5
# Weights a hundred times smaller than usual are as good as zero to the lp penalty.
_SMOOTHING_SHARE = 0.01


@with_settings
class MCPRank(BatchSparseRanker):
    """The squared hinge with a concave penalty, by reweighted L1 from the L1 solution (Laporte et al., 2014).

    Minimises {formula}. The penalty p is one of

    - "mcp": `l1 |w| - w^2 / (2 shape)` up to the knee `|w| = shape l1`, and constant beyond;
    - "log": `l1 shape log(1 + |w| / shape)`, whose slope falls from l1 at zero to half of that at `|w| = shape`;
    - "lp": `l1 ((|w| + e)^shape - e^shape)`, where e is a hundredth of the mean size of the L1 solution's weights.

    The problem is not convex. The start is the solution for `l1 |w|_1`, so the result is always the same one: a point
    where the first-order condition holds, and where the objective is no greater than at the start.

    Parameters
    ----------
    l1 : float
        Strength of the penalty (the paper's lambda), beside a sum over pairs: it grows with the data.
    shape : float
        For "mcp" and "log" by default such that the knee (`shape l1`), or the point of half the slope (`shape`), is the
        mean size of the non-zero weights of the L1 solution. For "lp" the power, below 1, by default 0.5.
    penalty : {"mcp", "log", "lp"}
        One of those above.
    tol : float
        How far from zero the least subgradient may be in its largest entry, relative to the largest entry of the
        gradient at w = 0. Also the relative duality gap of the L1 solution.
    max_iter : int
        Reweighted problems to solve at most.

    Attributes
    ----------
    penalty_ : MCP, Log or Lp
        The penalty with the numbers used.
    history_ : tuple of Iteration
        Its `gap` is what `tol` is compared with: nothing certifies a gap where the problem is not convex.

    Examples
    --------
    >>> from linrank import MCPRank, make_ranking
    >>> data, _ = make_ranking(100, 20, 10)
    >>> model = MCPRank(l1=500).fit(data.features, data.labels, qid=data.qid)
    >>> model.penalty_.strength
    500
    """

    method = "mcprank"

    l1: float = 1.0
    shape: float | None = None
    _: KW_ONLY
    penalty: str = "mcp"
    tol: float = 1e-4
    max_iter: int = 100

    @property
    def objective(self) -> str:
        return super().objective.replace("p(w_j)", _FORMULAS[self.penalty])

    def _check(self) -> None:
        super()._check()
        check_positive("l1", self.l1, "for weights without zeros there is RankSVM.")
        check_choice("penalty", self.penalty, _FORMULAS)
        if self.shape is not None:
            check_positive("shape", self.shape, "it says how soon the penalty bends, and None chooses it.")
            if self.penalty == "lp" and self.shape >= 1.0:
                raise LinrankError(f"shape={self.shape}; the power of 'lp' must be below 1. For 1 there is SparseRank.")

    def _penalty(self) -> Penalty:
        """The L1 penalty of the start; where the concave one bends is known after that."""
        return L1(self.l1)

    def _solve(self, objective: RankingObjective, start: Vector | None, watch: Watch | None) -> Solution:  # noqa: ARG002
        first = ProximalGradient(float(self.tol)).minimize(objective)
        self.penalty_ = self._concave(first.weights)
        concave = objective.with_penalty(self.penalty_)
        if first.interrupted:
            # The loss is known at the last point; the gap was that of another penalty.
            return replace(first, value=concave.at(first.weights).value, certified_gap=np.inf)
        return ReweightedL1(**self._limits()).minimize(concave, first.weights, watch=watch)

    def _concave(self, l1_solution: Vector) -> ConcavePenalty:
        usual = usual_size(l1_solution)
        if self.penalty == "lp":
            return Lp(self.l1, _DEFAULT_POWER if self.shape is None else self.shape, _SMOOTHING_SHARE * usual)
        if self.penalty == "log":
            return Log(self.l1, usual if self.shape is None else self.shape)
        return MCP(self.l1, usual / self.l1 if self.shape is None else self.shape)
