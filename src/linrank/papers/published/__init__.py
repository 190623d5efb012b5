"""The results five papers printed, to be set beside ours, and the protocols they were measured by."""

from __future__ import annotations

from linrank.errors import LinrankError
from linrank.papers.published import egdm, low_rank, minbatsrank, ranksvm, rsrank
from linrank.papers.published.transcription import DATA_MEASURES, OTHER_MEASURES, PublishedResult

__all__ = [
    "DATA_MEASURES",
    "OTHER_MEASURES",
    "PAPERS",
    "PROTOCOL",
    "PublishedResult",
    "published",
    "published_statistics",
]

PAPERS = {
    "ranksvm": "C.-P. Lee and C.-J. Lin. Large-scale linear RankSVM. Neural Computation, 2014.",
    "minbatsrank": (
        "F. Cheng, D. Wang, L. Zhang, Y. Su, J. Qiu and Y. Suo. A mini-batch stochastic gradient method for sparse "
        "learning to rank. IJICIC, 2018."
    ),
    "egdm": (
        "E. Tas. Large scale ranking using stochastic gradient descent. "
        "Comptes rendus de l'Académie bulgare des Sciences, 2022."
    ),
    "rsrank": (
        "Z. Sun, T. Qin, Q. Tao and J. Wang. Robust sparse rank learning for non-smooth ranking measures. SIGIR, 2009."
    ),
    "low-rank": (
        "J. Xu, W. Zeng, Y. Lan, J. Guo and X. Cheng. Modeling the parameter interactions in Ranking SVM with low-rank "
        "approximation. IEEE Transactions on Knowledge and Data Engineering, 2019."
    ),
}
_TRANSCRIPTS = {
    "ranksvm": ranksvm,
    "minbatsrank": minbatsrank,
    "egdm": egdm,
    "rsrank": rsrank,
    "low-rank": low_rank,
}

# For each paper: data and folds, how parameters were chosen, which definitions its figures have and why we think so,
# the machine, and how that differs from ours.
PROTOCOL = {paper: transcript.PROTOCOL for paper, transcript in _TRANSCRIPTS.items()}


def published(paper: str | None = None, data: str | None = None) -> tuple[PublishedResult, ...]:
    """Return the printed results of one paper or all, on one data set or all, in the order of the papers.

    Parameters
    ----------
    paper : str, optional
        A key of `PAPERS`.
    data : str, optional
        A data set by the name of its folder, such as "OHSUMED"; no results if no paper has it.
    """
    return tuple(
        result
        for name in _chosen(paper)
        for result in _TRANSCRIPTS[name].RESULTS
        if data is None or result.data == data
    )


def published_statistics(paper: str | None = None, data: str | None = None) -> tuple[PublishedResult, ...]:
    """Return what the papers say of their data: numbers of documents, queries, pairs, …

    Takes the same parameters as `published`; the measures are the keys of `DATA_MEASURES`.
    """
    return tuple(
        statistic
        for name in _chosen(paper)
        for statistic in _TRANSCRIPTS[name].STATISTICS
        if data is None or statistic.data == data
    )


def _chosen(paper: str | None) -> tuple[str, ...]:
    if paper is not None and paper not in _TRANSCRIPTS:
        raise LinrankError(f"there is no paper {paper!r}. Known are {', '.join(_TRANSCRIPTS)}.")
    return tuple(_TRANSCRIPTS) if paper is None else (paper,)
