"""Solr: a LinearModel of its learning-to-rank module, as it is uploaded or as the model store returns it."""

from __future__ import annotations

from typing import Any

from linrank.importing.form import ForeignWeights, Form, Given, folded, only

_LINEAR = "org.apache.solr.ltr.model.LinearModel"
_IDENTITY = "org.apache.solr.ltr.norm.IdentityNormalizer"
_STANDARD = "org.apache.solr.ltr.norm.StandardNormalizer"
_MIN_MAX = "org.apache.solr.ltr.norm.MinMaxNormalizer"


def _is_one(given: Given) -> bool:
    document = given.document if given.is_json else None
    if isinstance(document, list):
        document = document[0] if document else None
    return isinstance(document, dict) and (
        isinstance(document.get("class"), str) or isinstance(document.get("models"), list)
    )


def _read(given: Given) -> ForeignWeights:
    document = given.document
    if isinstance(document, dict) and "models" in document:
        document = given.list(document["models"], "models")
    model = given.object(only(given, document, "models") if isinstance(document, list) else document, "the model")
    kind = given.name(model.get("class"), "class")
    if kind != _LINEAR:
        raise given.wrong(f"is a {kind}, which is not a weighted sum. Only {_LINEAR} can be read.")
    weights = given.object(given.object(model.get("params"), "params").get("weights"), "params.weights")
    weight_of: dict[str, float] = {}
    for number, feature in enumerate(given.list(model.get("features"), "features"), start=1):
        described = given.object(feature, f"feature {number}")
        name = given.name(described.get("name"), f"the name of feature {number}")
        if name in weight_of:
            raise given.wrong(f"feature {name!r} is listed twice. Keep one.")
        if name not in weights:
            raise given.wrong(
                f"feature {name!r} has no weight, and Solr refuses such a model. Give it one, or drop it."
            )
        weight = given.number(weights[name], f"the weight of feature {name!r}")
        weight_of[name] = folded(given, name, weight, _scale(given, described.get("norm"), name))
    for name in weights:
        if name not in weight_of:
            raise given.wrong(f"feature {name!r} has a weight and is not listed: Solr ignores it. List it, or drop it.")
    facts = {fact: model[fact] for fact in ("name", "store") if isinstance(model.get(fact), str)}
    return ForeignWeights(weight_of, facts)


def _scale(given: Given, norm: Any, name: str) -> float:
    """What a feature's normaliser divides by."""
    if norm is None:
        return 1.0
    kind = given.object(norm, f"the norm of feature {name!r}").get("class")
    if kind == _IDENTITY:
        return 1.0
    params = given.object(norm.get("params", {}), f"the norm's params of feature {name!r}")
    if kind == _STANDARD:
        deviation = _param(given, params.get("std", 1), f"std of feature {name!r}")
        if not deviation > 0:
            raise given.wrong(f"std of feature {name!r} is {deviation:g}, and Solr refuses it. It must be positive.")
        return deviation
    if kind == _MIN_MAX:
        least, most = (_param(given, params.get(end), f"{end} of feature {name!r}") for end in ("min", "max"))
        if least == most:
            raise given.wrong(f"min and max of feature {name!r} are both {least:g}, and Solr refuses it. Mend one.")
        return most - least
    raise given.wrong(
        f"feature {name!r} is normalised by {kind!r}. Only Solr's identity, standard and min-max normalizers are known "
        "here: fold another one into the weight, if it is linear."
    )


def _param(given: Given, value: Any, what: str) -> float:
    # Solr's own examples have them as texts.
    return given.number_in(value, what) if isinstance(value, str) else given.number(value, what)


SOLR = Form("solr", "a LinearModel of Solr's LTR module, or what its model store returns", _is_one, _read)
