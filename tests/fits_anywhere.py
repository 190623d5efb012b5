"""Fits that any process or thread can run by this name, for the tests that hold them against one another."""

from linrank import (
    XENDCG,
    AdaRank,
    AdditiveRanker,
    BestLinear,
    ListNet,
    MinBatSRank,
    PairwiseRidge,
    RankSVM,
    SmoothRank,
    make_ranking,
)


def rankers():
    """Rankers of several kinds of training, each short."""
    return [
        RankSVM(n_threads=2),
        RankSVM(penalty="l1", C=0.1, n_threads=2),
        PairwiseRidge(),
        ListNet(max_iter=20),
        MinBatSRank(passes=2, random_state=0),
        AdaRank(max_iter=3),
        RankSVM(weighting="ndcg", n_threads=2),
        XENDCG(max_iter=20),
        SmoothRank(max_iter=5),
        AdditiveRanker(n_knots=4, smoothing=1.0, max_iter=3),
        BestLinear(cv=2, transforms=("rank-gauss",), weightings=("queries",), penalties=("l2",)),
    ]


def fitted_and_scored(seed):
    """The weights of each of them, and its scores."""
    data, _ = make_ranking(40, 15, 8, random_state=seed)
    found = []
    for ranker in rankers():
        found += [ranker.fit(data).coef_, ranker.predict(data)]
    return found
