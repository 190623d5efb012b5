"""LambdaRank: RankNet's pairs weighed by their change of NDCG."""

from __future__ import annotations

from collections.abc import Callable

from linrank.arrays import Vector
from linrank.estimators.smooth_ranker import SmoothRanker
from linrank.estimators.watching import Patience
from linrank.objective.logistic_pairs import NDCGWeightedLogistic
from linrank.objective.objective import RankingObjective
from linrank.objective.registry import LOSSES
from linrank.solvers.lambda_gradient import LambdaGradient
from linrank.solvers.solution import Iteration, Solution, Watch


class LambdaRank(SmoothRanker):
    """Linear LambdaRank: RankNet's gradient, each pair times what its swap would change of NDCG (Burges et al., 2006).

    Descends on `w.w / 2 + C sum omega_ij log(1 + exp(-w.(x_i - x_j)))` over the weights w; the sum is over the pairs of
    documents of one query of which i has the higher label. omega_ij = |2^y_i - 2^y_j| |b_i - b_j| / ideal DCG, with
    b = 1 / log2(1 + rank) in the order of the present scores; of equal scores the lower label is ranked first. The
    weights omega are taken anew at each step, and held while its gradient is computed. So this is not the minimisation
    of a fixed function: the objective may rise when the order changes, it has no certified minimum, and the weights
    kept are the best ones met: by NDCG on the training data, or by `measure` on the last set of `eval_set`.

    A step goes along the gradient to the least point of a parabola that lies above the objective with omega held, which
    therefore falls: there is no learning rate, and it cannot diverge. Along a gradient the largest feature goes first:
    scale the features. O(pairs) time a step and O(l) memory for l documents.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss, which is a sum over queries of parts that are about as large for any number of documents.
    tol : float, default=0.01
        Stop where the length of the gradient, omega held, is at most this share of that at w = 0.
    max_iter : int, default=300
        Steps.
    max_seconds : float, default=None
        Stop after this time.
    patience : int, default=None
        With an `eval_set`: stop after this many steps without a better `measure` on the last set.
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
    >>> from linrank import make_ranking
    >>> from linrank.estimators.lambda_rank import LambdaRank
    >>> data, _ = make_ranking(100, 20, 10)
    >>> X = data.features / data.features.std(axis=0)
    >>> model = LambdaRank().fit(X, data.labels, qid=data.qid)
    >>> model.coef_.shape
    (10,)
    """

    method = "lambdarank"
    loss_sum = LOSSES["ndcg_logistic"].formula

    def __init__(
        self,
        C: float = 1.0,
        *,
        tol: float = 1e-2,
        max_iter: int = 300,
        max_seconds: float | None = None,
        patience: int | None = None,
        measure: str = "ndcg@10",
        warm_start: bool = False,
        n_threads: int | None = None,
        progress: Callable[[Iteration], object] | None = None,
    ) -> None:
        super().__init__(
            C, tol=tol, max_iter=max_iter, max_seconds=max_seconds, patience=patience, measure=measure,
            warm_start=warm_start, n_threads=n_threads, progress=progress,
        )  # fmt: skip

    def _loss(self) -> NDCGWeightedLogistic:
        return NDCGWeightedLogistic()

    def _solve(self, objective: RankingObjective, start: Vector | None, watch: Watch | None) -> Solution:
        return LambdaGradient(**self._limits()).minimize(objective, start, watch=watch)

    def _keeps_best(self, watching: Patience) -> bool:
        return watching.active

    def _remedy(self, solution: Solution) -> str:
        return (
            f"the gradient is {solution.history[-1].gap:.1e} of that at 0. Raise max_iter or tol, or stop early with "
            "patience."
        )
