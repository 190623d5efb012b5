"""The training methods the command line offers, and their options."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from linrank.errors import LinrankError

if TYPE_CHECKING:
    from linrank.dataset.ranking_dataset import RankingDataset
    from linrank.dataset.scaling import Scaling

METHODS = {"ranksvm": "exact linear RankSVM: w.w/2 + C * sum over all pairs of max(0, 1 - w.(x_i - x_j))^2"}
SCALINGS = ("none", "standard", "min-max", "max-abs", "query")


def add_method_options(parser: ArgumentParser) -> None:
    """Add what to minimise and how, with each default in parentheses."""
    method = parser.add_argument_group("what is minimised")
    method.add_argument("--method", choices=tuple(METHODS), default="ranksvm", help="(ranksvm)")
    method.add_argument(
        "--loss",
        choices=("squared_hinge", "hinge"),
        default="squared_hinge",
        help="of a pair: max(0, 1 - margin)^2, or without the square (squared_hinge)",
    )
    method.add_argument(
        "--pairs", choices=("all", "adjacent"), default="all", help="all pairs, or of neighbouring labels only (all)"
    )
    method.add_argument(
        "--scaling",
        choices=SCALINGS,
        default="none",
        help="of the features, fitted on the training data and kept in the model (none)",
    )
    how = parser.add_argument_group("how")
    how.add_argument("--solver", choices=("newton", "tron", "smoothed"), help="(newton; smoothed for the hinge)")
    how.add_argument(
        "--tol",
        type=float,
        metavar="T",
        help="relative gap; for tron, the paper's gradient rule (1e-6; 1e-3; hinge 1e-3)",
    )
    how.add_argument("--max-iter", type=int, default=100, metavar="N", help="(100)")
    how.add_argument("--threads", type=int, metavar="N", help="the result is the same for any number (all)")


def method_parameters(arguments: Namespace) -> dict[str, Any]:
    """The options as parameters of the estimator."""
    return {
        "loss": arguments.loss,
        "pairs": arguments.pairs,
        "solver": arguments.solver,
        "tol": arguments.tol,
        "max_iter": arguments.max_iter,
        "n_threads": arguments.threads,
    }


def fit_scaling_option(name: str, train: RankingDataset) -> Scaling | None:
    """The scaling asked for, fitted to the training data."""
    if name == "none":
        return None
    from linrank.dataset.scaling import fit_scaling

    return fit_scaling(name, train)  # type: ignore[arg-type]


def scaled(dataset: RankingDataset, scaling: Scaling | None) -> RankingDataset:
    """The dataset with its features scaled."""
    if scaling is None:
        return dataset
    from dataclasses import replace

    return replace(dataset, features=scaling.apply(dataset.features, dataset.queries))


def same_width(train: RankingDataset, other: RankingDataset, name: str) -> RankingDataset:
    """Data of another file with the training data's columns: missing last columns of sparse text are zeros."""
    if other.n_features > train.n_features:
        raise LinrankError(
            f"{name}: has {other.n_features} features, but the training data has {train.n_features}. "
            "Use files with the same columns; for svmlight text, --n-features says how many there are."
        )
    return other.with_columns(train.names)
