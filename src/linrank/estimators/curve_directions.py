"""Which curves must rise or fall, by the names of their features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from linrank.arrays import Vector
from linrank.errors import LinrankError
from linrank.strict_json import strict_json
from linrank.wanted_weights import bounds_by_name


def directions_by_name(monotone: Any, names: Sequence[str]) -> Vector:
    """1 for features whose curves must rise, -1 for those whose must fall, 0 for others."""
    if monotone is None:
        return np.zeros(len(names))
    ways = _from_text(monotone)
    for way in ways.values() if isinstance(ways, Mapping) else [ways]:
        if not (isinstance(way, str) and way in ("+", "-")):
            raise LinrankError(f"monotone={monotone!r}; use '+' or '-', or {{feature: '+' or '-'}}.")
    try:
        bounds = bounds_by_name(ways, names)
    except LinrankError as error:
        raise LinrankError(str(error).replace("bounds", "monotone")) from None
    return np.isfinite(bounds.lower) * np.ones(len(names)) - np.isfinite(bounds.upper)


def _from_text(monotone: Any) -> Any:
    """A dictionary that was given as JSON, as on a command line; all else as it is."""
    if not (isinstance(monotone, str) and monotone.startswith("{")):
        return monotone
    try:
        return strict_json(monotone)
    except ValueError as error:
        raise LinrankError(f'monotone={monotone!r} is no JSON: {error}. Use {{"feature": "+"}}.') from None
