"""RankLib and LIBLINEAR: model files that know features by their numbers, from 1 on, and have every one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from linrank.arrays import Vector
from linrank.exporting.arithmetic import DOUBLE, DOUBLE_OF_FLOAT32, Arithmetic
from linrank.exporting.engine import Accepts, Target, unusable_name
from linrank.exporting.weighted_sum import WeightedSum

# A file has every feature up to the last: a larger number is an id of something else.
_LARGEST_NUMBER = 10_000_000
_SHOWN = 20


def _number(name: str) -> int | None:
    """The number that a name is, such as those of columns of svmlight text."""
    return int(name) if name.isascii() and name.isdigit() and name[0] != "0" and len(name) < 20 else None


def numbers_of(title: str, ranking: WeightedSum) -> tuple[int, ...]:
    """The number of each feature: its name where every name is one, otherwise its place in the model."""
    named = [_number(name) for name in ranking.names]
    places = [column + 1 for column in ranking.columns]
    numbers = places if None in named else [number for number in named if number is not None]
    for name, known, number in zip(ranking.names, named, numbers, strict=True):
        if known not in (None, number):
            raise unusable_name(title, name, f"would be number {number}, since not all names are numbers")
        if number > _LARGEST_NUMBER:
            raise unusable_name(title, name, f"is larger than {_LARGEST_NUMBER:,}, and the file has all up to it")
    return tuple(numbers)


def all_weights(title: str, ranking: WeightedSum) -> Vector:
    """The weights of features 1, 2, … to the model's last; 0 where it has none."""
    numbers = numbers_of(title, ranking)
    weights = np.zeros(max(len(ranking) + len(ranking.unused), *numbers))
    weights[np.array(numbers) - 1] = ranking.weights
    return weights


def _notes(title: str, ranking: WeightedSum) -> tuple[str, ...]:
    counts = f"a feature that a document lacks counts as 0; the model counts a missing value as {ranking.missing:g}"
    numbers = numbers_of(title, ranking)
    if tuple(map(str, numbers)) == ranking.names:
        return (counts,)
    shown = ", ".join(f"{number} {name}" for number, name in zip(numbers[:_SHOWN], ranking.names, strict=False))
    more = ", …" if len(numbers) > _SHOWN else ""
    return (f"{title} knows features by numbers, here their places in the model: {shown}{more}", counts)


@dataclass(frozen=True)
class RankLib(Target):
    """A model of RankLib's Coordinate Ascent, which is linear; also `model/ranklib` of the Elasticsearch LTR plugin."""

    name: ClassVar[str] = "ranklib"
    title: ClassVar[str] = "RankLib"
    ending: ClassVar[str] = "ranklib.txt"
    accepts: ClassVar[Accepts] = Accepts(shift=False)
    arithmetic: ClassVar[Arithmetic] = DOUBLE_OF_FLOAT32
    has_every_feature: ClassVar[bool] = True
    run_by: ClassVar[str] = ""

    def write(self, ranking: WeightedSum) -> str:
        numbers = numbers_of(self.title, ranking)
        # RankLib skips these lines, and so does whoever reads its files.
        named = [f"## {number} = {name}\n" for number, name in zip(numbers, ranking.names, strict=True)]
        weights = all_weights(self.title, ranking).tolist()
        line = " ".join(f"{number}:{weight!r}" for number, weight in enumerate(weights, start=1))
        return "".join(("## Coordinate Ascent\n", *named, line, "\n"))

    def notes(self, ranking: WeightedSum) -> tuple[str, ...]:
        return _notes(self.title, ranking)


@dataclass(frozen=True)
class LIBLINEAR(Target):
    """A model of LIBLINEAR with ranksvm (solver 8)."""

    name: ClassVar[str] = "liblinear"
    title: ClassVar[str] = "LIBLINEAR"
    ending: ClassVar[str] = "liblinear.model"
    accepts: ClassVar[Accepts] = Accepts(shift=False)
    arithmetic: ClassVar[Arithmetic] = DOUBLE
    has_every_feature: ClassVar[bool] = True
    run_by: ClassVar[str] = ""

    def write(self, ranking: WeightedSum) -> str:
        weights = all_weights(self.title, ranking).tolist()
        head = ("solver_type L2R_L2LOSS_RANKSVM", "nr_class 2", f"nr_feature {len(weights)}", "bias -1", "w")
        return "".join(f"{line}\n" for line in (*head, *map(repr, weights)))

    def notes(self, ranking: WeightedSum) -> tuple[str, ...]:
        return _notes(self.title, ranking)
