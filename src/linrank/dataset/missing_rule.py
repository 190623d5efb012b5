"""What stands for a value that is missing: the rule that readers follow, and that data and models remember."""

from __future__ import annotations

import math
from numbers import Real
from typing import Literal, TypeAlias

import numpy as np

from linrank.errors import LinrankError

MissingRule: TypeAlias = Literal["error", "keep", "query_min"] | float


def check_missing_rule(rule: MissingRule) -> None:
    """Refuse a rule that is none, before anything is read."""
    if isinstance(rule, str):
        known = rule in ("error", "keep", "query_min")
    else:
        known = isinstance(rule, Real) and not isinstance(rule, bool | np.bool_) and _is_finite(rule)
    if not known:
        raise LinrankError(f'missing={rule!r} is no rule; use "error", "keep" (NaN), "query_min", or a finite number.')


def rule_to_remember(rule: MissingRule) -> MissingRule:
    """What a model that was trained on data read by this rule does with missing values."""
    # Data that kept its missing values had none, or nothing could have been trained on it.
    return "error" if rule == "keep" else rule


def _is_finite(number: Real) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:
        # A whole number too large for a float.
        return False
