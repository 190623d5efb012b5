"""NamedWeights: the weights of a ranking function by the names of their features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from linrank.arrays import Vector
from linrank.errors import LinrankError, MissingDependencyError
from linrank.showing import Rows, html_table, shown, text_table

_MOST_PRINTED = 20


@lru_cache(maxsize=2)
def numbers_as_names(n_features: int) -> tuple[str, ...]:
    """The names of features that have none: their numbers from 1, made once where they are a million."""
    return tuple(map(str, range(1, n_features + 1)))


class NamedWeights(Mapping[str, float]):
    """A read-only mapping from each feature's name to its weight, the largest first whatever its sign.

    Prints as a table, here and in a notebook; `to_series()` makes it a pandas Series.
    """

    def __init__(self, names: Sequence[str], weights: Vector) -> None:
        if len(set(names)) < len(names):
            twice = next(name for name in names if list(names).count(name) > 1)
            raise LinrankError(
                f"two features are called {twice!r}; weights by name need names that differ. Rename one."
            )
        # Stable, so that equal ones keep the order of the features.
        order = np.argsort(-np.abs(weights), kind="stable").tolist()
        self._weights = {names[feature]: float(weights[feature]) for feature in order}

    def __getitem__(self, name: str) -> float:
        return self._weights[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._weights)

    def __len__(self) -> int:
        return len(self._weights)

    @property
    def n_used(self) -> int:
        """How many are not 0."""
        return sum(weight != 0.0 for weight in self._weights.values())

    def to_series(self) -> Any:
        """A pandas Series in the same order, its index the names."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingDependencyError("pandas", "pandas", "weights as a Series") from None
        return pd.Series(self._weights, name="weight", dtype="float64")

    def first(self, n: int) -> str:
        """The n largest in one line: `title 2.1, age -0.3, …`."""
        used = [f"{name} {shown(weight)}" for name, weight in self._weights.items() if weight]
        return ", ".join([*used[:n], *(["…"] if len(used) > n else [])])

    def _rows(self) -> Rows:
        used = [(name, shown(weight)) for name, weight in self._weights.items() if weight]
        return [("feature", "weight"), *used[:_MOST_PRINTED]]

    def _others(self) -> str:
        hidden, unused = max(0, self.n_used - _MOST_PRINTED), len(self) - self.n_used
        return ", ".join(f"{count} {what}" for count, what in ((hidden, "smaller"), (unused, "of weight 0")) if count)

    def __repr__(self) -> str:
        others = self._others()
        return text_table(self._rows()) + (f"\nand {others}" if others else "")

    def _repr_html_(self) -> str:
        others = self._others()
        return html_table(self._rows(), f"{self.n_used} of {len(self)} features have a weight") + (
            f"<p>and {others}</p>" if others else ""
        )
