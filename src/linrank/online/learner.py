"""The one protocol of online learners, and how one is followed: its history, its clock, and Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from linrank.arrays import Offsets, Vector
from linrank.solvers.solution import Journal, Line, Solution, Watch


class State(Protocol):
    """All that a learner remembers: it goes on from here as if it had never stopped."""

    @property
    def weights(self) -> Vector:
        """What it has learnt."""

    @property
    def batches(self) -> int:
        """How many steps it has taken: one for each batch of pairs."""


Turns: TypeAlias = Offsets | range
"""Numbers of turns."""


class Learner(Protocol):
    """Sees the data turn by turn, and takes a step in each; how long it goes on is the caller's decision."""

    def learn(self, state: Any, data: Any, turns: Any) -> Tally:
        """Take turns by their numbers, changing the state; how they are cut into calls is all one."""

    def value(self, tally: Tally, weights: Vector) -> float:
        """The objective, as what some turns lost tells it."""


@dataclass(frozen=True)
class Tally:
    """What batches lost, each measured before it was learnt from, and what their pairs weigh."""

    loss: float
    pairs: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch(Line):
    """Some turns: a line of the history. Its value is the objective by what they lost."""

    loss: float
    """Of each batch, measured before it was learnt from; their sum."""
    pairs: float
    """The weight of the pairs of all batches."""
    batches: int
    """Learnt from so far."""
    features: int
    """With a weight other than 0, after the stretch."""
    length: float
    """|w|, after the stretch."""

    @property
    def mean_loss(self) -> float:
        """The loss of a pair."""
        return self.loss / self.pairs if self.pairs > 0.0 else 0.0

    @property
    def steps(self) -> int:
        """Taken so far."""
        return self.batches

    def __str__(self) -> str:
        return f"step {self.batches:9d}  loss {self.mean_loss:.6f}  |w| {self.length:.3e}"


def follow(
    learner: Learner,
    state: State,
    data: Any,
    stretches: Iterable[Turns],
    *,
    line: type[Stretch] = Stretch,
    watch: Watch | None = None,
) -> Solution:
    """Learn stretch after stretch, a line of the history for each; Ctrl-C leaves what was learnt by then."""
    journal = Journal(watch)
    last = Tally(0.0, 0.0)

    def learnt() -> dict[str, Any]:
        return {
            "weights": state.weights,
            "value": learner.value(last, state.weights),
            "iterations": max(1, state.batches),
        }

    def learn() -> Solution:
        nonlocal last
        for turns in stretches:
            last = learner.learn(state, data, turns)
            weights = state.weights
            # Weights may be numbers, and the square of their length none.
            with np.errstate(over="ignore"):
                length = float(np.linalg.norm(weights))
            stop = journal.add(
                line, weights, learner.value(last, weights), loss=last.loss, pairs=last.pairs, batches=state.batches,
                features=int(np.count_nonzero(weights)), length=length,
            )  # fmt: skip
            if stop:
                return journal.solution(stop)
        return journal.solution("all turns were taken")

    journal.also(learnt)
    return journal.until_ctrl_c(learn)
