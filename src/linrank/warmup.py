"""Running each part of linrank once on a little data, in every type of features, so that its kernels are compiled."""

from __future__ import annotations

import tempfile
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

from linrank.arrays import Vector
from linrank.dataset.column_values import column_values
from linrank.dataset.curve_kernels import shape_rows
from linrank.dataset.feature_shapes import FeatureShapes
from linrank.dataset.fitted_transforms import fit_transform
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import choose_scaling, fit_scaling
from linrank.dataset.skewness import skewed_features
from linrank.dataset.summary import count_pairs
from linrank.dataset.synthetic import make_ranking
from linrank.dataset.text_column import TextColumn
from linrank.estimators.ada_rank import AdaRank
from linrank.estimators.additive_ranker import AdditiveRanker
from linrank.estimators.egdm import EGDM
from linrank.estimators.fac_rank_svm import FacRankSVM
from linrank.estimators.lambda_rank import LambdaRank
from linrank.estimators.linear_svr import LinearSVRRanker
from linrank.estimators.list_net import ListNet
from linrank.estimators.min_bat_s_rank import MinBatSRank
from linrank.estimators.pairwise_ridge import PairwiseRidge
from linrank.estimators.rank_net import RankNet
from linrank.estimators.rank_svm import RankSVM
from linrank.estimators.reg_rank_svm import RegRankSVM
from linrank.estimators.rs_rank import RSRank
from linrank.estimators.sampled_pair_sgd import SampledPairSGD
from linrank.estimators.smooth_rank import SmoothRank
from linrank.estimators.xe_ndcg import XENDCG
from linrank.executors.local import Threads
from linrank.fusing.fuse import fuse
from linrank.measures import evaluate, parse_measures
from linrank.measures.single_features import single_feature_ndcg
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.reading.listed_numbers import listed
from linrank.reading.read import read
from linrank.reading.write_svmlight import write_svmlight

_MEASURES = (
    "ndcg@10 ndcg(letor)@10 ndcg(trec)@10 ndcg(ties=average)@10 dcg@10 meanndcg map p@10 recall@10 mrr wta "
    "err(max_label=9)@10 pairwiseaccuracy kendalltau auc"
)


def use_every_kernel() -> None:
    """Read, scale, train and measure, with dense and sparse features of both widths."""
    for dtype in ("float32", "float64"):
        for density in (1.0, 0.3):
            # Many levels for the tree, a few for the direct count.
            for levels in (3, 9):
                data, weights = make_ranking(4, 12, 8, density=density, dtype=dtype, levels=levels)
                docids = TextColumn.from_texts(f"docid = {row}" for row in range(data.n_documents))
                data = replace(data, comments=docids)
                _use_training(data, weights)
            _use_reader(data, dtype)
    evaluate(np.asarray(data.features @ weights), data, parse_measures(_MEASURES))
    _use_fusing()


def _use_training(data: RankingDataset, weights: Vector) -> None:
    choose_scaling("auto", data)
    fit_scaling("query", data).apply(data.features, data.queries)
    _use_transforms(data)
    count_pairs(data)
    listed(weights, ",")
    single_feature_ndcg(data)
    with warnings.catch_warnings():
        # A little data is not worth converging on.
        warnings.simplefilter("ignore")
        for ranker in (
            RankSVM(),
            RankSVM(loss="hinge"),
            RankSVM(penalty="l1"),
            RankSVM(weighting="ndcg", max_iter=1),
            AdditiveRanker(smoothing=1.0, interactions=1, cv=2),
            RSRank(max_iter=2),
            MinBatSRank(passes=1),
            ListNet(max_iter=1),
            XENDCG(max_iter=1),
            RankNet(max_iter=1),
            LambdaRank(max_iter=1),
            SmoothRank(max_iter=4),
            PairwiseRidge(),
            EGDM(max_iter=2),
            FacRankSVM(max_iter=2),
            RegRankSVM(max_iter=2),
            AdaRank(max_iter=1),
            SampledPairSGD(steps=2),
            LinearSVRRanker(max_iter=1),
        ):
            ranker.fit(data.features, data.labels, qid=data.qid)
    with Threads(1) as executor:
        point = RankingObjective(SquaredHinge(), L2(), 1.0, PlacedData.of(data, executor)).at(weights)
        point.crude_hessian_diagonal()


def _use_transforms(data: RankingDataset) -> None:
    for kind in ("rank-gauss", "signed-log"):
        fitted = fit_transform(kind, data, knots=4, scaling="max-abs")
        fitted.apply(data.features)
        if isinstance(fitted, FeatureShapes) and not data.is_sparse:
            shape_rows(data.features, fitted, 1, np.empty_like(data.features))
    skewed_features(data)
    column_values(data.features, most=2)


def _use_fusing() -> None:
    rng = np.random.default_rng(0)
    qrels = {str(query): {"0": 1.0, "1": 0.0, "2": 2.0} for query in range(4)}
    legs = {
        leg: {query: {str(document): score for document, score in enumerate(rng.random(4))} for query in qrels}
        for leg in ("a", "b")
    }
    for engine, normaliser in (("opensearch", "min_max"), ("opensearch", "l2"), ("opensearch", "z_score"), ("sql", "")):
        fuse(legs, qrels, engine, normaliser=normaliser, n_folds=2, n_resamples=2)


def _use_reader(data: RankingDataset, dtype: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.txt"
        write_svmlight(path, data)
        read(path, dtype=dtype).subset([0])
