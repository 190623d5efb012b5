"""Engines by name; each is loaded when it is asked for."""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

from linrank.errors import LinrankError, UnknownSettingError

if TYPE_CHECKING:
    from linrank.fusing.engine import FusionEngine

# Each engine, where it is, and the sentence the help says about it.
ENGINES = {
    "opensearch": ("opensearch", "OpenSearch", "a search pipeline (normalization-processor) and its hybrid query"),
    "elasticsearch": ("elasticsearch", "Elasticsearch", "a search by the linear retriever"),
    "qdrant": ("qdrant", "Qdrant", "a query by a formula over prefetches"),
    "milvus": ("milvus", "Milvus", "a WeightedRanker"),
    "weaviate": ("weaviate", "Weaviate", "alpha of a hybrid search"),
    "sql": ("sql", "SQL", "a statement for PostgreSQL with pgvector, DuckDB and SQLite"),
    "vespa": ("vespa", "Vespa", "a rank profile"),
}
# What is asked for and cannot be had, and why.
REFUSED = {
    "meilisearch": "Meilisearch blends keyword and vector scores by a rule of its own and takes no linear score",
    "typesense": "Typesense fuses by ranks and takes no linear score",
    "solr": "Solr's combiner of ranks has no weights; train on logged features and use linrank export --to solr",
    "redis": "Redis's FT.HYBRID adds up raw scores as Qdrant's formula does, and its command is not written here; use "
    "--to qdrant, and put its two weights into COMBINE LINEAR",
    "lancedb": "LanceDB's linear reranker is deprecated, and its releases differ in what it computes; its reciprocal "
    "ranks take no weights",
}


def engine_class(name: str) -> Any:
    """The class of an engine."""
    if name in REFUSED:
        raise LinrankError(f"no weights for {name!r}: {REFUSED[name]}.")
    if name not in ENGINES:
        from difflib import get_close_matches

        near = get_close_matches(name, ENGINES, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(ENGINES)}."
        raise LinrankError(f"there is no engine {name!r}. {hint}")
    module, class_, _ = ENGINES[name]
    # From the table above, never from what a user gave.
    return getattr(import_module(f"linrank.fusing.{module}"), class_)


def engine_named(name: str, **settings: Any) -> FusionEngine:
    """The engine of that name, with what is set of it."""
    made = engine_class(name)
    known = [field.name for field in fields(made)]
    for setting in settings:
        if setting not in known:
            raise UnknownSettingError(f"{name} has no setting {setting!r}; its settings are {', '.join(known)}.")
    engine: FusionEngine = made(**settings)
    return engine
