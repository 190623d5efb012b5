"""Every method by the name it has on the command line: where its estimator is, and what a comparison tries of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from linrank.errors import LinrankError


@dataclass(frozen=True)
class Method:
    """A method as it is offered: its class, what it minimises in a line, and what to choose among when it is compared.

    A method that is another one with some settings is a variant: it is compared, but trained by the other's name.
    """

    module: str
    class_name: str
    formula: str
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    variant: bool = False
    linear: bool = True
    sparse: bool = False
    needs: str | None = None
    """The package it is the face of, where that is an optional extra."""

    @property
    def estimator(self) -> str:
        """Where the class is, as `package.module:Class`."""
        return f"linrank.estimators.{self.module}:{self.class_name}"

    @property
    def is_installed(self) -> bool:
        return self.needs is None or find_spec(self.needs) is not None

    def load(self) -> Any:
        """The estimator's class."""
        return getattr(import_module(f"linrank.estimators.{self.module}"), self.class_name)


def _powers(*exponents: int) -> tuple[float, ...]:
    return tuple(2.0**exponent for exponent in exponents)


_C = {"C": _powers(*range(-14, 5, 2))}
_L1 = {"l1": _powers(*range(15, 3, -1))}

METHODS: dict[str, Method] = {
    "ranksvm": Method("rank_svm", "RankSVM", "penalty(w) + C * sum over all pairs of max(0, 1 - w.(x_i - x_j))^2", _C),
    "ranksvm-hinge": Method("rank_svm", "RankSVM", "ranksvm without the square", _C, {"loss": "hinge"}, variant=True),
    "ranksvm-l1": Method(
        "rank_svm",
        "RankSVM",
        "ranksvm with |w|_1",
        {"C": _powers(*range(-15, -3))},
        {"penalty": "l1", "tol": 1e-5},
        variant=True,
    ),
    "sparserank": Method(
        "sparse_rank", "SparseRank", "the sum + l1 |w|_1, by accelerated proximal gradient", _L1, {"tol": 1e-3}
    ),
    "fenchelrank": Method(
        "fenchel_rank",
        "FenchelRank",
        "the sum subject to |w|_1 <= radius, by Frank-Wolfe",
        {"radius": (0.5, 1.0, 2.0, 4.0, 8.0)},
    ),
    "mcprank": Method(
        "mcp_rank", "MCPRank", "the sum + a concave penalty (mcp, log, lp), by reweighting", _L1, {"tol": 1e-3}
    ),
    "minbatsrank": Method("min_bat_s_rank", "MinBatSRank", "the sum + l1 |w|_1, online, a rate for each feature", _L1),
    "minbatsrank-nonfea": Method(
        "min_bat_s_rank",
        "MinBatSRank",
        "minbatsrank with one rate for all features",
        _L1,
        {"feature_rates": False},
        variant=True,
    ),
    "rsrank": Method(
        "rs_rank",
        "RSRank",
        "pairs weighed by their change of NDCG, L1 by truncated gradient",
        {"l1": _powers(*range(8))},
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
                name for name, method in METHODS.items() if method.is_installed and (method.linear or word == "all")
            )
        elif word in METHODS:
            chosen[word] = None
        elif word:
            raise LinrankError(f"there is no method {word!r}; there are {', '.join((*_GROUPS, *METHODS))}.")
    if not chosen:
        raise LinrankError(f"no method is named in {text!r}; name some of {', '.join((*_GROUPS, *METHODS))}.")
    return list(chosen)
