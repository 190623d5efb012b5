"""RankSVM's hinge to a certified gap of 1e-3, as a multiple of the squared hinge on the same data."""

from __future__ import annotations

from made_data import MADE
from measuring import Figures, Row, Turns, passes_of

from linrank import RankSVM


def hinge(_):
    data = MADE["mslr"]()

    def fit():
        return RankSVM(loss="hinge", tol=1e-3).fit(data)

    RankSVM().fit(data)
    model, passes = passes_of(fit, data.n_documents)
    turns = Turns({"hinge": fit, "squared": lambda: RankSVM().fit(data)}, 3)
    ratios = {
        **turns.ratios("hinge", "squared", "squared hinges"),
        "passes": passes,
        "certified gap": model.gap_ / model.objective_,
    }
    return Figures(turns.least("hinge"), ratios)


ROWS = [Row("hinge", "the same with the hinge, C = 1, to a certified gap of 1e-3", hinge, "mslr")]
