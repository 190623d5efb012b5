"""Every method by the name it has on the command line: where its estimator is, and what a comparison tries of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from linrank.errors import LinrankError
from linrank.objective.registry import LOSSES


@dataclass(frozen=True)
class Method:
    """A method as it is offered: its class, what it minimises and how, and what to choose among when it is compared.

    The formula is that of its settings as they are, and is written here alone: `objective`, a class's docstring and
    what the command line says come from it. A method that is another one with some settings is a variant: it is
    compared, but trained by the other's name.
    """

    module: str
    class_name: str
    formula: str
    how: str = ""
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    variant: bool = False
    linear: bool = True
    sparse: bool = False
    in_groups: bool = True
    """False for one that says nothing new, or needs to be told something, in a comparison of all."""
    needs: str | None = None
    """The package it is the face of, where that is an optional extra."""

    @property
    def estimator(self) -> str:
        """Where the class is, as `package.module:Class`."""
        return f"linrank.estimators.{self.module}:{self.class_name}"

    @property
    def says(self) -> str:
        """The formula and how, in a line."""
        return f"{self.formula}, {self.how}" if self.how else self.formula

    @property
    def is_installed(self) -> bool:
        return self.needs is None or find_spec(self.needs) is not None

    def load(self) -> Any:
        """The estimator's class."""
        return getattr(import_module(f"linrank.estimators.{self.module}"), self.class_name)


def _powers(*exponents: int) -> tuple[float, ...]:
    return tuple(2.0**exponent for exponent in exponents)


_C = {"C": _powers(*range(-14, 5, 2))}
# Of a loss that is a sum over queries of means over pairs.
_C_OF_MEANS = {"C": _powers(*range(-8, 11, 2))}
_SVR = {"epsilon": (0.0, 0.1), "C": _powers(*range(-14, 1, 2))}
_L1 = {"l1": _powers(*range(15, 5, -1))}
_GAMMA = {"gamma": tuple(10.0**exponent for exponent in range(3, -4, -1))}
_TREES = {"n_trees": (50, 100), "learning_rate": (0.03, 0.1)}
_LEAVES = {**_TREES, "max_leaves": (4, 8)}

_SQUARED_HINGE = LOSSES["squared_hinge"].formula
_RIDGE = f"{LOSSES['least_squares'].formula} + gamma * w.w / 2"
_OF_LABELS = "sum over documents of (y_i - f(x_i))^2"
_LAMBDA_MART = "sum over pairs of |change of NDCG| * log(1 + exp(-(f(x_i) - f(x_j))))"


def _penalized(loss: str) -> str:
    return f"penalty(w) + C * {LOSSES[loss].formula}"


