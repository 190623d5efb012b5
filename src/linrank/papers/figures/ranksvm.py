"""Lee & Lin, Figures 4 and 7: distance from the least value against time, by method and by C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linrank.arrays import Vector
from linrank.dataset.ranking_dataset import RankingDataset
from linrank.drawing import draw
from linrank.executors.local import Threads
from linrank.experiments.folds import Fold
from linrank.experiments.results import Results
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.objective.sorted_pairs import PairSums
from linrank.objective.structures.by_name import STRUCTURES
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.tron import TRON

CS = (100.0, 1.0, 1e-4)
_FLOOR = 1e-10
_DIRECT, _TREE = PairSums("all", STRUCTURES["direct"]), PairSums("all", STRUCTURES["tree"])

Curves = Mapping[str, tuple[Vector, Vector]]


def convergence(data: str, folds: Sequence[Fold], results: Mapping[str, Results], out: Path) -> Path:  # noqa: ARG001
    """One panel a C, on the first fold's training part."""
    train = folds[0].train.load()

    def drawing(figure: Any) -> None:
        for axes, C in zip(figure.subplots(1, len(CS), sharey=True), CS, strict=True):
            draw_curves(axes, curves(train, C), f"{data}, C = {C:g}")
            axes.set_xlabel("seconds")
        figure.axes[0].set_ylabel("(f - min f) / min f")
        figure.axes[0].legend()

    place = out / f"ranksvm-figures-4-and-7-{data}.svg"
    draw(place, drawing, width=10)
    return place


def curves(data: RankingDataset, C: float, *, max_seconds: float = 15.0) -> Curves:
    """Relative distance from the least value against seconds, for direct count, tree, and our own solver."""
    with Threads() as executor:
        least = NewtonCG(1e-14).minimize(_objective(data, C, executor, PairSums())).value
        tron = TRON(1e-9, max_seconds=max_seconds)
        runs = {
            "TRON, direct count": (tron, _DIRECT),
            "TRON, tree": (tron, _TREE),
            "Newton-CG (ours)": (NewtonCG(1e-11), PairSums()),
        }
        made = {}
        for name, (solver, over) in runs.items():
            objective = _objective(data, C, executor, over)
            # What is compiled and placed at the first use is not what is compared.
            objective.at(np.zeros(data.n_features)).gradient.sum()
            history = solver.minimize(objective).history
            points = np.array([(line.seconds, line.value) for line in history])
            made[name] = (points[:, 0], np.maximum((points[:, 1] - least) / least, _FLOOR))
        return made


def draw_curves(axes: Any, lines: Curves, title: str) -> None:
    """The curves on logarithmic axes."""
    for (name, (seconds, distance)), style in zip(lines.items(), ("s--", "^:", "o-"), strict=True):
        axes.semilogy(np.maximum(seconds, 1e-4), distance, style, label=name, markersize=3.5, linewidth=1.2)
    axes.set_xscale("log")
    axes.set_title(title, fontsize=9)
    axes.set_ylim(_FLOOR / 2, None)


def _objective(data: RankingDataset, C: float, executor: Threads, over: PairSums) -> RankingObjective:
    return RankingObjective(SquaredHinge(over), L2(), C, PlacedData.of(data, executor))
