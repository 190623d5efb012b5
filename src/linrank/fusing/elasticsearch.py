"""Elasticsearch: the linear retriever, and that of reciprocal ranks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from linrank.exporting.engine import curl
from linrank.fusing.engine import Configuration, Deployed, FusionEngine, Limits, replace_me
from linrank.fusing.fusers import ReciprocalRanks
from linrank.fusing.normalisers import L2, AsGiven, MinMax, Normaliser


@dataclass(frozen=True)
class Elasticsearch(FusionEngine):
    """A search by the linear retriever (8.18 and later, "l2_norm" 8.19 or 9.1), which needs a licence that has it.

    Parameters
    ----------
    normaliser : "minmax", "l2_norm" or "none"
    index : that is searched
    url : of the server
    """

    name: ClassVar[str] = "elasticsearch"
    title: ClassVar[str] = "Elasticsearch"
    ending: ClassVar[str] = "elasticsearch.json"
    limits: ClassVar[Limits] = Limits(
        negative_scores=False,
        why_no_signals="Put them into a retriever (function_score), and give its scores as a run.",
    )
    normalisers: ClassVar[Mapping[str, Normaliser]] = {
        "minmax": MinMax("minmax", closeness=1e-6),
        "l2_norm": L2("l2_norm", in_double=True, shortest=1e-6),
        "none": AsGiven(),
    }

    index: str = "products"
    url: str = "http://localhost:9200"

    def write(self, deployed: Deployed) -> Configuration:
        window = {"rank_window_size": deployed.depth}
        if isinstance(deployed.fuser, ReciprocalRanks):
            retrievers: list[Any] = [replace_me(leg) for leg in deployed.legs]
            retriever: dict[str, Any] = {"rrf": {"retrievers": retrievers, "rank_constant": deployed.fuser.k, **window}}
        else:
            retrievers = [
                {"retriever": replace_me(leg), "weight": weight, "normalizer": self.normaliser_name}
                for leg, weight in deployed.leg_weights
            ]
            retriever = {"linear": {"retrievers": retrievers, **window}}
        content = json.dumps({"retriever": retriever, "size": 10}, indent=1, ensure_ascii=False) + "\n"
        notes = [
            "rank_window_size is the depth: it is how many hits a leg brings, and how many are fused",
            "a document that a leg did not bring counts 0 there",
        ]
        if self.normaliser_name == "minmax":
            notes.append(
                "where all of a leg's hits have one score, it counts 1; Elasticsearch before 8.18.3, and 9.0.0 to "
                "9.0.2, leaves it raw"
            )
        return Configuration(content, {}, tuple(notes))

    def commands(self, deployed: Deployed, file: str) -> str:  # noqa: ARG002 - one signature for every engine
        at = f"{self.url}/{self.index}/_search"
        ask = curl("-X", "POST", at, "-H", "Content-Type: application/json", "--data-binary", f"@{file}")
        return f"# put your own retrievers into {file}, then\n{ask}"
