"""LambdaRank: RankNet's pairs weighed by their change of NDCG."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from linrank.estimators.declaring import fixed, with_settings
from linrank.estimators.penalized_ranker import PenalizedRanker
from linrank.estimators.watching import Patience
from linrank.objective.logistic_pairs import NDCGWeightedLogistic
from linrank.objective.objective import RankingObjective
from linrank.solvers.lambda_gradient import LambdaGradient
from linrank.solvers.solution import Solution


@with_settings
class LambdaRank(PenalizedRanker):
    """Linear LambdaRank: RankNet's gradient, each pair times what its swap would change of NDCG (Burges et al., 2006).

    Descends on {formula}. The change of NDCG is omega_ij = |2^y_i - 2^y_j| |b_i - b_j| / ideal DCG, with b = 1 / log2(1
    + rank) in the order of the present scores; of equal scores the lower label is ranked first. The weights omega are
    taken anew at each step, and held while its gradient is computed. So this is not the minimisation of a fixed
    function: the objective may rise when the order changes, it has no certified minimum, and the weights kept are the
    best ones met: by NDCG on the training data, or by `measure` on the last set of `eval_set`.

    A step goes along the gradient to the least point of a parabola that lies above the objective with omega held, which
    therefore falls: there is no learning rate, and it cannot diverge. Along a gradient the largest feature goes first:
    scale the features. O(pairs) time a step and O(l) memory for l documents.

    Parameters
    ----------
    C : float
        Weight of the loss, which is a sum over queries of parts that are about as large for any number of documents.
    tol : float
        Stop where the length of the gradient, omega held, is at most this share of that at w = 0.
    max_iter : int
        Steps.

    Attributes
    ----------
    objective_ : float
        The formula above at `coef_`, with the weights omega of the order there.

    Examples
    --------
    >>> from linrank import LambdaRank, make_ranking
    >>> data, _ = make_ranking(100, 20, 10)
    >>> X = data.features / data.features.std(axis=0)
    >>> model = LambdaRank().fit(X, data.labels, qid=data.qid)
    >>> model.coef_.shape
    (10,)
    """

    method = "lambdarank"

    _: KW_ONLY
    tol: float = 1e-2
    max_iter: int = 300
    penalty: str = fixed("l2")
    solver: str | None = fixed(None)
    bounds: Any = fixed(None)
    prior: Any = fixed(None)

    def _loss(self) -> NDCGWeightedLogistic:
        return NDCGWeightedLogistic()

    def _solver(self, objective: RankingObjective) -> LambdaGradient:  # noqa: ARG002
        return LambdaGradient(**self._limits())

    def _keeps_best(self, watching: Patience) -> bool:
        return watching.active

    def _remedy(self, solution: Solution) -> str:
        return (
            f"the gradient is {solution.history[-1].gap:.1e} of that at 0. Raise max_iter or tol, or stop early with "
            "patience."
        )
