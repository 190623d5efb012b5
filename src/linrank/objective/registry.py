"""Losses by name: how each is made, and its formula. Nothing is imported before it is used, so that a help is quick."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from linrank.errors import LinrankError

if TYPE_CHECKING:
    from linrank.objective.pair_losses import PairLoss
    from linrank.objective.sorted_pairs import PairSums


@dataclass(frozen=True)
class NamedLoss:
    """A loss as it is offered: how it is made, and its sum as a formula in the weights w."""

    make: Callable[[], PairLoss]
    formula: str
    ranks: bool = True
    """Whether it is convex and compares documents: `RankSVM` takes it."""


def _of(module: str, class_name: str, **settings: Any) -> Callable[[], PairLoss]:
    def make() -> PairLoss:
        made: PairLoss = getattr(import_module(f"linrank.objective.{module}"), class_name)(**settings)
        return made

    return make


LOSSES: dict[str, NamedLoss] = {
    "squared_hinge": NamedLoss(_of("pair_losses", "SquaredHinge"), "sum over pairs of max(0, 1 - w.(x_i - x_j))^2"),
    "hinge": NamedLoss(_of("pair_losses", "Hinge"), "sum over pairs of max(0, 1 - w.(x_i - x_j))"),
    "logistic": NamedLoss(_of("logistic_pairs", "Logistic"), "sum over pairs of log(1 + exp(-w.(x_i - x_j)))"),
    "cross_entropy": NamedLoss(
        _of("list_losses", "TopOneCrossEntropy"),
        "sum over queries of the cross entropy of softmax(y) and softmax(X w)",
    ),
    "xe_ndcg": NamedLoss(
        _of("list_losses", "GainCrossEntropy"),
        "sum over queries of the cross entropy of E[(2^y - g) / sum(2^y - g)], g uniform, and softmax(X w)",
    ),
    "least_squares": NamedLoss(
        _of("least_squares", "LeastSquares"),
        "sum over all pairs of (w.(x_i - x_j) - (y_i - y_j))^2 / (2 * documents of the query)",
    ),
    "least_squares_of_pairs": NamedLoss(
        _of("least_squares", "LeastSquares", pair_weight="pair"),
        "sum over all pairs of (w.(x_i - x_j) - (y_i - y_j))^2 / 2",
    ),
    "ndcg_huber": NamedLoss(
        _of("ndcg_weighted", "NDCGWeightedHuber"),
        "sum over pairs of |change of NDCG| * huber(w.(x_i - x_j))",
        ranks=False,
    ),
    "ndcg_logistic": NamedLoss(
        _of("logistic_pairs", "NDCGWeightedLogistic"),
        "sum over pairs of |change of NDCG| * log(1 + exp(-w.(x_i - x_j)))",
        ranks=False,
    ),
    "smoothed_ndcg": NamedLoss(
        _of("smoothed_ndcg", "SmoothedNDCG"),
        "sum over queries of 1 - NDCG of X w with softened ranks",
        ranks=False,
    ),
    "squared_epsilon_insensitive": NamedLoss(
        _of("pointwise_losses", "SquaredEpsilonInsensitive", epsilon=0.1),
        "sum over documents of max(0, |w.x_i - y_i| - 0.1)^2",
        ranks=False,
    ),
    "epsilon_insensitive": NamedLoss(
        _of("pointwise_losses", "EpsilonInsensitive", epsilon=0.1),
        "sum over documents of max(0, |w.x_i - y_i| - 0.1)",
        ranks=False,
    ),
}


def register_loss(name: str, make: Callable[[], PairLoss], formula: str) -> None:
    """Offer a loss that is convex and compares documents, to `RankSVM(loss=name)` and `linrank train --loss`.

    `formula` is its sum over pairs or queries, in the weights w.

    Raises
    ------
    LinrankError
        For a name that is taken.
    """
    if name in LOSSES:
        raise LinrankError(f"there is a loss {name!r} already: {LOSSES[name].formula}. Use another name.")
    LOSSES[name] = NamedLoss(make, formula)


def ranking_losses() -> tuple[str, ...]:
    """The names of those that `RankSVM` takes."""
    return tuple(name for name, loss in LOSSES.items() if loss.ranks)


def make_loss(name: str, over: PairSums) -> PairLoss:
    """The loss of a name; one that says what it is summed `over` is told which pairs count, and how they are summed."""
    loss = LOSSES[name].make()
    return replace(loss, over=over) if hasattr(loss, "over") else loss  # type: ignore[type-var]
