"""Text like MSLR-WEB30K's, of any size, for what reads and writes text: digits, zeros and ids as they are there."""

from __future__ import annotations

import numpy as np
from made_data import DATA, written_whole

N_DISTINCT_ROWS = 20_000
DOCUMENTS_A_QUERY = 120

# MSLR's 136 columns are mostly five streams (body, anchor, title, url, whole document) of one quantity after another:
# the share of zeros of each stream, and the quantities (kind, scale) in order.
STREAM_ZEROS = (0.11, 0.86, 0.28, 0.66, 0.09)
QUANTITIES = [
    ("count", 2), ("ratio", 1), ("count", 200), ("positive", 15), ("count", 12), ("count", 4), ("count", 8),
    ("positive", 5), ("positive", 30), ("ratio", 1), ("ratio", 1), ("ratio", 1), ("ratio", 1), ("ratio", 0.01),
    ("positive", 40), ("positive", 10), ("positive", 25), ("positive", 15), ("positive", 300), ("flag", 1),
    ("ratio", 1), ("positive", 15), ("negative", 12), ("negative", 15), ("negative", 12),
]  # fmt: skip
LAST_COLUMNS = [
    ("count", 3, 0.0), ("count", 40, 0.0), ("count", 1000, 0.34), ("count", 4, 0.47), ("count", 9000, 0.0),
    ("count", 36000, 0.0), ("count", 10, 0.0), ("count", 12, 0.0), ("count", 500, 0.97), ("count", 50, 0.74),
    ("positive", 2, 0.75),
]  # fmt: skip


def columns():
    for kind, scale in QUANTITIES:
        for zeros in STREAM_ZEROS:
            yield kind, scale, 0.05 if kind == "negative" else zeros
    yield from LAST_COLUMNS


def column_texts(kind, scale, zeros, random):
    """One column as text: whole numbers, or up to six decimals without trailing zeros."""
    n = N_DISTINCT_ROWS
    if kind == "count":
        drawn = 1 + np.floor(random.exponential(scale, n))
    elif kind == "flag":
        drawn = np.ones(n)
    elif kind == "ratio":
        drawn = scale * random.beta(0.6, 1.5, n)
    else:
        drawn = random.lognormal(np.log(scale), 0.8, n) * (-1 if kind == "negative" else 1)
    drawn[random.random(n) < zeros] = 0
    return [f"{value:.6f}".rstrip("0").rstrip(".") for value in drawn.tolist()]


def mslr_text(megabytes):
    """The path of a file like MSLR's, with query and document ids."""
    path = DATA / f"mslr-like-{megabytes}.txt"
    if not path.exists():
        written_whole(path, lambda part: write_text(part, megabytes))
    return path


def write_text(path, megabytes):
    """The same distinct rows of numbers again and again, under new query and document ids."""
    random = np.random.default_rng(0)
    texts = [
        [f"{number}:{text}" for text in column_texts(*column, random)] for number, column in enumerate(columns(), 1)
    ]
    features = [" ".join(row) for row in zip(*texts, strict=True)]
    labels = random.choice(5, N_DISTINCT_ROWS, p=[0.52, 0.32, 0.13, 0.02, 0.01]).tolist()
    written = row = 0
    with path.open("w", encoding="ascii", newline="") as file:
        while written < megabytes * 1_000_000:
            which = row % N_DISTINCT_ROWS
            docid = f"GX{row % 273:03}-{row % 97:02}-{row:08}"
            qid = 1 + row // DOCUMENTS_A_QUERY
            written += file.write(f"{labels[which]} qid:{qid} {features[which]} #docid = {docid}\n")
            row += 1
