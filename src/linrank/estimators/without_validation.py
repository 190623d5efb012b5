"""WithoutValidation: a ranker where a caller always passes an eval_set, as PyTerrier does."""

from __future__ import annotations

from typing import Any, Self

from linrank.arrays import Vector


class WithoutValidation:
    """A ranker whose `fit` leaves the validation data out that its caller passes to every learner.

    For `pt.ltr.apply_learned_model(WithoutValidation(GDM()), form="ltr")` of PyTerrier: rankers that make no use of an
    `eval_set` refuse it, and there it cannot be left out. Those that watch one, or choose by it, need none of this.

    Parameters
    ----------
    ranker : a ranker, which is trained itself
    """

    def __init__(self, ranker: Any) -> None:
        self.ranker = ranker

    def fit(self, X: Any, y: Any = None, *, eval_set: Any = None, eval_group: Any = None, **others: Any) -> Self:
        """Train the ranker on X and y; what `others` are, its own `fit` says."""
        del eval_set, eval_group
        self.ranker.fit(X, y, **others)
        return self

    def predict(self, X: Any) -> Vector:
        """The ranker's scores: higher is better."""
        scores: Vector = self.ranker.predict(X)
        return scores

    def __repr__(self) -> str:
        return f"WithoutValidation({self.ranker!r})"
