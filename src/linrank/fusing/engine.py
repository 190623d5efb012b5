"""FusionEngine: the rules by which an engine fuses the legs of hybrid search, and what it is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.errors import LinrankError
from linrank.fusing.candidate_kernels import put_into
from linrank.fusing.candidates import Candidates, Leg
from linrank.fusing.fusers import Fuser, ReciprocalRanks, WeightedLegs
from linrank.fusing.normalisers import MinMax, Normaliser
from linrank.fusing.query_ranges import over_queries

_DIGITS = 6


@dataclass(frozen=True)
class Limits:
    """What an engine takes.

    Attributes
    ----------
    non_negative : whether it refuses weights below 0
    most_legs, legs : how many legs it takes at most, or exactly
    negative_scores : whether its queries can have scores below 0
    signals : whether numbers of documents, such as popularity, can be added
    why_no_signals : where they cannot, what can be done
    """

    non_negative: bool = True
    most_legs: int | None = None
    legs: int | None = None
    negative_scores: bool = True
    signals: bool = False
    why_no_signals: str = "Leave them out, or fuse for qdrant, sql or vespa."


@dataclass(frozen=True)
class Configuration:
    """What an engine is given.

    Attributes
    ----------
    content : the file
    beside : files for the user to fill in, by what is added to the name of the file
    notes : what was assumed
    classes : the files of classes of queries, by what is added to the name of the file
    """

    content: str
    beside: Mapping[str, str]
    notes: tuple[str, ...] = ()
    classes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Deployed:
    """A fusion as it leaves: the legs that are searched and the signals that weigh, by name, and how many hits a leg
    brings.
    """

    legs: tuple[str, ...]
    signals: tuple[str, ...]
    fuser: Fuser
    depth: int

    @property
    def weights(self) -> list[float]:
        assert isinstance(self.fuser, WeightedLegs)
        return list(self.fuser.weights)

    @property
    def leg_weights(self) -> list[tuple[str, float]]:
        return list(zip(self.legs, self.weights, strict=False))

    @property
    def signal_weights(self) -> list[tuple[str, float]]:
        return list(zip(self.signals, self.weights[len(self.legs) :], strict=True))


@dataclass(frozen=True)
class FusionEngine:
    """An engine as a value: a frozen dataclass whose fields are what a user may set of it.

    The class says what all its fusions have in common: the name it is asked for by, its title, the ending of its file,
    its limits, its normalisers by name (the first is used unless another is asked for), the type it computes in, what a
    document counts in a leg that did not bring it (0, or the leg's least for the query), whether it can fuse by ranks,
    whether legs that weigh 0 are named all the same, and what `tests/engines` runs its fusions in ("" where that is
    only the documented arithmetic).

    Parameters
    ----------
    normaliser : what scores are normalised by; "" for the first
    """

    name: ClassVar[str]
    title: ClassVar[str]
    ending: ClassVar[str]
    limits: ClassVar[Limits]
    normalisers: ClassVar[Mapping[str, Normaliser]]
    precision: ClassVar[type[np.floating[Any]]] = np.float32
    missing: ClassVar[str] = "zero"
    has_rrf: ClassVar[bool] = True
    keeps_idle_legs: ClassVar[bool] = False
    run_by: ClassVar[str] = ""

    normaliser: str = ""

    def __post_init__(self) -> None:
        if self.normaliser and self.normaliser not in self.normalisers:
            raise LinrankError(
                f"{self.title} has no normaliser {self.normaliser!r}; there are {', '.join(self.normalisers)}."
            )

    @property
    def normaliser_name(self) -> str:
        return self.normaliser or next(iter(self.normalisers))

    @property
    def is_raw(self) -> bool:
        """Whether raw scores are weighed, whose units differ from leg to leg."""
        return self.normaliser_name == "none"

    def rule(self, leg: int) -> Normaliser:  # noqa: ARG002 - most have one rule for all legs
        """By which the scores of a leg are normalised."""
        return self.normalisers[self.normaliser_name]

    def brings(self, leg: Leg) -> Leg:
        """The hits of a leg that the engine fuses; most fuse all that they are given."""
        return leg

    def without(self, leg: int) -> FusionEngine:  # noqa: ARG002 - most have nothing to say of single legs
        """The engine for all legs but one."""
        return self

    def asked(self, leg_weights: Vector) -> NDArray[np.bool_]:
        """The legs that are searched where they weigh so: what only others bring is no candidate.

        A leg that weighs 0 is left out, unless the engine names it all the same, or none would bring anything.
        """
        weighs = leg_weights != 0.0
        return weighs if weighs.any() and not self.keeps_idle_legs else np.ones_like(weighs)

    def refuses(self, candidates: Candidates) -> str | None:
        """Why it cannot fuse these legs and signals, and what to do; None where it can."""
        limits, n_legs = self.limits, len(candidates.legs)
        if limits.legs is not None and n_legs != limits.legs:
            return f"{self.title} fuses {limits.legs} legs, and {n_legs} are given. Give {limits.legs} runs."
        if limits.most_legs is not None and n_legs > limits.most_legs:
            return f"{self.title} fuses at most {limits.most_legs} legs, and {n_legs} are given. Leave some out."
        if candidates.signals and not limits.signals:
            return (
                f"{self.title} adds no numbers of documents ({', '.join(candidates.signals)}) to a fused score. "
                f"{limits.why_no_signals}"
            )
        return None if limits.negative_scores else self._refuses_negative(candidates)

    def _refuses_negative(self, candidates: Candidates) -> str | None:
        for place, leg in enumerate(candidates.legs):
            # There only differences count, and a cosine is as good as (1 + cos) / 2.
            if isinstance(self.rule(place), MinMax) or leg.scores.min(initial=0.0) >= 0.0:
                continue
            return (
                f"leg {leg.name!r} has scores below 0, which no query of {self.title} has, and "
                f"{self.normaliser_name} weighs them as they are. Give the scores that {self.title} gives, such as "
                f"(1 + cos) / 2 for a cosine, or use {next(iter(self.normalisers))}."
            )
        return None

    def matrix(self, candidates: Candidates) -> NDArray[Any]:
        """What is weighed: one row a candidate, one column a leg, normalised, and one a signal."""
        made = np.zeros((candidates.n_rows, len(candidates.names)), dtype=self.precision)

        def fill(first: int, last: int) -> None:
            # All columns of a few queries, while their rows are in cache.
            starts = candidates.starts[first : last + 1]
            rows = slice(int(starts[0]), int(starts[-1]))
            for column, leg in enumerate(candidates.legs):
                hits = slice(int(leg.starts[first]), int(leg.starts[last]))
                hit_starts = leg.starts[first : last + 1] - leg.starts[first]
                normalised = self.rule(column).of(leg.scores[hits].astype(self.precision), hit_starts)
                if self.missing == "least":
                    made[rows, column] = _least(normalised, hit_starts, np.diff(starts))
                put_into(made, column, starts, hit_starts, candidates.rows[column][hits], normalised)
            for column, values in enumerate(candidates.signals.values(), start=len(candidates.legs)):
                made[rows, column] = values[candidates.documents[rows]]

        over_queries(fill, candidates.starts)
        return made

    def combine(self, matrix: NDArray[Any], weights: Vector) -> NDArray[Any]:
        """The fused scores, as the engine adds them up: a running sum in its own type, in the order of the legs."""
        scores = np.zeros(len(matrix), dtype=self.precision)
        for column, weight in enumerate(weights.astype(self.precision)):
            if weight != 0.0:
                scores += weight * matrix[:, column]
        return scores

    def reciprocals(self, places: NDArray[Any]) -> NDArray[Any]:
        """1 / place for each of several whole numbers, as the engine divides; it adds them up in their own type."""
        quotients: NDArray[Any] = np.float32(1.0) / places.astype(np.float32)
        return quotients

    def in_units(self, weights: Vector) -> Vector:
        """Weights of the same order of documents as the engine takes them, in few digits: their sizes add up to 1."""
        total = float(np.abs(weights).sum())
        scaled = weights / total if total > 0.0 else weights
        return np.array([float(f"{weight:.{_DIGITS}g}") for weight in scaled.tolist()])

    def write(self, deployed: Deployed) -> Configuration:
        """What the engine is given."""
        raise NotImplementedError

    def commands(self, deployed: Deployed, file: str) -> str:  # noqa: ARG002 - one signature for every engine
        """What to type to install the file and to use it."""
        return ""

    def refuses_fuser(self, fuser: Fuser) -> str | None:
        """Why it cannot be told to fuse so; None where it can."""
        if isinstance(fuser, WeightedLegs):
            return None
        if isinstance(fuser, ReciprocalRanks) and self.has_rrf:
            return None
        return f"{self.title} cannot be told to fuse by {fuser.says}. Use weights (method='pairwise')."


def _least(normalised: NDArray[Any], starts: Any, sizes: Any) -> NDArray[Any]:
    """For each row the least of its query's hits, 0 where it has none; hits stand best first."""
    least = np.zeros(len(sizes), dtype=normalised.dtype)
    there = np.diff(starts) > 0
    least[there] = normalised[starts[1:][there] - 1]
    return np.repeat(least, sizes)


def replace_me(leg: str) -> dict[str, str]:
    """What stands for a leg's own query, which is the user's."""
    return {"REPLACE": f"with the query of leg {leg}"}
