"""RSRank: sparse linear ranking for NDCG by truncated gradient."""

from __future__ import annotations

from dataclasses import KW_ONLY

from linrank.estimators.declaring import with_settings
from linrank.estimators.minimizing_ranker import MinimizingRanker
from linrank.estimators.settings import check_count, check_not_negative, check_positive
from linrank.objective.ndcg_weighted import NDCGWeightedHuber
from linrank.objective.objective import RankingObjective
from linrank.objective.penalties import L1, Penalty
from linrank.solvers.solution import Solution
from linrank.solvers.truncated_gradient import TruncatedGradient


@with_settings
class RSRank(MinimizingRanker):
    """Sparse linear ranking for NDCG: weighted pairs, truncated gradient (Sun, Qin, Tao & Wang, 2009).

    Descends on {formula}. huber(v) is -4 v below -1, (1 - v)^2 up to 1 and 0 above; the change of NDCG by a swap of the
    two is omega_ij = |2^y_i - 2^y_j| |b_i - b_j| / ideal DCG, with b = 1 / log2(1 + rank) in the order of the present
    scores. The weights omega are taken anew at each step, and held while its gradient is computed: what is descended on
    moves with the order, and has no certified minimum. O(l k) a pass for l documents with k labels; no pair is listed.
    A gradient step is as long as the largest feature allows: scale the features.

    Parameters
    ----------
    l1 : float
        The paper's g: how far, times the learning rate, a truncation moves each weight towards zero.
    learning_rate : float
        The paper's eta.
    safe_rate : bool
        Halve the learning rate, for good, at a step that may have raised the objective. False is the paper's fixed
        rate: it may diverge, which is then told in a warning.
    truncate_every : int
        The paper's K: truncate after this many gradient steps. As in the paper the length of a truncation does not grow
        with it, so a larger one makes the model less sparse.
    tol : float
        Stop where K steps move the weights by no more than this share of what the first K steps did.
    max_iter : int
        Gradient steps; each is one pass over the data.
    patience : int
        With an `eval_set`: stop after this many steps without a better `measure` on the last set, and keep the
        best weights: the paper chooses the number of steps so.

    Attributes
    ----------
    objective_ : float
        The formula above at `coef_`, with the weights omega of the order there.
    eval_history_ : list of list of float
        The `measure` on each set of `eval_set`, iteration by iteration.

    Examples
    --------
    >>> from linrank import RSRank, make_ranking
    >>> data, _ = make_ranking(100, 20, 10)
    >>> X = data.features / data.features.std(axis=0)
    >>> model = RSRank(l1=20.0).fit(X, data.labels, qid=data.qid)
    >>> model.coef_.shape
    (10,)
    """

    watches = True
    at_no_tolerance = "take all of max_iter steps"
    method = "rsrank"

    l1: float = 1.0
    _: KW_ONLY
    learning_rate: float = 1e-3
    truncate_every: int = 1
    safe_rate: bool = True
    tol: float = 1e-2
    max_iter: int = 1000
    max_seconds: float | None = None
    patience: int | None = None
    measure: str = "ndcg@10"
    warm_start: bool = False

    def _check(self) -> None:
        check_not_negative("l1", self.l1, "0 does not truncate.")
        check_positive("learning_rate", self.learning_rate, "such as 0.001.")
        check_count("truncate_every", self.truncate_every)
        super()._check()

    def _compares_weights(self) -> bool:
        return self.l1 > 0

    def _loss(self) -> NDCGWeightedHuber:
        return NDCGWeightedHuber()

    def _penalty(self) -> Penalty:
        return L1(self.l1 / self.truncate_every)

    def _solver(self, objective: RankingObjective) -> TruncatedGradient:  # noqa: ARG002
        return TruncatedGradient(self.learning_rate, self.truncate_every, self.safe_rate, **self._limits())

    def _finish(self, solution: Solution) -> None:
        first, last = solution.history[0].value, solution.history[-1].value
        if self.safe_rate or last <= first:
            super()._finish(solution)
            return
        # Also where the end was asked for, by patience or a time: what is kept may be the start.
        self._keep(
            solution,
            unfinished=f"it diverged: the objective rose from {first:.6e} to {last:.6e} at the fixed learning_rate="
            f"{self.learning_rate:g}. Lower it, scale the features, or use safe_rate=True.",
        )

    def _remedy(self, solution: Solution) -> str:
        return (
            f"the last step was {solution.history[-1].gap:.1e} of the first. "
            "Raise max_iter, learning_rate or tol, or stop early with patience."
        )
