"""RegRankSVM: the hinge RankSVM whose dual variables are drawn to matrices of low rank."""

from __future__ import annotations

from collections.abc import Callable

from linrank.arrays import Vector
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.duals.nuclear_dual import NuclearDual, NuclearSolution
from linrank.estimators.minimizing_ranker import MinimizingRanker
from linrank.estimators.settings import check_limits, check_not_negative, check_positive
from linrank.executors.local import Threads
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import Hinge
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.solvers.solution import Iteration, Solution, Watch


class RegRankSVM(MinimizingRanker):
    """RankSVM with a nuclear norm on the matrices of its dual variables (Xu, Zeng, Lan, Guo & Cheng, 2018).

    Minimises, over a dual variable a_ij from 0 to C for each pair and a matrix A for each query,
    `|w|^2 / 2 - sum a_ij + nuclear * |A|_* + coupling * |a - A|^2` with `w = sum a_ij (x_i - x_j)`; the pairs are the
    documents of one query of which i has the higher label, and |A|_* is the sum of the singular values of A, over all
    queries. The rectangle of a query has a row for each document with others below it and a column for each with others
    above it; where a cell is not a pair, a is zero there. With `nuclear=0` it is the hinge RankSVM.

    It is the one method that keeps numbers for each pair: 16 bytes for each cell of the rectangles, which are the pairs
    where there are two labels. `gap_` certifies the minimum.

    Parameters
    ----------
    C : float, default=0.001
        Bound of the dual variables: the weight of the hinge, which is a sum over pairs.
    nuclear : float, default=30.0
        Weight of the nuclear norm (the paper's gamma). Singular values of a are shrunk by nuclear / (2 coupling) to
        make A.
    coupling : float, default=None
        How closely a is held to A (the paper's lambda). None is 1 / C. Where A is zero, the hinge's corner is rounded
        over a margin of 2 coupling C. The rounds it takes grow with coupling x C.
    tol : float, default=0.001
        The duality gap to stop at, relative to the size of the objective.
    max_iter : int, default=1000
        Rounds of a step in a and a step in A.
    max_seconds : float, default=None
        Stop after this time, at the last point.
    max_memory : float, default=2.0
        Gigabytes. Data whose cells would take more is refused, with what they would take, before any work.
    keep_dual : bool, default=False
        Keep the dual variables in `dual_`: 8 bytes a cell, and 16 more in training.
    warm_start : bool, default=False
        Start the first step in a from the last `coef_`.
    n_threads : int, default=None
        All processors. The result is the same to the last bit for any number.
    progress : callable, default=None
        Called with an `Iteration` (prints as one line) after each round.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The sum of a_ij (x_i - x_j).
    objective_ : float
        The value of the formula above: below zero, and with `nuclear=0` minus the value of the hinge RankSVM.
    gap_ : float
        The duality gap: a certified bound on `objective_` minus the least value there is.
    ranks_ : ndarray of shape (n_queries,), or None with nuclear=0
        The rank of each query's A, queries in order of first appearance.
    dual_ : tuple of ndarray, or None
        With `keep_dual`, the dual variables of each query. Rows are its documents with others below them and columns
        those with others above, both in ascending order of label; documents and queries without weight are left out.
    n_iter_ : int
    history_ : tuple of Iteration
    solution_ : NuclearSolution

    Examples
    --------
    >>> from linrank import make_ranking
    >>> from linrank.estimators.reg_rank_svm import RegRankSVM
    >>> data, _ = make_ranking(100, 20, 10)
    >>> model = RegRankSVM(C=0.001, nuclear=2.0).fit(data.features, data.labels, qid=data.qid)
    >>> model.ranks_.shape
    (100,)
    """

    method = "reg-ranksvm"
    objective = (
        "|w|^2 / 2 - sum over pairs of a_ij + nuclear * |A|_* + coupling * |a - A|^2, w = sum of a_ij (x_i - x_j)"
    )

    def __init__(
        self,
        C: float = 0.001,
        nuclear: float = 30.0,
        coupling: float | None = None,
        *,
        tol: float = 1e-3,
        max_iter: int = 1000,
        max_seconds: float | None = None,
        max_memory: float = 2.0,
        keep_dual: bool = False,
        warm_start: bool = False,
        n_threads: int | None = None,
        progress: Callable[[Iteration], object] | None = None,
    ) -> None:
        self.C = C
        self.nuclear = nuclear
        self.coupling = coupling
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.max_memory = max_memory
        self.keep_dual = keep_dual
        self.warm_start = warm_start
        self.n_threads = n_threads
        self.progress = progress

    def _check(self) -> None:
        check_positive("C", self.C, "it is the bound of the dual variables.")
        check_not_negative("nuclear", self.nuclear, "0 is the hinge RankSVM.")
        if self.coupling is not None:
            check_positive("coupling", self.coupling, "or None for 1 / C.")
        check_positive("max_memory", self.max_memory, "it is in gigabytes.")
        check_limits(self)

    def _objective(self, dataset: RankingDataset, executor: Threads) -> RankingObjective:
        return RankingObjective(Hinge(), L2(), self.C, PlacedData.of(dataset, executor))

    def _solve(self, objective: RankingObjective, start: Vector | None, watch: Watch | None) -> NuclearSolution:
        solver = NuclearDual(
            self.nuclear,
            1.0 / self.C if self.coupling is None else self.coupling,
            max_bytes=1e9 * self.max_memory,
            keep_dual=self.keep_dual,
            **self._limits(),
        )
        return solver.minimize(objective, start, watch=watch)

    def _finish(self, solution: NuclearSolution) -> None:  # type: ignore[override]
        self.ranks_ = solution.ranks
        self.dual_ = solution.dual
        super()._finish(solution)

    def _remedy(self, solution: Solution) -> str:
        return f"the gap is {solution.history[-1].gap:.1e} of f. Raise max_iter or tol, or lower coupling."
