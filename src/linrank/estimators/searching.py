"""Where a search over settings ended: at an end of what was tried, or with trainings that did; and what lies beyond."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# A grid goes on by itself for so many values beyond each of its ends.
MOST_STEPS = 6


@dataclass(frozen=True)
class Tried:
    """Settings, and how well they did on the queries that decide."""

    settings: Mapping[str, Any]
    mean: float | None


@dataclass(frozen=True)
class Edge:
    """A setting that was chosen at an end of the values that were tried."""

    setting: str
    value: float
    is_largest: bool

    def said(self, values: Iterable[float] | None = None) -> str:
        """The sentence, for one choice or for the `values` of several."""
        shown = " or ".join(f"{value:g}" for value in values or [self.value])
        return f"{self.setting} = {shown} is the {'largest' if self.is_largest else 'smallest'} value tried"


def edges_of(chosen: Mapping[str, Any], tried: Sequence[Tried]) -> Iterator[Edge]:
    """The numbers that were chosen at an end of those tried, where that end may have cut something off.

    It has not where it is zero, below which no setting goes, or where the next value inside does just as well.
    """
    for name, value in chosen.items():
        values = [one.settings[name] for one in tried if name in one.settings]
        if not value or not values or not all(map(_is_number, values)):
            continue
        if min(values) == max(values) or value not in (min(values), max(values)):
            continue
        along = {one.settings[name]: one.mean for one in tried if {**one.settings, name: value} == dict(chosen)}
        inside = min((other for other in along if other != value), key=lambda other: abs(other - value), default=None)
        if inside is None or along[inside] != along.get(value):
            yield Edge(name, value, value == max(values))


def widens(values: Sequence[Any]) -> bool:
    """Whether values go on in equal ratios beyond their ends: numbers above zero that are no counts."""
    return all(isinstance(value, float) and value > 0.0 for value in values) and len(set(values)) > 1


def beyond(edge: Edge, grid: Sequence[float], asked: Iterable[float]) -> float | None:
    """The next value beyond an edge, in the ratio of the grid's last two; None where it has gone on long enough."""
    ordered = sorted(set(grid))
    last, before = (ordered[-1], ordered[-2]) if edge.is_largest else (ordered[0], ordered[1])
    further = {value for value in asked if (value > last if edge.is_largest else value < last)}
    return None if len(further) >= MOST_STEPS else edge.value * (last / before)


def unfinished_said(count: int, n_trainings: int) -> str:
    """What to say of the trainings of a search that ended too early to be quite what they stand for."""
    return f"while choosing, {count} of {n_trainings} trainings stopped before convergence"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
