"""The report as one page: assets and data in a single file that asks nothing of the network."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from importlib import resources
from numbers import Integral, Real
from string import Template
from typing import Any

from linrank.errors import LinrankError
from linrank.experiments.report.content import QueryDifferences, QueryDocuments, ReportContent
from linrank.experiments.report.verdict import verdict
from linrank.files import replacing
from linrank.measures import SIGNIFICANT

PAGE_LIMIT = 2_000_000
"""Bytes of a page that any mail server carries and any phone opens."""

# Joined in this order to one script: each file uses only names of those before it.
_SCRIPTS = (
    "drawing.js",
    "tables.js",
    "leaderboard.js",
    "curve.js",
    "weights.js",
    "documents.js",
    "queries.js",
    "training.js",
    "page.js",
)
_SECTIONS = {
    "leaderboard": ("Ranker", "Which ranker should I use?"),
    "feature_curve": ("Features", "How many features do I need?"),
    "weights": ("Weights", "What does it weigh?"),
    "queries": ("Queries", "Where does it win and lose?"),
    "training": ("Training", "How did training go?"),
}


def render(content: ReportContent) -> str:
    """Return the page; the same content gives the same bytes."""
    style, script = _asset("page.css"), _script()
    data = _data(content)
    present = [name for name in _SECTIONS if data[name] is not None or name in content.missing]
    return Template(_asset("page.html")).substitute(
        policy=_policy(style, script),
        title=_escaped(content.title),
        subtitle=f'<p class="subtitle">{_escaped(content.subtitle)}</p>' if content.subtitle else "",
        facts=_facts(content.facts),
        links="".join(f'<a href="#{name}">{_SECTIONS[name][0]}</a>' for name in present),
        sections="\n".join(_section(name, content, there=data[name] is not None) for name in present),
        notes=_notes(content.notes),
        style=style,
        data=_json(data),
        script=script,
    )


def write_page(path: str | os.PathLike[str], content: ReportContent, *, limit: int = PAGE_LIMIT) -> None:
    """Write the page, whole or not at all, with the documents of as many queries as fit into `limit` bytes."""
    page = render(fitting(content, limit))
    with replacing(path) as file:
        file.write(page)


def fitting(content: ReportContent, limit: int = PAGE_LIMIT) -> ReportContent:
    """Return the content without the documents of the queries that differ least, so that its page fits the limit."""
    queries = content.queries
    if queries is None:
        return content
    bare = replace(queries, rows=tuple(replace(row, documents=None) for row in queries.rows))
    # The page says how many were left out, which takes a few bytes itself.
    room = limit - len(render(replace(content, queries=bare)).encode()) - 64
    rows = list(bare.rows)
    given = [(place, row.documents) for place, row in enumerate(queries.rows) if row.documents]
    given.sort(key=lambda item: -abs(rows[item[0]].ours - rows[item[0]].baseline))
    kept = 0
    for place, documents in given:
        # With its key and the signs around it.
        room -= len(_json({str(place): _documents(rows[place].qid, documents)}))
        if room < 0:
            break
        rows[place] = queries.rows[place]
        kept += 1
    left_out = queries.left_out + len(given) - kept
    return replace(content, queries=replace(queries, rows=tuple(rows), left_out=left_out))


def _asset(name: str) -> str:
    return (resources.files(__package__) / "assets" / name).read_text(encoding="utf-8")


def _script() -> str:
    return '"use strict";\n(() => {\n' + "\n".join(_asset(name) for name in _SCRIPTS) + "})();\n"


def _policy(style: str, script: str) -> str:
    """Allow the page's own style and script, known by their hashes, and nothing else: text of users cannot run."""

    def source(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    return (
        f"default-src 'none'; style-src {source(style)}; script-src {source(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _escaped(text: str) -> str:
    # Lone surrogates, which user data may hold, have no UTF-8.
    return html.escape(text).encode("ascii", "xmlcharrefreplace").decode()


def _facts(facts: Sequence[tuple[str, str]]) -> str:
    if not facts:
        return ""
    items = [f"<div><dt>{_escaped(name)}</dt><dd>{_escaped(value)}</dd></div>" for name, value in facts]
    return f'<dl class="facts">{"".join(items)}</dl>'


def _notes(notes: Sequence[str]) -> str:
    if not notes:
        return ""
    items = "".join(f"<li>{_escaped(note)}</li>" for note in notes)
    return f'<section id="notes"><h2>Notes</h2><ul>{items}</ul></section>'


def _section(name: str, content: ReportContent, *, there: bool) -> str:
    said = ""
    if name == "leaderboard" and content.leaderboard is not None:
        spoken = verdict(content.leaderboard)
        said = (
            f'<p class="verdict">{_escaped(spoken.headline)}</p>'
            f'<p class="reasons">{_escaped(" ".join(spoken.reasons))}</p>'
        )
    if not there:
        said = f'<p class="absent">{_escaped(content.missing[name])}</p>'
    heading = f'<h2 id="{name}-heading">{_SECTIONS[name][1]}</h2>'
    return f'<section id="{name}" aria-labelledby="{name}-heading">{heading}{said}</section>'


def _data(content: ReportContent) -> dict[str, Any]:
    """What the script draws; a section without rows is as good as a missing one."""
    board, curve, weights, training = content.leaderboard, content.feature_curve, content.weights, content.training
    queries = content.queries
    return {
        "leaderboard": (_plain(board, "leaderboard") | {"level": SIGNIFICANT}) if board and board.rows else None,
        "feature_curve": _plain(curve, "feature_curve") if curve and curve.points else None,
        "weights": _plain(weights, "weights") if weights and weights.rows else None,
        "queries": _queries(queries) if queries and queries.rows else None,
        "training": _plain(training, "training") if training and training.curves else None,
    }


def _queries(queries: QueryDifferences) -> dict[str, Any]:
    """Queries as columns: tens of thousands of them must fit."""
    rows = queries.rows
    data: dict[str, Any] = _plain(replace(queries, rows=()), "queries")
    return data | {
        "qids": [str(row.qid) for row in rows],
        "values_ours": [_short(_finite(row.ours, f"query {row.qid!r}"), 6) for row in rows],
        "values_baseline": [_short(_finite(row.baseline, f"query {row.qid!r}"), 6) for row in rows],
        "folds": [row.fold for row in rows] if any(row.fold for row in rows) else None,
        "documents": {
            str(place): _documents(row.qid, row.documents) for place, row in enumerate(rows) if row.documents
        },
    }


def _documents(qid: str, documents: QueryDocuments) -> dict[str, Any]:
    place = f"query {qid!r}"
    columns = None
    if documents.features is not None:
        columns = [_column(column, 4, place) for column in zip(*documents.features, strict=True)]
    return {
        "ids": None if documents.ids is None else [str(name) for name in documents.ids],
        "labels": [_short(_finite(label, place), 6) for label in documents.labels],
        "scores_ours": _column(documents.scores_ours, 5, place),
        "scores_baseline": _column(documents.scores_baseline, 5, place),
        "columns": columns,
    }


def _column(values: Sequence[float], digits: int, place: str) -> list[float | int]:
    """Numbers to so many digits of their spread: only differences within a query count."""
    checked = [_finite(value, place) for value in values]
    spread = (max(checked) - min(checked) or abs(checked[0]) or 1.0) if checked else 1.0
    decimals = digits - math.floor(math.log10(spread))
    return [_short(value, decimals) for value in checked]


def _short(value: float, decimals: int) -> float | int:
    rounded = round(value, decimals)
    return int(rounded) if rounded == int(rounded) else rounded


def _finite(value: Any, place: str) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise LinrankError(f"{place}: {number} cannot be drawn. Leave out what has no value, or pass None.")
    return number


def _plain(value: Any, place: str) -> Any:
    """Values JSON knows; of dataclasses, mappings, sequences and numpy's numbers."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return _finite(value, place)
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name), f"{place}.{field.name}") for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item, f"{place}[{key!r}]") for key, item in value.items()}
    return [_plain(item, f"{place}[{number}]") for number, item in enumerate(value)]


def _json(data: Any) -> str:
    """JSON in ASCII that cannot end the script element it stands in, whatever text it holds."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
