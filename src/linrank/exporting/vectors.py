"""Test vectors: documents, and the scores that the target must give them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from linrank.arrays import Vector
from linrank.errors import LinrankError
from linrank.exporting.arithmetic import Arithmetic
from linrank.exporting.engine import Engine
from linrank.exporting.weighted_sum import WeightedSum

_ROWS = 8


@dataclass(frozen=True, eq=False)
class TestVectors:
    """Documents as numbers that float32 holds exactly, one column a feature of the target, and their scores."""

    # Not a test of pytest's.
    __test__ = False

    features: tuple[str, ...]
    inputs: Any
    scores: Any

    @classmethod
    def of(cls, engine: Engine, ranking: WeightedSum, rows: Any) -> TestVectors:
        largest = float(np.finfo(np.float32).max)
        inputs = np.clip(rows, -largest, largest).astype(np.float32).astype(np.float64)
        return cls(ranking.names, inputs, finite_scores(engine.arithmetic, engine.title, ranking, inputs))

    def to_json(self, **facts: Any) -> str:
        """One JSON object; `scores` in as many digits as tell them from their neighbours."""
        vectors = [
            {"inputs": row, "score": float(str(score))}
            for row, score in zip(self.inputs.tolist(), self.scores, strict=True)
        ]
        document = {"format": "linrank-vectors", "schema_version": 1, **facts, "features": list(self.features)}
        return json.dumps({**document, "vectors": vectors}, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def finite_scores(arithmetic: Arithmetic, title: str, ranking: WeightedSum, rows: Any, first: int = 0) -> Any:
    """The scores of rows, numbered from `first` on, as `title` computes them; refused where one is not finite."""
    scores = arithmetic.scores(ranking, rows)
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise LinrankError(
            f"the score of row {first + row} is {scores[row]} in {title}, which computes {arithmetic.says}. Give "
            "features with such large values in other units, and train again."
        )
    return scores


def made_up_rows(sizes: Vector) -> Any:
    """Documents where there is no data: none of any feature, all of all, and numbers of the features' usual sizes."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(_ROWS, len(sizes))) * sizes
    rows[0], rows[1] = 0.0, sizes
    return rows
