"""Elasticsearch and OpenSearch: a linear model of the learning-to-rank plugin, as it is uploaded or returned."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from linrank.importing import ranklib
from linrank.importing.form import ForeignWeights, Form, Given, folded, only, whole_number

# Of a body of _createmodel, of one model that is returned, and of all of them.
_PARTS = ("model", "_source", "hits")
_NORMALIZERS = ("standard", "min_max")


def _is_one(given: Given) -> bool:
    document = given.document if given.is_json else None
    return isinstance(document, dict) and any(isinstance(document.get(part), dict) for part in _PARTS)


def _read(given: Given) -> ForeignWeights:
    stored = _stored(given, given.object(given.document, "the model"))
    model = given.object(stored.get("model"), "model.model")
    kind = given.name(model.get("type"), "model.model.type")
    features = _feature_set(given, stored.get("feature_set"))
    if kind == "model/linear":
        read = _linear(given, model.get("definition"))
    elif kind == "model/ranklib":
        text = given.name(model.get("definition"), "model.model.definition")
        read = ranklib.read_text(given, text, takes_names=True)
        read = replace(read, weight_of=_by_place(given, read.weight_of, features))
    else:
        raise given.wrong(f"is a {kind!r}, which is not a weighted sum. model/linear and model/ranklib can be read.")
    for name in read.weight_of:
        if features and name not in features:
            raise given.wrong(f"feature {name[:40]!r} has a weight and is not in the feature set. Restore the file.")
    # What the set has and the definition leaves out weighs 0.
    weight_of = dict.fromkeys(features, 0.0) | read.weight_of
    norms = given.object(model.get("feature_normalizers") or {}, "feature_normalizers")
    for name, norm in norms.items():
        if name not in weight_of:
            raise given.wrong(f"feature {name!r} is normalised and has no weight. Restore the file.")
        weight_of[name] = folded(given, name, weight_of[name], _scale(given, norm, name))
    facts = {"name": stored["name"]} if isinstance(stored.get("name"), str) else {}
    return ForeignWeights(weight_of, {**read.facts, **facts})


def _stored(given: Given, document: dict[str, Any]) -> dict[str, Any]:
    """What is stored of a model, out of what the server takes or returns."""
    if "hits" in document:
        hits = given.list(given.object(document["hits"], "hits").get("hits"), "hits.hits")
        sources = [given.object(hit, "a hit").get("_source") for hit in hits]
        document = {"_source": only(given, sources, "models")}
    if "_source" in document:
        document = given.object(document["_source"], "_source")
    return given.object(document.get("model"), "model")


def _feature_set(given: Given, stored: Any) -> dict[str, None]:
    """The names of the feature set, in order; none where the file does not say."""
    if stored is None:
        return {}
    found: dict[str, None] = {}
    for number, feature in enumerate(given.list(given.object(stored, "feature_set").get("features"), "features"), 1):
        name = given.name(given.object(feature, f"feature {number}").get("name"), f"the name of feature {number}")
        if name in found:
            raise given.wrong(f"feature {name!r} is twice in the feature set. Keep one.")
        found[name] = None
    return found


def _linear(given: Given, definition: Any) -> ForeignWeights:
    # A text of JSON as it is uploaded; it may be returned as an object.
    if isinstance(definition, str):
        definition = Given(f"{given.source}: definition", definition).document
    weights = given.object(definition, "the definition")
    return ForeignWeights(
        {name: given.number(weight, f"the weight of feature {name!r}") for name, weight in weights.items()}
    )


def _by_place(given: Given, weight_of: dict[str, float], features: dict[str, None]) -> dict[str, float]:
    """RankLib's numbers are places in the feature set, from 1."""
    names = list(features)
    by_place: dict[str, float] = {}
    for name, weight in weight_of.items():
        number = whole_number(name)
        if not names or number is None:
            return weight_of
        if number > len(names):
            raise given.wrong(f"feature {number} has a weight, and the feature set has {len(names)}. Restore the file.")
        by_place[names[number - 1]] = weight
    return by_place


def _scale(given: Given, norm: Any, name: str) -> float:
    """What a feature's normaliser divides by."""
    given.object(norm, f"the normaliser of feature {name!r}")
    if len(norm) != 1 or next(iter(norm)) not in _NORMALIZERS:
        raise given.wrong(
            f"feature {name!r} is normalised by {', '.join(norm)[:40]!r}; there are standard and min_max."
        )
    ((kind, settings),) = norm.items()
    settings = given.object(settings, f"{kind} of feature {name!r}")

    def setting(word: str) -> float:
        return given.number(settings.get(word), f"{word} of feature {name!r}")

    scale = setting("standard_deviation") if kind == "standard" else setting("maximum") - setting("minimum")
    if not scale > 0:
        raise given.wrong(
            f"feature {name!r} is divided by {scale:g}, and the plugin refuses that. A standard deviation must be "
            "positive, and a maximum above its minimum."
        )
    return scale


LTR_PLUGIN = Form("ltr-plugin", "Elasticsearch's or OpenSearch's LTR plugin: what it takes or returns", _is_one, _read)
