"""SmoothRank: NDCG with softened ranks, ever sharper, from a RankSVM on."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from typing import Any

import numpy as np

from linrank.arrays import Vector
from linrank.estimators.declaring import fixed, with_settings
from linrank.estimators.penalized_ranker import PenalizedRanker
from linrank.estimators.settings import check_positive
from linrank.estimators.watching import Patience
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import Toward
from linrank.objective.placed_blocks import Shard
from linrank.objective.smoothed_ndcg import SmoothedNDCG
from linrank.objective.weighting import EqualQueries
from linrank.solvers.annealed_ndcg import AnnealedNDCG, snapped
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.solution import Solution, Watch


@with_settings
class SmoothRank(PenalizedRanker):
    """Linear SmoothRank: descends on NDCG itself, its ranks softened (Chapelle & Wu, 2010).

    Descends on {formula}: document i stands in the place of document p with a share that goes by
    exp(-(s_i - s_p)^2 / sigma), so that a place has a mean gain, with slopes, and not one document's. sigma falls in
    four steps, from 64 times its last value. The start w0, to which the weights are kept near, is
    `RankSVM(C, weighting="queries")`; the paper's is a regression. The objective is not convex and has many minima: one
    near the start is found, and nothing is certified. O(l k) a pass for l documents, k of which are near in score.

    Parameters
    ----------
    C : float
        Weight of the loss, a sum over queries of 1 - NDCG, beside |w - w0|^2 / 2; and of the start's loss.
    sigma : float
        At last, relative to the variance of the start's scores within queries.
    tol : float
        A sigma is done where a step lowers the objective by no more than this share.
    max_iter : int
        Steps; a fourth of them for each sigma.

    Attributes
    ----------
    objective_ : float
        The formula above at `coef_`, with the last sigma; a wider one where it was stopped before.

    Examples
    --------
    >>> from linrank import SmoothRank, make_ranking
    >>> data, _ = make_ranking(100, 20, 10)
    >>> X = data.features / data.features.std(axis=0)
    >>> model = SmoothRank().fit(X, data.labels, qid=data.qid)
    >>> model.coef_.shape
    (10,)
    """

    method = "smoothrank"

    _: KW_ONLY
    sigma: float = 0.01
    tol: float = 1e-4
    max_iter: int = 200
    penalty: str = fixed("l2")
    solver: str | None = fixed(None)
    bounds: Any = fixed(None)
    prior: Any = fixed(None)
    warm_start: bool = fixed(False)

    def _check(self) -> None:
        check_positive("sigma", self.sigma, "it is how far a document's place is softened.")
        super()._check()

    def _loss(self) -> SmoothedNDCG:
        return SmoothedNDCG()

    def _solver(self, objective: RankingObjective) -> AnnealedNDCG:  # noqa: ARG002
        return AnnealedNDCG(**self._limits())

    def _solve(self, objective: RankingObjective, start: Vector | None, watch: Watch | None) -> Solution:  # noqa: ARG002
        origin = np.zeros(objective.data.n_features)
        alike = replace(objective, loss=SquaredHinge(), data=objective.data.weighed(EqualQueries(), origin))
        first = NewtonCG(max_seconds=np.inf if self.max_seconds is None else self.max_seconds).minimize(alike)
        centre = snapped(first.weights)
        loss = SmoothedNDCG(self.sigma * (_spread(objective, centre) or 1.0))
        near = objective.with_loss(loss).with_penalty(Toward(centre))
        if first.interrupted:
            # The gap was that of another objective.
            return replace(first, value=near.at(first.weights).value, certified_gap=np.inf)
        return super()._solve(near, centre, watch)  # type: ignore[no-any-return]

    def _keeps_best(self, watching: Patience) -> bool:
        return watching.active

    def _remedy(self, solution: Solution) -> str:  # noqa: ARG002
        return "its steps still lower the objective. Raise max_iter or tol, or stop early with patience."


def _spread(objective: RankingObjective, weights: Vector) -> float:
    """The mean over documents, by their weights, of the square of their scores less the mean of their query."""
    squares, mass = np.sum(objective.data.tell(_squares, weights=weights), axis=0).tolist()
    return float(squares / mass) if mass > 0.0 else 0.0


def _squares(shard: Shard, *, weights: Vector) -> tuple[float, float]:
    """The sum of the squares, and of the weights."""
    squares = mass = 0.0
    for placed in shard:
        block, scores = placed.block, placed.scores(weights)
        starts, documents = block.query_starts[:-1], block.document_weights
        masses = np.add.reduceat(documents, starts)
        means = np.add.reduceat(documents * scores, starts) / np.where(masses > 0.0, masses, 1.0)
        scores -= np.repeat(means, np.diff(block.query_starts))
        squares += float(documents @ np.square(scores))
        mass += float(documents.sum())
    return squares, mass
