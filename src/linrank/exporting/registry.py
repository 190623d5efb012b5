"""Targets by name; each is loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

from linrank.errors import LinrankError, UnknownSettingError

if TYPE_CHECKING:
    from linrank.exporting.engine import Engine

# Each target, where it is, and the sentence the help says about it.
TARGETS = {
    "solr": ("solr", "Solr", "a model for Solr's LTR module"),
    "solr-trees": ("solr", "SolrTrees", "curves as trees for Solr's LTR module"),
    "elasticsearch": ("ltr_plugin", "ElasticsearchLTR", "a model for Elasticsearch's LTR plugin"),
    "opensearch": ("ltr_plugin", "OpenSearchLTR", "a model for OpenSearch's LTR plugin"),
    "elasticsearch-trees": ("ltr_plugin", "ElasticsearchTrees", "curves as trees for Elasticsearch's LTR plugin"),
    "opensearch-trees": ("ltr_plugin", "OpenSearchTrees", "curves as trees for OpenSearch's LTR plugin"),
    "elasticsearch-script": (
        "elasticsearch_script",
        "ElasticsearchScript",
        "a script_score query for Elasticsearch or OpenSearch, without a plugin",
    ),
    "vespa": ("vespa", "Vespa", "a rank profile for Vespa"),
    "qdrant": ("qdrant", "Qdrant", "a formula query for Qdrant"),
    "sql": ("sql", "SQL", "an ORDER BY expression for PostgreSQL, DuckDB and SQLite"),
    "onnx": ("onnx_graph", "ONNX", "a graph for onnxruntime and its like"),
    "ranklib": ("numbered_weights", "RankLib", "a Coordinate Ascent model for RankLib"),
    "liblinear": ("numbered_weights", "LIBLINEAR", "a ranksvm model for LIBLINEAR"),
    "json": ("plain_weights", "JSONWeights", "the weights by name"),
    "csv": ("plain_weights", "CSVWeights", "the weights by name"),
    "python": ("python_module", "PythonModule", "a module of plain Python that needs nothing"),
}


def engine_class(name: str) -> Any:
    """The class of a target."""
    return class_named(name, TARGETS, "target", "linrank.exporting")


def engine_named(name: str, **settings: Any) -> Engine:
    """The target of that name, with what is set of it."""
    engine: Engine = made(name, engine_class(name), settings)
    return engine


def class_named(name: str, known: Mapping[str, tuple[str, str, str]], kind: str, package: str) -> Any:
    """The class that is known by a name, from its module of a package."""
    if name not in known:
        from difflib import get_close_matches

        near = get_close_matches(name, known, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(known)}."
        raise LinrankError(f"there is no {kind} {name!r}. {hint}")
    module, class_, _ = known[name]
    # From a table of ours, never from what a user gave.
    return getattr(import_module(f"{package}.{module}"), class_)


def made(name: str, class_: Any, settings: Mapping[str, Any]) -> Any:
    """A value of a class whose fields are what can be set of it."""
    known = [field.name for field in fields(class_)]
    for setting in settings:
        if setting not in known:
            has = f"its settings are {', '.join(known)}" if known else "it has none"
            raise UnknownSettingError(f"{name} has no setting {setting!r}; {has}.")
    return class_(**settings)
