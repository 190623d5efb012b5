"""FenchelRank: the squared hinge on all preference pairs over an L1 ball."""

from __future__ import annotations

from dataclasses import KW_ONLY

from linrank.estimators.declaring import with_settings
from linrank.estimators.settings import check_positive
from linrank.estimators.sparse_rank import BatchSparseRanker
from linrank.objective.l1_ball import L1Ball
from linrank.objective.penalties import Penalty


@with_settings
class FenchelRank(BatchSparseRanker):
    """The squared hinge over an L1 ball, one feature an iteration (Lai et al., FenchelRank).

    Minimises {formula}. Each iteration moves from w towards `-radius sign(g_j) e_j`, j being the feature with the
    largest gradient |g_j|, as far as the loss falls. So a model has at most one feature an iteration.

    Parameters
    ----------
    radius : float
        What the sizes of the weights may add up to (the paper's r).
    tol : float
        The duality gap to stop at, relative to the objective. It falls as 1 / iterations: a tenth of it takes ten times
        as long.

    Attributes
    ----------
    gap_ : float
        The duality gap `g.(w - vertex)`: a certified bound on `objective_` minus the least value in the ball.

    Examples
    --------
    >>> from linrank import FenchelRank, make_ranking
    >>> data, _ = make_ranking(100, 20, 10)
    >>> model = FenchelRank(radius=0.5).fit(data.features, data.labels, qid=data.qid)
    >>> bool(abs(model.coef_).sum() <= 0.5 + 1e-12)
    True
    """

    method = "fenchelrank"

    radius: float = 1.0
    _: KW_ONLY
    tol: float = 1e-2

    def _check(self) -> None:
        super()._check()
        check_positive("radius", self.radius, "it is what the sizes of the weights may add up to.")

    def _penalty(self) -> Penalty:
        return L1Ball(self.radius)
