"""Lee & Lin, Figures 4 to 7: structures for sums over pairs, and methods, against time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linrank.arrays import Offsets
from linrank.dataset.features import scores_of
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.dataset.scaling import fit_scaling, scaled
from linrank.drawing import draw
from linrank.experiments.folds import Fold
from linrank.experiments.results import Results
from linrank.measures import parse_measure
from linrank.papers.figures.traces import Run, Trace, traces
from linrank.papers.published import published
from linrank.solvers.bundle import Bundle
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.tron import TRON

CS = (100.0, 1.0, 1e-4)
_FLOOR = 1e-10
_MOST_SECONDS = 15.0
_MOST_MEASURED = 60
_STYLES = ("s--", "^:", "v-.", "D--", "x:", "+-.", "o-", "*-", ".-")
# The features of these are scaled to 0 … 1 in the paper; for lists of positions NDCG overflows.
_UNSCALED = ("MSLR", "Yahoo")
_LIST = "-list"


def structure_runs(max_seconds: float = _MOST_SECONDS) -> dict[str, Run]:
    """Figure 4: TRON with each structure, by the paper's names, and what we use."""
    tron = TRON(1e-9, max_seconds=max_seconds)
    named = {"direct-count": "direct", "selectiontree": "selection-tree"}
    same = ("y-rbtree", "y-avltree", "y-aatree", "wTx-rbtree")
    ours = {"eight-way tree (ours)": Run(tron, sums="tree"), "Fenwick": Run(tron, sums="fenwick-tree")}
    return (
        {name: Run(tron, sums=sums) for name, sums in named.items()}
        | {name: Run(tron, sums=name) for name in same}
        | ours
        | {"Newton-CG (ours)": Run(NewtonCG(1e-11, max_seconds=max_seconds))}
    )


def method_runs(max_seconds: float = _MOST_SECONDS) -> dict[str, Run]:
    """Figures 5 to 7: Tree-TRON, PRSVM+ and TreeRankSVM, which minimises the hinge, and our own solver."""
    tron = TRON(1e-9, max_seconds=max_seconds)
    return {
        "Tree-TRON": Run(tron, sums="selection-tree"),
        "PRSVM+": Run(tron, sums="two-levels"),
        "TreeRankSVM": Run(Bundle(1e-8, max_seconds=max_seconds), "hinge", "y-rbtree"),
        "Newton-CG (ours)": Run(NewtonCG(1e-11, max_seconds=max_seconds)),
    }


def structures(
    data: str,
    folds: Sequence[Fold],
    results: Mapping[str, Results],  # noqa: ARG001
    out: Path,
    max_seconds: float = _MOST_SECONDS,
) -> Path:
    """Figure 4, on the first fold's training part: C = 1."""
    train, _ = _first_fold(data, folds)

    def drawing(figure: Any) -> None:
        axes = figure.subplots()
        draw_distances(axes, traces(train, 1.0, structure_runs(max_seconds)), f"{data}, C = 1, one thread")
        axes.set_ylabel("(f - min f) / min f")
        axes.legend()

    place = out / f"ranksvm-figure-4-{data}.svg"
    draw(place, drawing, width=6.4, height=4.2)
    return place


def methods(
    data: str,
    folds: Sequence[Fold],
    results: Mapping[str, Results],  # noqa: ARG001
    out: Path,
    max_seconds: float = _MOST_SECONDS,
) -> Path:
    """Figure 5, or 6 for lists: distance, pairwise accuracy and NDCG, each with the C that the paper chose by it."""
    train, test = _first_fold(data, folds)
    measures = ("pairwiseaccuracy",) if data.endswith(_LIST) else ("pairwiseaccuracy", _ndcg_of(data))
    number = 6 if data.endswith(_LIST) else 5

    def drawing(figure: Any) -> None:
        draw_methods(
            figure.subplots(1, 1 + len(measures)), data, (train, test), measures, Cs_of=data, max_seconds=max_seconds
        )

    place = out / f"ranksvm-figure-{number}-{data}.svg"
    draw(place, drawing, width=4.2 * (1 + len(measures)))
    return place


