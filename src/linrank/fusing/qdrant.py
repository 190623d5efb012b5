"""Qdrant: a formula over the scores of several prefetches."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.exporting.engine import curl
from linrank.fusing.candidates import Candidates
from linrank.fusing.engine import Configuration, Deployed, FusionEngine, Limits
from linrank.fusing.fusers import ReciprocalRanks
from linrank.fusing.normalisers import AsGiven, Normaliser

_PLAIN = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Qdrant(FusionEngine):
    """A query whose prefetches are the legs, ordered by a formula of their scores and of the payload.

    Parameters
    ----------
    normaliser : "none"; scores are weighed as they are
    collection : that is searched
    url : of the server
    """

    name: ClassVar[str] = "qdrant"
    title: ClassVar[str] = "Qdrant"
    ending: ClassVar[str] = "qdrant.json"
    limits: ClassVar[Limits] = Limits(non_negative=False, signals=True)
    normalisers: ClassVar[Mapping[str, Normaliser]] = {"none": AsGiven()}
    precision: ClassVar[type[np.floating[Any]]] = np.float64
    run_by: ClassVar[str] = "Qdrant's core"

    collection: str = "products"
    url: str = "http://localhost:6333"

    def refuses(self, candidates: Candidates) -> str | None:
        for name in candidates.signals:
            if '"' in name or "\\" in name or not name.isprintable():
                return f"Qdrant cannot take the signal {name!r}: no key of a formula has a quotation mark or backslash."
        return super().refuses(candidates)

    def combine(self, matrix: NDArray[Any], weights: Vector) -> NDArray[Any]:
        """A double running sum with float32 weights over float32 scores, rounded to float32."""
        # As float32 they were brought, and as float32 they are read again.
        rounded = matrix.astype(np.float32).astype(np.float64)
        return super().combine(rounded, weights.astype(np.float32).astype(np.float64)).astype(np.float32)

    def write(self, deployed: Deployed) -> Configuration:
        legs = [
            {"query": f"REPLACE with the query of leg {leg}", "using": leg, "limit": deployed.depth}
            for leg in deployed.legs
        ]
        if isinstance(deployed.fuser, ReciprocalRanks):
            # Qdrant counts places from 0.
            query: dict[str, Any] = {"rrf": {"k": deployed.fuser.k + 1}}
        else:
            scores = [(f"$score[{place}]", weight) for place, (_, weight) in enumerate(deployed.leg_weights)]
            payload = [(variable(name), weight) for name, weight in deployed.signal_weights]
            terms = [{"mult": [weight, name]} for name, weight in (*scores, *payload)]
            query = {"formula": {"sum": terms}, "defaults": {name: 0.0 for name, _ in (*scores, *payload)}}
        document = {"prefetch": legs, "query": query, "limit": 10}
        return Configuration(
            json.dumps(document, indent=1, ensure_ascii=False) + "\n",
            {},
            (
                "using is the name of the leg's vector, here that of the leg: put your own queries and names there",
                "a leg that did not bring a point counts 0, and so does a key that its payload lacks",
            ),
        )

    def commands(self, deployed: Deployed, file: str) -> str:  # noqa: ARG002 - one signature for every engine
        at = f"{self.url}/collections/{self.collection}/points/query"
        ask = curl("-X", "POST", at, "-H", "Content-Type: application/json", "--data-binary", f"@{file}")
        return f"# put your own queries into {file}, then\n{ask}"


def variable(name: str) -> str:
    """A key of the payload, as a formula names it."""
    return name if _PLAIN.fullmatch(name) else f'"{name}"'
