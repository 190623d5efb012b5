"""RankNet and LambdaRank: the logistic loss on preference pairs, alike or weighed by their change of NDCG."""

from __future__ import annotations

from linrank.estimators.smooth_ranker import SmoothRanker
from linrank.objective.logistic_pairs import Logistic
from linrank.objective.registry import LOSSES


class RankNet(SmoothRanker):
    """Linear RankNet, trained exactly on all preference pairs (Burges et al., 2005).

    Minimises `w.w / 2 + C sum log(1 + exp(-w.(x_i - x_j)))` over the weights w; the sum is over the pairs of documents
    of one query of which the first has the higher label. The paper descends on the loss alone, with a neural network;
    here it is convex, and Newton's method finds its minimum. Every pair is visited and none is stored: O(pairs) time a
    pass and O(l) memory for l documents, where RankSVM needs O(l log k). With `penalty="l1"` the first term is |w|_1,
    and most weights may be exactly zero.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss, which is a sum over pairs.
    penalty, tol, max_iter, max_seconds, patience, measure, warm_start, n_threads, progress
        As for `ListNet`.

    Attributes
    ----------
    coef_, objective_, gap_, n_iter_, history_, solution_, eval_history_
        As for `ListNet`.

    Examples
    --------
    >>> from linrank import make_ranking
    >>> from linrank.estimators.rank_net import RankNet
    >>> data, _ = make_ranking(100, 20, 10)
    >>> model = RankNet(C=0.01).fit(data.features, data.labels, qid=data.qid)
    >>> model.coef_.shape
    (10,)
    """

    method = "ranknet"
    loss_sum = LOSSES["logistic"].formula

    def _loss(self) -> Logistic:
        return Logistic()
