"""Targets by name; each is loaded when it is asked for."""

from __future__ import annotations

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
    if name not in TARGETS:
        from difflib import get_close_matches

        near = get_close_matches(name, TARGETS, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(TARGETS)}."
        raise LinrankError(f"there is no target {name!r}. {hint}")
    module, class_, _ = TARGETS[name]
    # From the table above, never from what a user gave.
    return getattr(import_module(f"linrank.exporting.{module}"), class_)


def engine_named(name: str, **settings: Any) -> Engine:
    """The target of that name, with what is set of it."""
    made = engine_class(name)
    known = [field.name for field in fields(made)]
    for setting in settings:
        if setting not in known:
            has = f"its settings are {', '.join(known)}" if known else "it has none"
            raise UnknownSettingError(f"{name} has no setting {setting!r}; {has}.")
    engine: Engine = made(**settings)
    return engine
