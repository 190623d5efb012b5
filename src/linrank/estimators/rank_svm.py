"""RankSVM: exact linear ranking on all preference pairs."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Any

import numpy as np

from linrank.arrays import Vector
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError
from linrank.estimators.declaring import with_settings
from linrank.estimators.penalized_ranker import PenalizedRanker
from linrank.estimators.settings import check_choice
from linrank.estimators.watching import Patience, watcher
from linrank.executors.local import Threads
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import PairLoss
from linrank.objective.registry import LOSSES, make_loss, ranking_losses
from linrank.objective.sorted_pairs import PairSums
from linrank.objective.structures.by_name import STRUCTURES
from linrank.objective.weighting import EqualQueries, NDCGDocuments
from linrank.solvers.solution import Solution, Watch
from linrank.solvers.weighted_rounds import WeightedRounds

# What the sum over pairs becomes.
_WEIGHTED = {
    "pairs": "sum over pairs",
    "queries": "sum over queries of the mean over their pairs",
    "ndcg": "sum over queries of the mean over their pairs, by weights a_i a_j with a = 2^y / log2(1 + rank),",
}


@with_settings
class RankSVM(PenalizedRanker):
    """Linear RankSVM, trained exactly on all preference pairs without listing them (Lee & Lin, 2014).

    Minimises {formula}; or another `loss`. O(l log k) a pass for l documents with k labels. With `penalty="l1"` most
    weights may be exactly zero.

    With `weighting="ndcg"` it solves a few such problems: first with equal queries, then, at most twice, with pairs
    weighed by the order that the last solution gives, until that no longer lowers the objective by 1e-3 of it; or, with
    an `eval_set`, until the `measure` on the last set no longer gains, and then the best is kept. Every round is solved
    exactly and certified: `objective_` and `gap_` are of the one that is kept, with its weights of pairs held.

    Parameters
    ----------
    C : float
        Weight of the loss, which is a sum over pairs, as in LIBLINEAR.
    loss : str
        "squared_hinge" and "hinge", the paper's L2 loss and L1 loss; "logistic", RankNet's; "cross_entropy", ListNet's;
        "least_squares" and "least_squares_of_pairs", those of `PairwiseRidge`; or one given to `register_loss`.
    penalty : {"l2", "l1", "elasticnet"}
        `w.w / 2`, `|w|_1`, or `l1_ratio |w|_1 + (1 - l1_ratio) w.w / 2`.
    l1_ratio : float
        Of the elastic net, from 0 to 1.
    pairs : {"all", "adjacent"}
        All preference pairs, or only those of neighbouring labels of the query.
    solver : str
        "newton" (the default for the squared hinge): preconditioned Newton-CG, or proximal Newton where there are
        corners or bounds; "proximal-newton", "proximal-gradient". "smoothed" (the default for the hinge): Newton on
        ever sharper corners. For reference, "tron": the paper's trust-region method; "bundle": cutting planes, as in
        RankSVM-Struct and TreeRankSVM. "gram", "cg", "heavy-ball": those of `PairwiseRidge` and `EGDM`, for least
        squares. One that cannot minimise the objective says why, and who can.
    tol : float
        For "newton" (1e-6): the estimate of (f - min f) / f by the Newton decrement, or by the duality gap where the
        penalty is "l1" or "elasticnet". For "tron" (1e-3): the length of the gradient relative to that at 0. For
        "smoothed" and "bundle" (1e-3): the duality gap relative to f.
    weighting : {"pairs", "queries", "ndcg"}
        What a pair weighs beside the weights that are given. "pairs": all alike, so that a query with a thousand pairs
        outvotes ten small ones. "queries": 1 / the number of its query's pairs, so that each query counts alike.
        "ndcg": a_i a_j / their sum over the query, a = 2^max(y, 0) / log2(1 + rank), for the top of the list; ranks are
        those of the last round, the lower label first where scores are equal. With "queries" and "ndcg" the loss is a
        sum over queries of means: what suits is a C as many times larger as a query has pairs. `sample_weight` counts
        within a query, whose pairs weigh its `query_weight` together.
    sums : str
        What sums over pairs are kept in; the result is the same. "direct": one running sum a label; "tree": a tree over
        labels, eight children a node; "auto": the quicker of both. The paper's others, for reference: "selection-tree",
        "fenwick-tree", "y-rbtree", "y-avltree", "y-aatree" (keyed by label), "wTx-rbtree", "wTx-avltree", "wTx-aatree"
        (by score), "two-levels" (PRSVM+), "listed-pairs" (PRSVM; refused where memory does not hold the list).

    Examples
    --------
    >>> from linrank import RankSVM, make_ranking
    >>> data, _ = make_ranking(100, 20, 10)
    >>> model = RankSVM(C=1.0).fit(data.features, data.labels, qid=data.qid)
    >>> model.coef_.shape
    (10,)
    """

    method = "ranksvm"
    penalties = ("l2", "l1", "elasticnet")

    _: KW_ONLY
    loss: str = "squared_hinge"
    penalty: str = "l2"
    l1_ratio: float = 0.5
    pairs: str = "all"
    weighting: str = "pairs"
    sums: str = "auto"

    @property
    def objective(self) -> str:
        # A first round that was kept is a problem with equal queries, and nothing else was minimised.
        is_first = getattr(getattr(self, "solution_", None), "round", None) == 1
        weighting = "queries" if self.weighting == "ndcg" and is_first else self.weighting
        formula = LOSSES[self.loss].formula.replace(_WEIGHTED["pairs"], _WEIGHTED[weighting])
        return super().objective.replace(LOSSES["squared_hinge"].formula, formula)

    def _loss(self) -> PairLoss:
        return make_loss(self.loss, PairSums(self.pairs, STRUCTURES[self.sums]))  # type: ignore[arg-type]

    def _objective(self, dataset: RankingDataset, executor: Threads) -> RankingObjective:
        reason = STRUCTURES[self.sums].refuses(dataset)
        if reason is not None:
            raise LinrankError(f"sums={self.sums!r}: {reason}")
        objective: RankingObjective = super()._objective(dataset, executor)
        if self.weighting != "queries":
            return objective
        origin = np.zeros(objective.data.n_features)
        return replace(objective, data=objective.data.weighed(EqualQueries(self.pairs), origin))  # type: ignore[arg-type]

    def _solve(self, objective: RankingObjective, start: Vector | None, watch: Watch | None) -> Solution:
        solution: Solution = self._by_weighting(objective).minimize(objective, start, watch=watch)
        return solution

    def _solve_watched(self, objective: RankingObjective, start: Vector | None, watching: Patience) -> Solution:
        watch = watcher(self.progress, watching)
        if self.weighting != "ndcg" or not watching.active:
            return self._solve(objective, start, watch)
        return self._rounds(objective).minimize(objective, start, watch=watch, judge=lambda: watching.values[-1][-1])

    def _by_weighting(self, objective: RankingObjective) -> Any:
        """Who minimises it: the solver, or rounds of it."""
        return self._rounds(objective) if self.weighting == "ndcg" else self._solver(objective)

    def _rounds(self, objective: RankingObjective) -> WeightedRounds:
        solver, pairs = self._solver(objective), self.pairs
        return WeightedRounds(solver, NDCGDocuments(pairs), EqualQueries(pairs))  # type: ignore[arg-type]

    def _check(self) -> None:
        check_choice("loss", self.loss, ranking_losses())
        check_choice("pairs", self.pairs, ("all", "adjacent"))
        check_choice("weighting", self.weighting, _WEIGHTED)
        check_choice("sums", self.sums, STRUCTURES)
        self._check_pairs()
        self._check_weighting()
        super()._check()

    def _check_pairs(self) -> None:
        """Refuse what a loss that counts its pairs in its own way would not hear of."""
        given = {
            name: value for name, value in (("pairs", self.pairs), ("sums", self.sums)) if value not in ("all", "auto")
        }
        if given and not hasattr(LOSSES[self.loss].make(), "over"):
            said = ", ".join(f"{name}={value!r}" for name, value in given.items())
            raise LinrankError(f"loss={self.loss!r} is summed in its own way; leave out {said}, or use a hinge.")

    def _check_weighting(self) -> None:
        """Refuse weights of pairs for a loss that is no sum over preference pairs."""
        if self.weighting != "pairs" and getattr(LOSSES[self.loss].make(), "compares", "pairs") != "pairs":
            raise LinrankError(
                f"weighting={self.weighting!r} weighs pairs of different labels, and loss={self.loss!r} compares all "
                "documents of a query. Leave weighting out, or use loss='squared_hinge', 'hinge' or 'logistic'."
            )
