"""RankSVM: exact linear ranking on all preference pairs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np

from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError
from linrank.estimators.base import LinearRanker, Patience, check_choice, watcher
from linrank.executors.local import Threads
from linrank.measures import parse_measure
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import Hinge, PairLoss, SquaredHinge
from linrank.objective.penalties import L1, L2
from linrank.objective.placement import PlacedData
from linrank.objective.sorted_pairs import DIRECT_UP_TO, PairSums
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.proximal_newton import ProximalNewton
from linrank.solvers.smoothed_newton import SmoothedNewton
from linrank.solvers.solution import Iteration, Solution
from linrank.solvers.tron import TRON

RankSVMSolver = NewtonCG | TRON | SmoothedNewton | ProximalNewton

_LOSSES: dict[str, type] = {"squared_hinge": SquaredHinge, "hinge": Hinge}
_SUMS = {"auto": DIRECT_UP_TO, "direct": 2**62, "tree": 0}
_PENALTIES = {"l2": "w.w / 2", "l1": "|w|_1", "elasticnet": "l1_ratio |w|_1 + (1 - l1_ratio) w.w / 2"}
_PAIR_LOSSES = {"squared_hinge": "max(0, 1 - w.(x_i - x_j))^2", "hinge": "max(0, 1 - w.(x_i - x_j))"}


class RankSVM(LinearRanker):
    """Linear RankSVM, trained exactly on all preference pairs without listing them (Lee & Lin, 2014).

    Minimises `w.w / 2 + C sum max(0, 1 - w.(x_i - x_j)) ** 2` (or without the square) over the weights w; the sum is
    over the pairs of documents of one query of which the first has the higher label. O(l log k) a pass for l documents
    with k labels. With `penalty="l1"` the first term is |w|_1, and most weights may be exactly zero.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss, which is a sum over pairs, as in LIBLINEAR.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        The paper's L2 loss and L1 loss.
    penalty : {"l2", "l1", "elasticnet"}, default="l2"
        `w.w / 2`, `|w|_1`, or `l1_ratio |w|_1 + (1 - l1_ratio) w.w / 2`; the latter two for the squared hinge.
    l1_ratio : float, default=0.5
        Of the elastic net, from 0 to 1.
    pairs : {"all", "adjacent"}, default="all"
        All preference pairs, or only those of neighbouring labels of the query.
    solver : {"newton", "tron", "smoothed"}, default=None
        "newton" (the default for the squared hinge): preconditioned Newton-CG, or proximal Newton where the penalty
        makes weights zero. "tron": the paper's trust-region
        method, for reference. "smoothed" (the default, and only one, for the hinge): Newton on ever sharper corners.
    tol : float, default=None
        For "newton" (1e-6): the estimate of (f - min f) / f by the Newton decrement, or by the duality gap where the
        penalty is "l1" or "elasticnet". For "tron" (1e-3): the length of
        the gradient relative to that at 0. For "smoothed" (1e-3): the duality gap relative to f.
    max_iter : int, default=100
    max_seconds : float, default=None
        Stop after this time, at the last point.
    sums : {"auto", "direct", "tree"}, default="auto"
        How sums over pairs are computed: one running sum a label, or a tree over labels; the same result.
    patience : int, default=None
        With an `eval_set`: stop after this many iterations without a better `eval_measure` on the last set, and keep
        the best weights.
    eval_measure : str, default="ndcg@10"
    warm_start : bool, default=False
        Start from the last `coef_`.
    n_threads : int, default=None
        All processors. The result is the same to the last bit for any number.
    progress : callable, default=None
        Called with an `Iteration` (prints as one line) after each iteration.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    objective_ : float
        The value of the objective.
    gap_ : float
        A certified bound on `objective_` minus the least value there is.
    n_iter_ : int
    history_ : tuple of Iteration
    solution_ : Solution
    eval_history_ : list of list of float
        The `eval_measure` on each set of `eval_set`, iteration by iteration.

    Examples
    --------
    >>> from linrank import RankSVM, make_ranking
    >>> data, _ = make_ranking(100, 20, 10)
    >>> model = RankSVM(C=1.0).fit(data.features, data.labels, qid=data.qid)
    >>> model.coef_.shape
    (10,)
    """

    method = "ranksvm"

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "squared_hinge",
        penalty: str = "l2",
        l1_ratio: float = 0.5,
        pairs: str = "all",
        solver: str | None = None,
        tol: float | None = None,
        max_iter: int = 100,
        max_seconds: float | None = None,
        sums: str = "auto",
        patience: int | None = None,
        eval_measure: str = "ndcg@10",
        warm_start: bool = False,
        n_threads: int | None = None,
        progress: Callable[[Iteration], object] | None = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.pairs = pairs
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.sums = sums
        self.patience = patience
        self.eval_measure = eval_measure
        self.warm_start = warm_start
        self.n_threads = n_threads
        self.progress = progress

    @property
    def objective(self) -> str:  # type: ignore[override]
        return f"{_PENALTIES[self.penalty]} + C * sum over pairs of {_PAIR_LOSSES[self.loss]}"

    def fit(
        self,
        X: Any,
        y: Any,
        qid: Any = None,
        *,
        group: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        eval_group: Any = None,
    ) -> Self:
        """Train on documents X with labels y.

        Parameters
        ----------
        X : array, CSR matrix or DataFrame of shape (n_documents, n_features)
        y : labels, any finite numbers; higher is better
        qid : one value a row of any kind, in any order; without it, everything is one query
        group : sizes of consecutive queries, in place of qid
        sample_weight : one weight a document; a pair weighs the product of its two
        query_weight : one weight a query, in order of first appearance
        eval_set : list of (X, y) to measure after each iteration, with `eval_qid` or `eval_group` for each
        """
        solver = self._solver(self.C)
        dataset = self._dataset(X, y, qid, group, sample_weight, query_weight)
        watching = Patience(
            self._validation(eval_set, eval_qid, eval_group), parse_measure(self.eval_measure), self.patience
        )
        start = self.coef_ if self.warm_start and hasattr(self, "coef_") else None
        with Threads(self.n_threads) as executor:
            solution = solver.minimize(
                self._objective(dataset, self.C, executor), start, watch=watcher(self.progress, watching)
            )
        self._finish(solution, watching)
        return self

    def _objective(self, dataset: RankingDataset, C: float, executor: Threads) -> RankingObjective:
        how = PairSums(self.pairs, _SUMS[self.sums])  # type: ignore[arg-type]
        return RankingObjective(self._loss(), L2(1.0 - self._l1_share()), C, PlacedData.of(dataset, executor), how)

    def _loss(self) -> PairLoss:
        made: PairLoss = _LOSSES[self.loss]()
        return made

    def _l1_share(self) -> float:
        return {"l2": 0.0, "l1": 1.0, "elasticnet": self.l1_ratio}[self.penalty]

    def _solver(self, C: float) -> RankSVMSolver:
        """Everything that cannot work is refused here, before any work."""
        check_choice("loss", self.loss, _LOSSES)
        check_choice("penalty", self.penalty, _PENALTIES)
        check_choice("pairs", self.pairs, ("all", "adjacent"))
        check_choice("sums", self.sums, _SUMS)
        if not (np.isfinite(C) and C > 0):
            raise LinrankError(f"C={C}; the weight of the loss must be a positive number.")
        if self.tol is not None and not self.tol > 0:
            raise LinrankError(f"tol={self.tol}; use a positive number, or None for the solver's own.")
        if self.max_iter < 1:
            raise LinrankError(f"max_iter={self.max_iter}; use at least 1.")
        solver = self.solver or ("newton" if self.loss == "squared_hinge" else "smoothed")
        check_choice("solver", solver, ("newton", "tron", "smoothed"))
        if (self.loss == "hinge") != (solver == "smoothed"):
            remedy = "'smoothed'" if self.loss == "hinge" else "'newton' or 'tron'"
            raise LinrankError(f"solver={solver!r} cannot minimise loss={self.loss!r}; use solver={remedy}.")
        if self.penalty != "l2" and solver != "newton":
            raise LinrankError(
                f"penalty={self.penalty!r} needs loss='squared_hinge' and solver='newton'; "
                f"for solver={solver!r} use penalty='l2'."
            )
        if self.penalty == "elasticnet" and not 0 <= self.l1_ratio <= 1:
            raise LinrankError(f"l1_ratio={self.l1_ratio}; use from 0 (w.w / 2 alone) to 1 (|w|_1 alone).")
        limits: dict[str, Any] = {
            "max_iterations": self.max_iter,
            "max_seconds": np.inf if self.max_seconds is None else self.max_seconds,
        }
        tolerance: dict[str, Any] = {} if self.tol is None else {"tolerance": self.tol}
        if self._l1_share() > 0.0:
            return ProximalNewton(L1(self._l1_share()), **limits, **tolerance)
        made: Any = {"newton": NewtonCG, "tron": TRON, "smoothed": SmoothedNewton}[solver]
        solver_: RankSVMSolver = made(**limits, **tolerance)
        return solver_

    def _finish(self, solution: Solution, watching: Patience) -> None:
        """Keep the solution, or the best point on the validation set, with what is known of it."""
        if self.patience is not None and watching.best_line is not None and watching.best_weights is not None:
            line = watching.best_line
            gap = line.gap * line.value if self.loss == "hinge" or self.penalty != "l2" else 0.5 * line.gradient_norm**2
            solution = replace(
                solution,
                weights=watching.best_weights,
                value=line.value,
                gradient_norm=line.gradient_norm,
                certified_gap=gap,
                estimated_gap=line.gap * line.value,
            )
        self.eval_history_ = watching.values
        remedy = f"f - min f is about {solution.estimated_gap:.1e} of {solution.value:.6e}. Raise max_iter, or tol."
        self._keep(solution, unfinished=remedy if self.patience is None and self.max_seconds is None else None)
