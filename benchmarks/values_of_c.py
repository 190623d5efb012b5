"""All 26 values of C from 2^-15 to 2^10 on MSLR's queries drawn again, as a multiple of one fit."""

from __future__ import annotations

from made_data import MADE
from measuring import Figures, Row, Turns, passes_of

from linrank import RankSVM
from linrank.executors.local import Threads
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.solvers.regularization_path import regularization_path


def values_of_c(_):
    data = MADE["mslr"]()

    def path():
        with Threads() as executor:
            list(regularization_path(RankingObjective(SquaredHinge(), L2(), 1.0, PlacedData.of(data, executor))))

    _, passes = passes_of(path, data.n_documents)
    RankSVM().fit(data)
    turns = Turns({"path": path, "fit": lambda: RankSVM().fit(data)}, 3)
    ratios = {**turns.ratios("path", "fit", "fits"), "passes": passes}
    return Figures(turns.least("path"), ratios)


ROWS = [Row("26 values of C", "the same for 26 values of C, from 2^-15 to 2^10", values_of_c, "mslr")]
