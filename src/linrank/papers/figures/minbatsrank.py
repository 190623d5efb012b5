"""Cheng et al., Figure 1: NDCG at each cut-off, method by method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from linrank.drawing import draw
from linrank.experiments.folds import Fold
from linrank.experiments.results import Results

_FILE = "minbatsrank-figure-1-{data}.svg"
_METHODS = ("ranksvm-hinge", "listnet", "sparserank", "fenchelrank", "minbatsrank")


def ndcg_by_cutoff(
    data: str,
    folds: Sequence[Fold],  # noqa: ARG001
    results: Mapping[str, Results],
    out: Path,
    *,
    methods: Sequence[str] = _METHODS,
    measure: str = "ndcg(letor)",
    file: str = _FILE,
) -> Path | None:
    """The mean over folds of each method that was run on all of them."""
    on_folds = results.get("five folds")
    if on_folds is None or not (shown := [method for method in methods if method in on_folds.complete()]):
        return None
    cutoffs = [k for k in range(1, 11) if f"{measure}@{k}" in on_folds.plan.protocol.evaluated()]
    if not cutoffs:
        return None
    means = {standing.method: standing.means for standing in on_folds.standings()}

    def drawing(figure: Any) -> None:
        axes = figure.subplots()
        for method, style in zip(shown, ("s--", "^:", "v-.", "D--", "o-"), strict=False):
            values = [means[method][f"{measure}@{k}"] for k in cutoffs]
            axes.plot(cutoffs, values, style, label=method, markersize=4, linewidth=1.3)
        axes.set(xlabel="cut-off k", ylabel=f"{measure}@k", title=f"{data}, mean of {len(on_folds.plan.folds)} folds")
        axes.set_xticks(cutoffs)
        axes.legend()

    place = out / file.format(data=data)
    draw(place, drawing)
    return place
