"""A feature path as a DataFrame, as a picture on axes, and as a notebook shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linrank.errors import MissingDependencyError
from linrank.named_weights import NamedWeights
from linrank.showing import html_table, shown

if TYPE_CHECKING:
    from linrank.experiments.feature_path import FeaturePath, FeatureStep

_FEATURES_SHOWN = 6


def path_frame(path: FeaturePath) -> Any:
    """One row for each number of features: the best step that has it."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingDependencyError("pandas", "pandas", "a feature path as a DataFrame") from None
    rows = []
    for step in path.by_size():
        low, high = step.interval() or (None, None)
        rows.append((step.n_features, step.mean, low, high, step.train, step.cost, step.l1, used_features(path, step)))
    columns = ["n_features", str(path.measure), "low", "high", "train", "cost", "l1", "features"]
    return pd.DataFrame(rows, columns=columns)


def draw_path(path: FeaturePath, axes: Any) -> Any:
    """Quality against number of features on matplotlib's axes, on new ones unless given."""
    from linrank.experiments.curve import curve_content
    from linrank.experiments.report.pictures import draw_curve_on

    if axes is None:
        try:
            from matplotlib import pyplot as plt
        except ImportError:
            raise MissingDependencyError("matplotlib", "plots", "drawing a feature path") from None
        _, axes = plt.subplots()
    draw_curve_on(axes, curve_content(path, path.select_features()))
    return axes


def path_html(path: FeaturePath) -> str:
    rows = [("features", str(path.measure), "interval", "cost", "which")]
    for step in path.by_size():
        interval = step.interval()
        within = "" if interval is None else f"{shown(interval[0])} to {shown(interval[1])}"
        names = used_features(path, step)
        more = ", …" if len(names) > _FEATURES_SHOWN else ""
        which = ", ".join(names[:_FEATURES_SHOWN]) + more
        rows.append((str(step.n_features), shown(step.mean), within, shown(step.cost), which))
    return html_table(rows, repr(path))


def used_features(path: FeaturePath, step: FeatureStep) -> tuple[str, ...]:
    """The features that have a weight, the largest first."""
    weights = NamedWeights(path.feature_names, step.weights)
    return tuple(name for name, weight in weights.items() if weight)
