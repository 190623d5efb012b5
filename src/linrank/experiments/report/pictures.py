"""The report's pictures as files, for papers and slides; the same content gives the same bytes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from linrank.drawing import OURS, SOFT, THEIRS, draw
from linrank.experiments.report.content import (
    FeatureCurve,
    Leaderboard,
    QueryDifferences,
    ReportContent,
    Shape,
    Training,
    Weights,
)

MOST_WEIGHTS = 30
_SHAPES_A_ROW = 5


def save_pictures(
    content: ReportContent, folder: str | os.PathLike[str], formats: Sequence[str] = ("png", "svg")
) -> tuple[Path, ...]:
    """Write a picture of each part of the report that there is, and return the files.

    Parameters
    ----------
    content : ReportContent
    folder : where they go; made where it is missing
    formats : of "png", "svg" and "pdf"
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, height, drawing in _drawings(content):
        draw(_files(name, folder, formats), drawing, height=height)
    return picture_files(content, folder, formats)


def picture_files(
    content: ReportContent, folder: str | os.PathLike[str], formats: Sequence[str] = ("png", "svg")
) -> tuple[Path, ...]:
    """The files that `save_pictures` would write."""
    return tuple(file for name, _, _ in _drawings(content) for file in _files(name, folder, formats))


def _files(name: str, folder: str | os.PathLike[str], formats: Sequence[str]) -> list[Path]:
    return [Path(folder) / f"{name}.{ending}" for ending in formats]


