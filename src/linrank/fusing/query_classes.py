"""Weights for classes of queries, with a penalty on their differences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ByClass:
    """placeholder"""

    def to_dict(self) -> dict[str, Any]:
        return {}