METHODS: dict[str, Method] = {
    "single-feature": Method("simple_rankers", "SingleFeature", "the largest mean of ndcg@10 of one feature"),
    "fixed-weights": Method(
        "simple_rankers", "FixedWeights", "none: the weights are given", "all 1 unless told", in_groups=False
    ),
    "ranksvm": Method("rank_svm", "RankSVM", _penalized("squared_hinge"), grid=_C),
    "best": Method(
        "best_linear",
        "BestLinear",
        f"{_penalized('squared_hinge')}",
        "or xendcg's, with the transform, weighting, penalty and C that suit held-out queries",
        in_groups=False,
    ),
    "ranksvm-hinge": Method(
        "rank_svm", "RankSVM", "ranksvm without the square", grid=_C, settings={"loss": "hinge"}, variant=True
    ),
    "ranksvm-l1": Method(
        "rank_svm",
        "RankSVM",
        "ranksvm with |w|_1",
        grid={"C": _powers(*range(-15, -3))},
        settings={"penalty": "l1", "tol": 1e-5},
        variant=True,
        sparse=True,
    ),
    "ranksvm-adjacent": Method(
        "rank_svm",
        "RankSVM",
        "ranksvm, pairs of neighbouring labels only",
        grid=_C,
        settings={"pairs": "adjacent"},
        variant=True,
    ),
    "ranksvm-queries": Method(
        "rank_svm",
        "RankSVM",
        "ranksvm, each query counting alike: a mean over its pairs",
        grid=_C_OF_MEANS,
        settings={"weighting": "queries"},
        variant=True,
    ),
    "ranksvm-ndcg": Method(
        "rank_svm",
        "RankSVM",
        "ranksvm-queries, pairs weighed by gains and ranks of the last round",
        grid=_C_OF_MEANS,
        settings={"weighting": "ndcg"},
        variant=True,
    ),
    "prsvm": Method(
        "rank_svm",
        "RankSVM",
        "ranksvm by TRON, with every pair in a list: small data only",
        grid=_C,
        settings={"solver": "tron", "sums": "listed-pairs"},
        variant=True,
        in_groups=False,
    ),
    "prsvm+": Method(
        "rank_svm",
        "RankSVM",
        "ranksvm by TRON, with a problem of two labels for every label",
        grid=_C,
        settings={"solver": "tron", "sums": "two-levels"},
        variant=True,
        in_groups=False,
    ),
    "ranksvm-struct": Method(
        "rank_svm",
        "RankSVM",
        "ranksvm without the square, by cutting planes and direct count",
        grid=_C,
        settings={"loss": "hinge", "solver": "bundle", "sums": "direct"},
        variant=True,
        in_groups=False,
    ),
    "treeranksvm": Method(
        "rank_svm",
        "RankSVM",
        "ranksvm without the square, by cutting planes and red-black trees",
        grid=_C,
        settings={"loss": "hinge", "solver": "bundle", "sums": "y-rbtree"},
        variant=True,
        in_groups=False,
    ),
    "additive": Method(
        "additive_ranker",
        "AdditiveRanker",
        f"sum over features of (slope^2 + smoothing * bending) / 2 + C * {_SQUARED_HINGE}, w.x being a sum of curves",
        grid={"C": _powers(*range(-14, 3, 4)), "smoothing": (1.0, 10.0, 100.0, "line")},
    ),
    "sparserank": Method(
        "sparse_rank",
        "SparseRank",
        f"{_SQUARED_HINGE} + l1 * |w|_1",
        "by accelerated proximal gradient",
        _L1,
        {"tol": 1e-3},
        sparse=True,
    ),
    "fenchelrank": Method(
        "fenchel_rank",
        "FenchelRank",
        f"{_SQUARED_HINGE}, subject to |w|_1 <= radius",
        "by Frank-Wolfe",
        {"radius": (0.5, 1.0, 2.0, 4.0, 8.0)},
        sparse=True,
    ),
    "mcprank": Method(
        "mcp_rank",
        "MCPRank",
        f"{_SQUARED_HINGE} + sum over j of p(w_j)",
        "p concave (mcp, log, lp), by reweighting",
        _L1,
        {"tol": 1e-3},
        sparse=True,
    ),
    "minbatsrank": Method(
        "min_bat_s_rank",
        "MinBatSRank",
        f"{_SQUARED_HINGE} + l1 * |w|_1, followed online",
        "a rate for each feature",
        _L1,
        sparse=True,
    ),
    "minbatsrank-nonfea": Method(
        "min_bat_s_rank",
        "MinBatSRank",
        "minbatsrank with one rate for all features",
        grid={"learning_rate": (1e-5, 1e-4, 1e-3, 1e-2), "l1": _powers(14, 12, 10, 8)},
        settings={"feature_rates": False},
        variant=True,
        sparse=True,
    ),
    "rsrank": Method(
        "rs_rank",
        "RSRank",
        f"{LOSSES['ndcg_huber'].formula} + l1 / truncate_every * |w|_1",
        "by truncated gradient",
        {"l1": _powers(*range(9))},
        sparse=True,
    ),
    "gdm": Method("gdm", "GDM", _RIDGE, "by a fixed rate and momentum", _GAMMA, in_groups=False),
    "egdm": Method("egdm", "EGDM", _RIDGE, "by a rate and momentum from eigenvalues", _GAMMA),
    "ridge": Method("pairwise_ridge", "PairwiseRidge", _RIDGE, "exactly", _GAMMA),
    "fac-ranksvm": Method(
        "fac_rank_svm",
        "FacRankSVM",
        "|w|^2 / 2 - sum over pairs of a_ij with w = sum of a_ij (x_i - x_j), a_ij = <v_i, v_j>, "
        "0 <= v <= sqrt(C / rank)",
        grid={"C": _powers(*range(-20, 1, 2))},
    ),
    "reg-ranksvm": Method(
        "reg_rank_svm",
        "RegRankSVM",
        "|w|^2 / 2 - sum over pairs of a_ij + nuclear * |A|_* + coupling * |a - A|^2, w = sum of a_ij (x_i - x_j)",
        grid={"C": (1e-4, 1e-3, 1e-2, 1e-1), "nuclear": (3.0, 10.0, 30.0, 100.0)},
    ),
    "listnet": Method("list_net", "ListNet", _penalized("cross_entropy"), grid={"C": _powers(*range(-6, 9, 2))}),
    "listnet-l1": Method(
        "list_net",
        "ListNet",
        "listnet with |w|_1",
        grid={"C": _powers(*range(-4, 6))},
        settings={"penalty": "l1"},
        variant=True,
        sparse=True,
    ),
    "xendcg": Method("xe_ndcg", "XENDCG", _penalized("xe_ndcg"), grid={"C": _powers(*range(-6, 9, 2))}),
    "ranknet": Method("rank_net", "RankNet", _penalized("logistic"), grid={"C": _powers(*range(-16, 1, 2))}),
    "lambdarank": Method(
        "lambda_rank",
        "LambdaRank",
        _penalized("ndcg_logistic"),
        grid={"C": (0.01, 0.1, 1.0, 10.0)},
        settings={"patience": 50, "tol": 1e-4},
    ),
    "smoothrank": Method(
        "smooth_rank",
        "SmoothRank",
        f"|w - w0|^2 / 2 + C * {LOSSES['smoothed_ndcg'].formula}",
        grid={"C": _powers(-6, -3, 0, 3), "sigma": (0.1, 0.01)},
        settings={"patience": 50},
    ),
    "adarank": Method(
        "ada_rank",
        "AdaRank",
        "sum over queries of exp(-ndcg@10), greedily",
        "by single features",
        {"tol": (0.0, 1e-3)},
    ),
    "svr": Method(
        "linear_svr",
        "LinearSVRRanker",
        "(w.w + (b - mean label)^2) / 2 + C * sum over documents of max(0, |y_i - w.x_i - b| - epsilon)^2",
        grid=_SVR,
    ),
    "svr-absolute": Method(
        "linear_svr", "LinearSVRRanker", "svr without the square", grid=_SVR, settings={"loss": "l1"}, variant=True
    ),
    "sampled-sgd": Method(
        "sampled_pair_sgd",
        "SampledPairSGD",
        "l2 * w.w / 2 + mean over pairs of max(0, 1 - w.(x_i - x_j)), by sampling",
        grid={"l2": (1e-1, 1e-2, 1e-3)},
    ),
    "gbt": Method("tree_rankers", "GradientBoostedTrees", _OF_LABELS, "by boosted trees", _LEAVES, linear=False),
    "random-forest": Method(
        "tree_rankers", "RandomForest", _OF_LABELS, "by averaged trees", {"min_leaf": (20, 50, 100)}, linear=False
    ),
    "lightgbm": Method(
        "lambda_mart", "LightGBMRanker", _LAMBDA_MART, "by LightGBM", _LEAVES, linear=False, needs="lightgbm"
    ),
    "xgboost": Method(
        "lambda_mart",
        "XGBoostRanker",
        _LAMBDA_MART,
        "by XGBoost",
        {**_TREES, "max_depth": (2, 3)},
        linear=False,
        needs="xgboost",
    ),
}

_GROUPS: dict[str, Callable[[Method], bool]] = {
    "all": lambda method: True,  # noqa: ARG005
    "linear": lambda method: method.linear,
    "sparse": lambda method: method.sparse,
}


def contender_names(text: str) -> list[str]:
    """The methods meant by `all`, `linear`, `sparse` or names, by commas; a group has those that are installed.

    Raises
    ------
    LinrankError
        For a name that is none, with those there are.
    """
    chosen: dict[str, None] = {}
    for word in text.replace(" ", ",").split(","):
        if word in _GROUPS:
            chosen |= dict.fromkeys(
                name
                for name, method in METHODS.items()
                if method.in_groups and method.is_installed and _GROUPS[word](method)
            )
        elif word in METHODS:
            chosen[word] = None
        elif word:
            raise LinrankError(f"there is no method {word!r}; there are {', '.join((*_GROUPS, *METHODS))}.")
    if not chosen:
        raise LinrankError(f"no method is named in {text!r}; name some of {', '.join((*_GROUPS, *METHODS))}.")
    return list(chosen)
