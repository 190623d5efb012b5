"""Numbers as logs and judgements hold them: finite, and written as JSON or Java writes them."""

from __future__ import annotations

import math
import re
from typing import Any

_WRITTEN = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


def finite(value: Any) -> float | None:
    """A number of JSON as a float; None for what is no finite number, `true` among it."""
    if type(value) is float:
        return value if math.isfinite(value) else None
    if type(value) is not int:
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def finite_from_text(text: str) -> float | None:
    """A number as it is written, without what only Python takes for one; None for anything else."""
    if not _WRITTEN.fullmatch(text):
        return None
    number = float(text)
    return number if math.isfinite(number) else None
