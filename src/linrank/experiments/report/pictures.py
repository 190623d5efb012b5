"""The report's pictures as files, for papers and slides; the same content gives the same bytes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from linrank.errors import LinrankError, MissingDependencyError
from linrank.experiments.report.content import (
    FeatureCurve,
    Leaderboard,
    QueryDifferences,
    ReportContent,
    Training,
    Weights,
)
from linrank.files import replacing

FORMATS = ("png", "svg", "pdf")
MOST_WEIGHTS = 30

# The page's own colours, which the colour-blind can tell apart.
_OURS, _THEIRS, _SOFT = "#1d62b0", "#b5500b", "#5b6570"
_STYLE: dict[Any, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e0e4e8",
    "font.size": 9,
    # Names of users are names, whatever signs they hold.
    "text.parse_math": False,
    "svg.hashsalt": "linrank",
}
# What would otherwise differ from run to run.
_UNDATED: dict[str, dict[str, str | None]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}


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
    unknown = [name for name in formats if name not in FORMATS]
    if unknown:
        raise LinrankError(f"cannot draw a {unknown[0]!r} file; use one of {', '.join(FORMATS)}.")
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingDependencyError("matplotlib", "plots", "drawing a picture") from None
    written = []
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for name, height, draw in _drawings(content):
        with mpl.rc_context(_STYLE):
            figure = Figure(figsize=(6.4, height), layout="constrained")
            draw(figure)
            for ending in formats:
                path = target / f"{name}.{ending}"
                with replacing(path, "wb") as file:
                    figure.savefig(file, format=ending, dpi=200, metadata=_UNDATED[ending])
                written.append(path)
    return tuple(written)


def _drawings(content: ReportContent) -> list[tuple[str, float, Callable[[Any], None]]]:
    """Name, height in inches and drawing of each picture."""
    found: list[tuple[str, float, Callable[[Any], None]]] = []
    board, curve, weights, queries = content.leaderboard, content.feature_curve, content.weights, content.queries
    training = content.training
    if board and board.rows:
        found.append(("leaderboard", 0.9 + 0.32 * len(board.rows), lambda figure: _leaderboard(figure, board)))
    if curve and curve.points:
        found.append(("features", 3.4, lambda figure: _curve(figure, curve)))
    if weights and weights.rows:
        height = 0.9 + 0.2 * min(len(weights.rows), MOST_WEIGHTS)
        found.append(("weights", height, lambda figure: _weights(figure, weights)))
    if queries and queries.rows:
        found.append(("queries", 2.6, lambda figure: _queries(figure, queries)))
    if training and training.curves:
        found.append(("training", 3.4, lambda figure: _training(figure, training)))
    return found


def _leaderboard(figure: Any, board: Leaderboard) -> None:
    axes = figure.add_subplot()
    rows = sorted(board.rows, key=lambda row: row.means[board.main])
    for place, row in enumerate(rows):
        colour = _OURS if row.recommended else _SOFT
        mean = row.means[board.main]
        low, high = row.interval or (mean, mean)
        axes.plot([low, high], [place, place], color=colour, linewidth=2)
        axes.plot([mean], [place], "o", color=colour)
        if row.name == board.baseline:
            axes.axvline(mean, color=_THEIRS, linestyle="--", linewidth=1)
    # The marks of the page: which differences from the baseline are significant.
    marks = ["" if not row.differs else (" ▲" if (row.difference or 0.0) > 0.0 else " ▼") for row in rows]
    axes.set_yticks(range(len(rows)), [row.name + mark for row, mark in zip(rows, marks, strict=True)])
    axes.set(xlabel=f"{board.main}, with 95 % intervals", ylim=(-0.6, len(rows) - 0.4))
    axes.grid(visible=False, axis="y")


def _curve(figure: Any, curve: FeatureCurve) -> None:
    axes = figure.add_subplot()
    sizes = [point.n_features for point in curve.points]
    lows = [point.mean if point.low is None else point.low for point in curve.points]
    highs = [point.mean if point.high is None else point.high for point in curve.points]
    axes.fill_between(sizes, lows, highs, color=_OURS, alpha=0.16, linewidth=0)
    axes.plot(sizes, [point.mean for point in curve.points], "o-", color=_OURS, markersize=3.5)
    if curve.dense is not None:
        axes.axhline(curve.dense, color=_THEIRS, linestyle="--", linewidth=1, label="all features")
    for name, place, size in (("one standard error", curve.one_standard_error, 9), ("chosen", curve.chosen, 13)):
        if place is not None:
            point = curve.points[place]
            style = {"fillstyle": "none", "color": "black", "markersize": size, "linestyle": "none"}
            axes.plot([point.n_features], [point.mean], "o", label=f"{name}: {point.n_features} features", **style)
    axes.set(xlabel="features", ylabel=curve.measure)
    axes.legend(frameon=False, loc="lower right")


def _weights(figure: Any, weights: Weights) -> None:
    axes = figure.add_subplot()
    rows = sorted(weights.rows, key=lambda row: -abs(row.scaled))[:MOST_WEIGHTS][::-1]
    colours = [_OURS if row.scaled >= 0.0 else _THEIRS for row in rows]
    axes.barh(range(len(rows)), [row.scaled for row in rows], color=colours, height=0.6)
    for place, row in enumerate(rows):
        if row.low is not None and row.high is not None:
            axes.plot([row.low, row.high], [place, place], color="black", linewidth=1)
    axes.axvline(0.0, color=_SOFT, linewidth=0.8)
    axes.set_yticks(range(len(rows)), [row.feature for row in rows])
    axes.set(xlabel=weights.units or "scaled weight", ylim=(-0.7, len(rows) - 0.3))
    axes.grid(visible=False, axis="y")


def _queries(figure: Any, queries: QueryDifferences) -> None:
    axes = figure.add_subplot()
    differences = sorted((row.ours - row.baseline for row in queries.rows), reverse=True)
    # Two areas rather than a bar each: there may be tens of thousands. The last one needs an end.
    ends = [*differences, differences[-1]]
    for colour, part in ((_OURS, max), (_THEIRS, min)):
        values = [part(value, 0.0) for value in ends]
        axes.fill_between(range(len(ends)), values, step="post", color=colour, linewidth=0)
    axes.axhline(0.0, color=_SOFT, linewidth=0.8)
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
        axes.plot(curve.seconds, curve.objective, "o-", color=_OURS, markersize=2.5)
        # Linear up to the first step, so that time 0 has a place.
        first = min((value for value in curve.seconds if value > 0.0), default=1.0)
        axes.set_xscale("symlog", linthresh=first)
        axes.xaxis.set_major_formatter("{x:g}")
        if min(curve.objective) > 0.0 and max(curve.objective) > 10.0 * min(curve.objective):
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_formatter(lambda _value, _place: "")
        axes.set(xlabel="seconds", ylabel="objective")
        axes.set_title(curve.name, fontsize="medium")
