"""Drawing quality against features: as text for a terminal, as a picture, and as a page that needs nothing else."""

from __future__ import annotations

import html
import os
from pathlib import Path
from typing import Any

import numpy as np

from linrank.errors import LinrankError, MissingDependencyError
from linrank.experiments.feature_path import FeaturePath, FeatureStep
from linrank.files import replacing

PICTURES = (".svg", ".png", ".pdf", ".html")


def text_curve(path: FeaturePath, chosen: FeatureStep, *, width: int = 60, height: int = 12) -> str:
    """The curve in characters: a dot for each size, a ring for the chosen one."""
    steps = path.by_size()
    sizes = np.array([step.n_features for step in steps])
    means = np.array([step.mean for step in steps])
    low, high = float(means.min()), float(means.max())
    room = max(high - low, 1e-9)
    columns = np.round((sizes - sizes[0]) / max(1, sizes[-1] - sizes[0]) * (width - 1)).astype(int)
    rows = np.round((high - means) / room * (height - 1)).astype(int)
    canvas = [[" "] * width for _ in range(height)]
    for step, column, row in zip(steps, columns, rows, strict=True):
        canvas[row][column] = "o" if step is chosen else "·"
    labels = {0: f"{high:.4f}", height - 1: f"{low:.4f}"}
    lines = [f"{labels.get(row, ''):>8} │{''.join(cells)}" for row, cells in enumerate(canvas)]
    ends = f"{sizes[0]}{'features':^{width - len(str(sizes[0])) - len(str(sizes[-1]))}}{sizes[-1]}"
    return "\n".join([f"{path.measure}", *lines, f"{'':>8} └{'─' * width}", f"{'':>10}{ends}"])


def save_curve(path: FeaturePath, chosen: FeatureStep, out: str | os.PathLike[str]) -> None:
    """Write the curve as .svg, .png or .pdf (with matplotlib), or as an .html page with its table."""
    target = Path(out)
    ending = target.suffix.lower()
    if ending not in PICTURES:
        raise LinrankError(f"{target}: cannot draw a {ending!r} file; use one of {', '.join(PICTURES)}.")
    if ending == ".html":
        with replacing(target) as file:
            file.write(_page(path, chosen))
        return
    figure = _figure(path, chosen)
    with replacing(target, "wb") as file:
        figure.savefig(file, format=ending[1:], dpi=150)


def _figure(path: FeaturePath, chosen: FeatureStep) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError("matplotlib", "plots", "drawing a picture") from None
    steps = path.by_size()
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes = figure.add_subplot()
    priced = not np.all(path.costs == 1.0)
    places = [step.cost if priced else step.n_features for step in steps]
    axes.plot(places, [step.mean for step in steps], "o-", markersize=4)
    if steps[0].held_out is not None:
        bands = [step.interval() for step in steps]
        axes.fill_between(places, [b[0] for b in bands if b], [b[1] for b in bands if b], alpha=0.15)
    at = chosen.cost if priced else chosen.n_features
    axes.plot([at], [chosen.mean], "o", markersize=11, fillstyle="none", color="black")
    axes.set(xlabel="cost" if priced else "features", ylabel=str(path.measure), title=f"{chosen.n_features} features")
    axes.grid(alpha=0.25)
    return figure


def _page(path: FeaturePath, chosen: FeatureStep) -> str:
    rows = []
    for step in path.by_size():
        band = step.interval()
        mark = ' class="chosen"' if step is chosen else ""
        interval = "" if band is None else f"{band[0]:.4f} to {band[1]:.4f}"
        rows.append(
            f"<tr{mark}><td>{step.n_features}</td><td>{step.cost:g}</td><td>{step.mean:.4f}</td><td>{interval}</td></tr>"
        )
    weights = sorted(zip(path.feature_names, chosen.weights.tolist(), strict=True), key=lambda pair: -abs(pair[1]))
    lines = [f"<tr><td>{html.escape(name)}</td><td>{value:.6g}</td></tr>" for name, value in weights if value]
    return _HTML.format(
        measure=html.escape(str(path.measure)),
        curve=_svg(path, chosen),
        rows="\n".join(rows),
        weights="\n".join(lines),
        count=chosen.n_features,
        mean=f"{chosen.mean:.4f}",
    )


