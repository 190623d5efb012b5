"""What the two pictures of Lee & Lin share: runs of solvers on data, drawn as relative distance against time."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from linrank import make_ranking, read
from linrank.executors.local import Threads
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.objective.sorted_pairs import PairSums
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.tron import TRON

DIRECT, TREE = 2**62, 0
PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
FLOOR = 1e-10


def datasets():
    """The real data where it is to be had, and synthetic data of the paper's two kinds: few labels and many."""
    made = {}
    for name in ("OHSUMED", "MQ2008"):
        path = SHARED / name / "Fold1" / "train.txt"
        if path.exists():
            made[f"{name} Fold1"] = read(path)
    made["5 labels, 200,000 x 136"] = make_ranking(2_000, 100, 136, dtype="float32")[0]
    made["all labels different, 100,000 x 46"] = make_ranking(100, 1_000, 46, levels=None, dtype="float32")[0]
    return made


def run(data, C, solver, direct_up_to=None):
    """The history of one solver as (seconds, value)."""
    how = PairSums() if direct_up_to is None else PairSums("all", direct_up_to)
    with Threads() as executor:
        objective = RankingObjective(SquaredHinge(), L2(), C, PlacedData.of(data, executor), how)
        objective.at(np.zeros(data.n_features)).gradient.sum()
        solution = solver.minimize(objective)
    return np.array([(line.seconds, line.value) for line in solution.history])


def least_value(data, C):
    with Threads() as executor:
        objective = RankingObjective(SquaredHinge(), L2(), C, PlacedData.of(data, executor))
        return NewtonCG(1e-14).minimize(objective).value


def curves(data, C, max_seconds=30.0):
    """Relative distance from the least value against time, for each method."""
    least = least_value(data, C)
    tron = TRON(1e-9, max_seconds=max_seconds)
    runs = {
        "TRON, direct count": run(data, C, tron, DIRECT),
        "TRON, tree": run(data, C, tron, TREE),
        "Newton-CG (ours)": run(data, C, NewtonCG(1e-11)),
    }
    return {name: (points[:, 0], np.maximum((points[:, 1] - least) / least, FLOOR)) for name, points in runs.items()}


def draw(axes, lines, title):
    for (name, (seconds, distance)), style in zip(lines.items(), ("s--", "^:", "o-"), strict=True):
        axes.semilogy(np.maximum(seconds, 1e-4), distance, style, label=name, markersize=3.5, linewidth=1.2)
    axes.set_xscale("log")
    axes.set_title(title, fontsize=9)
    axes.set_ylim(FLOOR / 2, None)
    axes.grid(alpha=0.25)


def save(figure, name):
    PICTURES.mkdir(exist_ok=True)
    figure.savefig(PICTURES / f"{name}.svg", metadata={"Date": None})
    print(PICTURES / f"{name}.svg")


def subplots(rows, columns):
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams["svg.hashsalt"] = "linrank"
    from matplotlib import pyplot as plt

    return plt.subplots(
        rows, columns, figsize=(3.4 * columns, 2.7 * rows), layout="constrained", squeeze=False, sharey="row"
    )
