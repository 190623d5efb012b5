"""RankSVM's squared hinge on MSLR's queries drawn again, in reads of the matrix and passes over it."""

from __future__ import annotations

from made_data import MADE, text_of
from measuring import LIBLINEAR, READS, Figures, Row, Turns, above, liblinear, objective_at, passes_of, reads

from linrank import RankSVM


def squared_hinge(C, least):
    data = MADE["mslr"]()

    def fit():
        return RankSVM(C).fit(data)

    model, passes = passes_of(fit, data.n_documents)
    value = model.objective_
    least = min(value, RankSVM(C, tol=1e-10).fit(data).objective_ if least is None else least)
    turns = Turns({"fit": fit, "reads": lambda: reads(data.features)})
    ratios = {
        **turns.ratios("fit", "reads", "reads", READS),
        "passes": passes,
        "above the least": above(value, least),
    }
    return Figures(turns.least("fit"), ratios, beside=others(data, C, least), least=least)


def others(data, C, least):
    if LIBLINEAR is None:
        return {}
    _, seconds, weights = liblinear(text_of("mslr"), C, data.n_features)
    return {f"LIBLINEAR, {above(objective_at(data, C, weights), least):.0e} above the least": seconds}


ROWS = [
    Row(
        f"squared hinge, C = {C:g}",
        f"RankSVM, 700,029 x 136, real queries drawn again, C = {C:g}",
        lambda least, C=C: squared_hinge(C, least),
        "mslr",
    )
    for C in (1.0, 1e-4)
]
