"""Elasticsearch and OpenSearch: a linear model of the learning-to-rank plugin, which they share."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar

from linrank.exporting.arithmetic import FLOAT32, Arithmetic
from linrank.exporting.engine import Accepts, Target, curl
from linrank.exporting.weighted_sum import WeightedSum

_AS_JSON = ("-H", "Content-Type: application/json")


@dataclass(frozen=True)
class ElasticsearchLTR(Target):
    """A model for a feature set of the learning-to-rank plugin.

    Parameters
    ----------
    model : its name
    featureset : the feature set that has the features
    url : of the server
    index : that is searched
    constant : the name of the feature that is always 1, where there is a shift
    """

    name: ClassVar[str] = "elasticsearch"
    title: ClassVar[str] = "Elasticsearch's LTR plugin"
    ending: ClassVar[str] = "elasticsearch.json"
    accepts: ClassVar[Accepts] = Accepts()
    arithmetic: ClassVar[Arithmetic] = FLOAT32
    run_by: ClassVar[str] = ""

    model: str = "linrank"
    featureset: str = "linrank"
    url: str = "http://localhost:9200"
    index: str = "products"
    constant: str = "linrank_constant"

    def prepare(self, ranking: WeightedSum) -> WeightedSum:
        return ranking.with_constant(self.constant)

    def write(self, ranking: WeightedSum) -> str:
        # The definition is JSON inside a text: the plugin parses it later.
        definition = json.dumps(ranking.weight_of, ensure_ascii=False)
        document = {"model": {"name": self.model, "model": {"type": "model/linear", "definition": definition}}}
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"

    def commands(self, ranking: WeightedSum, file: str) -> str:
        features = f"{self.url}/_ltr/_featureset/{self.featureset}"
        lines = []
        if self.constant in ranking.names:
            constant = {"name": self.constant, "params": [], "template": {"match_all": {}}}
            lines = [
                "# the feature that carries the shift, once",
                curl("-X", "POST", f"{features}/_addfeatures", *_AS_JSON, "-d", json.dumps({"features": [constant]})),
            ]
        model = {"rescore_query": {"sltr": {"model": self.model, "params": {}}}}
        rescored = {"window_size": 100, "query": {**model, "query_weight": 0, "rescore_query_weight": 1}}
        search = json.dumps({"query": {"match_all": {}}, "rescore": rescored})
        lines += [
            "# the model; one of the same name must be deleted first",
            curl("-X", "DELETE", f"{self.url}/_ltr/_model/{self.model}"),
            curl("-X", "POST", f"{features}/_createmodel", *_AS_JSON, "--data-binary", f"@{file}"),
            "# the first 100 hits by the model; query and params as your features need them",
            curl(f"{self.url}/{self.index}/_search", *_AS_JSON, "-d", search),
        ]
        return "\n".join(lines)

    def notes(self, ranking: WeightedSum) -> tuple[str, ...]:
        computed = f"every feature of set {self.featureset!r} is computed, with a weight or not"
        return (
            f"a feature that a document lacks counts as 0; the model counts a missing value as {ranking.missing:g}",
            f"{computed}: to save those that are not needed, make a set without them",
        )


@dataclass(frozen=True)
class OpenSearchLTR(ElasticsearchLTR):
    __doc__ = ElasticsearchLTR.__doc__

    name: ClassVar[str] = "opensearch"
    title: ClassVar[str] = "OpenSearch's LTR plugin"
    ending: ClassVar[str] = "opensearch.json"
    run_by: ClassVar[str] = "an OpenSearch server with its LTR plugin"
