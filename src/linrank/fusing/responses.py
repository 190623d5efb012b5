"""Saved responses of search engines, one a query: {"qid": …, "response": {…}} a line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from linrank.errors import DataFormatError
from linrank.reading.logs.form import LogFault
from linrank.reading.logs.json_records import read_records, refuse_repeated_keys
from linrank.reading.logs.responses import is_name
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
        try:
            qid, scores = _answer(record.value)
        except LogFault as fault:
            raise DataFormatError(source, record.line, str(fault)) from None
        if qid in found:
            raise DataFormatError(
                os.fspath(path), record.line, f"query {qid!r} was answered before. Drop one response."
            )
        found[qid] = scores
    return found


def _answer(said: Any) -> tuple[str, dict[str, float]]:
    """The query of one response, and the score of each document."""
    refuse_repeated_keys(said)
    named = [said[name] for name in _QUERY if is_name(said.get(name))] if isinstance(said, dict) else []
    hits = _hits(said.get("response", said)) if named else None
    if hits is None:
        raise LogFault(f"{_FORM}; there is no query or no list of hits. Add it.")
    scores: dict[str, float] = {}
    for hit in hits:
        refuse_repeated_keys(hit)
        score = finite(hit.get("_score", hit.get("score"))) if isinstance(hit, dict) else None
        document = hit.get("_id", hit.get("id")) if isinstance(hit, dict) else None
        if score is None or not is_name(document) or str(document) in scores:
            raise LogFault(f"{str(hit)[:60]!r} is no hit with an id of its own and a score. Drop it.")
        scores[str(document)] = score
    return str(named[0]), scores


def _hits(response: Any) -> list[Any] | None:
    """The list of hits, wherever the engine has it."""
    for path in (("hits", "hits"), ("result", "points"), ("result",), ("points",)):
        held = response
        for key in path:
            refuse_repeated_keys(held)
            held = held.get(key) if isinstance(held, dict) else None
        if isinstance(held, list):
            return held
    return None
