"""Random ranking data for hypothesis: ties, single-document queries, interleaved queries, equal labels."""

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from linrank.dataset.ranking_dataset import RankingDataset


@st.composite
def datasets(draw, max_queries=5, max_documents=8, max_features=5, weighted=False, interleaved=True):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_queries = draw(st.integers(1, max_queries))
    sizes = rng.integers(1, max_documents + 1, size=n_queries)
    n_rows, n_features = int(sizes.sum()), draw(st.integers(1, max_features))
    # Few different values: ties are the hard cases.
    features = rng.integers(-3, 4, size=(n_rows, n_features)) * draw(st.sampled_from([0.25, 1.0, np.pi]))
    features = features.astype(draw(st.sampled_from(["float32", "float64"])))
    levels = draw(st.sampled_from([1, 2, 3, 5, None]))
    labels = rng.random(n_rows) if levels is None else rng.integers(0, levels, size=n_rows).astype(float)
    qid = np.repeat(np.arange(n_queries), sizes)
    if interleaved and draw(st.booleans()):
        qid = rng.permutation(qid)
    return RankingDataset.from_arrays(
        sparse.csr_array(features) if draw(st.booleans()) else features,
        labels,
        qid=qid,
        document_weights=rng.integers(0, 4, size=n_rows) / 2 if weighted else None,
        query_weights=rng.integers(0, 3, size=len(np.unique(qid))) / 1.0 if weighted else None,
    )
