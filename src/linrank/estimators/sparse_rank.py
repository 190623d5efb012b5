"""SparseRank: the squared hinge on all preference pairs with an L1 penalty; and what the batch sparse rankers share."""

from __future__ import annotations

from abc import ABCMeta
from dataclasses import KW_ONLY
from typing import Any

from linrank.estimators.declaring import with_settings
from linrank.estimators.minimizing_ranker import MinimizingRanker, how_far
from linrank.estimators.settings import check_positive
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import L1, Penalty
from linrank.solvers.solution import Solution


@with_settings
class BatchSparseRanker(MinimizingRanker, metaclass=ABCMeta):
    """A ranker that minimises the squared hinge over all pairs with something that makes weights zero.

    Parameters
    ----------
    tol : float
        The duality gap to stop at, relative to the objective.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        With exact zeros.
    """

    _: KW_ONLY
    tol: float = 1e-4
    max_iter: int = 10_000

    def _compares_weights(self) -> bool:
        return True

    def _loss(self) -> SquaredHinge:
        return SquaredHinge()

    def _remedy(self, solution: Solution) -> str:
        return f"{how_far(solution)}, and tol={self.tol:g} was asked for. Raise max_iter, or tol."


@with_settings
class SparseRank(BatchSparseRanker):
    """The squared hinge with an L1 penalty, by accelerated proximal gradient (Lai et al., SparseRank).

    Minimises {formula}. Weights that do not pay for their penalty are exactly zero.

    Parameters
    ----------
    l1 : float
        Strength of the penalty (the papers' lambda), beside a sum over pairs: it grows with the data. From
        `largest_l1` (see `linrank.solvers.proximal_gradient`) upwards every weight is zero.

    Examples
    --------
    >>> from linrank import SparseRank, make_ranking
    >>> data, _ = make_ranking(100, 20, 10)
    >>> model = SparseRank(l1=1e9).fit(data.features, data.labels, qid=data.qid)
    >>> int((model.coef_ != 0).sum())
    0
    """

    method = "sparserank"

    l1: float = 1.0
    _: KW_ONLY
    solver: str | None = None
    bounds: Any = None

    def _check(self) -> None:
        super()._check()
        check_positive("l1", self.l1, "for weights without zeros there is RankSVM.")

    def _usual(self, objective: RankingObjective) -> tuple[str, ...]:  # noqa: ARG002
        return ("proximal-gradient",)

    def _penalty(self) -> Penalty:
        return self._with_wanted(L1(self.l1))
