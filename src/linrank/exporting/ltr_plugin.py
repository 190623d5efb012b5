"""Elasticsearch and OpenSearch: models of the learning-to-rank plugin, which they share, linear ones and trees."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias
from urllib.parse import quote

import numpy as np

from linrank.errors import LinrankError
from linrank.exporting.arithmetic import FLOAT32, Arithmetic
from linrank.exporting.curves import halved
from linrank.exporting.engine import Accepts, Target, curl
from linrank.exporting.steps import SteppedSum, Steps
from linrank.exporting.weighted_sum import WeightedSum

_AS_JSON = ("-H", "Content-Type: application/json")
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class _InFeatureSet(Target):
    """What models of both kinds share: the feature set whose features they have."""

    arithmetic: ClassVar[Arithmetic] = FLOAT32
    run_by: ClassVar[str] = ""

    model: str = "linrank"
    featureset: str = "linrank"
    url: str = "http://localhost:9200"
    index: str = "products"
    max_clauses: int = 1024

    @property
    def _features(self) -> str:
        return f"{self.url}/_ltr/_featureset/{quote(self.featureset, safe='')}"

    def _checked(self, ranking: WeightedSum) -> WeightedSum:
        if len(ranking) > self.max_clauses:
            raise LinrankError(
                f"{len(ranking):,} features are as many clauses, and a query may have {self.max_clauses:,}. Train a "
                "sparser model (linrank path), or raise indices.query.bool.max_clause_count there and the "
                "setting max_clauses here."
            )
        return ranking

    def _document(self, kind: str, defined: Any) -> str:
        # The definition is JSON inside a text: the plugin parses it later.
        definition = json.dumps(defined, ensure_ascii=False)
        document = {"model": {"name": self.model, "model": {"type": kind, "definition": definition}}}
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"

    def commands(self, ranking: WeightedSum, file: str) -> str:  # noqa: ARG002 - one signature for every engine
        model = {"rescore_query": {"sltr": {"model": self.model, "params": {}}}}
        rescored = {"window_size": 100, "query": {**model, "query_weight": 0, "rescore_query_weight": 1}}
        search = json.dumps({"query": {"match_all": {}}, "rescore": rescored})
        lines = [
            "# if there is a model of this name already, which cannot be replaced",
            curl("-X", "DELETE", f"{self.url}/_ltr/_model/{quote(self.model, safe='')}"),
            "# the model, which keeps a copy of the feature set",
            curl("-X", "POST", f"{self._features}/_createmodel", *_AS_JSON, "--data-binary", f"@{file}"),
            "# the first 100 hits by the model; query and params as your features need them",
            curl(f"{self.url}/{self.index}/_search", *_AS_JSON, "-d", search),
        ]
        return "\n".join(lines)

    def notes(self, ranking: WeightedSum) -> tuple[str, ...]:
        named = repr(self.featureset)
        notes = [
            self._said_of_missing(ranking.missing),
            f"every feature of set {named} is computed, with a weight or not: to save some, make a set without them",
        ]
        if not ranking.has_shift:
            beyond = "hits beyond the window score 0 and would stand above those with a negative score"
            notes.append(f"{beyond}: rescore all hits, or give a shift")
        return tuple(notes)

    def _said_of_missing(self, missing: float) -> str:
        return f"a feature that a document lacks counts as 0; the model counts a missing value as {missing:g}"


@dataclass(frozen=True)
class ElasticsearchLTR(_InFeatureSet):
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

    constant: str = "linrank_constant"

    def prepare(self, ranking: WeightedSum) -> WeightedSum:
        return self._checked(ranking.with_constant(self.constant))

    def write(self, ranking: WeightedSum) -> str:
        return self._document("model/linear", ranking.weight_of)

    def commands(self, ranking: WeightedSum, file: str) -> str:
        installed = super().commands(ranking, file)
        if self.constant not in ranking.names:
            return installed
        constant = {"name": self.constant, "params": [], "template": {"match_all": {}}}
        features = json.dumps({"features": [constant]})
        added = curl("-X", "POST", f"{self._features}/_addfeatures", *_AS_JSON, "-d", features)
        return f"# the feature that carries the shift, once\n{added}\n{installed}"

    def notes(self, ranking: WeightedSum) -> tuple[str, ...]:
        named = repr(self.featureset)
        return (
            *super().notes(ranking),
            f"the sum is in the order of set {named}: where that is not the order here, last digits may differ",
        )


@dataclass(frozen=True)
class OpenSearchLTR(ElasticsearchLTR):
    __doc__ = ElasticsearchLTR.__doc__

    name: ClassVar[str] = "opensearch"
    title: ClassVar[str] = "OpenSearch's LTR plugin"
    ending: ClassVar[str] = "opensearch.json"
    run_by: ClassVar[str] = "OpenSearch 3.6 with its LTR plugin"


@dataclass(frozen=True)
class ElasticsearchTrees(_InFeatureSet):
    """Curves as trees for a feature set of the learning-to-rank plugin: model/xgboost+json, one tree a feature.

    Parameters
    ----------
    model : its name
    featureset : the feature set that has the features
    url : of the server
    index : that is searched
    max_clauses : what indices.query.bool.max_clause_count is on the server: a feature is at least one clause
    steps : of a curve, about, on average: curves that move scores more have more of them
    """

    name: ClassVar[str] = "elasticsearch-trees"
    title: ClassVar[str] = "Elasticsearch's LTR plugin"
    ending: ClassVar[str] = "elasticsearch-trees.json"
    accepts: ClassVar[Accepts] = Accepts(curves=True, lines=False)

    steps: int = 64

    def prepare(self, ranking: WeightedSum) -> WeightedSum:
        # It compares float32 numbers as they are.
        return self._checked(SteppedSum.with_steps(ranking, self.steps, lambda thresholds: thresholds))

    def write(self, ranking: WeightedSum) -> str:
        assert isinstance(ranking, SteppedSum)
        trees = [
            _tree(name, weight, steps, ranking.missing)
            for name, weight, steps in zip(ranking.names, ranking.weights, ranking.steps, strict=True)
        ]
        if ranking.shift:
            trees.append({"nodeid": 0, "leaf": float(np.float32(ranking.shift))})
        return self._document("model/xgboost+json", trees)

    def notes(self, ranking: WeightedSum) -> tuple[str, ...]:
        assert isinstance(ranking, SteppedSum)
        return (*super().notes(ranking), ranking.said_of_steps())

    def _said_of_missing(self, missing: float) -> str:
        old = "; as 0 in plugins that are older than 1.5.9 (Elasticsearch) or 3.2 (OpenSearch)" if missing else ""
        return f"a feature that a document lacks counts as {missing:g}, as in the model{old}"


@dataclass(frozen=True)
class OpenSearchTrees(ElasticsearchTrees):
    __doc__ = ElasticsearchTrees.__doc__

    name: ClassVar[str] = "opensearch-trees"
    title: ClassVar[str] = "OpenSearch's LTR plugin"
    ending: ClassVar[str] = "opensearch-trees.json"
    run_by: ClassVar[str] = "OpenSearch 3.6 with its LTR plugin"


# A leaf, or a threshold and what is below and above it.
_Halves: TypeAlias = "float | tuple[float, _Halves, _Halves]"


def _tree(name: str, weight: float, steps: Steps, missing: float) -> dict[str, Any]:
    """As XGBoost dumps one: `yes` where the feature is less than the condition; weights are in the leaves."""
    # The product that the engine would have: of float32 numbers, rounded.
    leaves: list[_Halves] = (np.float32(weight) * steps.values).tolist()
    thresholds = steps.thresholds.tolist()
    found = halved(leaves, lambda k, below, above: (thresholds[k], below, above))
    lacking = float(np.float32(weight) * steps.at(missing))

    def node(part: _Halves, number: int, depth: int) -> dict[str, Any]:
        if not isinstance(part, tuple):
            return {"nodeid": number, "leaf": part}
        threshold, *halves = part
        yes, no = 2 * number + 1, 2 * number + 2
        return {
            "nodeid": number,
            "depth": depth,
            "split": name,
            "split_condition": threshold,
            "yes": yes,
            "no": no,
            "missing": no,
            "children": [node(half, child, depth + 1) for half, child in zip(halves, (yes, no), strict=True)],
        }

    # A missing value is NaN there, and `no` to every condition where `missing` is not looked at (OpenSearch from 3.2
    # until July 2026): so the first condition is one that every value meets.
    return node((_LARGEST, found, lacking), 0, 0)
