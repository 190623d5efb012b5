"""The benchmarks' data: made from a seed, the same on every machine, and kept in benchmarks/data for the next run.

    from made_data import MADE, text_of
    data = MADE["mslr"]()            a RankingDataset in memory
    path = text_of("rcv1")           the same as svmlight text

    python benchmarks/made_data.py [NAME …]      make them now, and say how they are conditioned

Features that are independent flatter every solver. So MSLR's are real: whole queries of its sample are drawn again, and
each document is moved a little towards another of its query. That keeps whatever linear relation holds between
features, exact ones too: the eigenvalues of the standardised features within queries go from 18 to 5e-6, and eight are
zero. Without the sample the features are drawn with those eigenvalues, and that is said. The sample, and MQ2008, are
looked for where benchmarks/letor.py says.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
from letor import FOLDER, is_here, parts
from scipy import sparse

from linrank import RankingDataset, make_ranking, read
from linrank.dataset.storage import save_dataset
from linrank.dataset.synthetic import MSLR_SHARES
from linrank.reading.write_svmlight import write_svmlight

DATA = Path(__file__).parent / "data"
# Part of the files' names: what is made differently is not taken from before.
VERSION = 1
MSLR = "MSLR-WEB10K-sample"


def mslr_drawn_again(n_documents=700_029, *, standardised=True):
    """Queries of MSLR's sample drawn again, up to so many documents of 136 features, float32."""
    real = is_here(MSLR, f"features drawn with the eigenvalues of MSLR's instead ({FOLDER})")
    scaled = "standardised" if standardised else "raw"
    return kept(
        f"mslr-{'drawn-again' if real else 'eigenvalues'}-{scaled}-{n_documents}",
        lambda: standardise(drawn_again(n_documents) if real else like_mslr(n_documents), standardised),
    )


def drawn_again(n_documents):
    """Whole queries with replacement, the last one cut; each document a tenth of the way, at most, towards another."""
    rng = np.random.default_rng(0)
    samples = parts(MSLR, 1, "train", "vali", "test")
    features = np.vstack([np.asarray(sample.features) for sample in samples])
    labels = np.concatenate([sample.labels for sample in samples])
    sizes = np.concatenate([sample.queries.sizes for sample in samples])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    rows, others, drawn = [], [], []
    while (missing := n_documents - sum(drawn)) > 0:
        query = rng.integers(len(sizes))
        size = min(sizes[query], missing)
        rows.append(starts[query] + np.arange(size))
        others.append(starts[query] + rng.integers(sizes[query], size=size))
        drawn.append(int(size))
    rows, others = np.concatenate(rows), np.concatenate(others)
    matrix = np.empty((n_documents, features.shape[1]), dtype=np.float32)
    for start in range(0, n_documents, 65_536):
        part = slice(start, start + 65_536)
        share = 0.1 * rng.random((len(rows[part]), 1))
        matrix[part] = (1 - share) * features[rows[part]] + share * features[others[part]]
    return RankingDataset.from_arrays(matrix, labels[rows], group=drawn)


