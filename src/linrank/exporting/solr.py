"""Solr: a LinearModel of its learning-to-rank module."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import quote

from linrank.exporting.arithmetic import FLOAT32, Arithmetic
from linrank.exporting.engine import Accepts, Target, curl
from linrank.exporting.weighted_sum import WeightedSum

_CLASS = "org.apache.solr.ltr.model.LinearModel"


@dataclass(frozen=True)
class Solr(Target):
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
    arithmetic: ClassVar[Arithmetic] = FLOAT32
    run_by: ClassVar[str] = "Solr 8.11 with its LTR module"

    model: str = "linrank"
    store: str = "_DEFAULT_"
    url: str = "http://localhost:8983/solr"
    collection: str = "products"
    constant: str = "linrank_constant"

    def prepare(self, ranking: WeightedSum) -> WeightedSum:
        return ranking.with_constant(self.constant)

    def write(self, ranking: WeightedSum) -> str:
        document = {
            "store": self.store,
            "name": self.model,
            "class": _CLASS,
            "features": [{"name": name} for name in ranking.names],
            "params": {"weights": ranking.weight_of},
        }
        return json.dumps(document, indent=1, ensure_ascii=False) + "\n"

    def commands(self, ranking: WeightedSum, file: str) -> str:
        at = f"{self.url}/{self.collection}"
        as_json = ("-H", "Content-type: application/json")
        lines = []
        if self.constant in ranking.names:
            kind = "org.apache.solr.ltr.feature.ValueFeature"
            feature = {"store": self.store, "name": self.constant, "class": kind, "params": {"value": 1}}
            lines = [
                "# the feature that carries the shift, once",
                curl("-X", "PUT", f"{at}/schema/feature-store", *as_json, "-d", json.dumps([feature])),
            ]
        model, store = (name.replace("\\", "\\\\").replace("'", "\\'") for name in (self.model, self.store))
        asked = ("q=*:*", f"rq={{!ltr model='{model}' reRankDocs=100}}", f"fl=id,score,[features store='{store}']")
        lines += [
            "# if there is a model of this name already, which cannot be replaced",
            curl("-X", "DELETE", f"{at}/schema/model-store/{quote(self.model, safe='')}"),
            "# the model",
            curl("-X", "PUT", f"{at}/schema/model-store", *as_json, "--data-binary", f"@{file}"),
            "# the first 100 hits by the model, with their features; q and efi.* as your features need them",
            curl(f"{at}/select", *(word for parameter in asked for word in ("--data-urlencode", parameter))),
        ]
        return "\n".join(lines)

    def notes(self, ranking: WeightedSum) -> tuple[str, ...]:
        counts = f"the model counts a missing value as {ranking.missing:g}"
        notes = [f"a feature that a document lacks counts as its default in the store, 0 unless set; {counts}"]
        mixed = next((name for name in ranking.names if set(",=") & set(name)), None)
        if mixed is not None:
            notes.append(f"Solr's feature log cannot be read back for sure, since {mixed!r} has a comma or = in it")
        return tuple(notes)
