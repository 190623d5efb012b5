"""The leaderboard as Markdown, LaTeX, CSV and JSON."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from linrank.experiments.remarks import MARK
from linrank.experiments.results import Results
from linrank.experiments.standings import Standing
from linrank.measures import SIGNIFICANT
from linrank.showing import for_spreadsheet

TEST = "randomisation test, Holm"
_PM = r"\pm"
_DAGGER = r"$^{\dagger}$"


def sign_of(standing: Standing, measure: str) -> str:
    """▲ or ▼ where a method is above or below the baseline by more than chance, after Holm's correction."""
    p = standing.p_of_measures.get(measure)
    if p is None or p > SIGNIFICANT:
        return ""
    return "▲" if standing.difference_of[measure] > 0 else "▼"


def footnote(results: Results) -> str:
    """What the numbers of a leaderboard are."""
    plan = results.plan
    what = (
        f"Mean ± standard deviation over {len(plan.folds)} folds" if len(plan.folds) > 1 else "Mean over test queries"
    )
    n_queries = len(results.per_query(plan.baseline, plan.protocol.select))
    return (
        f"{what}; settings chosen by {plan.protocol.select} on the validation parts. "
        f"▲▼: above, below {plan.baseline} with p ≤ {SIGNIFICANT} over {n_queries} test queries ({TEST}). "
        f"Scaling of the features {results.scaling()}. Seconds are of one training with the chosen settings."
    )


def remark_lines(standings: Sequence[Standing]) -> list[str]:
    """What is to be known of the methods that have a mark, a line each."""
    return [f"{MARK} {one.method}: {'; '.join(one.remarks)}." for one in standings if one.remarks]


def markdown(results: Results, measures: Sequence[str] | None = None) -> str:
    """A Markdown table of all measures or some, the best value of each in bold, and what it means below it."""
    measures = measures or results.plan.protocol.evaluated()
    standings = results.standings(measures)
    lines = [
        "| method | " + " | ".join(measures) + " | features | seconds |",
        "|---|" + "---:|" * (len(measures) + 2),
    ]
    for standing in standings:
        cells = [
            f"{_bold(f'{standing.means[m]:.4f}', '**', when=_is_best(standing, standings, m))}"
            f"{spread_of(standing, m)}{sign_of(standing, m)}"
            for m in measures
        ]
        lines.append(
            f"| {_markdown_text(standing.marked)} | "
            + " | ".join(cells)
            + f" | {_features(standing)} | {_seconds(standing)} |"
        )
    below = [f"- {_markdown_text(line)}" for line in remark_lines(standings)]
    return "\n".join([*lines, "", footnote(results), *(["", *below] if below else [])]) + "\n"


def latex(results: Results) -> str:
    """A LaTeX tabular for booktabs; significance as superscripts."""
    measures = results.plan.protocol.evaluated()
    standings = results.standings()
    signs = {"▲": r"^{\blacktriangle}", "▼": r"^{\blacktriangledown}", "": ""}
    lines = [
        rf"\begin{{tabular}}{{l{'r' * (len(measures) + 2)}}}",
        r"\toprule",
        "method & " + " & ".join(map(_latex_text, measures)) + r" & features & seconds \\",
        r"\midrule",
    ]
    for standing in standings:
        cells = []
        for m in measures:
            value = f"{standing.means[m]:.4f}"
            value = rf"\mathbf{{{value}}}" if _is_best(standing, standings, m) else value
            cells.append(f"${value}{signs[sign_of(standing, m)]}{spread_of(standing, m, _PM)}$")
        lines.append(
            f"{_latex_text(standing.method)}{_DAGGER if standing.remarks else ''} & "
            + " & ".join(cells)
            + f" & {_features(standing)} & {_seconds(standing)} \\\\"
        )
    below = [f"% {' '.join(line.split())}" for line in (footnote(results), *remark_lines(standings))]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", *below]) + "\n"


def csv_text(results: Results) -> str:
    """A line a method, with every number there is."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(map(for_spreadsheet, row) for row in rows_of_numbers(results))
    return out.getvalue()


def rows_of_numbers(results: Results) -> list[list[Any]]:
    """The names of the columns, and a row a method; None where there is no number."""
    measures = results.plan.protocol.evaluated()
    of_measures = [column for m in measures for column in (m, f"{m} deviation", f"{m} difference", f"{m} p")]
    others = ["interval low", "interval high", "features", "of features", "seconds", "remarks"]
    rows: list[list[Any]] = [["method", *of_measures, *others]]
    for s in results.standings():
        values = [
            value
            for m in measures
            for value in (s.means[m], s.deviations[m], s.difference_of[m], s.p_of_measures.get(m))
        ]
        rows.append([s.method, *values, *s.interval, s.n_features, s.n_features_of, s.seconds, "; ".join(s.remarks)])
    return rows


def record(results: Results) -> dict[str, Any]:
    """The leaderboard, the plan, and every fold's choices and values, as JSON has them."""
    return {
        **results.plan.record(),
        "recommended": results.recommended(),
        "recommended_linear": results.recommended_linear(),
        "test": TEST,
        "leaderboard": [_finite(asdict(standing)) for standing in results.standings()],
        "folds_of_methods": {
            method: [
                {"fold": r.fold, "chosen": r.chosen, "means": r.means, "seconds": r.seconds, "n_features": r.n_features,
                 "per_query": r.per_query, "qids": r.qids, "weights": r.weights, "fingerprints": r.fingerprints,
                 "unfinished": r.unfinished, "passed_over": r.passed_over, "warnings": r.warnings}
                for r in results.of(method)
            ]
            for method in results.complete()
        },
    }  # fmt: skip


def _is_best(standing: Standing, standings: Sequence[Standing], measure: str) -> bool:
    means = [other.means[measure] for other in standings if not math.isnan(other.means[measure])]
    return bool(means) and standing.means[measure] == max(means)


def _bold(text: str, mark: str, *, when: bool) -> str:
    return f"{mark}{text}{mark}" if when else text


def spread_of(standing: Standing, measure: str, sign: str = "±") -> str:
    """The standard deviation over folds, where there are several."""
    deviation = standing.deviations[measure]
    return "" if math.isnan(deviation) else f" {sign} {deviation:.3f}"


def _features(standing: Standing) -> str:
    return f"{standing.n_features:.3g}"


def _seconds(standing: Standing) -> str:
    return f"{standing.seconds:.3g}"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, tuple | list):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _markdown_text(text: str) -> str:
    return re.sub(r"([\\|*`<\[\]])", r"\\\1", text)


def _latex_text(text: str) -> str:
    words = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(words.get(sign, f"\\{sign}" if sign in "_%&#${}" else sign) for sign in text)
