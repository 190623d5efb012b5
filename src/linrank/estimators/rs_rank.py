"""RSRank: sparse linear ranking for NDCG by truncated gradient."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np

from linrank.errors import LinrankError
from linrank.estimators.base import LinearRanker, Patience, watcher
from linrank.executors.local import Threads
from linrank.measures import parse_measure
from linrank.objective.ndcg_weighted import NDCGWeightedHuber
from linrank.objective.objective import RankingObjective
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.solvers.solution import Iteration, Solution
from linrank.solvers.truncated_gradient import TruncatedGradient


class RSRank(LinearRanker):
    """Sparse linear ranking for NDCG: weighted pairs, truncated gradient (Sun, Qin, Tao & Wang, 2009).

    Descends on `sum omega_ij phi(w.(x_i - x_j)) + l1 / truncate_every |w|_1` over the weights w; the sum is over the
    pairs of documents of one query of which i has the higher label. phi(v) is -4 v below -1, (1 - v)^2 up to 1 and 0
    above; omega_ij = |2^y_i - 2^y_j| |b_i - b_j| / ideal DCG is how much a swap of the two changes the query's NDCG,
    with b = 1 / log2(1 + rank) in the order of the present scores. The weights omega are taken anew at each step, and
    held while its gradient is computed: what is descended on moves with the order, and has no certified minimum. O(l k)
    a pass for l documents with k labels; no pair is listed. A gradient step is as long as the largest feature allows:
    scale the features.

    Parameters
    ----------
    l1 : float, default=1.0
        The paper's g: how far, times the learning rate, a truncation moves each weight towards zero.
    learning_rate : float, default=0.001
        The paper's eta. It is halved, for good, at a step that may have raised the objective.
    truncate_every : int, default=1
        The paper's K: truncate after this many gradient steps. As in the paper the length of a truncation does not grow
        with it, so a larger one makes the model less sparse.
    tol : float, default=0.01
        Stop where K steps move the weights by no more than this share of what the first K steps did.
    max_iter : int, default=1000
        Gradient steps; each is one pass over the data.
    max_seconds : float, default=None
        Stop after this time, at the last point.
    patience : int, default=None
        With an `eval_set`: stop after this many steps without a better `eval_measure` on the last set, and keep the
        best weights: the paper chooses the number of steps so.
    eval_measure : str, default="ndcg@10"
    warm_start : bool, default=False
        Start from the last `coef_`, and not from zero.
    n_threads : int, default=None
        All processors. The result is the same to the last bit for any number.
    progress : callable, default=None
        Called with an `Iteration` (prints as one line) after each step.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    objective_ : float
        The formula above at `coef_`, with the weights omega of the order there.
    n_iter_ : int
    history_ : tuple of Iteration
    solution_ : Solution
    eval_history_ : list of list of float
        The `eval_measure` on each set of `eval_set`, step by step.

    Examples
    --------
    >>> from linrank.estimators.rs_rank import RSRank
    >>> from linrank import make_ranking
    >>> data, _ = make_ranking(100, 20, 10)
    >>> X = data.features / data.features.std(axis=0)
    >>> model = RSRank(l1=20.0).fit(X, data.labels, qid=data.qid)
    >>> model.coef_.shape
    (10,)
    """

    method = "rsrank"
    objective = "sum over pairs of |change of NDCG| * huber(w.(x_i - x_j)) + l1 / truncate_every * |w|_1"

    def __init__(
        self,
        l1: float = 1.0,
        *,
        learning_rate: float = 1e-3,
        truncate_every: int = 1,
        tol: float = 1e-2,
        max_iter: int = 1000,
        max_seconds: float | None = None,
        patience: int | None = None,
        eval_measure: str = "ndcg@10",
        warm_start: bool = False,
        n_threads: int | None = None,
        progress: Callable[[Iteration], object] | None = None,
    ) -> None:
        self.l1 = l1
        self.learning_rate = learning_rate
        self.truncate_every = truncate_every
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.patience = patience
        self.eval_measure = eval_measure
        self.warm_start = warm_start
        self.n_threads = n_threads
        self.progress = progress

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
        y : labels, any finite numbers; higher is better, and 0 or less gains nothing in NDCG
        qid : one value a row of any kind, in any order; without it, everything is one query
        group : sizes of consecutive queries, in place of qid
        sample_weight : how often each document stands in its query; it takes so many ranks
        query_weight : one weight a query, in order of first appearance
        eval_set : list of (X, y) to measure after each step, with `eval_qid` or `eval_group` for each
        """
        solver = self._solver()
        dataset = self._dataset(X, y, qid, group, sample_weight, query_weight)
        watching = Patience(
            self._validation(eval_set, eval_qid, eval_group), parse_measure(self.eval_measure), self.patience
        )
        start = self.coef_ if self.warm_start and hasattr(self, "coef_") else None
        with Threads(self.n_threads) as executor:
            objective = RankingObjective(NDCGWeightedHuber(), L2(0.0), 1.0, PlacedData.of(dataset, executor))
            solution = solver.minimize(objective, start, watch=watcher(self.progress, watching))
        self._finish(solution, watching)
        return self

    def _solver(self) -> TruncatedGradient:
        """Everything that cannot work is refused here, before any work."""
        if not (np.isfinite(self.l1) and self.l1 >= 0):
            raise LinrankError(f"l1={self.l1}; use 0 (no truncation) or a positive number.")
        if not (np.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise LinrankError(f"learning_rate={self.learning_rate}; use a positive number, such as 0.001.")
        if self.truncate_every < 1:
            raise LinrankError(f"truncate_every={self.truncate_every}; use a whole number of steps, at least 1.")
        if not self.tol >= 0:
            raise LinrankError(f"tol={self.tol}; use a positive number, or 0 to take all of max_iter steps.")
        if self.max_iter < 1:
            raise LinrankError(f"max_iter={self.max_iter}; use at least 1.")
        return TruncatedGradient(
            self.l1,
            self.learning_rate,
            self.truncate_every,
            self.tol,
            self.max_iter,
            np.inf if self.max_seconds is None else self.max_seconds,
        )

    def _finish(self, solution: Solution, watching: Patience) -> None:
        """Keep the solution, or the best point on the validation set."""
        if self.patience is not None and watching.best_line is not None and watching.best_weights is not None:
            line = watching.best_line
            solution = replace(
                solution, weights=watching.best_weights, value=line.value, gradient_norm=line.gradient_norm
            )
        self.eval_history_ = watching.values
        remedy = (
            f"the last step was {solution.history[-1].gap:.1e} of the first. "
            "Raise max_iter, learning_rate or tol, or stop early with patience."
        )
        to_be_said = self.patience is None and self.max_seconds is None and self.tol > 0
        self._keep(solution, unfinished=remedy if to_be_said else None)
