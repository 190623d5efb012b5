"""Fuse two retrieval signals: how much should BM25, a dense similarity and freshness weigh?"""

import numpy as np

from linrank import RankingDataset, RankSVMCV
from linrank.measures import NDCG

# A thousand judged documents of fifty queries: in real life, a DataFrame or linrank.read_trec(qrels, runs).
rng = np.random.default_rng(0)
queries = np.repeat(np.arange(50), 20)
relevance = rng.choice(3, size=1000, p=[0.7, 0.2, 0.1])
bm25 = 2.0 * relevance + rng.normal(scale=2.5, size=1000) + rng.normal(scale=5, size=50)[queries]
dense = 0.1 * relevance + rng.normal(scale=0.12, size=1000)
age_in_days = rng.exponential(300, size=1000)

data = RankingDataset.from_arrays(
    np.column_stack([bm25, dense, age_in_days]), relevance, qid=queries, feature_names=["bm25", "dense", "age_in_days"]
)
train, test = data.split(0.7, 0.3)
ranker = RankSVMCV(one_se=True).fit(train.features, train.labels, qid=train.qid)

ndcg = NDCG @ 10
for name, scores in {
    "bm25 alone": test.features[:, 0],
    "dense alone": test.features[:, 1],
    "RankSVM": ranker.predict(test.features),
}.items():
    print(f"{name:12} {ndcg} {ndcg.mean(scores, test):.3f}")
print("weights:", dict(zip(data.names, ranker.coef_.round(4).tolist(), strict=True)), "C =", ranker.C_)
