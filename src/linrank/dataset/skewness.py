"""How long the tails of features are: what "auto" decides by whether they want a transform."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linrank.compiled import kernel
from linrank.dataset.fitted_transforms import values_of
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import Through, one_after_the_other

# A tail is long where it reaches as many times further from the median as 90 of 100 values do, and many are a quarter.
_LONG = 5.0
_MANY = 0.25


@dataclass(frozen=True)
class LongTails:
    """Of the features that vary, how many have a long tail; prints as a reason."""

    features: int
    of: int

    @property
    def many(self) -> bool:
        return self.features > 0 and self.features >= _MANY * self.of

    def __str__(self) -> str:
        return (
            f"{self.features} of {self.of} features that vary reach {_LONG:g} times further from their median than "
            "90 % of what is not 0"
        )


def skewed_features(dataset: RankingDataset, through: Through = one_after_the_other) -> LongTails:
    """Count the features with long tails; zeros, which may be most of the values, do not hide one."""
    reaches = []
    for values in values_of(dataset, through):
        reach = np.zeros(values.n_columns)
        _tails(values.values, values.counts, values.starts, reach)
        reaches.append(reach)
    reach = np.concatenate(reaches)
    return LongTails(int(np.sum(reach > _LONG)), int(np.sum(reach > 0)))


@kernel
def _tails(values, counts, starts, reach):  # type: ignore[no-untyped-def]
    """(furthest - median) / (95th of 100 - median), or the like of the lower side where that is more; of non-zeros."""
    for column in range(len(starts) - 1):
        start, stop = starts[column], starts[column + 1]
        if stop - start < 2:
            continue
        total = 0
        for place in range(start, stop):
            total += counts[place] if values[place] != 0.0 else 0
        low = middle = high = values[start]
        below = 0
        for place in range(start, stop):
            if values[place] != 0.0:
                before, below = below, below + counts[place]
                if before <= 0.05 * total < below:
                    low = values[place]
                if before <= 0.5 * total < below:
                    middle = values[place]
                if before <= 0.95 * total < below:
                    high = values[place]
        upper, lower = values[stop - 1] - middle, middle - values[start]
        reach[column] = 1.0
        if upper > 0.0 and high > middle:
            reach[column] = upper / (high - middle)
        if lower > 0.0 and low < middle:
            reach[column] = max(reach[column], lower / (middle - low))
