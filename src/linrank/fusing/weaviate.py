"""Weaviate: alpha, the weight of the vector search beside the keywords'."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from linrank.arrays import Vector
from linrank.fusing.candidates import Candidates
from linrank.fusing.engine import Configuration, Deployed, FusionEngine, Limits
from linrank.fusing.normalisers import MinMax, Normaliser

_DIGITS = 6


@dataclass(frozen=True)
class Weaviate(FusionEngine):
    """The arguments of a hybrid search by relative scores.

    Parameters
    ----------
    normaliser : "relative", which is all there is
    vector : which leg is the vector search; "" for the second
    """

    name: ClassVar[str] = "weaviate"
    title: ClassVar[str] = "Weaviate"
    ending: ClassVar[str] = "weaviate.json"
    limits: ClassVar[Limits] = Limits(legs=2)
    normalisers: ClassVar[Mapping[str, Normaliser]] = {"relative": MinMax("relative")}
    has_rrf: ClassVar[bool] = False
    keeps_idle_legs: ClassVar[bool] = True

    vector: str = ""

    def refuses(self, candidates: Candidates) -> str | None:
        if self.vector and self.vector not in candidates.leg_names:
            return f"vector={self.vector!r} is none of the legs {', '.join(candidates.leg_names)}."
        return super().refuses(candidates)

    def in_units(self, weights: Vector) -> Vector:
        """Two weights whose sum is 1 to the last digit: Weaviate takes alpha, and computes the other."""
        first = round(float(super().in_units(weights)[0]), _DIGITS)
        return np.array([first, round(1.0 - first, _DIGITS)])

    def write(self, deployed: Deployed) -> Configuration:
        alpha = dict(deployed.leg_weights)[self.vector or deployed.legs[1]]
        content = json.dumps({"alpha": alpha, "fusionType": "relativeScoreFusion"}, indent=1) + "\n"
        return Configuration(
            content, {}, (f"alpha is the weight of the vector search, here leg {self.vector or deployed.legs[1]}",)
        )
