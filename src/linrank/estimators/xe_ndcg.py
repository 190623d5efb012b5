"""XENDCG: ListNet's cross entropy with the gains of NDCG in place of powers of the labels."""

from __future__ import annotations

from dataclasses import KW_ONLY

from linrank.estimators.declaring import with_settings
from linrank.estimators.list_net import ListNet
from linrank.objective.list_losses import GainCrossEntropy


@with_settings
class XENDCG(ListNet):
    """Linear XE-NDCG, trained exactly (Bruch, 2021).

    Minimises {formula}. The paper draws the numbers g, one a document, anew at each step. The loss is linear in what
    they make of the labels, so here their expectation is taken, in closed form but for two integrals a query: nothing
    is drawn, and the minimum is that of the expected loss. It is convex, and Newton's method finds it. O(l) a pass for
    l documents. With `penalty="l1"` most weights may be exactly zero.

    Labels below 0 count as 0. A query whose labels are all equal wants equal scores, as in ListNet.

    Parameters
    ----------
    C : float
        Weight of the loss, which is a sum over queries.

    Examples
    --------
    >>> from linrank import XENDCG, make_ranking
    >>> data, _ = make_ranking(100, 20, 10)
    >>> model = XENDCG(C=1.0).fit(data.features, data.labels, qid=data.qid)
    >>> model.coef_.shape
    (10,)
    """

    method = "xendcg"

    _: KW_ONLY
    tol: float = 1e-6

    def _loss(self) -> GainCrossEntropy:  # type: ignore[override]
        return GainCrossEntropy()
