"""RankSVM: exact linear ranking on all preference pairs."""

from __future__ import annotations

from dataclasses import KW_ONLY

from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError
from linrank.estimators.declaring import with_settings
from linrank.estimators.penalized_ranker import PenalizedRanker
from linrank.estimators.settings import check_choice
from linrank.executors.local import Threads
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import PairLoss
from linrank.objective.registry import LOSSES, make_loss, ranking_losses
from linrank.objective.sorted_pairs import PairSums
from linrank.objective.structures.by_name import STRUCTURES


@with_settings
class RankSVM(PenalizedRanker):
    """Linear RankSVM, trained exactly on all preference pairs without listing them (Lee & Lin, 2014).

    Minimises {formula}; or another `loss`. O(l log k) a pass for l documents with k labels. With `penalty="l1"` most
    weights may be exactly zero.

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
    sums: str = "auto"

    @property
    def objective(self) -> str:
        return super().objective.replace(LOSSES["squared_hinge"].formula, LOSSES[self.loss].formula)

    def _loss(self) -> PairLoss:
        return make_loss(self.loss, PairSums(self.pairs, STRUCTURES[self.sums]))  # type: ignore[arg-type]

    def _objective(self, dataset: RankingDataset, executor: Threads) -> RankingObjective:
        reason = STRUCTURES[self.sums].refuses(dataset)
        if reason is not None:
            raise LinrankError(f"sums={self.sums!r}: {reason}")
        return super()._objective(dataset, executor)  # type: ignore[no-any-return]

    def _check(self) -> None:
        check_choice("loss", self.loss, ranking_losses())
        check_choice("pairs", self.pairs, ("all", "adjacent"))
        check_choice("sums", self.sums, STRUCTURES)
        self._check_pairs()
        super()._check()

    def _check_pairs(self) -> None:
        """Refuse what a loss that counts its pairs in its own way would not hear of."""
        given = {
            name: value for name, value in (("pairs", self.pairs), ("sums", self.sums)) if value not in ("all", "auto")
        }
        if given and not hasattr(LOSSES[self.loss].make(), "over"):
            said = ", ".join(f"{name}={value!r}" for name, value in given.items())
            raise LinrankError(f"loss={self.loss!r} is summed in its own way; leave out {said}, or use a hinge.")