def strengths(
    data: str,
    folds: Sequence[Fold],
    results: Mapping[str, Results],  # noqa: ARG001
    out: Path,
    max_seconds: float = _MOST_SECONDS,
) -> Path:
    """Figure 7: the same methods with the same C, one panel a C."""
    train, _ = _first_fold(data, folds)

    def drawing(figure: Any) -> None:
        for axes, C in zip(figure.subplots(1, len(CS), sharey=True), CS, strict=True):
            draw_distances(axes, traces(train, C, method_runs(max_seconds)), f"{data}, C = {C:g}")
        figure.axes[0].set_ylabel("(f - min f) / min f")
        figure.axes[0].legend()

    place = out / f"ranksvm-figure-7-{data}.svg"
    draw(place, drawing, width=10)
    return place


def draw_methods(
    panels: Sequence[Any], title: str, parts: tuple[RankingDataset, RankingDataset], measures: Sequence[str], *,
    Cs_of: str, max_seconds: float = _MOST_SECONDS,
) -> None:  # fmt: skip
    """Distance from the least value on the training part and measures of the test part against time, a panel each."""
    train, test = parts
    made = {measure: _traces_by(Cs_of, train, measure, max_seconds) for measure in measures}
    draw_distances(panels[0], made[measures[0]], title)
    panels[0].set_ylabel("(f - min f) / min f")
    panels[0].legend(fontsize=7)
    for axes, measure in zip(panels[1:], measures, strict=True):
        for (name, trace), style in zip(made[measure].items(), _STYLES, strict=False):
            # At the first point, w = 0, all scores are equal.
            some = _some_of(len(trace.seconds))[1:]
            quality = [parse_measure(measure).mean(scores_of(test.features, trace.weights[i]), test) for i in some]
            axes.plot(np.maximum(trace.seconds[some], 1e-4), quality, style, label=name, markersize=3.5, linewidth=1.2)
        axes.set(xscale="log", xlabel="seconds", ylabel=f"{measure}, test")
        axes.set_title(title, fontsize=9)


def draw_distances(axes: Any, lines: Mapping[str, Trace], title: str) -> None:
    """The curves on logarithmic axes, and the paper's default stopping rule as a dotted line."""
    for (name, trace), style in zip(lines.items(), _STYLES, strict=False):
        # Once it is at the floor, nothing more is to be seen.
        n_above = int(np.count_nonzero(trace.distance > _FLOOR))
        some = _some_of(min(n_above + 1, len(trace.seconds)))
        distance = np.maximum(trace.distance[some], _FLOOR)
        axes.semilogy(np.maximum(trace.seconds[some], 1e-4), distance, style, label=name, markersize=3.5, linewidth=1.2)
    default = next(iter(lines.values())).at_default
    if default is not None:
        axes.axhline(max(default, _FLOOR), color="gray", linewidth=0.8, linestyle=":")
    axes.set(xscale="log", xlabel="seconds", ylim=(_FLOOR / 2, None))
    axes.set_title(title, fontsize=9)


def _traces_by(data: str, train: RankingDataset, measure: str, max_seconds: float) -> dict[str, Trace]:
    """The methods' runs, the C of each loss being that of the paper's Table 3 for a measure; 1 for other data."""
    chosen_by = "pairwise accuracy" if measure == "pairwiseaccuracy" else "NDCG"
    by_C: dict[float, dict[str, Run]] = {}
    for name, run in method_runs(max_seconds).items():
        C = _printed_C(data, "ranksvm-hinge" if run.loss == "hinge" else "ranksvm", chosen_by)
        by_C.setdefault(C, {})[f"{name}, C = 2^{np.log2(C):g}"] = run
    made: dict[str, Trace] = {}
    for C, runs in by_C.items():
        made |= traces(train, C, runs)
    return made


def _printed_C(data: str, method: str, chosen_by: str) -> float:
    for printed in published("ranksvm", data):
        if (printed.table, printed.method, printed.measure) == ("Table 3", method, "C") and chosen_by in printed.note:
            return printed.value
    return 1.0


def _first_fold(data: str, folds: Sequence[Fold]) -> tuple[RankingDataset, RankingDataset]:
    train, test = folds[0].train.load(), folds[0].test.load()
    if data.startswith(_UNSCALED):
        scaling = fit_scaling("min-max", train)
        return scaled(train, scaling), scaled(test, scaling)
    return train, test


def _ndcg_of(data: str) -> str:
    return "ndcg@10" if data.startswith("Yahoo") else "meanndcg"


def _some_of(n: int) -> Offsets:
    """The first, the last, and some of those between: near one another at first, as on a logarithmic axis."""
    return np.unique(np.round(np.geomspace(1, n, min(n, _MOST_MEASURED))).astype(np.int64) - 1)
