"""Sun et al., Figures 1 to 5: NDCG at each cut-off beside the rivals', and what truncation costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linrank.drawing import OURS, THEIRS, draw
from linrank.experiments.folds import Fold
from linrank.experiments.results import Results
from linrank.papers.figures import minbatsrank
from linrank.papers.reproduction import SEARCHED


def ndcg_by_cutoff(
    data: str,
    folds: Sequence[Fold],  # noqa: ARG001
    results: Mapping[str, Results],
    out: Path,
) -> Path | None:
    """Figures 1 and 2: RSRank without truncation beside its rivals."""
    methods = ("lambdarank", "adarank", "listnet", "rsrank l1=0")
    return minbatsrank.of_methods(data, results, methods, "ndcg", out / f"rsrank-figures-1-and-2-{data}.svg")


def against_truncation(
    data: str,
    folds: Sequence[Fold],  # noqa: ARG001
    results: Mapping[str, Results],
    out: Path,
) -> Path | None:
    """Figures 3 to 5: NDCG and number of features against the strength of the truncation, on the validation parts."""
    on_folds = results.get(SEARCHED)
    if on_folds is None or "rsrank" not in on_folds.complete():
        return None
    folds_tried = [
        {one["settings"]["l1"]: one for one in result.tried if one["validation"] is not None}
        for result in on_folds.of("rsrank")
    ]
    strengths = sorted(set[float].intersection(*map(set, folds_tried)))
    means, sizes = (
        [np.mean([of_fold[l1][value] for of_fold in folds_tried]) for l1 in strengths]
        for value in ("validation", "n_features")
    )

    def drawing(figure: Any) -> None:
        left, right = figure.subplots(1, 2)
        left.plot(strengths, means, "o-", color=OURS)
        left.set(xlabel="l1 (the paper's g)", ylabel=f"{on_folds.plan.protocol.select}, validation", title=data)
        right.plot(strengths, sizes, "s-", color=THEIRS)
        right.set(xlabel="l1 (the paper's g)", ylabel="features with a weight")
        for axes in (left, right):
            axes.set_xscale("symlog", base=2, linthresh=1.0)

    place = out / f"rsrank-figures-3-to-5-{data}.svg"
    draw(place, drawing, width=8)
    return place
