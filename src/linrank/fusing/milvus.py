"""Milvus: the weights of a WeightedRanker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.errors import LinrankError
from linrank.fusing.candidates import Candidates
from linrank.fusing.engine import Configuration, Deployed, FusionEngine, Limits
from linrank.fusing.fusers import ReciprocalRanks
from linrank.fusing.normalisers import AsGiven, Bounded, Normaliser


@dataclass(frozen=True)
class Milvus(FusionEngine):
    """A ranker for hybrid_search, whose requests are the legs in the order given here.

    Parameters
    ----------
    normaliser : "norm_score", by arctangents, or "none"
    metrics : of the legs, in their order, each BM25, IP, COSINE or L2, with commas between them
        Scores of L2 are distances with a minus sign, so that the best hit has the highest.
    """

    name: ClassVar[str] = "milvus"
    title: ClassVar[str] = "Milvus"
    ending: ClassVar[str] = "milvus.py"
    limits: ClassVar[Limits] = Limits()
    normalisers: ClassVar[Mapping[str, Normaliser]] = {"norm_score": Bounded("IP"), "none": AsGiven()}

    metrics: str = ""

    def refuses(self, candidates: Candidates) -> str | None:
        metrics = self._metrics()
        if (metrics or not self.is_raw) and len(metrics) != len(candidates.legs):
            return (
                f"Milvus normalises a leg by its metric, and metrics={self.metrics!r} names {len(metrics)} for "
                f"{len(candidates.legs)} legs ({', '.join(candidates.leg_names)}). Say such as metrics=BM25,COSINE."
            )
        if self.is_raw and set(metrics) == {"L2"}:
            return (
                "Milvus adds up raw distances, the least first, and a document that a leg missed counts 0, which is "
                "the best there is. Use norm_score."
            )
        for metric, leg in zip(metrics, candidates.legs, strict=False):
            if metric == "L2" and leg.scores.max(initial=0.0) > 0.0:
                return (
                    f"leg {leg.name!r} has the metric L2 and scores above 0: distances, of which the least is the "
                    "best, where the best hit of a run has the highest score. Write them with a minus sign."
                )
        return super().refuses(candidates)

    def without(self, leg: int) -> Milvus:
        metrics = self._metrics()
        return replace(self, metrics=",".join(metrics[:leg] + metrics[leg + 1 :]))

    def asked(self, leg_weights: Vector) -> NDArray[np.bool_]:
        asked = super().asked(leg_weights)
        left = {metric for metric, is_asked in zip(self._metrics(), asked, strict=False) if is_asked}
        # Distances alone would be added up as they are: beside another metric, they are turned round.
        return np.ones_like(asked) if self.is_raw and left == {"L2"} else asked

    def rule(self, leg: int) -> Normaliser:
        if not self.is_raw:
            return Bounded(self._metrics()[leg])
        # Beside metrics whose most is the best, Milvus turns distances round by the arctangent all the same.
        return Bounded("L2") if "L2" in self._metrics()[leg : leg + 1] else super().rule(leg)

    def _metrics(self) -> list[str]:
        metrics = [metric.strip().upper() for metric in self.metrics.split(",") if metric.strip()]
        for metric in metrics:
            if metric not in Bounded.METRICS:
                raise LinrankError(f"metrics: there is no metric {metric!r}; use {', '.join(Bounded.METRICS)}.")
        return metrics

    def write(self, deployed: Deployed) -> Configuration:
        if isinstance(deployed.fuser, ReciprocalRanks):
            name, made = "RRFRanker", f"RRFRanker({deployed.fuser.k})"
        else:
            weights = ", ".join(map(repr, deployed.weights))
            name, made = "WeightedRanker", f"WeightedRanker({weights}, norm_score={not self.is_raw})"
        lines = (
            f"from pymilvus import {name}",
            "",
            f"# The requests, each with limit={deployed.depth}, in this order: {', '.join(deployed.legs)}.",
            f"ranker = {made}",
            "# client.hybrid_search(collection, reqs, ranker, limit=10)",
        )
        notes = ("norm_score normalises by arctangents, in Milvus and in Milvus Lite from 3.2 on",)
        if self.is_raw and not self._metrics():
            notes = ("none of the legs' metrics is a distance, such as L2; say metrics=… where one is",)
        return Configuration("\n".join(lines) + "\n", {}, notes)
