"""A feature that never varies within a query has no weight, whatever the ranker; wide L1 fits are not lost to one."""

import numpy as np
import pytest

from linrank import (
    FacRankSVM,
    FenchelRank,
    LambdaRank,
    ListNet,
    MCPRank,
    PairwiseRidge,
    RankNet,
    RankSVM,
    SparseRank,
    make_ranking,
)

RANKERS = [
    RankSVM(), RankSVM(loss="hinge"), RankSVM(solver="tron"), RankSVM(penalty="l1"), RankSVM(penalty="elasticnet"),
    RankNet(penalty="l1"), ListNet(penalty="l1"), RankNet(), ListNet(), LambdaRank(tol=0.5), PairwiseRidge(gamma=1e-6),
    SparseRank(l1=1.0), MCPRank(l1=100.0), FenchelRank(radius=0.5), FacRankSVM(),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*not converged")
@pytest.mark.parametrize("ranker", RANKERS, ids=str)
def test_what_is_the_same_throughout_each_query_has_no_weight(ranker):
    data, _ = make_ranking(30, 12, 4)
    of_query = np.repeat(1e3 * np.random.default_rng(0).standard_normal(30), 12)
    idle = np.column_stack([np.zeros(360), np.full(360, 1e6 / 3), of_query])
    ranker.fit(np.hstack([data.features, idle]), data.labels, qid=data.qid)
    assert ranker.coef_[:4].any()
    assert not ranker.coef_[4:].any()


def test_an_empty_column_beside_many_features_takes_no_weight_away():
    data, _ = make_ranking(40, 20, 300)
    X = np.hstack([data.features, np.zeros((800, 1))])
    plain = RankSVM(0.1, penalty="l1", tol=1e-4).fit(data.features, data.labels, qid=data.qid)
    model = RankSVM(0.1, penalty="l1", tol=1e-4).fit(X, data.labels, qid=data.qid)
    assert model.solution_.converged
    assert model.gap_ <= 1e-4 * model.objective_
    assert model.objective_ == pytest.approx(plain.objective_, rel=2e-4)
    assert np.count_nonzero(model.coef_) > 100
