"""Pictures by matplotlib, an optional extra: the same drawing gives the same bytes."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from linrank.errors import LinrankError, MissingDependencyError
from linrank.files import replacing

FORMATS = ("png", "svg", "pdf")
OURS, THEIRS, SOFT = "#1d62b0", "#b5500b", "#5b6570"
"""Colours that the colour-blind can tell apart; the report's page has them too."""

_STYLE: dict[Any, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e0e4e8",
    "font.size": 9,
    "legend.frameon": False,
    "legend.fontsize": 8,
    # Names of users are names, whatever signs they hold.
    "text.parse_math": False,
    "svg.hashsalt": "linrank",
}
# Signed, so that a picture of ours can be told from others; without what would differ from run to run.
_SIGNED: dict[str, dict[str, str | None]] = {
    "png": {"Software": "linrank"},
    "svg": {"Creator": "linrank", "Date": None},
    "pdf": {"Creator": "linrank", "CreationDate": None},
}
SIGNATURES = (b"Software\0linrank", b"<dc:title>linrank</dc:title>", b"/Creator (linrank)")
"""What a signed file holds, near its start or its end."""


def draw(
    paths: str | os.PathLike[str] | list[Path],
    drawing: Callable[[Any], None],
    *,
    width: float = 6.4,
    height: float = 3.6,
) -> None:
    """Write what `drawing` puts on a figure of so many inches to each path, whole or not at all."""
    targets = [Path(path) for path in ([paths] if isinstance(paths, str | os.PathLike) else paths)]
    for target in targets:
        if target.suffix[1:].lower() not in FORMATS:
            endings = ", ".join(f".{ending}" for ending in FORMATS)
            raise LinrankError(f"{target}: cannot draw a {target.suffix!r} file; use one of {endings}.")
    require_matplotlib()
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        drawing(figure)
        _write_powers_plainly(figure)
        for target in targets:
            ending = target.suffix[1:].lower()
            with replacing(target, "wb") as file:
                figure.savefig(file, format=ending, dpi=200, metadata=_SIGNED[ending])


def require_matplotlib() -> None:
    """Refuse where pictures cannot be drawn: before the work that there is to draw."""
    if find_spec("matplotlib") is None:
        raise MissingDependencyError("matplotlib", "plots", "drawing a picture")


def _write_powers_plainly(figure: Any) -> None:
    """Label logarithmic axes 0.01, 1e+06: matplotlib's own labels are formulas, which are not read here."""
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() in ("log", "symlog"):
                axis.set_major_formatter("{x:g}")
                axis.set_minor_formatter(lambda _value, _place: "")
