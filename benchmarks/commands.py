"""Whole commands, `linrank train` on text: seconds, in starts of Python with NumPy, and peak memory.

Sparse data are one query: news with two labels (RCV1-like), and features as frequent as words (Zipf) or a little less
unevenly (mild). Dense data are lists in which every label is different, and a file as small as a fold of OHSUMED, which
shows what starting costs; and that for the first time ever, when kernels are compiled.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from made_data import MADE, text_of
from measuring import LIBLINEAR, Figures, Row, Turns, above, liblinear, linrank, objective_at, start

from linrank import RankSVM


def command(name, C, least):
    text, runs = text_of(name), []
    with tempfile.TemporaryDirectory() as folder:

        def train():
            runs.append(linrank("train", text, Path(folder) / "model.json", "-C", C, "--scaling", "none"))
            return runs[-1].times

        # Kernels that were never used are compiled: that is another row. With next to no loss there is nothing to do.
        linrank("train", text, Path(folder) / "model.json", "-C", 1e-15, "--scaling", "none")
        turns = Turns({"train": train, "start": start}, 4)
    value = float(re.search(r"objective\s+([\d.e+-]+)", runs[-1].output)[1])
    if least is None:
        least = RankSVM(C, tol=1e-9).fit(MADE[name]()).objective_
    least = min(value, least)
    peak = min(one.peak for one in runs)
    ratios = {
        **turns.ratios("train", "start", "starts"),
        "memory / text": peak / (text.stat().st_size / 1e6),
        "above the least": above(value, least),
    }
    return Figures(turns.least("train"), ratios, peak, others(name, C, least), least)


def others(name, C, least):
    if LIBLINEAR is None:
        return {}
    data = MADE[name]()
    whole, _, weights = liblinear(text_of(name), C, data.n_features)
    far = above(objective_at(data, C, weights), least)
    return {f"LIBLINEAR, {whole.peak:.0f} MB, {far:.0e} above the least": whole.seconds}


def first_ever(_):
    text = text_of("ohsumed")

    def train():
        with tempfile.TemporaryDirectory() as folder:
            return linrank("train", text, Path(folder) / "model.json", NUMBA_CACHE_DIR=folder).times

    turns = Turns({"train": train, "start": start}, 2)
    return Figures(turns.least("train"), turns.ratios("train", "start", "starts"))


def on_text(name, C, what):
    return Row(f"{name}, C = {C:g}", f"{what}, C = {C:g}", lambda least: command(name, C, least), name)


RCV1 = "`linrank train` on text, 100,000 x 47,236 sparse, RCV1-like, one query"
WORDS = "`linrank train` on text, 200,000 x 1,000,000 sparse, {}, one query"
ROWS = [
    on_text("rcv1", 1e-5, RCV1),
    on_text("rcv1", 1.0, RCV1),
    on_text("zipf", 1e-6, WORDS.format("Zipf")),
    on_text("zipf-shuffled", 1e-6, WORDS.format("Zipf, columns in any order")),
    on_text("mild", 1e-6, WORDS.format("mild")),
    on_text("lists", 1.0, "`linrank train` on text, 743,427 x 46, every label different"),
    on_text("ohsumed", 1.0, "`linrank train` on text of a fold of OHSUMED's size"),
    Row("first ever", "the same for the first time ever, compiling", first_ever, "ohsumed"),
]
