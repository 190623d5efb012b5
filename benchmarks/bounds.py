"""Fits within bounds, or with a prior, beside one without: ratios, each to its default tolerance, for bounds certified.

python benchmarks/bounds.py
"""

from __future__ import annotations

import numpy as np
from made_data import MADE
from measuring import Turns

from linrank import RankSVM

WANTED = {
    "plain": {},
    "non-negative": {"bounds": "non-negative"},
    "bounds that do not bind": {"bounds": (-1e6, 1e6)},
    "prior": {"prior": np.ones(136)},
}

if __name__ == "__main__":
    data = MADE["mslr"]()
    print(f"{data.n_documents:,} x 136, times the fit without\n")
    print("| C | non-negative | bounds that do not bind | prior |\n|---|---:|---:|---:|")
    for C in (1.0, 1e-4):
        works = {name: lambda C=C, how=how: RankSVM(C, **how).fit(data) for name, how in WANTED.items()}
        turns = Turns(works, rounds=3)
        print(f"| {C:g} | " + " | ".join(f"{turns.ratio(name, 'plain'):.2f}" for name in list(WANTED)[1:]) + " |")
