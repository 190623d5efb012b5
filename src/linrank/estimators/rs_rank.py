"""RSRank: sparse linear ranking for NDCG by truncated gradient."""

from __future__ import annotations

from collections.abc import Callable

from linrank.arrays import Vector
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.estimators.minimizing_ranker import MinimizingRanker
from linrank.estimators.settings import check_count, check_limits, check_not_negative, check_positive
from linrank.executors.local import Threads
from linrank.objective.ndcg_weighted import NDCGWeightedHuber
from linrank.objective.objective import RankingObjective
from linrank.objective.penalties import L1
from linrank.objective.placement import PlacedData
from linrank.solvers.solution import Iteration, Solution, Watch
from linrank.solvers.truncated_gradient import TruncatedGradient


class RSRank(MinimizingRanker):
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
        With an `eval_set`: stop after this many steps without a better `measure` on the last set, and keep the
        best weights: the paper chooses the number of steps so.
    measure : str, default="ndcg@10"
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
        The `measure` on each set of `eval_set`, step by step.

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

    watches = True
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
        measure: str = "ndcg@10",
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
        self.measure = measure
        self.warm_start = warm_start
        self.n_threads = n_threads
        self.progress = progress

    def _check(self) -> None:
        check_not_negative("l1", self.l1, "0 does not truncate.")
        check_positive("learning_rate", self.learning_rate, "such as 0.001.")
        check_count("truncate_every", self.truncate_every)
        check_limits(self, all_iterations="take all of max_iter steps")

    def _compares_weights(self) -> bool:
        return self.l1 > 0

    def _objective(self, dataset: RankingDataset, executor: Threads) -> RankingObjective:
        return RankingObjective(
            NDCGWeightedHuber(), L1(self.l1 / self.truncate_every), 1.0, PlacedData.of(dataset, executor)
        )

    def _solve(self, objective: RankingObjective, start: Vector | None, watch: Watch | None) -> Solution:
        solver = TruncatedGradient(self.learning_rate, self.truncate_every, **self._limits())
        return solver.minimize(objective, start, watch=watch)

    def _remedy(self, solution: Solution) -> str:
        return (
            f"the last step was {solution.history[-1].gap:.1e} of the first. "
            "Raise max_iter, learning_rate or tol, or stop early with patience."
        )
