"""Saved responses of search engines, one a query: {"qid": …, "response": {…}} a line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from linrank.errors import DataFormatError
from linrank.reading.logs.json_records import read_records
from linrank.strict_json import finite

_ENDINGS = (".json", ".jsonl", ".ndjson")
_QUERY = ("qid", "query_id", "query")
_FORM = 'a line of saved responses is {"qid": …, "response": {"hits": {"hits": […]}}}'


def is_responses(path: str | os.PathLike[str]) -> bool:
    """Whether a file has responses, by its ending."""
    return Path(os.fspath(path).removesuffix(".gz").removesuffix(".zst")).suffix in _ENDINGS


def read_responses(path: str | os.PathLike[str]) -> dict[str, dict[str, float]]:
    """{query: {document: score}} of responses of OpenSearch and Elasticsearch, or of Qdrant."""
    found: dict[str, dict[str, float]] = {}
    source = os.fspath(path)
    for record in read_records(path):
        said = record.value if isinstance(record.value, dict) else {}
        qid = next((said[name] for name in _QUERY if isinstance(said.get(name), str | int)), None)
        hits = _hits(said.get("response", said))
        if qid is None or hits is None:
            raise DataFormatError(source, record.line, f"{_FORM}; there is no query or no list of hits. Add it.")
        if str(qid) in found:
            raise DataFormatError(source, record.line, f"query {str(qid)!r} was answered before. Drop one response.")
        answered = found.setdefault(str(qid), {})
        for hit in hits:
            score = finite(hit.get("_score", hit.get("score"))) if isinstance(hit, dict) else None
            document = hit.get("_id", hit.get("id")) if isinstance(hit, dict) else None
            if score is None or not isinstance(document, str | int) or str(document) in answered:
                raise DataFormatError(
                    source, record.line, f"{str(hit)[:60]!r} is no hit with an id of its own and a score. Drop it."
                )
            answered[str(document)] = score
    return found


def _hits(response: Any) -> list[Any] | None:
    """The list of hits, wherever the engine has it."""
    for path in (("hits", "hits"), ("result", "points"), ("result",), ("points",)):
        held = response
        for key in path:
            held = held.get(key) if isinstance(held, dict) else None
        if isinstance(held, list):
            return held
    return None
