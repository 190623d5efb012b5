"""Stage 6: scores become quality.

Naming and parsing measures needs neither NumPy nor compiled code; evaluating them does, and is loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from linrank.measures.measures import (
    AUC,
    DCG,
    ERR,
    MAP,
    MRR,
    NDCG,
    WTA,
    KendallTau,
    MeanNDCG,
    Measure,
    P,
    PairwiseAccuracy,
    Recall,
)
from linrank.measures.parsing import DEFAULT_MEASURES, parse_measure, parse_measures

if TYPE_CHECKING:
    from linrank.measures.evaluation import Evaluation, evaluate
    from linrank.measures.judgements import Judged, Judgements
    from linrank.measures.significance import (
        SIGNIFICANT,
        PairedTest,
        bootstrap_interval,
        holm,
        paired_t_test,
        randomisation_test,
        within_one_standard_error,
    )

__all__ = [
    "AUC",
    "DCG",
    "DEFAULT_MEASURES",
    "ERR",
    "MAP",
    "MRR",
    "NDCG",
    "SIGNIFICANT",
    "WTA",
    "Evaluation",
    "Judged",
    "Judgements",
    "KendallTau",
    "MeanNDCG",
    "Measure",
    "P",
    "PairedTest",
    "PairwiseAccuracy",
    "Recall",
    "bootstrap_interval",
    "evaluate",
    "holm",
    "paired_t_test",
    "parse_measure",
    "parse_measures",
    "randomisation_test",
    "within_one_standard_error",
]

_LOADED_ON_USE = {
    "Evaluation": "evaluation",
    "evaluate": "evaluation",
    "Judged": "judgements",
    "Judgements": "judgements",
    "PairedTest": "significance",
    "bootstrap_interval": "significance",
    "holm": "significance",
    "paired_t_test": "significance",
    "SIGNIFICANT": "significance",
    "randomisation_test": "significance",
    "within_one_standard_error": "significance",
}


def __getattr__(name: str) -> Any:
    if name not in _LOADED_ON_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_LOADED_ON_USE[name]}"), name)
