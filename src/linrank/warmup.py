"""Running each part of linrank once on a little data, in every type of features, so that its kernels are compiled."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from linrank.dataset.features import as_features
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import fit_scaling
from linrank.dataset.synthetic import make_ranking
from linrank.measures import evaluate, parse_measures
from linrank.reading.read import read
from linrank.reading.write_svmlight import write_svmlight

_MEASURES = (
    "ndcg@10 ndcg(letor)@10 ndcg(trec)@10 ndcg(ties=average)@10 dcg@10 meanndcg map p@10 recall@10 mrr wta err@10 "
    "pairwiseaccuracy kendalltau auc"
)


def use_every_kernel() -> None:
    """Read, scale and measure, with dense and sparse features of both widths."""
    for dtype in ("float32", "float64"):
        for density in (1.0, 0.3):
            data, weights = make_ranking(4, 6, 8, density=density, dtype=dtype)
            _use_features(data, weights)
            _use_reader(data, dtype)
    evaluate(data.features @ weights, data, parse_measures(_MEASURES))


def _use_features(data: RankingDataset, weights: np.ndarray) -> None:
    features = as_features(data.features)
    scores = features.product(weights, np.empty(data.n_documents))
    features.transposed_product(scores, np.zeros(data.n_features))
    fit_scaling("query", data).apply(data.features, data.queries)


def _use_reader(data: RankingDataset, dtype: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.txt"
        write_svmlight(path, data)
        read(path, dtype=dtype)
