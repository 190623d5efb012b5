"""LETOR data for the tests: sets like its own, made anew from a seed in any clone, and the real ones where they are.

The made ones have the layout and the oddities of what is downloaded, at a tenth of the size: OHSUMED (three grades in
every query, 45 features, nine of them constant in each query), MQ2008 (short queries, half of them with two grades,
a third without any relevant document, 46 features, CRLF), MQ2008-null (the same documents before LETOR filled what is
missing and scaled each query) and LightGBM-lambdarank (five grades, sparse, sizes of queries in a file of their own).
"""

import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from linrank import read

REAL_FOLDER = Path(os.environ.get("LINRANK_LETOR", Path(__file__).resolve().parents[2] / "shared" / "data"))


@dataclass(frozen=True)
class Figures:
    """What is known of the part that a set's first fold trains on."""

    n_queries: int
    n_documents: int
    n_features: int
    n_pairs: int
    # Of w.w / 2 + the sum over pairs of max(0, 1 - w.(x_i - x_j)) ** 2.
    least_value: float


@dataclass(frozen=True)
class Letor:
    folder: Path
    known: dict[str, Figures] = field(repr=False)

    def path(self, name, *inside):
        if self.folder == REAL_FOLDER and not (self.folder / name).is_dir():
            pytest.skip(f"the real {name} is not in {self.folder}; LINRANK_LETOR may name the folder that has it")
        return self.folder.joinpath(name, *inside)

    def parts(self, name, fold, *which):
        return [read(self.path(name, f"Fold{fold}", f"{part}.txt")) for part in which]


REAL = Letor(
    REAL_FOLDER,
    {
        "OHSUMED": Figures(63, 9219, 45, 367663, 326882.4235402536),
        "MQ2008": Figures(471, 9630, 46, 52325, 29566.52284637665),
        "LightGBM-lambdarank": Figures(201, 3005, 300, 13543, 9127.761397530163),
    },
)
MADE_FIGURES = {
    "OHSUMED": Figures(24, 866, 45, 8287, 2184.1964152263286),
    "MQ2008": Figures(60, 930, 46, 2932, 928.1254668266881),
    "LightGBM-lambdarank": Figures(30, 342, 300, 1980, 116.54358272913205),
}


@dataclass(frozen=True)
class Query:
    qid: str
    labels: np.ndarray
    # Documents x features, as measured: NaN where there was nothing to measure.
    values: np.ndarray
    comments: list[str]

    def normalised(self):
        """As LETOR does: what is missing becomes the least of the query, then each column goes from 0 to 1."""
        least = np.fmin.reduce(self.values, axis=0)
        known = np.where(np.isnan(self.values), least, self.values)
        spread = known.max(axis=0) - least
        return np.divide(known - least, spread, out=np.zeros_like(known), where=spread > 0)


def write_letor_like(folder):
    # RandomState, since its stream is the same in every version of NumPy, and so are the figures.
    ohsumed = [_ohsumed_query(number, np.random.RandomState(number)) for number in range(40)]
    mq2008 = [_mq2008_query(number, np.random.RandomState(1000 + number)) for number in range(100)]
    _write_folds(folder / "OHSUMED", ohsumed, Query.normalised, "\n")
    _write_folds(folder / "MQ2008", mq2008, Query.normalised, "\r\n")
    _write_folds(folder / "MQ2008-null", mq2008, lambda query: query.values, "\r\n")
    _write_lightgbm_like(folder / "LightGBM-lambdarank", np.random.RandomState(2000))
    return Letor(folder, MADE_FIGURES)


def _write_folds(folder, queries, values_of, line_end):
    """Fold f trains on parts f, f + 1 and f + 2 of five, validates on f + 3 and tests on f + 4."""
    texts, size = [_lines(query, values_of(query), line_end) for query in queries], len(queries) // 5
    for fold in range(5):
        place = folder / f"Fold{fold + 1}"
        place.mkdir(parents=True)
        turned = texts[fold * size :] + texts[: fold * size]
        for name, first, last in (("train", 0, 3), ("vali", 3, 4), ("test", 4, 5)):
            (place / f"{name}.txt").write_bytes("".join(turned[first * size : last * size]).encode())


