"""The documents in a saved response, whatever it is wrapped in, and the names that its query goes by."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from linrank.cached import cached_property
from linrank.errors import DataFormatError
from linrank.reading.logs.form import Form, LogFault
from linrank.reading.logs.json_records import Record, refuse_repeated_keys
from linrank.reading.logs.ltr_plugin import LtrPlugin
from linrank.reading.logs.solr import Solr
from linrank.reading.logs.vespa import Vespa

# What a query goes by: a way of naming queries, such as `qid`, `params.q` or `file`, and the name.
QueryNames: TypeAlias = dict[str, str]

_PLUGIN = LtrPlugin()
FORMS: dict[str, Form] = {"solr": Solr(), "elasticsearch": _PLUGIN, "opensearch": _PLUGIN, "vespa": Vespa()}
# Fields that name a query, and what else does; where several do equally well, the first.
_QUERY_FIELDS = ("qid", "query_id", "queryId", "query", "q")
NAMED_BY_FILE = "file"
WAYS_OF_NAMING = (*_QUERY_FIELDS, "params.q", NAMED_BY_FILE)
_PARAMS = "params."
# What responses, and lists of them, are kept in; and what documents are kept in within them.
_KEEP_RESPONSES = ("response", "responses", "result", "results", "body")
_WRAPPERS = (*_KEEP_RESPONSES, "hits", "root", "grouped")


class Found(NamedTuple):
    """A document in a response, with its log if it has one; None stands for a response without documents."""

    names: QueryNames
    document: dict[str, Any] | None
    form: Form
    log: tuple[str, Any] | None


@dataclass(frozen=True)
class Responses:
    """How documents are found in records, as the caller says it: the form, the log, where queries are named."""

    form: str | None = None
    log: str | None = None
    query_from: str | None = None

    @cached_property
    def forms(self) -> Sequence[Form]:
        return tuple(dict.fromkeys(FORMS.values())) if self.form is None else (FORMS[self.form],)

    def documents(self, record: Record, source: str) -> Iterator[Found]:
        """Every document of a record; a record in which nothing is recognised is refused, unless an engine failed."""
        n_found = 0
        try:
            for found in self._walk(record.value, {}, None):
                n_found += 1
                yield found
        except LogFault as fault:
            raise DataFormatError(source, record.line, str(fault)) from None
        except RecursionError:
            raise DataFormatError(source, record.line, "is nested too deep to be an engine's response.") from None
        if not n_found and failure_in(record.value) is None:
            raise DataFormatError(source, record.line, self._nothing_in(record.value))

    def stand_together(self, value: Any) -> bool:
        """Whether all documents of a record may be of one query: they are of one response, or stand alone."""
        return self._n_responses(value) <= 1

    def _n_responses(self, value: Any) -> int:
        if isinstance(value, list):
            return sum(map(self._n_responses, value))
        if not isinstance(value, dict) or any(form.log_of(value, self.log) for form in self.forms):
            return 0
        kept_in = next((value[key] for key in _KEEP_RESPONSES if isinstance(value.get(key), dict | list)), None)
        return 1 if kept_in is None else self._n_responses(kept_in)

    def _walk(self, value: Any, above: QueryNames, inside: Form | None) -> Iterator[Found]:
        if isinstance(value, list):
            for element in value:
                yield from self._walk(element, above, inside)
        if not isinstance(value, dict):
            return
        refuse_repeated_keys(value)
        names = self._named(value) | above
        for form in self.forms:
            log = form.log_of(value, self.log)
            if log is not None:
                yield Found(names, value, form, log)
                return
        if inside is not None and "children" not in value:
            if not str(value.get("id", "")).startswith(("group:", "grouplist:", "hitlist:")):
                yield Found(names, value, inside, None)
            return
        yield from self._within(value, names)

    def _within(self, value: dict[str, Any], names: QueryNames) -> Iterator[Found]:
        for form in self.forms:
            documents = value.get(form.list_key)
            if isinstance(documents, list):
                if not documents:
                    yield Found(names, None, form, None)
                yield from self._walk(documents, names, form)
                return
        root = value.get("root")
        if isinstance(root, dict) and "children" not in root and "errors" not in root:
            # Vespa leaves out the list of no documents.
            yield Found(names, None, FORMS["vespa"], None)
        known = [key for key in _WRAPPERS if key in value]
        # Beside these stand facets and aggregations, with hits of their own; elsewhere a wrapper may have any name.
        for key in known or value:
            yield from self._walk(value[key], names, None)

    def _named(self, value: dict[str, Any]) -> QueryNames:
        """What an object says of the query it belongs to."""
        if self.query_from == NAMED_BY_FILE:
            return {}
        header = value.get("responseHeader")
        params = header.get("params") if isinstance(header, dict) else None
        if self.query_from is None:
            found = {field: value.get(field) for field in _QUERY_FIELDS}
            found["params.q"] = params.get("q") if isinstance(params, dict) else None
        elif self.query_from.startswith(_PARAMS):
            found = {self.query_from: params.get(self.query_from[len(_PARAMS) :]) if isinstance(params, dict) else None}
        else:
            found = {self.query_from: _at(value, self.query_from)}
        return {way: str(name) for way, name in found.items() if is_name(name)}

    def _nothing_in(self, value: Any) -> str:
        looked_for = {
            "solr": f"Solr's {self.log or '[features]'!r}",
            "elasticsearch": "_ltrlog of Elasticsearch or OpenSearch",
            "vespa": f"Vespa's {self.log or 'matchfeatures'!r}",
        }
        looked_for["opensearch"] = looked_for["elasticsearch"]
        wanted = list(dict.fromkeys(looked_for.values())) if self.form is None else [looked_for[self.form]]
        return (
            f"{_shown(value)} holds no documents of a search engine; looked for {', '.join(wanted)}. Save the engine's "
            "responses as they are, or a document a line; form=… and log=… say what they are."
        )


def file_name(source: str) -> str:
    """The name of a file without the endings that say what is in it."""
    name = Path(os.fspath(source)).name
    while Path(name).suffix.lower() in (".gz", ".zst", ".json", ".jsonl", ".ndjson", ".log", ".txt"):
        name = Path(name).stem
    return name


def is_name(value: object) -> bool:
    """Whether a value can name a query or a document: a text that is not empty, or a whole number."""
    if isinstance(value, str):
        # Half of a pair of surrogates, which JSON can escape, is no letter that could be written.
        whole = value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value)
        return whole and bool(value.strip())
    return isinstance(value, int) and not isinstance(value, bool)


def failure_in(value: Any) -> str | None:
    """What an engine that could not answer says; None where it did answer."""
    while isinstance(value, dict):
        root = value.get("root")
        errors = value.get("error") or (root.get("errors") if isinstance(root, dict) else None)
        if errors:
            return str(errors)[:200]
        value = value.get("response")
    return None


def _at(value: dict[str, Any], path: str) -> Any:
    """A field of an object, or by dots a field of a field."""
    if path in value:
        return value[path]
    held: Any = value
    for field in path.split("."):
        held = held.get(field) if isinstance(held, dict) else None
    return held


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return f"the object with the keys {', '.join(map(repr, list(value)[:6]))}{', …' if len(value) > 6 else ''}"
    return f"{str(value)[:40]!r}"