def _svg(path: FeaturePath, chosen: FeatureStep) -> str:
    """The curve as a drawing of its own, so that the page needs no library."""
    steps = path.by_size()
    sizes = np.array([step.n_features for step in steps], dtype=float)
    bands = [step.interval() or (step.mean, step.mean) for step in steps]
    low, high = min(band[0] for band in bands), max(band[1] for band in bands)
    x = 60 + (sizes - sizes[0]) / max(1.0, sizes[-1] - sizes[0]) * 620

    def y(value: float) -> float:
        return 250 - (value - low) / max(high - low, 1e-9) * 220

    upper = [f"{a:.1f},{y(band[1]):.1f}" for a, band in zip(x, bands, strict=True)]
    lower = [f"{a:.1f},{y(band[0]):.1f}" for a, band in zip(x, bands, strict=True)][::-1]
    line = " ".join(f"{a:.1f},{y(step.mean):.1f}" for a, step in zip(x, steps, strict=True))
    dots = "".join(
        f'<circle cx="{a:.1f}" cy="{y(step.mean):.1f}" '
        + ('r="7" class="chosen">' if step is chosen else 'r="3.5">')
        + f"<title>{step.n_features} features: {step.mean:.4f}</title></circle>"
        for a, step in zip(x, steps, strict=True)
    )
    return (
        f'<svg viewBox="0 0 700 300" role="img" aria-label="quality against number of features">'
        f'<polygon points="{" ".join(upper + lower)}"/><polyline points="{line}"/>{dots}'
        f'<text x="55" y="{y(high) + 4:.0f}" text-anchor="end">{high:.3f}</text>'
        f'<text x="55" y="{y(low) + 4:.0f}" text-anchor="end">{low:.3f}</text>'
        f'<text x="60" y="285">{int(sizes[0])}</text><text x="680" y="285" text-anchor="end">{int(sizes[-1])}</text>'
        f'<text x="370" y="285" text-anchor="middle">features</text></svg>'
    )


_HTML = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Quality against features</title><style>
:root {{ color-scheme: light dark; --ink: #1a1a1a; --paper: #ffffff; --line: #1f6feb; --soft: #1f6feb26;
--rule: #d0d7de }}
@media (prefers-color-scheme: dark) {{ :root {{ --ink: #e6edf3; --paper: #0d1117; --line: #58a6ff; --soft: #58a6ff33;
--rule: #30363d }} }}
body {{ font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 46rem;
margin: 2rem auto; padding: 0 1rem }}
svg {{ width: 100%; height: auto }} polyline {{ fill: none; stroke: var(--line); stroke-width: 2 }}
polygon {{ fill: var(--soft) }} circle {{ fill: var(--line) }}
circle.chosen {{ fill: none; stroke: var(--ink); stroke-width: 2 }}
text {{ fill: var(--ink); font-size: 13px }} table {{ border-collapse: collapse; width: 100%; margin: 1rem 0 }}
th, td {{ text-align: right; padding: .25rem .6rem; border-bottom: 1px solid var(--rule) }}
th:first-child, td:first-child {{ text-align: left }} tr.chosen {{ font-weight: 700 }}
</style></head><body>
<h1>Quality against features</h1>
<p><strong>{count} features</strong> reach a {measure} of <strong>{mean}</strong>.</p>
{curve}
<table><thead><tr><th>features</th><th>cost</th><th>{measure}</th><th>95 % interval</th></tr></thead><tbody>
{rows}
</tbody></table>
<h2>Weights of the chosen model</h2>
<table><thead><tr><th>feature</th><th>weight</th></tr></thead><tbody>
{weights}
</tbody></table>
</body></html>
"""
