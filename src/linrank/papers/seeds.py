"""How far a method's figures depend on its seed: the mean of five folds, and what it was for each seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from linrank.experiments.results import Results
from linrank.papers.grids import PASSES, SEEDS, seeded_names

_MEASURES = ("ndcg(letor)@1", "ndcg(letor)@3", "ndcg(letor)@5", "ndcg(letor)@10", "ndcg@10", "map")
_LINES = (*(("minbatsrank", passes) for passes in PASSES), ("minbatsrank-nonfea", PASSES[-1]))


def seeds_table(results: Results) -> str:
    """Markdown: for each number of passes the mean over seeds of the mean over folds, the least and the most of it."""
    lines = [
        "| | " + " | ".join(_MEASURES) + " | features |",
        "|---|" + "---:|" * (len(_MEASURES) + 1),
    ]
    for method, passes in _LINES:
        names = seeded_names(method, passes)
        if not all(name in results.complete() for name in names):
            continue
        cells = [_spread(means_of_seeds(results, names, measure), ".4f") for measure in _MEASURES]
        features = [float(np.mean([result.n_features for result in results.of(name)])) for name in names]
        times = f"{passes} pass{'es' if passes > 1 else ''}"
        lines.append(f"| {method}, {times} | " + " | ".join(cells) + f" | {_spread(features, '.1f')} |")
    about = (
        f"Mean over {len(SEEDS)} seeds of the mean over {len(results.plan.folds)} folds (the least … the most of a "
        f"seed); settings chosen by {results.plan.protocol.select} on the validation parts, for each seed by itself."
    )
    return "\n".join([*lines, "", about])


def means_of_seeds(results: Results, names: Sequence[str], measure: str) -> list[float]:
    """The mean over folds of a measure, for each of some runs."""
    return [float(np.mean([result.means[measure] for result in results.of(name)])) for name in names]


def _spread(values: Sequence[float], form: str) -> str:
    return f"{np.mean(values):{form}} ({min(values):{form}} … {max(values):{form}})"
