"""RegRankSVM: the hinge RankSVM whose dual variables are drawn to matrices of low rank."""

from __future__ import annotations

from dataclasses import KW_ONLY

from linrank.duals.nuclear_dual import NuclearDual, NuclearSolution
from linrank.estimators.declaring import with_settings
from linrank.estimators.minimizing_ranker import MinimizingRanker, how_far
from linrank.estimators.settings import check_not_negative, check_positive
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import Hinge
from linrank.objective.penalties import L2, Penalty
from linrank.solvers.solution import Solution


@with_settings
class RegRankSVM(MinimizingRanker):
    """RankSVM with a nuclear norm on the matrices of its dual variables (Xu, Zeng, Lan, Guo & Cheng, 2018).

    Minimises {formula}. There is a dual variable a_ij from 0 to C for each pair and a matrix A for each query; |A|_* is
    the sum of the singular values of A, over all queries. The rectangle of a query has a row for each document with
    others below it and a column for each with others above it; where a cell is not a pair, a is zero there. With
    `nuclear=0` it is the hinge RankSVM.

    It is the one method that keeps numbers for each pair: 16 bytes for each cell of the rectangles, which are the pairs
    where there are two labels. `gap_` certifies the minimum.

    Parameters
    ----------
    C : float
        Bound of the dual variables: the weight of the hinge, which is a sum over pairs.
    nuclear : float
        Weight of the nuclear norm (the paper's gamma). Singular values of a are shrunk by nuclear / (2 coupling) to
        make A.
    coupling : float
        How closely a is held to A (the paper's lambda). None is 1 / C. Where A is zero, the hinge's corner is rounded
        over a margin of 2 coupling C. The rounds it takes grow with coupling x C.
    tol : float
        The duality gap to stop at, relative to the size of the objective.
    max_iter : int
        Rounds of a step in a and a step in A.
    max_memory : float
        Gigabytes. Data whose cells would take more is refused, with what they would take, before any work.
    keep_dual : bool
        Keep the dual variables in `dual_`: 8 bytes a cell, and 16 more in training.
    warm_start : bool
        Start the first step in a from the last `coef_`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The sum of a_ij (x_i - x_j); of features so large that rounding leaves nothing of the sum, what Newton found.
    objective_ : float
        The value of the formula above: below zero, and with `nuclear=0` minus the value of the hinge RankSVM.
    gap_ : float
        The duality gap: a certified bound on `objective_` minus the least value there is.
    ranks_ : ndarray of shape (n_queries,), or None with nuclear=0
        The rank of each query's A, queries in order of first appearance.
    dual_ : tuple of ndarray, or None
        With `keep_dual`, the dual variables of each query. Rows are its documents with others below them and columns
        those with others above, both in ascending order of label; documents and queries without weight are left out.
    solution_ : NuclearSolution

    Examples
    --------
    >>> from linrank import RegRankSVM, make_ranking
    >>> data, _ = make_ranking(100, 20, 10)
    >>> model = RegRankSVM(C=0.001, nuclear=2.0).fit(data.features, data.labels, qid=data.qid)
    >>> model.ranks_.shape
    (100,)
    """

    method = "reg-ranksvm"
    reads_files = False

    C: float = 0.001
    nuclear: float = 30.0
    coupling: float | None = None
    _: KW_ONLY
    tol: float = 1e-3
    max_iter: int = 1000
    max_seconds: float | None = None
    max_memory: float = 2.0
    keep_dual: bool = False
    warm_start: bool = False

    def _check(self) -> None:
        check_positive("C", self.C, "it is the bound of the dual variables.")
        check_not_negative("nuclear", self.nuclear, "0 is the hinge RankSVM.")
        if self.coupling is not None:
            check_positive("coupling", self.coupling, "or None for 1 / C.")
        check_positive("max_memory", self.max_memory, "it is in gigabytes.")
        super()._check()

    def _loss(self) -> Hinge:
        return Hinge()

    def _loss_weight(self) -> float:
        return self.C

    def _penalty(self) -> Penalty:
        return L2()

    def _solver(self, objective: RankingObjective) -> NuclearDual:  # noqa: ARG002
        return NuclearDual(
            self.nuclear,
            1.0 / self.C if self.coupling is None else self.coupling,
            max_bytes=1e9 * self.max_memory,
            keep_dual=self.keep_dual,
            **self._limits(),
        )

    def _finish(self, solution: NuclearSolution) -> None:  # type: ignore[override]
        self.ranks_ = solution.ranks
        self.dual_ = solution.dual
        super()._finish(solution)

    def _remedy(self, solution: Solution) -> str:
        return f"{how_far(solution)}. Raise max_iter or tol, or lower coupling."