def _lines(query, values, line_end):
    lines = []
    for label, row, comment in zip(query.labels, values.tolist(), query.comments, strict=True):
        pairs = " ".join([f"{j}:{value:.6f}" for j, value in enumerate(row, 1)]).replace(":nan", ":NULL")
        lines.append(f"{label} qid:{query.qid} {pairs} #docid = {comment}{line_end}")
    return "".join(lines)


def _grades(relevance, n_of_grade):
    """The best documents have the highest grade, as many as asked for; what is left has grade 0."""
    labels, best_first = np.zeros(len(relevance), dtype=int), np.argsort(-relevance, kind="stable")
    start = 0
    for grade, count in n_of_grade:
        labels[best_first[start : start + count]] = grade
        start += count
    return labels


def _ohsumed_query(number, random):
    """Three fields (title, abstract, both) of fifteen features: twelve of the text, three of the query alone."""
    n_documents = 15 + 11 * number % 46
    about = random.standard_normal(n_documents)
    values = np.empty((n_documents, 45))
    for of_field in range(3):
        seen = about + 0.6 * random.standard_normal(n_documents)
        for kind in range(15):
            # The last of a field are its best, as BM25 and the language models are, and say about the same.
            own = (1.0 if kind < 10 else 0.2) * random.standard_normal(n_documents)
            of_query = 1.0 + random.random_sample()
            values[:, 15 * of_field + kind] = of_query if kind in (4, 5, 6) else np.exp(0.4 * (seen + own))
    labels = _grades(about + 0.5 * random.standard_normal(n_documents), [(2, n_documents // 8), (1, n_documents // 5)])
    docids = [str(100_000 + 1000 * number + document) for document in range(n_documents)]
    return Query(str(number + 1), labels, values.round(6), docids)


def _mq2008_query(number, random):
    """Features of five fields (body, anchor, title, URL, whole document), then six of the page alone."""
    n_documents = 5 + number % 5 if number % 2 else 10 + number % 30
    about, without_anchor = random.standard_normal(n_documents), random.random_sample(n_documents) < 0.4
    values = np.empty((n_documents, 46))
    for j in range(46):
        kind, of_field = j // 5, j % 5
        if kind == 1 or j == 42:
            values[:, j] = 2.0 + of_field
        else:
            # Term counts say little, BM25 most, language models about as much; lengths and links say nothing.
            share = (0.2, 0.0, 0.3, 0.0, 1.0, 0.8, 0.8, 0.8, 0.0, 0.0)[kind] * (0.8 if of_field in (0, 4) else 0.4)
            values[:, j] = np.exp(share * about + 0.5 * random.standard_normal(n_documents))
        if of_field == 1 and j < 40:
            values[without_anchor, j] = np.nan
    relevance = about + 0.7 * random.standard_normal(n_documents)
    n_of_grade = [(2, 1 + n_documents // 12), (1, 1 + n_documents // 6)][number % 3 == 1 :] if number % 3 else []
    inc = random.random_sample(n_documents)
    docids = [f"GX{number:03d}-{document:02d} inc = {share:.6g} prob = 0.08" for document, share in enumerate(inc)]
    return Query(str(10_000 + 7 * number), _grades(relevance, n_of_grade), values.round(6), docids)


def _write_lightgbm_like(folder, random):
    folder.mkdir()
    sizes = [1 + 5 * query % 23 for query in range(30)]
    lines = []
    for _ in range(sum(sizes)):
        ids = 1 + np.flatnonzero(random.random_sample(300) < 0.2)
        values = random.random_sample(len(ids))
        label = int(5 * values[0])
        lines.append(" ".join([str(label), *(f"{j}:{value:.2f}" for j, value in zip(ids, values, strict=True))]) + "\n")
    (folder / "rank.train").write_text("".join(lines))
    (folder / "rank.train.query").write_text("".join(f"{size}\n" for size in sizes))
