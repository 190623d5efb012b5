"""Linear learning to rank: exact, sparse, measured by the right definition, and ready for a search engine."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from linrank._version import __version__

if TYPE_CHECKING:
    from linrank.checking.check import Check, check
    from linrank.dataset.ranking_dataset import RankingDataset
    from linrank.dataset.storage import open_dataset, save_dataset, verify_dataset
    from linrank.dataset.synthetic import make_ranking
    from linrank.dataset.synthetic_shapes import make_shaped_ranking
    from linrank.errors import DataFormatError, LinrankError
    from linrank.estimators.ada_rank import AdaRank
    from linrank.estimators.additive_ranker import AdditiveRanker
    from linrank.estimators.best_linear import BestLinear
    from linrank.estimators.egdm import EGDM
    from linrank.estimators.fac_rank_svm import FacRankSVM
    from linrank.estimators.fenchel_rank import FenchelRank
    from linrank.estimators.gdm import GDM
    from linrank.estimators.lambda_mart import LightGBMRanker, XGBoostRanker
    from linrank.estimators.lambda_rank import LambdaRank
    from linrank.estimators.linear_svr import LinearSVRRanker
    from linrank.estimators.list_net import ListNet
    from linrank.estimators.mcp_rank import MCPRank
    from linrank.estimators.min_bat_s_rank import MinBatSRank
    from linrank.estimators.ndcg_reduction import NDCGReduction
    from linrank.estimators.pairwise_ridge import PairwiseRidge, PairwiseRidgeCV
    from linrank.estimators.query_k_fold import QueryKFold
    from linrank.estimators.rank_net import RankNet
    from linrank.estimators.rank_svm import RankSVM
    from linrank.estimators.rank_svm_cv import RankSVMCV
    from linrank.estimators.ranking_scorer import ranking_scorer
    from linrank.estimators.reg_rank_svm import RegRankSVM
    from linrank.estimators.rs_rank import RSRank
    from linrank.estimators.sampled_pair_sgd import SampledPairSGD
    from linrank.estimators.simple_rankers import FixedWeights, SingleFeature
    from linrank.estimators.smooth_rank import SmoothRank
    from linrank.estimators.sparse_rank import SparseRank
    from linrank.estimators.tree_rankers import GradientBoostedTrees, RandomForest
    from linrank.estimators.without_validation import WithoutValidation
    from linrank.estimators.xe_ndcg import XENDCG
    from linrank.executors.dask import DaskExecutor
    from linrank.experiments.compare import Comparison, compare
    from linrank.experiments.feature_path import feature_path
    from linrank.experiments.weight_intervals import weight_intervals
    from linrank.explaining import explain
    from linrank.exporting.export import Export, export
    from linrank.exporting.onnx_pipelines import register_onnx_converter
    from linrank.fusing.fuse import fuse
    from linrank.fusing.fusion import Fusion
    from linrank.importing.import_model import import_model
    from linrank.measures import evaluate, parse_measure, parse_measures
    from linrank.model import LinearModel, load
    from linrank.reading.logs.read_logs import read_logs
    from linrank.reading.read import read
    from linrank.reading.scan import scan
    from linrank.reading.trec import read_trec

# Each public name and the module it is loaded from on first use: importing linrank costs milliseconds.
_HOMES = {
    "AdaRank": "estimators.ada_rank",
    "AdditiveRanker": "estimators.additive_ranker",
    "BestLinear": "estimators.best_linear",
    "Check": "checking.check",
    "Comparison": "experiments.compare",
    "DaskExecutor": "executors.dask",
    "DataFormatError": "errors",
    "EGDM": "estimators.egdm",
    "Export": "exporting.export",
    "FacRankSVM": "estimators.fac_rank_svm",
    "FenchelRank": "estimators.fenchel_rank",
    "FixedWeights": "estimators.simple_rankers",
    "Fusion": "fusing.fusion",
    "GDM": "estimators.gdm",
    "GradientBoostedTrees": "estimators.tree_rankers",
    "LambdaRank": "estimators.lambda_rank",
    "LightGBMRanker": "estimators.lambda_mart",
    "LinearModel": "model",
    "LinearSVRRanker": "estimators.linear_svr",
    "LinrankError": "errors",
    "ListNet": "estimators.list_net",
    "MCPRank": "estimators.mcp_rank",
    "MinBatSRank": "estimators.min_bat_s_rank",
    "NDCGReduction": "estimators.ndcg_reduction",
    "PairwiseRidge": "estimators.pairwise_ridge",
    "PairwiseRidgeCV": "estimators.pairwise_ridge",
    "QueryKFold": "estimators.query_k_fold",
    "RSRank": "estimators.rs_rank",
    "RandomForest": "estimators.tree_rankers",
    "RankNet": "estimators.rank_net",
    "RankSVM": "estimators.rank_svm",
    "RankSVMCV": "estimators.rank_svm_cv",
    "RankingDataset": "dataset.ranking_dataset",
    "RegRankSVM": "estimators.reg_rank_svm",
    "SampledPairSGD": "estimators.sampled_pair_sgd",
    "SingleFeature": "estimators.simple_rankers",
    "SmoothRank": "estimators.smooth_rank",
    "SparseRank": "estimators.sparse_rank",
    "WithoutValidation": "estimators.without_validation",
    "XENDCG": "estimators.xe_ndcg",
    "XGBoostRanker": "estimators.lambda_mart",
    "check": "checking.check",
    "compare": "experiments.compare",
    "evaluate": "measures",
    "explain": "explaining",
    "export": "exporting.export",
    "feature_path": "experiments.feature_path",
    "fuse": "fusing.fuse",
    "import_model": "importing.import_model",
    "load": "model",
    "make_ranking": "dataset.synthetic",
    "make_shaped_ranking": "dataset.synthetic_shapes",
    "open_dataset": "dataset.storage",
    "parse_measure": "measures",
    "parse_measures": "measures",
    "ranking_scorer": "estimators.ranking_scorer",
    "read": "reading.read",
    "read_logs": "reading.logs.read_logs",
    "read_trec": "reading.trec",
    "register_onnx_converter": "exporting.onnx_pipelines",
    "save_dataset": "dataset.storage",
    "scan": "reading.scan",
    "verify_dataset": "dataset.storage",
    "weight_intervals": "experiments.weight_intervals",
}

__all__ = [
    "EGDM",
    "GDM",
    "XENDCG",
    "AdaRank",
    "AdditiveRanker",
    "BestLinear",
    "Check",
    "Comparison",
    "DaskExecutor",
    "DataFormatError",
    "Export",
    "FacRankSVM",
    "FenchelRank",
    "FixedWeights",
    "Fusion",
    "GradientBoostedTrees",
    "LambdaRank",
    "LightGBMRanker",
    "LinearModel",
    "LinearSVRRanker",
    "LinrankError",
    "ListNet",
    "MCPRank",
    "MinBatSRank",
    "NDCGReduction",
    "PairwiseRidge",
    "PairwiseRidgeCV",
    "QueryKFold",
    "RSRank",
    "RandomForest",
    "RankNet",
    "RankSVM",
    "RankSVMCV",
    "RankingDataset",
    "RegRankSVM",
    "SampledPairSGD",
    "SingleFeature",
    "SmoothRank",
    "SparseRank",
    "WithoutValidation",
    "XGBoostRanker",
    "__version__",
    "check",
    "compare",
    "evaluate",
    "explain",
    "export",
    "feature_path",
    "fuse",
    "import_model",
    "load",
    "make_ranking",
    "make_shaped_ranking",
    "open_dataset",
    "parse_measure",
    "parse_measures",
    "ranking_scorer",
    "read",
    "read_logs",
    "read_trec",
    "register_onnx_converter",
    "save_dataset",
    "scan",
    "verify_dataset",
    "weight_intervals",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'linrank' has no attribute {name!r}")
    value = getattr(import_module(f"linrank.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