def _drawings(content: ReportContent) -> list[tuple[str, float, Callable[[Any], None]]]:
    """Name, height in inches and drawing of each picture."""
    found: list[tuple[str, float, Callable[[Any], None]]] = []
    board, curve, weights, queries = content.leaderboard, content.feature_curve, content.weights, content.queries
    training = content.training
    if board and board.rows:
        found.append(("leaderboard", 0.9 + 0.32 * len(board.rows), lambda figure: _leaderboard(figure, board)))
    if curve and curve.points:
        found.append(("features", 3.4, lambda figure: draw_curve(figure, curve)))
    if weights and weights.rows:
        height = 0.9 + 0.2 * min(len(weights.rows), MOST_WEIGHTS)
        found.append(("weights", height, lambda figure: _weights(figure, weights)))
    if weights and weights.shapes:
        height = 0.4 + 1.1 * -(-min(len(weights.shapes), MOST_WEIGHTS) // _SHAPES_A_ROW)
        found.append(("shapes", height, lambda figure: draw_shapes(figure, weights.shapes)))
    if queries and queries.rows:
        found.append(("queries", 2.6, lambda figure: _queries(figure, queries)))
    if training and training.curves:
        found.append(("training", 3.4, lambda figure: _training(figure, training)))
    return found


def _leaderboard(figure: Any, board: Leaderboard) -> None:
    axes = figure.add_subplot()
    rows = sorted(board.rows, key=lambda row: row.means[board.main])
    for place, row in enumerate(rows):
        colour = OURS if row.recommended else SOFT
        mean = row.means[board.main]
        low, high = row.interval or (mean, mean)
        axes.plot([low, high], [place, place], color=colour, linewidth=2)
        axes.plot([mean], [place], "o", color=colour)
        if row.name == board.baseline:
            axes.axvline(mean, color=THEIRS, linestyle="--", linewidth=1)
    # The marks of the page: which differences from the baseline are significant.
    marks = ["" if not row.differs else (" ▲" if (row.difference or 0.0) > 0.0 else " ▼") for row in rows]
    axes.set_yticks(range(len(rows)), [row.name + mark for row, mark in zip(rows, marks, strict=True)])
    axes.set(xlabel=f"{board.main}, with 95 % intervals", ylim=(-0.6, len(rows) - 0.4))
    axes.grid(visible=False, axis="y")


def draw_curve(figure: Any, curve: FeatureCurve) -> None:
    """Quality against features, with the band of its interval."""
    draw_curve_on(figure.add_subplot(), curve)


def draw_curve_on(axes: Any, curve: FeatureCurve) -> None:
    sizes = [point.n_features for point in curve.points]
    lows = [point.mean if point.low is None else point.low for point in curve.points]
    highs = [point.mean if point.high is None else point.high for point in curve.points]
    axes.fill_between(sizes, lows, highs, color=OURS, alpha=0.16, linewidth=0)
    axes.plot(sizes, [point.mean for point in curve.points], "o-", color=OURS, markersize=3.5)
    if curve.dense is not None:
        axes.axhline(curve.dense, color=THEIRS, linestyle="--", linewidth=1, label="all features")
    if curve.recommended is not None:
        star = curve.recommended
        label = f"{star.name}: {star.n_features} features"
        axes.plot([star.n_features], [star.mean], "D", color=THEIRS, linestyle="none", label=label)
    for name, place, size in (("one standard error", curve.one_standard_error, 9), ("chosen", curve.chosen, 13)):
        if place is not None:
            point = curve.points[place]
            style = {"fillstyle": "none", "color": "black", "markersize": size, "linestyle": "none"}
            axes.plot([point.n_features], [point.mean], "o", label=f"{name}: {point.n_features} features", **style)
    axes.set(xlabel="features", ylabel=curve.measure)
    axes.legend(loc="lower right")


def _weights(figure: Any, weights: Weights) -> None:
    axes = figure.add_subplot()
    rows = sorted(weights.rows, key=lambda row: -abs(row.scaled))[:MOST_WEIGHTS][::-1]
    colours = [OURS if row.scaled >= 0.0 else THEIRS for row in rows]
    axes.barh(range(len(rows)), [row.scaled for row in rows], color=colours, height=0.6)
    for place, row in enumerate(rows):
        if row.low is not None and row.high is not None:
            axes.plot([row.low, row.high], [place, place], color="black", linewidth=1)
    axes.axvline(0.0, color=SOFT, linewidth=0.8)
    axes.set_yticks(range(len(rows)), [row.feature for row in rows])
    axes.set(xlabel=weights.units or "scaled weight", ylim=(-0.7, len(rows) - 0.3))
    axes.grid(visible=False, axis="y")


def draw_shapes(figure: Any, shapes: Sequence[Shape]) -> None:
    """What the first of some features add to a score, each from its least value to its largest."""
    drawn = shapes[:MOST_WEIGHTS]
    panels = figure.subplots(-(-len(drawn) // _SHAPES_A_ROW), _SHAPES_A_ROW, sharey=True, squeeze=False).ravel()
    for axes, shape in zip(panels, drawn, strict=False):
        # By the number of the knot: values of raw features may be far apart, and documents are not.
        places = range(len(shape.knots))
        axes.plot(places, shape.values, color=OURS)
        axes.axhline(0.0, color=SOFT, linewidth=0.8)
        axes.set_xticks([places[0], places[-1]], [f"{shape.knots[0]:.3g}", f"{shape.knots[-1]:.3g}"], fontsize="small")
        axes.set_title(shape.feature, fontsize="small")
    for axes in panels[len(drawn) :]:
        axes.set_visible(False)


def _queries(figure: Any, queries: QueryDifferences) -> None:
    axes = figure.add_subplot()
    differences = sorted((row.ours - row.baseline for row in queries.rows), reverse=True)
    # Two areas rather than a bar each: there may be tens of thousands. The last one needs an end.
    ends = [*differences, differences[-1]]
    for colour, part in ((OURS, max), (THEIRS, min)):
        values = [part(value, 0.0) for value in ends]
        axes.fill_between(range(len(ends)), values, step="post", color=colour, linewidth=0)
    axes.axhline(0.0, color=SOFT, linewidth=0.8)
    axes.set(xlabel="queries", ylabel=f"difference of {queries.measure}")
    axes.set_title(f"{queries.ours} against {queries.baseline}", fontsize="medium")
    axes.grid(visible=False, axis="x")


def _training(figure: Any, training: Training) -> None:
    curves = [curve for curve in training.curves if len(curve.seconds)]
    across = min(3, len(curves))
    down = -(-len(curves) // max(1, across))
    figure.set_figheight(0.4 + 1.8 * down)
    for place, curve in enumerate(curves):
        axes = figure.add_subplot(down, across, place + 1)
        axes.plot(curve.seconds, curve.objective, "o-", color=OURS, markersize=2.5)
        # Linear up to the first step, so that time 0 has a place.
        first = min((value for value in curve.seconds if value > 0.0), default=1.0)
        axes.set_xscale("symlog", linthresh=first)
        if min(curve.objective) > 0.0 and max(curve.objective) > 10.0 * min(curve.objective):
            axes.set_yscale("log")
        axes.set(xlabel="seconds", ylabel="objective")
        axes.set_title(curve.name, fontsize="medium")
