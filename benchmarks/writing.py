"""Writing svmlight text beside Python's own formatting of the same numbers, which must give the same lines.

Numbers of six decimals, as in MSLR's files, and numbers of seventeen digits.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from made_text import mslr_text
from measuring import Figures, Row, Turns

from linrank import RankingDataset, read
from linrank.reading.write_svmlight import write_svmlight

# So many times what Python formats in the same turn.
TIMES = 10


def write_plainly(path, data):
    with path.open("w", encoding="utf-8") as file:
        rows = zip(data.labels.tolist(), data.qid.tolist(), data.features, data.comments, strict=True)
        for label, qid, row, comment in rows:
            pairs = " ".join(f"{number}:{plain(value)}" for number, value in enumerate(row.tolist(), 1))
            file.write(f"{plain(label)} qid:{qid} {pairs}{f' # {comment}' if comment else ''}\n")


def plain(value):
    return str(int(value)) if value == int(value) else repr(value)


def writing(digits):
    text = mslr_text(50)
    data = read(text, layout="dense")
    if digits == 17:
        features = data.features * np.random.default_rng(0).random(data.n_features)
        data = RankingDataset.from_arrays(features, data.labels, qid=data.qid, comments=data.comments)
    part = data.subset(range(data.n_queries // TIMES))
    ours, plainly = Path(f"{text}.ours"), Path(f"{text}.plain")
    try:
        write_svmlight(ours, part)
        write_plainly(plainly, part)
        assert ours.read_bytes() == plainly.read_bytes()
        turns = Turns({"ours": lambda: write_svmlight(ours, data), "plain": lambda: write_plainly(plainly, part)})
        size, seconds = ours.stat().st_size, turns.least("ours")
        ratios = turns.ratios("ours", "plain", "of Python's time", plainly.stat().st_size / size)
    finally:
        ours.unlink()
        plainly.unlink()
    return Figures(seconds, ratios, said=f"{size / seconds / 1e6:.0f} MB/s")


ROWS = [
    Row(f"writing {digits} digits", f"writing LETOR text of {digits} digits", lambda _, digits=digits: writing(digits))
    for digits in (6, 17)
]
