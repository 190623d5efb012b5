"""Logs as engines write them, for tests: documents with features become responses of each form."""

import json


def solr_document(docid, features, *, sparse=False):
    kept = {name: value for name, value in features.items() if value is not None and not (sparse and value == 0)}
    return {"id": docid, "[features]": ",".join(f"{name}={value}" for name, value in kept.items())}


def plugin_hit(docid, features):
    entries = [{"name": name} | ({} if value is None else {"value": value}) for name, value in features.items()]
    return {"_index": "i", "_id": docid, "_score": 1.0, "fields": {"_ltrlog": [{"log_entry1": entries}]}}


def vespa_hit(docid, features, log="matchfeatures"):
    held = {name: value for name, value in features.items() if value is not None}
    return {"id": f"id:shop:doc::{docid}", "relevance": 1.0, "source": "content", "fields": {log: held}}


def solr_response(documents, **params):
    header = {"status": 0, "QTime": 3} | ({"params": params} if params else {})
    return {"responseHeader": header, "response": {"numFound": len(documents), "start": 0, "docs": documents}}


def plugin_response(hits):
    return {"took": 3, "timed_out": False, "hits": {"total": {"value": len(hits), "relation": "eq"}, "hits": hits}}


def vespa_response(hits):
    root = {"id": "toplevel", "relevance": 1.0, "fields": {"totalCount": len(hits)}}
    return {"root": root | ({"children": hits} if hits else {})}


# Of each form, how a document and how a response is made.
FORMS = {
    "solr": (solr_document, solr_response),
    "solr sparse": (lambda docid, features: solr_document(docid, features, sparse=True), solr_response),
    "plugin": (plugin_hit, plugin_response),
    "vespa": (vespa_hit, vespa_response),
}


def write_lines(path, *records):
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    return path
