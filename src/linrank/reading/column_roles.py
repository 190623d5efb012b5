"""Which columns of a table play which part: as the caller says it, and where they are."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from linrank.dataset.frames import remedy_for
from linrank.dataset.missing_rule import MissingRule, check_missing_rule
from linrank.errors import LinrankError
from linrank.reading.table_sources import TableSource


@dataclass(frozen=True, slots=True)
class IfThere:
    """The name of a column that a table may lack: it then has no part, as if None had been given."""

    name: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnRoles:
    """Which column plays which part: the options of every reader of tables."""

    label: Any = "label"
    qid: Any = "qid"
    features: Sequence[Any] | None = None
    docid: Any = None
    weight: Any = None
    query_weight: Any = None
    missing: MissingRule = "error"
    dtype: DTypeLike | None = None

    def __post_init__(self) -> None:
        check_missing_rule(self.missing)
        if self.dtype is not None and np.dtype(self.dtype) not in (np.float32, np.float64):
            raise LinrankError(f"dtype={self.dtype!r} is not for features; use float32 or float64.")
        if isinstance(self.features, str):
            raise LinrankError(f"features={self.features!r} is one text; pass a list of names: [{self.features!r}].")

    def named(self) -> dict[str, Any]:
        """The columns with a part of their own, by the name of the part."""
        parts = {"label": self.label, "qid": self.qid, "docid": self.docid}
        parts |= {"weight": self.weight, "query_weight": self.query_weight}
        return {part: name for part, name in parts.items() if name is not None}


class ColumnPositions:
    """Where the columns are, by name."""

    def __init__(self, source: TableSource) -> None:
        self._source = source
        self._by_name: dict[Any, list[int]] = {}
        for position, name in enumerate(source.names):
            self._by_name.setdefault(name, []).append(position)

    def of(self, name: Any, option: str) -> int:
        found = self._by_name.get(name, [])
        if len(found) > 1:
            raise self._source.error(
                f"column {name!r} is there {len(found)} times; names must differ. Rename or drop one."
            )
        if not found:
            names = self._source.names
            shown = ", ".join(repr(other) for other in names[:20])
            more = f" and {len(names) - 20} more" if len(names) > 20 else ""
            near = difflib.get_close_matches(str(name), [str(other) for other in names], n=1)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            raise self._source.error(
                f"there is no column {name!r}; the columns are {shown}{more}. {hint}Name the right one with {option}…."
            )
        return found[0]

    def of_features(self, names: Sequence[Any] | None, parts: dict[str, int]) -> list[int]:
        """The features' columns: those named, or all that have no other part and are no index."""
        if names is None:
            features = [
                position
                for position, name in enumerate(self._source.names)
                if position not in parts.values() and not self._source.is_index(name)
            ]
        else:
            features = [self.of(name, "features=") for name in names]
        if not features and names is None:
            raise self._source.error("there are no feature columns; a model needs at least one.")
        part_of: dict[int, str] = {}
        for part, position in [*parts.items(), *(("features", position) for position in features)]:
            if position in part_of:
                raise self._source.error(
                    f"column {self._source.names[position]!r} is given as {part_of[position]} and as {part}; "
                    "a column has one part. Name different columns."
                )
            part_of[position] = part
        for position in features:
            remedy = (
                f"{remedy_for(self._source.types[position].shown)}, or leave it out: choose the features with "
                "features=[…], or name document ids with docid=…."
            )
            require_numbers(self._source, position, "column", remedy)
        return features


def require_numbers(source: TableSource, position: int, what: str, remedy: str) -> None:
    if source.types[position].number is None:
        raise source.error(
            f"{what} {source.names[position]!r} is of type {source.types[position].shown}, not numbers. {remedy}"
        )
