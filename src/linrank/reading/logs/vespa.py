"""Vespa: the fields `matchfeatures`, `summaryfeatures` and `rankfeatures` of a hit."""

from __future__ import annotations

from typing import Any

from linrank.reading.logs.form import Form, LogFault

# The first of these that a hit has.
_LOGS = ("matchfeatures", "summaryfeatures", "rankfeatures")
# What Vespa says of its own work among the features of a summary.
_NOT_A_FEATURE = "vespa.summaryFeatures.cached"


class Vespa(Form):
    """A hit with `"fields": {"matchfeatures": {"bm25(title)": 1.5}}`."""

    list_key = "children"

    def log_of(self, document: dict[str, Any], log: str | None) -> tuple[str, Any] | None:
        fields = document.get("fields")
        if isinstance(fields, dict):
            for name in _LOGS if log is None else (log,):
                if isinstance(fields.get(name), dict):
                    return f"Vespa {name}", fields[name]
        return None

    def entries(self, held: Any) -> tuple[list[str], list[Any]]:
        kept = {name: value for name, value in held.items() if name != _NOT_A_FEATURE}
        for name, value in kept.items():
            if isinstance(value, dict | list):
                raise LogFault(
                    f"feature {name!r} is a tensor, and a feature is one number. Reduce it to one in the rank profile, "
                    "such as by reduce(…, sum), or take it out of what is logged."
                )
        return list(kept), list(kept.values())

    def id_of(self, document: dict[str, Any], field: str | None) -> Any:
        fields = document.get("fields")
        if field is not None and isinstance(fields, dict) and field in fields:
            return fields[field]
        return document.get(field or "id")

    def fields_of(self, document: dict[str, Any]) -> list[str]:
        fields = document.get("fields")
        return list(fields) if isinstance(fields, dict) else []
