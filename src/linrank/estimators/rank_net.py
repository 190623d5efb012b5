"""RankNet and LambdaRank: the logistic loss on preference pairs, alike or weighed by their change of NDCG."""

from __future__ import annotations

from dataclasses import KW_ONLY

from linrank.estimators.declaring import with_settings
from linrank.estimators.penalized_ranker import PenalizedRanker
from linrank.objective.logistic_pairs import Logistic


@with_settings
class RankNet(PenalizedRanker):
    """Linear RankNet, trained exactly on all preference pairs (Burges et al., 2005).

    Minimises {formula}. The paper descends on the loss alone, with a neural network; here it is convex, and Newton's
    method finds its minimum. Every pair is visited and none is stored: O(pairs) time a pass and O(l) memory for l
    documents, where RankSVM needs O(l log k). With `penalty="l1"` most weights may be exactly zero.

    Examples
    --------
    >>> from linrank import RankNet, make_ranking
    >>> data, _ = make_ranking(100, 20, 10)
    >>> RankNet(C=0.01).fit(data).coef_.shape
    (10,)
    """

    method = "ranknet"

    _: KW_ONLY
    tol: float = 1e-6

    def _loss(self) -> Logistic:
        return Logistic()
