"""ListNet: the cross entropy between two chances to stand first, by the labels and by the scores."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY

from linrank.dataset.ranking_dataset import RankingDataset
from linrank.estimators.declaring import with_settings
from linrank.estimators.penalized_ranker import PenalizedRanker
from linrank.executors.local import Threads
from linrank.objective.list_losses import TopOneCrossEntropy
from linrank.objective.objective import RankingObjective
from linrank.objective.placed_blocks import Shard


@with_settings
class ListNet(PenalizedRanker):
    """Linear ListNet, trained exactly (Cao, Qin, Liu, Tsai & Li, 2007).

    Minimises {formula}, where `softmax(v)_i = exp(v_i) / sum_j exp(v_j)` over the documents of the query is the chance
    of i to stand first. The paper descends on the loss alone, with a neural network; here it is convex, and Newton's
    method finds its minimum. O(l) a pass for l documents. With `penalty="l1"` most weights may be exactly zero.

    A query whose labels are all equal counts too, by the definition: it wants equal scores. RankSVM leaves it out.

    Parameters
    ----------
    C : float
        Weight of the loss, which is a sum over queries.

    Examples
    --------
    >>> from linrank import ListNet, make_ranking
    >>> data, _ = make_ranking(100, 20, 10)
    >>> model = ListNet(C=1.0).fit(data.features, data.labels, qid=data.qid)
    >>> model.coef_.shape
    (10,)
    """

    method = "listnet"

    _: KW_ONLY
    tol: float = 1e-6

    def _loss(self) -> TopOneCrossEntropy:
        return TopOneCrossEntropy()

    def _objective(self, dataset: RankingDataset, executor: Threads) -> RankingObjective:
        objective: RankingObjective = super()._objective(dataset, executor)
        data = objective.data
        if data.n_documents > data.n_queries and not any(data.tell(_has_pairs)):
            warnings.warn("no query has two documents with different labels: every weight is zero.", stacklevel=3)
        return objective


def _has_pairs(shard: Shard) -> bool:
    """Whether two documents of some query have different labels."""
    return any(placed.block.most_levels > 1 for placed in shard.judged())
