"""The former name of `linrank.duals.low_rank`."""

from __future__ import annotations

import warnings
from typing import Any


def __getattr__(name: str) -> Any:
    from linrank.duals import low_rank

    warnings.warn("linrank.analysis is now linrank.duals.low_rank.", DeprecationWarning, stacklevel=2)
    return getattr(low_rank, name)
