"""FenchelRank: the squared hinge on all preference pairs over an L1 ball."""

from __future__ import annotations

from collections.abc import Callable

from linrank.arrays import Vector
from linrank.estimators.settings import check_positive
from linrank.estimators.sparse_rank import BatchSparseRanker
from linrank.objective.l1_ball import L1Ball
from linrank.objective.objective import RankingObjective
from linrank.objective.penalties import Penalty
from linrank.solvers.frank_wolfe import FrankWolfe
from linrank.solvers.solution import Iteration, Solution, Watch


class FenchelRank(BatchSparseRanker):
    """The squared hinge over an L1 ball, one feature an iteration (Lai et al., FenchelRank).

    Minimises `sum max(0, 1 - w.(x_i - x_j)) ** 2` over the weights w with `|w|_1 <= radius`; the sum is over the pairs
    of documents of one query of which the first has the higher label. Each iteration moves from w towards
    `-radius sign(g_j) e_j`, j being the feature with the largest gradient |g_j|, as far as the loss falls. So a model
    has at most one feature an iteration.

    Parameters
    ----------
    radius : float, default=1.0
        What the sizes of the weights may add up to (the paper's r).
    tol : float, default=1e-2
        The duality gap to stop at, relative to the objective. It falls as 1 / iterations: a tenth of it takes ten times
        as long.
    max_iter : int, default=10000
    n_threads : int, default=None
        All processors. The result is the same to the last bit for any number.
    progress : callable, default=None
        Called with an `Iteration` (prints as one line) after each iteration.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        With exact zeros.
    objective_ : float
        The value of the objective.
    gap_ : float
        The duality gap `g.(w - vertex)`: a certified bound on `objective_` minus the least value in the ball.
    n_iter_ : int
    history_ : tuple of Iteration
    solution_ : Solution

    Examples
    --------
    >>> from linrank import make_ranking
    >>> from linrank.estimators.fenchel_rank import FenchelRank
    >>> data, _ = make_ranking(100, 20, 10)
    >>> model = FenchelRank(radius=0.5).fit(data.features, data.labels, qid=data.qid)
    >>> bool(abs(model.coef_).sum() <= 0.5 + 1e-12)
    True
    """

    method = "fenchelrank"
    objective = "sum over pairs of max(0, 1 - w.(x_i - x_j))^2, subject to sum over j of |w_j| <= radius"

    def __init__(
        self,
        radius: float = 1.0,
        *,
        tol: float = 1e-2,
        max_iter: int = 10_000,
        n_threads: int | None = None,
        progress: Callable[[Iteration], object] | None = None,
    ) -> None:
        self.radius = radius
        self.tol = tol
        self.max_iter = max_iter
        self.n_threads = n_threads
        self.progress = progress

    def _check(self) -> None:
        super()._check()
        check_positive("radius", self.radius, "it is what the sizes of the weights may add up to.")

    def _solve(self, objective: RankingObjective, start: Vector | None, watch: Watch | None) -> Solution:  # noqa: ARG002
        return FrankWolfe(**self._limits()).minimize(objective, watch=watch)

    def _penalty(self) -> Penalty:
        return L1Ball(self.radius)
