"""Ratings of RRE, the Rated Ranking Evaluator: topics of query groups, whose queries share their documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from linrank.errors import DataFormatError
from linrank.strict_json import finite_from_text


def rre_judgments(path: str, ratings: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Each query, document and gain; a query is named by its placeholder `$query`, or the only one it has."""
    for topic in _objects(path, ratings.get("topics", [ratings]), "topics"):
        for group in _objects(path, topic.get("query_groups", []), "query_groups"):
            documents = list(_documents(path, group.get("relevant_documents")))
            for query in _objects(path, group.get("queries", []), "queries"):
                name = _name(path, query)
                for docid, gain in documents:
                    yield name, docid, gain


def _documents(path: str, held: Any) -> Iterator[tuple[str, Any]]:
    """From `{"3": ["a", "b"]}` by gain, or `{"a": {"gain": 3}}` by document."""
    if not isinstance(held, dict):
        raise DataFormatError(path, None, f"relevant_documents is {str(held)[:40]!r}, not an object. Mend the ratings.")
    for key, value in held.items():
        if isinstance(value, list):
            gain = finite_from_text(key)
            if gain is None:
                raise DataFormatError(path, None, f"the gain {key!r} is not a finite number. Mend the ratings.")
            for docid in value:
                yield docid, gain
        elif isinstance(value, dict) and "gain" in value:
            yield key, value["gain"]
        else:
            raise DataFormatError(path, None, f"relevant_documents has {key!r} without a gain. Mend the ratings.")


def _name(path: str, query: dict[str, Any]) -> str:
    placeholders = query.get("placeholders")
    if isinstance(placeholders, dict):
        if isinstance(placeholders.get("$query"), str):
            return str(placeholders["$query"])
        if len(placeholders) == 1:
            return str(next(iter(placeholders.values())))
    raise DataFormatError(
        path, None, f"the query {str(query)[:60]!r} has no placeholder '$query' that names it. Name it so."
    )


def _objects(path: str, held: Any, what: str) -> list[dict[str, Any]]:
    if not isinstance(held, list) or not all(isinstance(one, dict) for one in held):
        raise DataFormatError(path, None, f"{what} is not a list of objects. Mend the ratings.")
    return held
