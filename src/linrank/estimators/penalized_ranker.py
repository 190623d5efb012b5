"""What RankSVM, ListNet, RankNet and LambdaRank share: a loss with its weight C, and a penalty."""

from __future__ import annotations

from abc import ABCMeta
from dataclasses import KW_ONLY
from typing import Any, ClassVar

from linrank.errors import LinrankError
from linrank.estimators.declaring import fixed, with_settings
from linrank.estimators.minimizing_ranker import MinimizingRanker
from linrank.estimators.settings import check_choice, check_positive
from linrank.objective.penalties import ElasticNet, Penalty

_PENALTIES = {"l2": "w.w / 2", "l1": "|w|_1", "elasticnet": "l1_ratio |w|_1 + (1 - l1_ratio) w.w / 2"}


@with_settings
class PenalizedRanker(MinimizingRanker, metaclass=ABCMeta):
    """Minimises `penalty(w) + C loss(X w)`.

    Parameters
    ----------
    C : float
        Weight of the loss, which is a sum over pairs.
    penalty : {"l2", "l1"}
        `w.w / 2` or `|w|_1`.
    tol : float
        Stop where (f - min f) / f is at most this, by the Newton decrement; by the duality gap with `penalty="l1"`.
    max_iter : int
        The solver's own: 100 for Newton's method, 500 with corners or bounds, 10,000 for gradients.

    Attributes
    ----------
    eval_history_ : list of list of float
        The `measure` on each set of `eval_set`, iteration by iteration, of a ranker with `patience`.
    """

    watches = True
    penalties: ClassVar[tuple[str, ...]] = ("l2", "l1")
    """Those it may have."""

    C: float = 1.0
    _: KW_ONLY
    penalty: str = "l2"
    solver: str | None = None
    bounds: Any = None
    prior: Any = None
    max_seconds: float | None = None
    patience: int | None = None
    measure: str = "ndcg@10"
    warm_start: bool = False
    l1_ratio: float = fixed(0.5)

    @property
    def objective(self) -> str:
        return super().objective.replace("penalty(w)", _PENALTIES[self.penalty])

    def _check(self) -> None:
        check_positive("C", self.C, "it is the weight of the loss.")
        check_choice("penalty", self.penalty, self.penalties)
        super()._check()
        if self.penalty == "elasticnet" and not 0 <= self.l1_ratio <= 1:
            raise LinrankError(f"l1_ratio={self.l1_ratio}; use from 0 (w.w / 2 alone) to 1 (|w|_1 alone).")

    def _l1_share(self) -> float:
        return {"l2": 0.0, "l1": 1.0, "elasticnet": self.l1_ratio}[self.penalty]

    def _compares_weights(self) -> bool:
        return self._l1_share() > 0.0

    def _loss_weight(self) -> float:
        return self.C

    def _penalty(self) -> Penalty:
        return self._with_wanted(ElasticNet(self._l1_share()))
