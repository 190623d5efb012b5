"""Cheng et al., Figures 1 and 2: NDCG at each cut-off, beside dense rivals and beside one rate for all features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linrank.drawing import draw
from linrank.experiments.folds import Fold
from linrank.experiments.results import Results
from linrank.papers.grids import seeded_names
from linrank.papers.reproduction import OURS, SEARCHED, SEEDED
from linrank.papers.seeds import means_of_seeds

_CUTOFFS = range(1, 11)
_STYLES = ("s--", "^:", "v-.", "P--", "D--", "o-")
_SPARSE, _NONFEA = "minbatsrank", "minbatsrank-nonfea"


def beside_dense_rivals(
    data: str,
    folds: Sequence[Fold],  # noqa: ARG001
    results: Mapping[str, Results],
    out: Path,
) -> Path | None:
    """Figure 1; MinBatSRank is the mean over seeds, and all are chosen among the papers' grids, or wide ones."""
    rivals = ("listnet", "adarank", "ranksvm-hinge")
    return ndcg_by_cutoff(
        data, _curves(results, SEARCHED, rivals, "ndcg(letor)") | _seeded(results, _SPARSE), "ndcg(letor)",
        out / f"minbatsrank-figure-1-{data}.svg",
    )  # fmt: skip


def one_rate_for_all(
    data: str,
    folds: Sequence[Fold],  # noqa: ARG001
    results: Mapping[str, Results],
    out: Path,
) -> Path | None:
    """Figure 2: MinBatSRank and Nonfea by the paper's grid, means over seeds; and Nonfea with smaller rates.

    The smaller rates are the catalogue's.
    """
    seeded = _seeded(results, _SPARSE) | _seeded(results, _NONFEA)
    ours = _curves(results, OURS, (_NONFEA,), "ndcg(letor)")
    if len(seeded) < 2:
        return None
    lines = seeded | {f"{method}, smaller rates": values for method, values in ours.items()}
    return ndcg_by_cutoff(data, lines, "ndcg(letor)", out / f"minbatsrank-figure-2-{data}.svg")


def of_methods(
    data: str, results: Mapping[str, Results], methods: Sequence[str], measure: str, place: Path
) -> Path | None:
    """The mean over folds of each method that was run on all of them, chosen among the papers' grids or wide ones."""
    return ndcg_by_cutoff(data, _curves(results, SEARCHED, methods, measure), measure, place)


def ndcg_by_cutoff(data: str, lines: Mapping[str, Sequence[float]], measure: str, place: Path) -> Path | None:
    """A line a method."""
    if not lines:
        return None

    def drawing(figure: Any) -> None:
        axes = figure.subplots()
        for (method, values), style in zip(lines.items(), _STYLES, strict=False):
            axes.plot(_CUTOFFS, values, style, label=method, markersize=4, linewidth=1.3)
        axes.set(xlabel="cut-off k", ylabel=f"{measure}@k", title=f"{data}, mean of the folds")
        axes.set_xticks(_CUTOFFS)
        axes.legend()

    draw(place, drawing)
    return place


def _curves(
    results: Mapping[str, Results], study: str, methods: Sequence[str], measure: str
) -> dict[str, Sequence[float]]:
    of_study = results.get(study)
    if of_study is None or f"{measure}@1" not in of_study.plan.protocol.evaluated():
        return {}
    return {
        method: [means_of_seeds(of_study, [method], f"{measure}@{k}")[0] for k in _CUTOFFS]
        for method in methods
        if method in of_study.complete()
    }


def _seeded(results: Mapping[str, Results], method: str) -> dict[str, Sequence[float]]:
    of_study, names = results.get(SEEDED), seeded_names(method)
    if of_study is None or not set(names) <= set(of_study.complete()):
        return {}
    means = [means_of_seeds(of_study, names, f"ndcg(letor)@{k}") for k in _CUTOFFS]
    return {f"{method}, mean of {len(names)} seeds": np.mean(means, axis=1).tolist()}
