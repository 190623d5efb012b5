"""The page of a fusion: whether it is worth deploying, and why, in one file that asks nothing of the network."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING

from linrank._version import __version__
from linrank.fusing.drawings import curve_drawing, interval_bar, weight_bar

if TYPE_CHECKING:
    from linrank.fusing.fusion import Fusion

_STYLE = """
.bar-cell { width: 42%; min-width: 12rem; }
pre { background: var(--panel); border-radius: 10px; padding: 1rem 1.2rem; overflow-x: auto; font-size: 0.85rem; }
.pale { color: var(--soft); }
.go { color: var(--theirs); }
.chosen th { color: var(--ours); font-weight: 600; }
.interval text { font-size: 12px; }
.number { white-space: nowrap; }
"""


def render(fusion: Fusion) -> str:
    """The page; the same fusion gives the same bytes."""
    style = (resources.files("linrank.experiments.report") / "assets" / "page.css").read_text(encoding="utf-8") + _STYLE
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    title = f"Hybrid search for {fusion.engine.title}"
    sections = {
        "verdict": ("Verdict", "Is it worth deploying?", _verdict(fusion)),
        "methods": ("Methods", "Against what everyone else does", _methods(fusion)),
        "weights": ("Weights", "What does each leg weigh?", _weights(fusion)),
        "classes": ("Classes", "Do classes of queries need weights of their own?", _classes(fusion)),
        "judgements": ("Judgements", "Are there enough judgements?", _judgements(fusion)),
        "configuration": ("Configuration", f"What {fusion.engine.title} is given", _configuration(fusion)),
    }
    there = {name: said for name, said in sections.items() if said[2]}
    links = "".join(f'<a href="#{name}">{said[0]}</a>' for name, said in there.items())
    body = "\n".join(
        f'<section id="{name}"><h2>{text(heading)}</h2>{content}</section>'
        for name, (_, heading, content) in there.items()
    )
    notes = "".join(f"<li>{text(note)}</li>" for note in fusion.notes)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="generator" content="linrank">\n<meta name="color-scheme" content="light dark">\n'
        f'<title>{text(title)}</title>\n<link rel="icon" href="data:,">\n<style>{style}</style>\n</head>\n<body>\n'
        f'<nav class="top" aria-label="Sections"><div class="links">{links}</div></nav>\n<main id="main">\n'
        f'<header><h1>{text(title)}</h1><p class="subtitle">{text(_subtitle(fusion))}</p></header>\n{body}\n'
        f'<section id="notes"><h2>Notes</h2><ul>{notes}</ul></section>\n</main>\n'
        f"<footer>{_facts(fusion)}<p>Made by linrank. This page stands alone: it loads nothing and sends nothing.</p>"
        "</footer>\n</body>\n</html>\n"
    )


def text(value: object) -> str:
    """A text in which nothing is taken for HTML."""
    # Lone surrogates, which user data may hold, have no UTF-8.
    return html.escape(str(value)).encode("ascii", "xmlcharrefreplace").decode()


def _subtitle(fusion: Fusion) -> str:
    facts = fusion.facts
    legs = ", ".join((*facts.legs, *facts.signals))
    return f"{legs}: the first {facts.depth} hits of each, fused and measured by {fusion.measure} on held-out queries"


def _verdict(fusion: Fusion) -> str:
    said = fusion.verdict
    return f'<p class="verdict">{text(said.headline)}</p><p class="reasons">{text(" ".join(said.reasons))}</p>'


def _methods(fusion: Fusion) -> str:
    ends = [end for each in fusion.standings for end in each.interval]
    low, high = min(ends), max(ends)
    rows = []
    for each in fusion.standings:
        chosen = each.method == fusion.method
        gain = ""
        if not chosen:
            kind = "even" if not each.is_real else ("better" if each.gain > 0 else "worse")
            first, last = each.gain_interval
            gain = (
                f'<span class="{kind}">{each.gain:+.4f}</span><small>{first:+.4f} to {last:+.4f}, '
                f"p = {each.p_value:.3g}</small>"
            )
        tag = ' <span class="tag">chosen</span>' if chosen else ""
        rows.append(
            f'<tr{" class=chosen" if chosen else ""}><th scope="row">{text(each.method)}{tag}'
            f"<small>{text(each.says)}</small></th>"
            f'<td class="bar-cell">{interval_bar(each.mean, each.interval, low, high, ours=chosen)}</td>'
            f'<td class="number">{each.mean:.4f}<small>{each.interval[0]:.4f} to {each.interval[1]:.4f}</small></td>'
            f'<td class="number">{gain}</td></tr>'
        )
    head = _head("method", str(fusion.measure), "mean, 95 % interval", f"{fusion.method} minus it")
    return (
        f'<div class="scroll"><table class="leaderboard">{head}<tbody>{"".join(rows)}</tbody></table></div>'
        '<p class="remark">Each was learnt on other folds than it is measured on. Differences in colour are real at '
        "the level of 5 %, by randomisation over queries with Holm's correction; the others may be chance.</p>"
    )


def _weights(fusion: Fusion) -> str:
    if not fusion.weights:
        return f"<p>{text(fusion.engine.title)} fuses by {text(fusion.fuser.says)}: legs have no weights.</p>"
    ends = [end for each in fusion.weights for end in (each.low, each.weight, each.high) if end is not None]
    rows = []
    for each in fusion.weights:
        lost = '<span class="pale">&mdash;</span>'
        if each.loss is not None and each.loss_interval is not None:
            low, high = each.loss_interval
            lost = f"{each.loss:+.4f}<small>{low:+.4f} to {high:+.4f}</small>"
        go = ' <span class="tag">can go</span>' if each.can_go else ""
        rows.append(
            f'<tr><th scope="row">{text(each.name)}{go}</th>'
            f'<td class="bar-cell">{weight_bar(each.weight, each.low, each.high, (min(ends), max(ends)))}</td>'
            f'<td class="number">{each.weight:.6g}<small>{each.interval}</small></td>'
            f'<td class="number">{lost}</td></tr>'
        )
    head = _head("leg", "", "weight, 95 % interval", "lost without it")
    return (
        f"<p>Weights by {text(fusion.learnt_by)}.</p>"
        f'<div class="scroll"><table>{head}<tbody>{"".join(rows)}</tbody></table></div>'
        '<p class="remark">Intervals are of weights learnt again on queries drawn with replacement. A leg can go where '
        "asking the others alone loses no more than 0.01 by the interval: it saves a search.</p>"
    )


def _classes(fusion: Fusion) -> str:
    return "" if fusion.by_class is None else f"<pre>{text(fusion.by_class)}</pre>"


def _judgements(fusion: Fusion) -> str:
    facts = fusion.facts
    said = (
        f"{facts.queries:,} judged queries, {facts.judged:,} of {facts.candidates:,} candidates judged, "
        f"{facts.judged_at_top:.0%} of the fused first ten."
    )
    if fusion.smallest_gain < float("inf"):
        gain = f"{fusion.smallest_gain:.4f}"
        said += f" The smallest gain over {fusion.verdict.rival} that they find, 4 times of 5, is {gain}."
    parts = [f"<p>{text(said)}</p>"]
    if len(fusion.curve) > 1:
        points = [(point.n_queries, point.mean, point.deviation) for point in fusion.curve]
        parts.append(f'<div class="drawing">{curve_drawing(points, str(fusion.measure))}</div>')
        parts.append(
            '<p class="remark">What is learnt of so many judged queries, measured on others. A curve that is flat at '
            "its end says that more of them will not change the weights much.</p>"
        )
    if fusion.to_judge:
        rows = "".join(
            f'<tr><th scope="row">{text(each.query)}</th><td>{text(each.why)}</td>'
            f"<td>{text(', '.join(each.documents[:5]))}</td></tr>"
            for each in fusion.to_judge
        )
        parts.append(f"<h3>To judge next</h3><table>{_head('query', 'why', 'documents')}<tbody>{rows}</tbody></table>")
    return "".join(parts)


def _configuration(fusion: Fusion) -> str:
    parts = [f"<pre>{text(fusion.configuration.content)}</pre>"]
    further = {**fusion.configuration.beside, **fusion.configuration.classes}
    parts += [f"<pre>{text(content)}</pre>" for content in further.values()]
    commands = fusion.commands(f"fusion.{fusion.engine.ending}")
    if commands:
        parts.append(f"<pre>{text(commands)}</pre>")
    return "".join(parts)


def _facts(fusion: Fusion) -> str:
    facts = fusion.facts
    named = (
        ("normaliser", fusion.engine.normaliser_name),
        ("judged queries", f"{facts.queries:,}"),
        ("candidates", f"{facts.candidates:,}"),
        ("depth", str(facts.depth)),
        ("unjudged", facts.unjudged),
        ("folds", str(facts.folds)),
        ("seed", str(facts.seed)),
        ("linrank", __version__),
    )
    items = "".join(f"<div><dt>{text(name)}</dt><dd>{text(value)}</dd></div>" for name, value in named)
    return f'<dl class="facts">{items}</dl>'


def _head(*names: str) -> str:
    cells = "".join(
        f'<th scope="col"{" class=number" if place > 1 and len(names) == 4 else ""}>{text(name)}</th>'
        for place, name in enumerate(names)
    )
    return f"<thead><tr>{cells}</tr></thead>"


__all__: Sequence[str] = ("render", "text")
