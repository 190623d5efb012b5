"""Engines by name; each is loaded when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linrank.errors import LinrankError
from linrank.exporting.registry import class_named, made

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
    return class_named(name, ENGINES, "engine", "linrank.fusing")


def engine_named(name: str, **settings: Any) -> FusionEngine:
    """The engine of that name, with what is set of it."""
    engine: FusionEngine = made(name, engine_class(name), settings)
    return engine
