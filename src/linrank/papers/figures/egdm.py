"""Tas, Figures 1 and 2: how the estimates of the eigenvalues settle; and the claim: steps as gamma falls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linrank.drawing import draw
from linrank.executors.local import Threads
from linrank.experiments.folds import Fold
from linrank.experiments.results import Results
from linrank.objective.least_squares import LeastSquares
from linrank.objective.objective import RankingObjective
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.solvers.heavy_ball import HeavyBall, power_iteration
from linrank.solvers.normal_equations import NormalEquations
from linrank.solvers.ridge_cg import RidgeCG

_GAMMAS = (1000.0, 10.0, 0.1)
_FALLING = 10.0 ** np.arange(4, -3, -1)
_MOST_STEPS = 5_000
_FEW_FEATURES = 3_000


def eigenvalues(data: str, folds: Sequence[Fold], results: Mapping[str, Results], out: Path) -> Path:  # noqa: ARG001
    """The estimates of kappa_1 kappa_n and kappa_1 / kappa_n over their true values, power iteration by iteration.

    Of too many features for the matrix itself, the last estimates stand for the true values.
    """
    train = folds[0].train.load()

    def drawing(figure: Any) -> None:
        product, ratio = figure.subplots(1, 2)
        for gamma in _GAMMAS:
            with Threads() as executor:
                objective = _objective(train, gamma, executor)
                found = power_iteration(objective.at(np.zeros(train.n_features)), 60, seed=0)
                ups, downs = np.array(found.estimates).T
                largest, smallest = ups[-1], downs[-1]
                if train.n_features <= _FEW_FEATURES:
                    values = np.linalg.eigvalsh(NormalEquations.of(objective).gram)
                    largest, smallest = values[-1] + gamma, max(values[0], 0.0) + gamma
            steps = np.arange(1, len(ups) + 1)
            product.loglog(steps, ups * downs / (largest * smallest), label=f"gamma = {gamma:g}")
            ratio.loglog(steps, (ups / downs) / (largest / smallest))
        product.set(ylabel="kappa_1 kappa_n, estimate / true", title=data)
        ratio.set(ylabel="kappa_1 / kappa_n, estimate / true")
        for axes in (product, ratio):
            axes.set_xlabel("power iterations")
            axes.axhline(1.0, color="gray", linewidth=0.8, linestyle=":")
        product.legend()

    place = out / f"egdm-figures-1-and-2-{data}.svg"
    draw(place, drawing, width=8)
    return place


def steps_as_gamma_falls(
    data: str,
    folds: Sequence[Fold],
    results: Mapping[str, Results],  # noqa: ARG001
    out: Path,
) -> Path:
    """Steps until F - min F is certified below 1e-6 F, for a fixed momentum, the estimated one, and CG."""
    train = folds[0].train.load()
    solvers = {
        "no momentum": HeavyBall(0.0, max_iterations=_MOST_STEPS),
        "GDM, momentum 0.9": HeavyBall(0.9, max_iterations=_MOST_STEPS),
        "eGDM": HeavyBall(max_iterations=_MOST_STEPS),
        "CG": RidgeCG(),
    }
    steps: dict[str, list[int]] = {name: [] for name in solvers}
    for gamma in _FALLING:
        with Threads() as executor:
            objective = _objective(train, gamma, executor)
            for name, solver in solvers.items():
                steps[name].append(solver.minimize(objective).iterations)

    def drawing(figure: Any) -> None:
        axes = figure.subplots()
        for (name, counts), style in zip(steps.items(), ("v:", "^--", "o-", "s-"), strict=True):
            axes.loglog(_FALLING, counts, style, label=name, markersize=4)
        axes.invert_xaxis()
        axes.set(xlabel="gamma", ylabel=f"steps to 1e-6 (at most {_MOST_STEPS:,})", title=data)
        axes.legend()

    place = out / f"egdm-steps-{data}.svg"
    draw(place, drawing)
    return place


def _objective(data: Any, gamma: float, executor: Threads) -> RankingObjective:
    return RankingObjective(LeastSquares(), L2(gamma), 1.0, PlacedData.of(data, executor))
