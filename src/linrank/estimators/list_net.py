"""ListNet: the cross entropy between two chances to stand first, by the labels and by the scores."""

from __future__ import annotations

import warnings

from linrank.dataset.ranking_dataset import RankingDataset
from linrank.estimators.smooth_ranker import SmoothRanker
from linrank.executors.local import Threads
from linrank.objective.list_losses import TopOneCrossEntropy
from linrank.objective.objective import RankingObjective
from linrank.objective.registry import LOSSES


class ListNet(SmoothRanker):
    """Linear ListNet, trained exactly (Cao, Qin, Liu, Tsai & Li, 2007).

    Minimises `w.w / 2 - C sum over queries of sum_i P_y(i) log P_s(i)` over the weights w, with s = X w and
    `P_v(i) = exp(v_i) / sum_j exp(v_j)` over the documents of the query: the chance of i to stand first. The paper
    descends on the loss alone, with a neural network; here it is convex, and Newton's method finds its minimum. O(l) a
    pass for l documents. With `penalty="l1"` the first term is |w|_1, and most weights may be exactly zero.

    A query whose labels are all equal counts too, by the definition: it wants equal scores. RankSVM leaves it out.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss, which is a sum over queries.
    penalty : {"l2", "l1"}, default="l2"
        `w.w / 2` or `|w|_1`.
    solver : {"newton", "proximal-newton", "proximal-gradient", "tron"}, default=None
        Newton's method, proximal where there are corners or bounds, unless told.
    bounds : default=None
        What each weight may be: "non-negative", "non-positive", `(lower, upper)`, or `{feature: sign or interval}` with
        features by name or number and signs "+" and "-". The minimum within the bounds is exact and certified.
    prior : LinearModel, dict or array, default=None
        Weights to keep near to: the penalty is `|w - prior|^2 / 2`, so they change only as the data demands.
    tol : float, default=1e-6
        Stop where (f - min f) / f is at most this, by the Newton decrement; by the duality gap with `penalty="l1"`.
    max_iter : int, default=None
        The solver's own: 100 for Newton's method, 500 with corners or bounds, 10,000 for gradients.
    max_seconds : float, default=None
        Stop after this time, at the last point.
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
    >>> from linrank import make_ranking
    >>> from linrank.estimators.list_net import ListNet
    >>> data, _ = make_ranking(100, 20, 10)
    >>> model = ListNet(C=1.0).fit(data.features, data.labels, qid=data.qid)
    >>> model.coef_.shape
    (10,)
    """

    method = "listnet"
    loss_sum = LOSSES["cross_entropy"].formula

    def _loss(self) -> TopOneCrossEntropy:
        return TopOneCrossEntropy()

    def _objective(self, dataset: RankingDataset, executor: Threads) -> RankingObjective:
        objective = super()._objective(dataset, executor)
        blocks = objective.data.blocks
        if all(block.most_levels == 1 for block in blocks) and dataset.n_documents > dataset.n_queries:
            warnings.warn("no query has two documents with different labels: every weight is zero.", stacklevel=3)
        return objective
