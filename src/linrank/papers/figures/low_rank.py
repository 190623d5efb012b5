"""Xu et al., Figures 2 and 4: how few dimensions hold a query's dual variables, and how the objective falls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linrank.drawing import draw
from linrank.duals.low_rank import low_rank
from linrank.experiments.folds import Fold
from linrank.experiments.results import Results
from linrank.model import LinearModel
from linrank.papers.reproduction import OURS

_METHODS = ("ranksvm-hinge", "fac-ranksvm", "reg-ranksvm")


def energy(data: str, folds: Sequence[Fold], results: Mapping[str, Results], out: Path) -> Path | None:
    """Figure 2, of the hinge RankSVM of the first fold."""
    on_folds = results.get(OURS)
    if on_folds is None or "ranksvm-hinge" not in on_folds.complete():
        return None
    result = on_folds.of("ranksvm-hinge")[0]
    train = folds[0].train.load()
    parameters = {"C": result.chosen["C"], "loss": "hinge"}
    model = LinearModel(np.asarray(result.weights), train.names, method="ranksvm", parameters=parameters)
    place = out / f"low-rank-figure-2-{data}.svg"
    low_rank(model, train).save_picture(place)
    return place


def learning_curves(
    data: str,
    folds: Sequence[Fold],  # noqa: ARG001
    results: Mapping[str, Results],
    out: Path,
) -> Path | None:
    """Figure 4: each method's own objective by iteration and by time, as the share that is still to fall."""
    on_folds = results.get(OURS)
    shown = [] if on_folds is None else [method for method in _METHODS if method in on_folds.complete()]
    if on_folds is None or not shown:
        return None
    histories = {method: np.array(on_folds.of(method)[0].history) for method in shown}

    def drawing(figure: Any) -> None:
        by_iteration, by_time = figure.subplots(1, 2, sharey=True)
        for method, history in histories.items():
            values = history[:, 1]
            left = (values - values.min()) / max(values[0] - values.min(), 1e-300)
            by_iteration.semilogy(np.arange(len(left)), np.maximum(left, 1e-6), label=method)
            by_time.loglog(np.maximum(history[:, 0], 1e-4), np.maximum(left, 1e-6), label=method)
        by_iteration.set(xlabel="iterations (thinned beyond 200)", ylabel="share still to fall", title=data)
        by_time.set(xlabel="seconds")
        by_iteration.legend()

    place = out / f"low-rank-figure-4-{data}.svg"
    draw(place, drawing, width=8)
    return place
