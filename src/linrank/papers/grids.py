"""What each method is chosen among where it stands beside a printed figure: the paper's grid, or else a wide one.

The catalogue's grids were narrowed on data that the tables are of; these were not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from linrank.experiments.contenders import Contender

SEEDS = range(5)
PASSES = (1, 3, 5)
_LIKE_OURS = 5
"""The passes of the catalogue; the paper does not say how many it makes."""


@dataclass(frozen=True)
class Search:
    """A grid, and settings that are held beside it."""

    grid: Mapping[str, Sequence[Any]]
    settings: Mapping[str, Any] = field(default_factory=dict)


def _powers(first: int, last: int) -> tuple[float, ...]:
    step = 1 if last > first else -1
    return tuple(2.0**exponent for exponent in range(first, last + step, step))


# Lee & Lin, section 4.4. Of SVR they give this range too, with LIBLINEAR's epsilon of 0.
_C = {"C": _powers(-15, 10)}
# Cheng et al., section 4.1.2: 12 rates, 18 values of lambda; Nonfea is said to differ in the update alone.
_MINBAT = Search({"learning_rate": _powers(1, -10), "l1": _powers(15, -2)})
# The papers do not say what they chose these among: from a model of few leaves to one of many.
_BOOSTED = {"n_trees": (100, 300), "learning_rate": (0.05,)}

PAPER_GRIDS: dict[str, Search] = {
    **dict.fromkeys(("ranksvm", "ranksvm-hinge", "ranksvm-adjacent", "listnet", "ranknet"), Search(_C)),
    **dict.fromkeys(("svr", "svr-absolute"), Search(_C, {"epsilon": 0.0})),
    **dict.fromkeys(("minbatsrank", "minbatsrank-nonfea"), _MINBAT),
    # Sun et al., section 5.1: eta = 0.001 and K = 1, the number of steps by the validation part; g of 0 ... 250.
    "rsrank": Search(
        {"l1": (0.0, 1.0, 3.0, 10.0, 25.0, 50.0, 100.0, 150.0, 200.0, 250.0)},
        # Each g from zero: started where another ended, the best step would be the first, with that one's features.
        {"learning_rate": 1e-3, "truncate_every": 1, "safe_rate": False, "patience": 50, "warm_start": False},
    ),
    # Xu et al., section 6.1: C from 0.1 to 10; their Table 6 tells that K was 5.
    "fac-ranksvm": Search({"C": (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)}, {"rank": 5}),
    # The same C, and gamma from 0.1 to 50; lambda is the best of their Table 8, which has the others for C = 0.1.
    "reg-ranksvm": Search({"C": (0.1, 1.0, 10.0), "nuclear": (0.1, 1.0, 10.0, 50.0)}, {"coupling": 0.1}),
    "sparserank": Search({"l1": _powers(15, 3)}, {"tol": 1e-3}),
    "fenchelrank": Search({"radius": _powers(-3, 4)}),
    "lambdarank": Search({"C": tuple(10.0**exponent for exponent in range(-3, 4))}, {"patience": 50, "tol": 1e-4}),
    "adarank": Search({"tol": (0.0, 1e-4, 1e-3, 1e-2)}),
    "lightgbm": Search({**_BOOSTED, "max_leaves": (4, 8, 16, 31)}),
    "xgboost": Search({**_BOOSTED, "max_depth": (2, 3, 4, 6)}),
}


def searched(contenders: Mapping[str, Contender]) -> dict[str, Contender]:
    """The contenders, each with the paper's grid in place of its own where there is one, and nothing beyond it."""
    return {
        name: one
        if (search := PAPER_GRIDS.get(name)) is None
        else Contender(name, one.method, {**one.settings, **search.settings}, search.grid, one.what)
        for name, one in contenders.items()
    }


def seeded(contenders: Mapping[str, Contender]) -> list[Contender]:
    """MinBatSRank with each number of passes, and Nonfea, once a seed: queries come in another order."""
    return [
        replace(one, name=name, settings={**one.settings, "passes": passes, "random_state": seed})
        for method, among in (("minbatsrank", PASSES), ("minbatsrank-nonfea", (_LIKE_OURS,)))
        if (one := contenders.get(method)) is not None
        for passes in among
        for seed, name in enumerate(seeded_names(method, passes))
    ]


def seeded_names(method: str, passes: int = _LIKE_OURS) -> list[str]:
    """The names of a method's runs, one a seed."""
    return [f"{method} passes={passes} random_state={seed}" for seed in SEEDS]
