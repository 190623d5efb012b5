"""Small drawings of the page, as SVG without a script."""

from __future__ import annotations

import math
from collections.abc import Sequence

_WIDTH, _MIDDLE = 300.0, 12.0


def interval_bar(value: float, interval: tuple[float, float], low: float, high: float, *, ours: bool) -> str:
    """A dot with a whisker on a scale from `low` to `high`."""
    span = (high - low) or 1.0

    def at(number: float) -> float:
        return round(8 + (number - low) / span * (_WIDTH - 16), 2)

    kind = "interval recommended" if ours else "interval"
    return (
        f'<svg class="{kind}" viewBox="0 0 {_WIDTH:g} 24" preserveAspectRatio="none" role="img" '
        f'aria-label="{value:.4f}, from {interval[0]:.4f} to {interval[1]:.4f}">'
        f'<line class="whisker" x1="{at(interval[0])}" x2="{at(interval[1])}" y1="{_MIDDLE}" y2="{_MIDDLE}"/>'
        f'<circle cx="{at(value)}" cy="{_MIDDLE}" r="5"/></svg>'
    )


def weight_bar(weight: float, low: float | None, high: float | None, ends: tuple[float, float]) -> str:
    """A bar from 0, with a whisker where there is an interval, on a scale that all bars have."""
    least = min(0.0, ends[0])
    span = (max(0.0, ends[1]) - least) or 1.0

    def at(number: float) -> float:
        return round(4 + (number - least) / span * (_WIDTH - 8), 2)

    start, stop = sorted((at(0.0), at(weight)))
    kind = "up" if weight >= 0.0 else "down"
    said, whisker = f"{weight:.4g}", ""
    if low is not None and high is not None:
        said += f", from {low:.4g} to {high:.4g}"
        whisker = f'<line class="whisker" x1="{at(low)}" x2="{at(high)}" y1="10" y2="10"/>'
    return (
        f'<svg class="bar" viewBox="0 0 {_WIDTH:g} 20" preserveAspectRatio="none" role="img" aria-label="{said}">'
        f'<rect class="{kind}" x="{start}" width="{round(stop - start, 2)}" y="3" height="14"/>'
        f"{whisker}</svg>"
    )


def curve_drawing(points: Sequence[tuple[int, float, float]], measure: str) -> str:
    """Means against numbers of queries, on a scale of doublings, with the spread over draws."""
    width, height, left, bottom = 760.0, 260.0, 66.0, 34.0
    lows, highs = [mean - spread for _, mean, spread in points], [mean + spread for _, mean, spread in points]
    low, high = min(lows), max(highs)
    room = 0.15 * (high - low) or 0.01
    low, high = low - room, high + room
    first, last = math.log(points[0][0]), math.log(points[-1][0])

    def x(n: int) -> float:
        return round(left + (math.log(n) - first) / ((last - first) or 1.0) * (width - left - 26), 2)

    def y(value: float) -> float:
        return round(12 + (high - value) / (high - low) * (height - bottom - 12), 2)

    ticks = [low + (high - low) * share for share in (0.1, 0.5, 0.9)]
    grid = "".join(
        f'<line class="grid" x1="{left}" x2="{width - 10}" y1="{y(tick)}" y2="{y(tick)}"/>'
        f'<text x="{left - 8}" y="{y(tick) + 4}" text-anchor="end">{tick:.3f}</text>'
        for tick in ticks
    )
    up = " ".join(f"{x(n)},{y(value)}" for (n, _, _), value in zip(points, highs, strict=True))
    down = " ".join(f"{x(n)},{y(value)}" for (n, _, _), value in reversed(list(zip(points, lows, strict=True))))
    line = " ".join(f"{x(n)},{y(mean)}" for n, mean, _ in points)
    dots = "".join(
        f'<circle class="dot" cx="{x(n)}" cy="{y(mean)}" r="4"/>'
        f'<text x="{x(n)}" y="{height - 14}" text-anchor="middle">{n:,}</text>'
        for n, mean, _ in points
    )
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{measure} by judged queries">{grid}'
        f'<polygon class="band" points="{up} {down}"/><polyline class="line" points="{line}"/>{dots}'
        f'<text x="{width - 10}" y="{height - 1}" text-anchor="end">judged queries</text></svg>'
    )
