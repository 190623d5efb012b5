"""Normalisers: what an engine makes of the scores of one leg for one query, over the hits that came back.

Each is a small value with `of(scores, starts)`: query q has the hits `starts[q]:starts[q + 1]`, the best first.
Arithmetic is that of the scores' own type, float32 where the engine computes in float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Offsets
from linrank.fusing.normaliser_kernels import over_length, over_span, over_spread


class Normaliser(Protocol):
    """A rule from the scores of a leg's hits to what is weighed."""

    @property
    def name(self) -> str:
        """What the engine calls it."""
        ...

    @property
    def says(self) -> str:
        """The rule in words."""
        ...

    def of(self, scores: NDArray[Any], starts: Offsets) -> NDArray[Any]:
        """The scores of hits, normalised query by query."""
        ...


@dataclass(frozen=True)
class MinMax:
    """(s - least) / (most - least); 1 where the two are equal, as a single hit's are.

    Parameters
    ----------
    name : what the engine calls it
    floor : what stands for the 0 of the least
    closeness : scores that differ by less are equal
    """

    name: str = "min_max"
    floor: float = 0.0
    closeness: float = 0.0

    @property
    def says(self) -> str:
        least = f", the least {self.floor:g}" if self.floor else ""
        return f"(s - least) / (most - least) of a query's hits{least}; equal scores are 1"

    def of(self, scores: NDArray[Any], starts: Offsets) -> NDArray[Any]:
        made = np.empty_like(scores)
        over_span(scores, starts, self.closeness, self.floor, made)
        return made


@dataclass(frozen=True)
class L2:
    """S / sqrt(sum of s²), the squares in the scores' own type.

    Parameters
    ----------
    name : what the engine calls it
    in_double : whether they are summed in double; then scores whose length is below `shortest` stay as they are,
        and else those of no length, as squares can underflow, are 0
    shortest : see there
    """

    name: str = "l2"
    in_double: bool = False
    shortest: float = 0.0

    @property
    def says(self) -> str:
        return "s / sqrt(sum of s²) over a query's hits"

    def of(self, scores: NDArray[Any], starts: Offsets) -> NDArray[Any]:
        made = np.empty_like(scores)
        over_length(scores, starts, self.in_double, self.shortest, made)
        return made


@dataclass(frozen=True)
class ZScore:
    """(s - mean) / sd, what is not above 0 being `floor`; a score that is the mean becomes the highest raw one.

    That last rule is OpenSearch's, and is what becomes of a single hit.
    """

    name: str = "z_score"
    floor: float = 0.001

    @property
    def says(self) -> str:
        return f"(s - mean) / sd of a query's hits, at least {self.floor:g}; a lone hit keeps its raw score"

    def of(self, scores: NDArray[Any], starts: Offsets) -> NDArray[Any]:
        made = np.empty_like(scores)
        over_spread(scores, starts, self.floor, made)
        return made


@dataclass(frozen=True)
class AsGiven:
    """The raw scores."""

    name: str = "none"
    says: ClassVar[str] = "raw scores"

    def of(self, scores: NDArray[Any], starts: Offsets) -> NDArray[Any]:  # noqa: ARG002 - one signature for all
        return scores


@dataclass(frozen=True)
class Bounded:
    """Milvus's rule for one metric: 2 atan(s) / pi for BM25, 1/2 + atan(s) / pi for IP, (1 + s) / 2 for COSINE and
    1 - 2 atan(d) / pi for L2, whose scores are distances with a minus sign, s = -d: the best hit is the highest.
    """

    metric: str

    METRICS: ClassVar[tuple[str, ...]] = ("BM25", "IP", "COSINE", "L2")

    @property
    def name(self) -> str:
        return f"norm_score of {self.metric}"

    @property
    def says(self) -> str:
        return {
            "BM25": "2 atan(s) / pi",
            "IP": "1/2 + atan(s) / pi",
            "COSINE": "(1 + s) / 2",
            "L2": "1 - 2 atan(-s) / pi",
        }[self.metric]

    def of(self, scores: NDArray[Any], starts: Offsets) -> NDArray[Any]:  # noqa: ARG002
        own = scores.dtype.type
        # The arctangent alone is of doubles; all else is of the scores' own type.
        angle = np.arctan((-scores if self.metric == "L2" else scores).astype(np.float64)).astype(scores.dtype)
        made: NDArray[Any] = {
            "BM25": lambda: own(2.0) * angle / own(np.pi),
            "IP": lambda: own(0.5) + angle / own(np.pi),
            "COSINE": lambda: (own(1.0) + scores) * own(0.5),
            "L2": lambda: own(1.0) - own(2.0) * angle / own(np.pi),
        }[self.metric]()
        return made
