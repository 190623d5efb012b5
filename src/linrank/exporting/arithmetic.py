"""How a target adds up a score: which numbers it rounds, and in what order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from linrank.exporting.weighted_sum import WeightedSum


@dataclass(frozen=True)
class Arithmetic:
    """A way of computing a weighted sum.

    Attributes
    ----------
    says : in words
    scores : the scores of rows of features, one column a feature of the sum, to the bit where `is_exact`
    is_exact : whether every program that computes this way has the same bits; of curves, whose steps are taken in
        other orders and whose logarithms are rounded by whoever computes them, up to the last ones
    largest : the largest weight it can hold
    smallest : the smallest one, by size, that it keeps in full
    """

    says: str
    scores: Callable[[WeightedSum, Any], Any]
    is_exact: bool
    largest: float
    smallest: float


def _running_sum(weights: Any, shift: Any, values: Any) -> Any:
    scores: Any = np.zeros(len(values), dtype=weights.dtype)
    # What overflows here overflows there: the caller looks.
    with np.errstate(over="ignore", invalid="ignore"):
        for column, weight in enumerate(weights):
            scores += weight * values[:, column]
        return scores + shift if shift else scores


def _rounded(numbers: Any) -> Any:
    with np.errstate(over="ignore"):
        return np.asarray(numbers).astype(np.float32)


def _float32(ranking: WeightedSum, rows: Any) -> Any:
    values = _rounded(ranking.curved(_rounded(rows), rounded=True))
    return _running_sum(_rounded(ranking.all_weights), np.float32(ranking.shift), values)


def _double(ranking: WeightedSum, rows: Any) -> Any:
    return _running_sum(ranking.all_weights, ranking.shift, ranking.curved(np.asarray(rows, dtype=np.float64)))


def _double_of_rounded_values(ranking: WeightedSum, rows: Any) -> Any:
    return _double(ranking, _rounded(rows))


def _rounded_double(ranking: WeightedSum, rows: Any) -> Any:
    return _rounded(_double(ranking, rows))


def _rounded_double_of_rounded_weights(ranking: WeightedSum, rows: Any) -> Any:
    weights, shift = _rounded(ranking.all_weights).astype(np.float64), float(np.float32(ranking.shift))
    values = ranking.curved(np.asarray(rows, dtype=np.float64), rounded=True)
    return _rounded(_running_sum(weights, shift, values))


_FLOAT32, _FLOAT64 = np.finfo(np.float32), np.finfo(np.float64)
_AS_FLOAT32 = (float(_FLOAT32.max), float(_FLOAT32.tiny))
_AS_FLOAT64 = (float(_FLOAT64.max), float(_FLOAT64.tiny))

FLOAT32 = Arithmetic("a float32 running sum, in the order of the features", _float32, True, *_AS_FLOAT32)
FLOAT32_ANY_ORDER = Arithmetic("a float32 sum, in an order of its own", _float32, False, *_AS_FLOAT32)
DOUBLE = Arithmetic("a double running sum, in the order of the features", _double, True, *_AS_FLOAT64)
DOUBLE_ANY_ORDER = Arithmetic("a double sum, in an order of its own", _double, False, *_AS_FLOAT64)
DOUBLE_OF_FLOAT32 = Arithmetic(
    "a double running sum over values that are rounded to float32", _double_of_rounded_values, True, *_AS_FLOAT64
)
# Weights that float32 cannot hold make scores that are 0 or infinite once they are rounded.
ROUNDED_DOUBLE = Arithmetic("a double running sum that is rounded to float32", _rounded_double, True, *_AS_FLOAT32)
ROUNDED_DOUBLE_OF_FLOAT32_WEIGHTS = Arithmetic(
    "a double running sum with float32 weights that is rounded to float32",
    _rounded_double_of_rounded_weights,
    True,
    *_AS_FLOAT32,
)
