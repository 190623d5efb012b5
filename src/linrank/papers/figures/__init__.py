"""The papers' figures again, drawn from our own runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from linrank.experiments.folds import Fold
from linrank.experiments.results import Results
from linrank.papers.figures import egdm, low_rank, minbatsrank, ranksvm, rsrank

# What draws: a function of a data set's name, its folds, its results by study and the folder to draw into.
Drawing = Callable[[str, Sequence[Fold], Mapping[str, Results], Path], Path | None]

_DRAWINGS: dict[str, tuple[Drawing, ...]] = {
    "ranksvm": (ranksvm.structures, ranksvm.methods, ranksvm.strengths),
    "minbatsrank": (minbatsrank.beside_dense_rivals, minbatsrank.one_rate_for_all),
    "egdm": (egdm.eigenvalues, egdm.steps_as_gamma_falls),
    "rsrank": (rsrank.ndcg_by_cutoff, rsrank.against_truncation),
    "low-rank": (low_rank.energy, low_rank.learning_curves),
}


def draw_figures(
    papers: Sequence[str], found: Mapping[str, Sequence[Fold]], results: Mapping[str, Mapping[str, Results]], out: Path
) -> Iterator[Path]:
    """Draw what the papers draw, for each data set that is there, and yield the files."""
    out.mkdir(parents=True, exist_ok=True)
    for paper in papers:
        for data, folds in found.items():
            for drawing in _DRAWINGS.get(paper, ()):
                place = drawing(data, folds, results[data], out)
                if place is not None:
                    yield place
