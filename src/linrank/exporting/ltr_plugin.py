"""Elasticsearch and OpenSearch: a linear model of the learning-to-rank plugin, which they share."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import quote

from linrank.errors import LinrankError
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
    max_clauses : what indices.query.bool.max_clause_count is on the server: a feature is at least one clause
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
    max_clauses: int = 1024

    def prepare(self, ranking: WeightedSum) -> WeightedSum:
        prepared = ranking.with_constant(self.constant)
        if len(prepared) > self.max_clauses:
            raise LinrankError(
                f"{len(prepared):,} features are as many clauses, and a query may have {self.max_clauses:,}. Train a "
                "sparser model (linrank path), or raise indices.query.bool.max_clause_count there and the "
                "setting max_clauses here."
            )
        return prepared

    def write(self, ranking: WeightedSum) -> str:
        # The definition is JSON inside a text: the plugin parses it later.
        definition = json.dumps(ranking.weight_of, ensure_ascii=False)
        document = {"model": {"name": self.model, "model": {"type": "model/linear", "definition": definition}}}
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"

    def commands(self, ranking: WeightedSum, file: str) -> str:
        features = f"{self.url}/_ltr/_featureset/{quote(self.featureset, safe='')}"
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
            "# if there is a model of this name already, which cannot be replaced",
            curl("-X", "DELETE", f"{self.url}/_ltr/_model/{quote(self.model, safe='')}"),
            "# the model, which keeps a copy of the feature set",
            curl("-X", "POST", f"{features}/_createmodel", *_AS_JSON, "--data-binary", f"@{file}"),
            "# the first 100 hits by the model; query and params as your features need them",
            curl(f"{self.url}/{self.index}/_search", *_AS_JSON, "-d", search),
        ]
        return "\n".join(lines)

    def notes(self, ranking: WeightedSum) -> tuple[str, ...]:
        named = repr(self.featureset)
        notes = [
            f"a feature that a document lacks counts as 0; the model counts a missing value as {ranking.missing:g}",
            f"every feature of set {named} is computed, with a weight or not: to save some, make a set without them",
            f"the sum is in the order of set {named}: where that is not the order here, last digits may differ",
        ]
        if self.constant not in ranking.names:
            beyond = "hits beyond the window score 0 and would stand above those with a negative score"
            notes.append(f"{beyond}: rescore all hits, or give a shift")
        return tuple(notes)


@dataclass(frozen=True)
class OpenSearchLTR(ElasticsearchLTR):
    __doc__ = ElasticsearchLTR.__doc__

    name: ClassVar[str] = "opensearch"
    title: ClassVar[str] = "OpenSearch's LTR plugin"
    ending: ClassVar[str] = "opensearch.json"
    run_by: ClassVar[str] = "OpenSearch 3.6 with its LTR plugin"
