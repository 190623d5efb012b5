"""Logged documents meet their judgements: which become rows, and what is found out about all others."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from linrank.reading.logs.account import Pair
from linrank.reading.logs.gathering import GatheredLogs
from linrank.reading.logs.judgments import Judgments

# id:namespace:type:key-value:what-the-user-chose
_VESPA_ID = re.compile(r"id:[^:]*:[^:]*:[^:]*:(.+)")


@dataclass
class Joined:
    """The documents to keep: where they are in the logs, their queries, ids and labels, query after query."""

    rows: list[int] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    docids: list[str] = field(default_factory=list)
    labels: list[float] = field(default_factory=list)
    # Of each query that is kept.
    unretrieved: list[list[float]] = field(default_factory=list)
    logged_queries: int = 0
    repeated: int = 0
    contradicting: list[Pair] = field(default_factory=list)
    unjudged: list[Pair] = field(default_factory=list)
    unjudged_queries: list[str] = field(default_factory=list)
    no_judged_document: list[str] = field(default_factory=list)
    judged_not_logged: list[Pair] = field(default_factory=list)
    queries_not_logged: list[str] = field(default_factory=list)

    def add_query(self, query: str, logged: Mapping[str, int], labels: Mapping[str, float], *, keep_all: bool) -> None:
        used: dict[str, None] = {}
        for docid, row in logged.items():
            judged_as = _judged_as(docid, labels)
            if judged_as is None:
                self.unjudged.append((query, docid))
                if not keep_all:
                    continue
            else:
                used[judged_as] = None
            self.rows.append(row)
            self.queries.append(query)
            self.docids.append(judged_as or docid)
            self.labels.append(0.0 if judged_as is None else labels[judged_as])
        if not used:
            self.no_judged_document.append(query)
        if used or keep_all:
            not_logged = [docid for docid in labels if docid not in used]
            self.judged_not_logged += [(query, docid) for docid in not_logged]
            self.unretrieved.append([labels[docid] for docid in not_logged])


def join(logs: GatheredLogs, query_of: Sequence[str], judgments: Judgments, *, keep_all: bool) -> Joined:
    """Join documents and judgements; `query_of` names the query of each response.

    A document stands where it was first logged for its query, with what was logged last.
    """
    joined = Joined()
    logged: dict[str, dict[str, int]] = {}
    for row, (response, docid) in enumerate(zip(logs.response_of, logs.docids, strict=True)):
        documents = logged.setdefault(query_of[response], {})
        before = documents.get(docid)
        if before is not None:
            if _entries(logs, before) == _entries(logs, row):
                joined.repeated += 1
            else:
                joined.contradicting.append((query_of[response], docid))
        documents[docid] = row
    joined.logged_queries = len(logged)
    for query, documents in logged.items():
        labels = judgments.labels.get(query)
        if labels is None:
            joined.unjudged_queries.append(query)
        else:
            joined.add_query(query, documents, labels, keep_all=keep_all)
    joined.queries_not_logged = [query for query in judgments.labels if query not in logged]
    return joined


def _judged_as(docid: str, labels: Mapping[str, float]) -> str | None:
    """The name by which a document is judged: its id or, in Vespa, what the user chose of it."""
    if docid in labels:
        return docid
    whole = _VESPA_ID.fullmatch(docid)
    return whole[1] if whole and whole[1] in labels else None


def _entries(logs: GatheredLogs, row: int) -> dict[int, float]:
    start, stop = logs.starts[row], logs.starts[row + 1]
    return dict(zip(logs.columns[start:stop], logs.values[start:stop], strict=True))
