"""Drawing quality against features: as text for a terminal, as a picture, and as a page that needs nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from linrank.arrays import Vector
from linrank.drawing import FORMATS, draw
from linrank.errors import LinrankError
from linrank.experiments.feature_path import FeaturePath, FeatureStep
from linrank.experiments.report import CurvePoint, FeatureCurve, ReportContent, write_page
from linrank.experiments.report.pictures import draw_curve

PICTURES = (*(f".{name}" for name in FORMATS), ".html")


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


def curve_content(
    path: FeaturePath,
    chosen: FeatureStep,
    *,
    spreads: Vector | None = None,
    dense: float | None = None,
    cost_unit: str | None = None,
) -> FeatureCurve:
    """The curve as the report's page and pictures draw it, with the chosen step marked.

    `spreads` is the standard deviation of each feature, by which the bars of a model compare its features.
    """
    steps = path.by_size()
    points = []
    for step in steps:
        low, high = step.interval() or (None, None)
        named = {name: float(weight) for name, weight in zip(path.feature_names, step.weights, strict=True) if weight}
        on_training = {} if step.held_out is None else {"on training": step.train}
        points.append(CurvePoint(step.n_features, step.mean, named, step.cost, low, high, on_training))
    if cost_unit is None and not np.all(path.costs == 1.0):
        cost_unit = "cost"
    near = steps.index(path.select_features(one_se=True))
    named_spreads = {} if spreads is None else dict(zip(path.feature_names, spreads.tolist(), strict=True))
    return FeatureCurve(str(path.measure), tuple(points), steps.index(chosen), near, dense, cost_unit, named_spreads)


def save_curve(
    path: FeaturePath,
    chosen: FeatureStep,
    out: str | os.PathLike[str],
    *,
    title: str = "",
    spreads: Vector | None = None,
) -> None:
    """Write the curve as .svg, .png or .pdf (with matplotlib), or as an .html page where it can be explored.

    `spreads` is the standard deviation of each feature, by which the bars of a model compare its features.
    """
    target = Path(out)
    ending = target.suffix.lower()
    if ending not in PICTURES:
        raise LinrankError(f"{target}: cannot draw a {ending!r} file; use one of {', '.join(PICTURES)}.")
    content = curve_content(path, chosen, spreads=spreads)
    if ending != ".html":
        draw(target, lambda figure: draw_curve(figure, content))
        return
    measured = "on held-out queries" if chosen.held_out is not None else "on the training queries themselves"
    write_page(
        target,
        ReportContent(
            f"How many features does {title or 'the ranker'} need?",
            f"{chosen.n_features} features reach a {path.measure} of {chosen.mean:.4f} {measured}.",
            (("features", str(len(path.feature_names))), ("models", str(len(path.by_size())))),
            feature_curve=content,
        ),
    )
