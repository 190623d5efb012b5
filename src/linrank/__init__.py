"""Linear learning to rank: exact, sparse, measured by the right definition, and ready for a search engine."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from linrank._version import __version__

if TYPE_CHECKING:
    from linrank.dataset.ranking_dataset import RankingDataset
    from linrank.dataset.storage import open_dataset, save_dataset, verify_dataset
    from linrank.dataset.synthetic import make_ranking
    from linrank.errors import DataFormatError, LinrankError
    from linrank.estimators.fenchel_rank import FenchelRank
    from linrank.estimators.mcp_rank import MCPRank
    from linrank.estimators.min_bat_s_rank import MinBatSRank
    from linrank.estimators.ndcg_reduction import NDCGReduction
    from linrank.estimators.query_k_fold import QueryKFold
    from linrank.estimators.rank_svm import RankSVM
    from linrank.estimators.rank_svm_cv import RankSVMCV
    from linrank.estimators.rs_rank import RSRank
    from linrank.estimators.sparse_rank import SparseRank
    from linrank.experiments.feature_path import feature_path
    from linrank.measures import evaluate, parse_measure, parse_measures
    from linrank.model import LinearModel
    from linrank.reading.read import read
    from linrank.reading.trec import read_trec

# Each public name and the module it is loaded from on first use: importing linrank costs milliseconds.
_HOMES = {
    "DataFormatError": "errors",
    "FenchelRank": "estimators.fenchel_rank",
    "MCPRank": "estimators.mcp_rank",
    "SparseRank": "estimators.sparse_rank",
    "RSRank": "estimators.rs_rank",
    "NDCGReduction": "estimators.ndcg_reduction",
    "MinBatSRank": "estimators.min_bat_s_rank",
    "LinrankError": "errors",
    "LinearModel": "model",
    "QueryKFold": "estimators.query_k_fold",
    "RankSVM": "estimators.rank_svm",
    "RankSVMCV": "estimators.rank_svm_cv",
    "RankingDataset": "dataset.ranking_dataset",
    "evaluate": "measures",
    "feature_path": "experiments.feature_path",
    "make_ranking": "dataset.synthetic",
    "open_dataset": "dataset.storage",
    "parse_measure": "measures",
    "parse_measures": "measures",
    "read": "reading.read",
    "read_trec": "reading.trec",
    "save_dataset": "dataset.storage",
    "verify_dataset": "dataset.storage",
}

__all__ = [
    "DataFormatError",
    "FenchelRank",
    "LinearModel",
    "LinrankError",
    "MCPRank",
    "MinBatSRank",
    "NDCGReduction",
    "QueryKFold",
    "RSRank",
    "RankSVM",
    "RankSVMCV",
    "RankingDataset",
    "SparseRank",
    "__version__",
    "evaluate",
    "feature_path",
    "make_ranking",
    "open_dataset",
    "parse_measure",
    "parse_measures",
    "read",
    "read_trec",
    "save_dataset",
    "verify_dataset",
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
