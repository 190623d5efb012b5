"""OpenSearch: a search pipeline whose processor normalises and combines the clauses of a hybrid query."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from linrank.arrays import Vector
from linrank.exporting.engine import curl
from linrank.fusing.candidates import Leg
from linrank.fusing.engine import Configuration, Deployed, FusionEngine, Limits, replace_me
from linrank.fusing.fusers import ReciprocalRanks
from linrank.fusing.normalisers import L2, MinMax, Normaliser, ZScore

QUERY = ".query.json"
_TEN_PLACES = 10**10
_SHARDS = (
    "scores are normalised over the hits of all shards, at most pagination_depth a shard and leg: with several shards "
    "a leg brings more hits than here"
)


@dataclass(frozen=True)
class OpenSearch(FusionEngine):
    """A search pipeline for hybrid queries, in the order of the legs given here.

    Parameters
    ----------
    normaliser : "min_max", "l2" or "z_score"
    pipeline : its name
    index : that is searched
    url : of the server
    """

    name: ClassVar[str] = "opensearch"
    title: ClassVar[str] = "OpenSearch"
    ending: ClassVar[str] = "opensearch.json"
    limits: ClassVar[Limits] = Limits(
        most_legs=5,
        negative_scores=False,
        why_no_signals="Put them into a clause (function_score), and give its scores as a run.",
    )
    normalisers: ClassVar[Mapping[str, Normaliser]] = {
        "min_max": MinMax(floor=0.001),
        "l2": L2(),
        "z_score": ZScore(),
    }

    run_by: ClassVar[str] = "OpenSearch 3.6"

    pipeline: str = "linrank"
    index: str = "products"
    url: str = "http://localhost:9200"

    def brings(self, leg: Leg) -> Leg:
        """All hits but those of score 0, which a hybrid query does not collect."""
        kept = leg.scores.astype(np.float32) != 0.0
        # Where others are below it, 0 is some other number in OpenSearch, such as (1 + cos) / 2.
        if kept.all() or leg.scores.min() < 0.0:
            return leg
        starts = np.append(0, np.cumsum(kept))[leg.starts]
        return Leg(leg.name, starts, leg.documents[kept], leg.scores[kept])

    def reciprocals(self, places: NDArray[Any]) -> NDArray[Any]:
        """1 / place in ten decimal places, halves rounded up, and then as float32."""
        wide = places.astype(np.int64)
        return ((2 * _TEN_PLACES + wide) // (2 * wide) / _TEN_PLACES).astype(np.float32)

    def combine(self, matrix: NDArray[Any], weights: Vector) -> NDArray[Any]:
        """The weighted mean: a running sum, divided by that of the weights; a leg that missed counts with 0."""
        total = np.float32(0.0)
        for weight in weights.astype(np.float32):
            total += weight
        return super().combine(matrix, weights) / (total or np.float32(1.0))

    def write(self, deployed: Deployed) -> Configuration:
        if isinstance(deployed.fuser, ReciprocalRanks):
            combination: dict[str, Any] = {"technique": "rrf", "rank_constant": deployed.fuser.k}
            processor: dict[str, Any] = {"score-ranker-processor": {"combination": combination}}
        else:
            combination = {"technique": "arithmetic_mean", "parameters": {"weights": deployed.weights}}
            processor = {
                "normalization-processor": {
                    "normalization": {"technique": self.normaliser_name},
                    "combination": combination,
                }
            }
        pipeline = {"description": f"linrank fuse: {', '.join(deployed.legs)}", "phase_results_processors": [processor]}
        hybrid = {"pagination_depth": deployed.depth, "queries": [replace_me(leg) for leg in deployed.legs]}
        query = {"size": 10, "query": {"hybrid": hybrid}}
        return Configuration(
            _json(pipeline),
            {QUERY: _json(query)},
            (
                f"the queries of the hybrid query stand in this order: {', '.join(deployed.legs)}",
                "a document that a leg did not bring counts 0 there",
                *(() if isinstance(deployed.fuser, ReciprocalRanks) else (_SHARDS,)),
            ),
        )

    def commands(self, deployed: Deployed, file: str) -> str:  # noqa: ARG002 - one signature for every engine
        json_ = ("-H", "Content-Type: application/json", "--data-binary")
        put = curl("-X", "PUT", f"{self.url}/_search/pipeline/{self.pipeline}", *json_, f"@{file}")
        ask = curl(
            "-X", "POST", f"{self.url}/{self.index}/_search?search_pipeline={self.pipeline}", *json_, f"@{file}{QUERY}"
        )
        return f"{put}\n# put your own queries into {file}{QUERY}, then\n{ask}"


def _json(document: Any) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"
