"""RankSVM: exact linear ranking on all preference pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from linrank.dataset.ranking_dataset import RankingDataset
from linrank.errors import LinrankError
from linrank.estimators.minimizing_ranker import MinimizingRanker
from linrank.estimators.settings import check_choice, check_limits, check_positive
from linrank.executors.local import Threads
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import PairLoss
from linrank.objective.penalties import ElasticNet
from linrank.objective.placement import PlacedData
from linrank.objective.registry import LOSSES, make_loss, ranking_losses
from linrank.objective.sorted_pairs import DIRECT_UP_TO, PairSums
from linrank.solvers.choice import SOLVERS
from linrank.solvers.solution import Iteration

_SUMS = {"auto": DIRECT_UP_TO, "direct": 2**62, "tree": 0}
_PENALTIES = {"l2": "w.w / 2", "l1": "|w|_1", "elasticnet": "l1_ratio |w|_1 + (1 - l1_ratio) w.w / 2"}


class RankSVM(MinimizingRanker):
    """Linear RankSVM, trained exactly on all preference pairs without listing them (Lee & Lin, 2014).

    Minimises `w.w / 2 + C sum max(0, 1 - w.(x_i - x_j)) ** 2` (or without the square) over the weights w; the sum is
    over the pairs of documents of one query of which the first has the higher label. O(l log k) a pass for l documents
    with k labels. With `penalty="l1"` the first term is |w|_1, and most weights may be exactly zero.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss, which is a sum over pairs, as in LIBLINEAR.
    loss : str, default="squared_hinge"
        "squared_hinge" and "hinge", the paper's L2 loss and L1 loss; "logistic", RankNet's; "cross_entropy", ListNet's;
        "least_squares" and "least_squares_of_pairs", those of `PairwiseRidge`; or one given to `register_loss`.
    penalty : {"l2", "l1", "elasticnet"}, default="l2"
        `w.w / 2`, `|w|_1`, or `l1_ratio |w|_1 + (1 - l1_ratio) w.w / 2`.
    l1_ratio : float, default=0.5
        Of the elastic net, from 0 to 1.
    pairs : {"all", "adjacent"}, default="all"
        All preference pairs, or only those of neighbouring labels of the query.
    solver : {"newton", "proximal-newton", "proximal-gradient", "smoothed", "tron"}, default=None
        "newton" (the default for the squared hinge): preconditioned Newton-CG, or proximal Newton where there are
        corners or bounds. "smoothed" (the default, and only one, for the hinge): Newton on ever sharper corners.
        "tron": the paper's trust-region method, for reference.
    bounds : default=None
        What each weight may be: "non-negative", "non-positive", `(lower, upper)`, or `{feature: sign or interval}` with
        features by name or number and signs "+" and "-". The minimum within the bounds is exact and certified.
    prior : LinearModel, dict or array, default=None
        Weights to keep near to: the penalty is `|w - prior|^2 / 2`, so they change only as the data demands.
    tol : float, default=None
        For "newton" (1e-6): the estimate of (f - min f) / f by the Newton decrement, or by the duality gap where the
        penalty is "l1" or "elasticnet". For "tron" (1e-3): the length of
        the gradient relative to that at 0. For "smoothed" (1e-3): the duality gap relative to f.
    max_iter : int, default=None
        The solver's own: 100 for Newton's method, 500 with corners or bounds, 10,000 for gradients.
    max_seconds : float, default=None
        Stop after this time, at the last point.
    sums : {"auto", "direct", "tree"}, default="auto"
        How sums over pairs are computed: one running sum a label, or a tree over labels; the same result.
    patience : int, default=None
        With an `eval_set`: stop after this many iterations without a better `measure` on the last set, and keep
        the best weights.
    measure : str, default="ndcg@10"
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
        The `measure` on each set of `eval_set`, iteration by iteration.

    Examples
    --------
    >>> from linrank import RankSVM, make_ranking
    >>> data, _ = make_ranking(100, 20, 10)
    >>> model = RankSVM(C=1.0).fit(data.features, data.labels, qid=data.qid)
    >>> model.coef_.shape
    (10,)
    """

    method = "ranksvm"
    watches = True

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "squared_hinge",
        penalty: str = "l2",
        l1_ratio: float = 0.5,
        pairs: str = "all",
        solver: str | None = None,
        bounds: Any = None,
        prior: Any = None,
        tol: float | None = None,
        max_iter: int | None = None,
        max_seconds: float | None = None,
        sums: str = "auto",
        patience: int | None = None,
        measure: str = "ndcg@10",
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
        self.bounds = bounds
        self.prior = prior
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.sums = sums
        self.patience = patience
        self.measure = measure
        self.warm_start = warm_start
        self.n_threads = n_threads
        self.progress = progress

    @property
    def objective(self) -> str:  # type: ignore[override]
        return f"{_PENALTIES[self.penalty]} + C * {LOSSES[self.loss].formula}{self._said_of_weights()}"

    def _objective(self, dataset: RankingDataset, executor: Threads) -> RankingObjective:
        penalty = self._with_wanted(ElasticNet(self._l1_share()))
        return RankingObjective(self._loss(), penalty, self.C, PlacedData.of(dataset, executor))

    def _loss(self) -> PairLoss:
        return make_loss(self.loss, PairSums(self.pairs, _SUMS[self.sums]))  # type: ignore[arg-type]

    def _l1_share(self) -> float:
        return {"l2": 0.0, "l1": 1.0, "elasticnet": self.l1_ratio}[self.penalty]

    def _check(self) -> None:
        check_choice("loss", self.loss, ranking_losses())
        check_choice("penalty", self.penalty, _PENALTIES)
        check_choice("pairs", self.pairs, ("all", "adjacent"))
        check_choice("sums", self.sums, _SUMS)
        self._check_pairs()
        check_positive("C", self.C, "it is the weight of the loss.")
        check_limits(self)
        check_choice("solver", self.solver, (None, *SOLVERS))
        if self.penalty == "elasticnet" and not 0 <= self.l1_ratio <= 1:
            raise LinrankError(f"l1_ratio={self.l1_ratio}; use from 0 (w.w / 2 alone) to 1 (|w|_1 alone).")

    def _check_pairs(self) -> None:
        """Refuse what a loss that counts its pairs in its own way would not hear of."""
        given = {
            name: value for name, value in (("pairs", self.pairs), ("sums", self.sums)) if value not in ("all", "auto")
        }
        if given and not hasattr(LOSSES[self.loss].make(), "over"):
            said = ", ".join(f"{name}={value!r}" for name, value in given.items())
            raise LinrankError(f"loss={self.loss!r} is summed in its own way; leave out {said}, or use a hinge.")

    def _compares_weights(self) -> bool:
        return self._l1_share() > 0.0