def like_mslr(n_documents, documents_a_query=120):
    """Normal features with the eigenvalues of MSLR's covariance, eight of them 0, in columns of very unlike scale."""
    rng = np.random.default_rng(0)
    eigenvalues = np.append(np.geomspace(18.0, 5e-6, 128), np.zeros(8))
    rotation, _ = np.linalg.qr(rng.standard_normal((136, 136)))
    mixing = (np.sqrt(eigenvalues)[:, None] * rotation.T).astype(np.float32)
    scales = np.exp(rng.uniform(np.log(0.01), np.log(1e5), 136)).astype(np.float32)
    matrix = np.empty((n_documents, 136), dtype=np.float32)
    for start in range(0, n_documents, 65_536):
        part = matrix[start : start + 65_536]
        part[:] = rng.standard_normal(part.shape, dtype=np.float32) @ mixing
    utility = matrix @ rng.standard_normal(136)
    labels = cut(utility / utility.std() + 2.0 * rng.standard_normal(n_documents), np.cumsum(MSLR_SHARES)[:-1])
    matrix *= scales
    return RankingDataset.from_arrays(matrix, labels, group=equal_sizes(n_documents, n_documents // documents_a_query))


def standardise(data, wanted):
    if not wanted:
        return data
    matrix = data.features
    means = matrix.mean(axis=0, dtype=np.float64)
    spreads = matrix.std(axis=0, dtype=np.float64)
    matrix -= means.astype(np.float32)
    matrix /= np.where(spreads > 0, spreads, 1.0).astype(np.float32)
    return RankingDataset.from_arrays(matrix, data.labels, group=data.queries.sizes)


def rcv1_like(n_documents=100_000, n_words=47_236):
    """News as RCV1: one query, two labels, rows of length 1 with some 75 words' tf-idf, columns as in a dictionary."""
    return kept(f"rcv1-{n_documents}", lambda: news(n_documents, n_words))


def news(n_documents, n_words, n_topics=100, words_of_topic=500):
    """A third of a document's words are its topic's, from which the label comes; one label in 25 is wrong."""
    rng = np.random.default_rng(0)
    lengths = np.maximum(5, rng.lognormal(np.log(64), 0.6, n_documents)).astype(np.int64)
    document = np.repeat(np.arange(n_documents), lengths)
    topic = rng.integers(n_topics, size=n_documents)
    # Columns are in the order of a dictionary: how frequent a word is does not show in its number.
    words = rng.permutation(n_words)
    of_topics = words[zipf_ranks(rng, (n_topics, words_of_topic), n_words, flat=300)]
    word = words[zipf_ranks(rng, len(document), n_words)]
    of_topic = of_topics[topic[document], zipf_ranks(rng, len(document), words_of_topic)]
    word = np.where(rng.random(len(document)) < 1 / 3, of_topic, word)
    matrix = sparse.csr_array((np.ones(len(word)), (document, word)), shape=(n_documents, n_words))
    matrix.sum_duplicates()
    found_in = np.bincount(matrix.indices, minlength=n_words)
    matrix.data = (1 + np.log(matrix.data)) * np.log(n_documents / found_in[matrix.indices])
    row = np.repeat(np.arange(n_documents), np.diff(matrix.indptr))
    lengths = np.sqrt(np.bincount(row, matrix.data**2, minlength=n_documents))
    matrix.data = np.maximum((matrix.data / lengths[row]).round(6), 1e-6)
    labels = (topic % 2 == 0) ^ (rng.random(n_documents) < 0.04)
    return RankingDataset.from_arrays(matrix, labels.astype(float), group=[n_documents])


def zipf_ranks(rng, shape, n_words, flat=20):
    """Ranks from 0, the k-th in proportion to 1 / (k + flat)."""
    ranks = flat * ((n_words + flat) / flat) ** rng.random(shape) - flat
    return np.minimum(ranks.astype(np.int64), n_words - 1)


def zipf(*, shuffled=False):
    """One query, 200,000 rows of 23 of a million features, as frequent as words are, with 5,000 labels.

    The most frequent feature comes first, unless they are shuffled.
    """
    return kept("zipf-shuffled" if shuffled else "zipf", lambda: words(shuffled))


def words(shuffled):
    data, _ = make_ranking(1, 200_000, 1_000_000, density=23e-6, levels=5_000, noise=0.5)
    matrix = data.features
    matrix.data = np.maximum(matrix.data.round(6), 1e-6)
    if shuffled:
        columns = np.random.default_rng(0).permutation(matrix.shape[1])[matrix.indices]
        matrix = sparse.csr_array((matrix.data, columns, matrix.indptr), shape=matrix.shape)
        matrix.sort_indices()
    return RankingDataset.from_arrays(matrix, data.labels, group=[data.n_documents])


def mild():
    """The rows of `zipf` with features whose frequency falls as 1 / sqrt(j) in place of 1 / j."""
    return kept("mild", mildly_skewed)


def mildly_skewed():
    rng = np.random.default_rng(0)
    matrix = words(shuffled=False).features
    matrix.indices = (rng.random(matrix.nnz) ** 2 * matrix.shape[1]).astype(matrix.indices.dtype)
    matrix.has_sorted_indices = matrix.has_canonical_format = False
    matrix.sum_duplicates()
    matrix.data = matrix.data.round(6)
    utility = matrix @ rng.standard_normal(matrix.shape[1])
    noisy = utility / utility.std() + 0.5 * rng.standard_normal(len(utility))
    return RankingDataset.from_arrays(matrix, cut(noisy, np.arange(1, 5_000) / 5_000), group=[len(noisy)])


def every_label_different(n_documents=743_427, n_queries=1_017):
    """Lists as those of MQ2008-list: 46 features from 0 to 1, and in a query every label once."""
    real = is_here("MQ2008", "correlated features instead")
    return kept(
        f"lists-{'mq2008' if real else 'made'}-{n_documents}", lambda: listed(n_documents, n_queries, real=real)
    )


def listed(n_documents, n_queries, *, real):
    """Documents of MQ2008 drawn again, each somewhere between two of them; the order is of a linear rule and noise."""
    rng = np.random.default_rng(0)
    if real:
        known = np.vstack([np.asarray(part.features) for part in parts("MQ2008", 1, "train", "vali", "test")])
    else:
        known = make_ranking(100, 150, 46, correlation=0.9)[0].features
        known = (known - known.min(axis=0)) / np.ptp(known, axis=0)
    first, second = rng.integers(len(known), size=(2, n_documents))
    share = rng.random((n_documents, 1))
    matrix = (share * known[first] + (1 - share) * known[second]).round(6)
    utility = matrix @ rng.standard_normal(46)
    utility = utility / utility.std() + 0.5 * rng.standard_normal(n_documents)
    sizes = equal_sizes(n_documents, n_queries)
    query = np.repeat(np.arange(n_queries), sizes)
    labels = np.empty(n_documents)
    labels[np.lexsort((utility, query))] = np.arange(n_documents) - np.repeat(np.cumsum(sizes) - sizes, sizes) + 1
    return RankingDataset.from_arrays(matrix, labels, group=sizes)


def ohsumed_like():
    """As large as a fold of OHSUMED: 63 queries, 9,219 documents, 45 features from 0 to 1, three labels."""
    return kept("ohsumed", fold)


def fold():
    data, _ = make_ranking(1, 9_219, 45, levels=(0.7, 0.15, 0.15), noise=1.0, correlation=0.9)
    least = data.features.min(axis=0)
    matrix = ((data.features - least) / (data.features.max(axis=0) - least)).round(6)
    return RankingDataset.from_arrays(matrix, data.labels, group=equal_sizes(9_219, 63))


def mslr_like(n_documents=716_770, n_queries=6_000, noise=0.5, n_features=136):
    """Documents, queries and label shares of MSLR-WEB30K's training part; the features are conditioned far better."""
    made, _ = make_ranking(1, n_documents, n_features, levels=MSLR_SHARES, noise=noise, dtype="float32")
    return RankingDataset.from_arrays(made.features, made.labels, group=equal_sizes(n_documents, n_queries))


def equal_sizes(n_documents, n_queries):
    each, more = divmod(n_documents, n_queries)
    return [each + 1] * more + [each] * (n_queries - more)


def cut(utility, shares_below):
    return np.searchsorted(np.quantile(utility, shares_below), utility, side="right").astype(float)


def kept(name, make):
    """What was made by that name before, or is now, in arrays of this process alone."""
    path = DATA / f"{name}.{VERSION}.linrank"
    if not path.exists():
        written_whole(path, lambda part: save_dataset(make(), part))
    data = read(path)
    features = data.features.copy() if sparse.issparse(data.features) else np.array(data.features)
    return RankingDataset.from_arrays(features, np.array(data.labels), group=data.queries.sizes)


def text_of(name):
    """The path of one of `MADE` as svmlight text."""
    path = DATA / f"{name}{'' if is_drawn(name) else '-made'}.{VERSION}.txt"
    if not path.exists():
        written_whole(path, lambda part: write_svmlight(part, MADE[name]()))
    return path


def written_whole(path, write):
    """Under another name first: who makes the same at once, or is stopped, leaves no half of a file."""
    DATA.mkdir(exist_ok=True)
    part = path.with_name(f"{os.getpid()}-{path.name}")
    try:
        write(part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def is_drawn(name):
    """Whether it is drawn from the real set, or needs none."""
    return name not in DRAWN_FROM or (FOLDER / DRAWN_FROM[name]).is_dir()


def origin(name):
    """What the figures of a row are of: those of other data are not compared with."""
    return f"{name} {VERSION}, {'as always' if is_drawn(name) else f'without {DRAWN_FROM[name]}'}"


DRAWN_FROM = {"mslr": MSLR, "mslr-raw": MSLR, "lists": "MQ2008"}
MADE = {
    "mslr": mslr_drawn_again,
    "mslr-raw": lambda: mslr_drawn_again(standardised=False),
    "rcv1": rcv1_like,
    "zipf": zipf,
    "zipf-shuffled": lambda: zipf(shuffled=True),
    "mild": mild,
    "lists": every_label_different,
    "ohsumed": ohsumed_like,
}


def described(data):
    """Sizes, and the eigenvalues within queries of dense features or the frequencies of sparse ones."""
    said = f"{data.n_documents:,} x {data.n_features:,}, queries: {data.n_queries:,}"
    if sparse.issparse(data.features):
        frequency = np.sort(np.bincount(data.features.indices, minlength=data.n_features))[::-1]
        half = 1 + np.searchsorted(np.cumsum(frequency), data.features.nnz / 2)
        return f"{said}, {data.features.nnz / data.n_documents:.1f} non-zeros a row, half of them of {half:,} features"
    query = np.repeat(np.arange(data.n_queries), data.queries.sizes)
    within = data.features.astype(np.float64)
    within -= (np.add.reduceat(within, data.queries.starts[:-1], axis=0) / data.queries.sizes[:, None])[query]
    eigenvalues = np.linalg.eigvalsh(within.T @ within / len(within))[::-1]
    shown = ", ".join(f"{value:.0e}" for value in eigenvalues[:: max(1, len(eigenvalues) // 8)])
    return f"{said}; eigenvalues within queries {shown}, …, {eigenvalues[-1]:.0e}"


if __name__ == "__main__":
    for asked in sys.argv[1:] or MADE:
        print(f"{asked}: {described(MADE[asked]())}", flush=True)
