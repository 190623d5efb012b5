"""The learning-to-rank plugins of Elasticsearch and OpenSearch: the field `_ltrlog` of a hit."""

from __future__ import annotations

from typing import Any

from linrank.reading.logs.form import Form, LogFault

# What a ranker may add beside the features: texts, lists, anything.
_NOT_A_FEATURE = "extra_logging"


class LtrPlugin(Form):
    """A hit with `"fields": {"_ltrlog": [{"log_entry1": [{"name": "a", "value": 1.5}, {"name": "b"}]}]}`.

    An entry without a value is of a feature whose query the document does not match.
    """

    list_key = "hits"

    def log_of(self, document: dict[str, Any], log: str | None) -> tuple[str, Any] | None:
        fields = document.get("fields")
        held = fields.get("_ltrlog") if isinstance(fields, dict) else None
        logs = held[0] if isinstance(held, list) and len(held) == 1 else held
        if not isinstance(logs, dict) or not logs:
            return None
        if log is None and len(logs) > 1:
            raise LogFault(f"there are the logs {', '.join(map(repr, logs))}. Say which with log=….")
        name = log or next(iter(logs))
        return (f"Elasticsearch / OpenSearch _ltrlog {name}", logs[name]) if name in logs else None

    def entries(self, held: Any) -> tuple[list[str], list[Any]]:
        if isinstance(held, dict):
            # As the plugin wrote it in its first years.
            return list(held), list(held.values())
        if not isinstance(held, list):
            raise LogFault(f"_ltrlog holds {str(held)[:40]!r}, not a list of names and values. {_REMEDY}")
        for entry in held:
            # Of no kind of its own, such as that for objects with a key twice.
            if type(entry) is not dict or type(entry.get("name")) is not str:
                raise LogFault(f"an entry of _ltrlog is {str(entry)[:60]!r}, which is no name with a value. {_REMEDY}")
        kept = [entry for entry in held if entry["name"] != _NOT_A_FEATURE]
        return [entry["name"] for entry in kept], [entry.get("value") for entry in kept]

    def id_of(self, document: dict[str, Any], field: str | None) -> Any:
        if field is None:
            return document.get("_id")
        for fields in (document.get("_source"), document.get("fields"), document):
            if isinstance(fields, dict) and field in fields:
                return fields[field]
        return None

    def fields_of(self, document: dict[str, Any]) -> list[str]:
        source = document.get("_source")
        return [*document, *(source if isinstance(source, dict) else ())]


_REMEDY = "Save what the engine answers as it is."
