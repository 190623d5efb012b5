"""Tas: large scale ranking using stochastic gradient descent."""

from __future__ import annotations

from linrank.papers.published.transcription import transcribed

PROTOCOL = """\
Reuters RCV1 as one query: the documents of category CCAT above all others, TF/IDF features. The measure is the ranking
error on a test set, against the regularisation gamma and against the time to convergence. The paper prints no value of
either, nor gamma, the split, the tolerance or the machine; it says that GDM and eGDM reach the same accuracy at each
gamma, that eGDM needs fewer iterations, much fewer where gamma is small, and that the error grows with gamma. (It
points to its Figures 1 and 2 for that, but they show the estimates of the eigenvalues, which settle in 10 iterations.)
So only these statements can be set beside ours, not figures; pairwise accuracy is 1 - ranking error."""

FIGURES_1_AND_2 = transcribed(
    """
    data  egdm
    RCV1  10
    """,
    paper="egdm",
    table="Figures 1 and 2",
    across="method",
    measure="n_iter",
    note="of the power iteration, until the eigenvalues are accurate enough",
)

RESULTS = FIGURES_1_AND_2

STATISTICS = transcribed(
    """
    data  n_documents  n_features
    RCV1  800,000*     47,152
    """,
    paper="egdm",
    table="Section 3",
    across="measure",
    method="",
    starred="close to",
)
