"""Solr: models of its learning-to-rank module, linear ones and trees."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import quote

import numpy as np

from linrank.exporting.arithmetic import FLOAT32, Arithmetic
from linrank.exporting.curves import halved
from linrank.exporting.engine import Accepts, Target, curl
from linrank.exporting.steps import SteppedSum, Steps
from linrank.exporting.weighted_sum import WeightedSum

_MODEL = "org.apache.solr.ltr.model."
_JSON = ("-H", "Content-type: application/json")
# What Solr adds to every threshold of a tree that it reads, in float32.
_SLACK = np.float32(1e-6)
# A file of ZooKeeper's, unless jute.maxbuffer is raised.
_MOST_OF_ZOOKEEPER = 1 << 20


@dataclass(frozen=True)
class _InStores(Target):
    """What models of both kinds share: the stores that they and their features are in."""

    arithmetic: ClassVar[Arithmetic] = FLOAT32
    run_by: ClassVar[str] = "Solr 8.11 with its LTR module"

    model: str = "linrank"
    store: str = "_DEFAULT_"
    url: str = "http://localhost:8983/solr"
    collection: str = "products"

    @property
    def _at(self) -> str:
        return f"{self.url}/{self.collection}"

    def _document(self, kind: str, ranking: WeightedSum, params: dict[str, Any]) -> dict[str, Any]:
        features = [{"name": name} for name in ranking.names]
        return {"store": self.store, "name": self.model, "class": _MODEL + kind, "features": features, "params": params}

    def commands(self, ranking: WeightedSum, file: str) -> str:  # noqa: ARG002 - one signature for every engine
        model, store = (name.replace("\\", "\\\\").replace("'", "\\'") for name in (self.model, self.store))
        asked = ("q=*:*", f"rq={{!ltr model='{model}' reRankDocs=100}}", f"fl=id,score,[features store='{store}']")
        lines = [
            "# if there is a model of this name already, which cannot be replaced",
            curl("-X", "DELETE", f"{self._at}/schema/model-store/{quote(self.model, safe='')}"),
            "# the model",
            curl("-X", "PUT", f"{self._at}/schema/model-store", *_JSON, "--data-binary", f"@{file}"),
            "# the first 100 hits by the model, with their features; q and efi.* as your features need them",
            curl(f"{self._at}/select", *(word for parameter in asked for word in ("--data-urlencode", parameter))),
        ]
        return "\n".join(lines)

    def notes(self, ranking: WeightedSum) -> tuple[str, ...]:
        counts = f"the model counts a missing value as {ranking.missing:g}"
        notes = [f"a feature that a document lacks counts as its default in the store, 0 unless set; {counts}"]
        mixed = next((name for name in ranking.names if set(",=") & set(name)), None)
        if mixed is not None:
            notes.append(f"Solr's feature log cannot be read back for sure, since {mixed!r} has a comma or = in it")
        return tuple(notes)


@dataclass(frozen=True)
class Solr(_InStores):
    """A model for Solr's feature and model stores.

    Parameters
    ----------
    model : its name in the model store
    store : the feature store that has the features
    url : of the server
    collection : that is searched
    constant : the name of the feature that is always 1, where there is a shift
    """

    name: ClassVar[str] = "solr"
    title: ClassVar[str] = "Solr"
    ending: ClassVar[str] = "solr.json"
    accepts: ClassVar[Accepts] = Accepts()

    constant: str = "linrank_constant"

    def prepare(self, ranking: WeightedSum) -> WeightedSum:
        return ranking.with_constant(self.constant)

    def write(self, ranking: WeightedSum) -> str:
        document = self._document("LinearModel", ranking, {"weights": ranking.weight_of})
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"

    def commands(self, ranking: WeightedSum, file: str) -> str:
        installed = super().commands(ranking, file)
        if self.constant not in ranking.names:
            return installed
        kind = "org.apache.solr.ltr.feature.ValueFeature"
        feature = {"store": self.store, "name": self.constant, "class": kind, "params": {"value": 1}}
        added = curl("-X", "PUT", f"{self._at}/schema/feature-store", *_JSON, "-d", json.dumps([feature]))
        return f"# the feature that carries the shift, once\n{added}\n{installed}"


@dataclass(frozen=True)
class SolrTrees(_InStores):
    """Curves as trees for Solr's feature and model stores: a MultipleAdditiveTreesModel, one tree a feature.

    Parameters
    ----------
    model : its name in the model store
    store : the feature store that has the features
    url : of the server
    collection : that is searched
    steps : of a curve, about, on average: curves that move scores more have more of them
    """

    name: ClassVar[str] = "solr-trees"
    title: ClassVar[str] = "Solr"
    ending: ClassVar[str] = "solr-trees.json"
    accepts: ClassVar[Accepts] = Accepts(curves=True, lines=False)

    steps: int = 64

    def prepare(self, ranking: WeightedSum) -> WeightedSum:
        return SteppedSum.with_steps(ranking, self.steps, _held)

    def write(self, ranking: WeightedSum) -> str:
        assert isinstance(ranking, SteppedSum)
        trees = [
            {"weight": _text(weight), "root": _tree(name, steps)}
            for name, weight, steps in zip(ranking.names, ranking.weights, ranking.steps, strict=True)
        ]
        if ranking.shift:
            trees.append({"weight": "1.0", "root": {"value": _text(ranking.shift)}})
        document = self._document("MultipleAdditiveTreesModel", ranking, {"trees": trees})
        # As short as it can be: ZooKeeper takes 1 MB.
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n"

    def notes(self, ranking: WeightedSum) -> tuple[str, ...]:
        assert isinstance(ranking, SteppedSum)
        size = len(self.write(ranking).encode())
        large = (
            f"the file has {size:,} bytes, and SolrCloud keeps models in ZooKeeper, which takes {_MOST_OF_ZOOKEEPER:,}"
        )
        remedy = "set fewer steps, raise jute.maxbuffer there, or name the file in a DefaultWrapperModel"
        return (
            *super().notes(ranking),
            ranking.said_of_steps(),
            *([f"{large}: {remedy}"] if size > _MOST_OF_ZOOKEEPER else []),
        )


def _tree(name: str, steps: Steps) -> dict[str, Any]:
    """Left where the feature is at most the threshold."""
    written = _written(_before(steps.thresholds))
    leaves: list[dict[str, Any]] = [{"value": _text(value)} for value in steps.values]
    return halved(
        leaves,
        lambda k, below, above: {"feature": name, "threshold": _text(written[k]), "left": below, "right": above},
    )


def _held(thresholds: Any) -> Any:
    """The thresholds that Solr has where some are asked for: it adds its slack to what is written, and rounds."""
    return np.nextafter(_before(thresholds) - _SLACK + _SLACK, np.float32(np.inf))


def _before(thresholds: Any) -> Any:
    """The largest number that is less: what is at most that one is less than the threshold."""
    return np.nextafter(thresholds, np.float32(-np.inf))


def _written(held: Any) -> Any:
    """The numbers that, with the slack added, are the given ones: next to where it is taken away."""
    near = held - _SLACK
    for candidate in (np.nextafter(near, np.float32(-np.inf)), np.nextafter(near, np.float32(np.inf))):
        near = np.where(near + _SLACK == held, near, candidate)
    assert np.array_equal(near + _SLACK, held)
    return near


def _text(number: Any) -> str:
    """As Solr has numbers in trees: the digits of a number that float32 holds."""
    return repr(float(np.float32(number)))
