"""Xu et al., Table 6 and Figure 2: the ranks of the matrices of dual variables, query by query."""

from __future__ import annotations

import re
import warnings

import numpy as np

from linrank.dataset.ranking_dataset import RankingDataset
from linrank.duals.low_rank import low_rank
from linrank.experiments.comparison import JobResult, fitted, made_for
from linrank.experiments.results import Plan
from linrank.model import LinearModel
from linrank.papers.published import PublishedResult

_QUERY = re.compile(r"qid=(\w+)")
# A query's dual variables count as being of low rank where a tenth of the dimensions holds nine tenths of the energy.
_ENERGY, _SHARE = 90.0, 0.1


def analysed(printed: PublishedResult, plan: Plan, result: JobResult) -> float | None:
    """On the first fold: the rank of a query's dual variables, or how many queries have them of low rank.

    None for a query that is not there. Of RankSVM they are what its weights give; FacRankSVM and RegRankSVM are trained
    again, and tell their own ranks.
    """
    train = plan.folds[0].train.load()
    if printed.method == "ranksvm-hinge":
        parameters = {"C": result.chosen["C"], "loss": "hinge"}
        found = low_rank(LinearModel(np.asarray(result.weights), train.names, parameters=parameters), train)
        if printed.measure == "n_queries":
            return float(np.count_nonzero(found.shares(_ENERGY) <= _SHARE))
        ids, ranks = found.query_ids, found.ranks
    else:
        ids, ranks = train.queries.ids, _own_ranks(plan, result, train)
    of_queries = dict(zip(map(str, ids), ranks, strict=True))
    rank = of_queries.get(_QUERY.findall(printed.note)[0])
    return None if rank is None else float(rank)


def _own_ranks(plan: Plan, result: JobResult, train: RankingDataset) -> np.ndarray:
    made = made_for(plan.contender(result.method), plan.protocol, None, **result.chosen)
    with warnings.catch_warnings():
        # It was told when the result was made.
        warnings.simplefilter("ignore")
        return np.asarray(fitted(result.method, made, train).ranks_)
