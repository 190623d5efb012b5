"""Everything that owes a claim: the losses that are registered, all solvers there are, penalties of every kind."""

import pkgutil
import runpy
from importlib import import_module
from pathlib import Path

import numpy as np

import linrank.solvers
from linrank import RankingDataset, make_ranking
from linrank.executors.local import Threads
from linrank.objective.concave_penalties import MCP, Log, Lp
from linrank.objective.duality import NoDual
from linrank.objective.l1_ball import L1Ball
from linrank.objective.objective import RankingObjective
from linrank.objective.penalties import L1, L2, Bounds, ElasticNet, Toward
from linrank.objective.placement import PlacedData
from linrank.objective.registry import LOSSES as NAMED_LOSSES
from linrank.solvers.registry import SOLVERS as BY_NAME
from linrank.solvers.solver import Solver

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
N = 4
DATA, TRUTH = make_ranking(6, 8, N, skew=False, random_state=3)
_RNG = np.random.default_rng(1)
WEIGHTED = RankingDataset.from_arrays(
    DATA.features,
    DATA.labels,
    qid=DATA.qid,
    document_weights=_RNG.integers(0, 4, size=48) / 1.0,
    query_weights=_RNG.integers(1, 4, size=6) / 2,
)


def of_example(file, name):
    """A class of an example of a new loss or solver, unregistered."""
    registered = dict(NAMED_LOSSES), dict(BY_NAME)
    found = runpy.run_path(str(EXAMPLES / file))[name]
    for registry, before in zip((NAMED_LOSSES, BY_NAME), registered, strict=True):
        registry.clear()
        registry.update(before)
    return found


def _losses():
    yield "ramp of the example", of_example("new_loss.py", "Ramp")()
    for name, named in NAMED_LOSSES.items():
        loss = named.make()
        yield name, loss
        if hasattr(loss, "smoothed"):
            yield f"{name}, smoothed", loss.smoothed(0.5)


LOSSES = dict(_losses())
CONVEX = [name for name, loss in LOSSES.items() if loss.dual != NoDual()]
SMOOTH = [name for name, loss in LOSSES.items() if not hasattr(loss, "smoothed")]

NEAR = np.array([0.5, -0.3, 0.0, 2.0])
PENALTIES = {
    "none": L2(0.0),
    "L2": L2(),
    "weak L2": L2(1e-4),
    "L1": L1(0.7),
    "L1 by feature": L1(0.7, np.array([1.0, 0.1, 3.0, 2.0])),
    "elastic net": ElasticNet(0.5),
    "toward": Toward(NEAR),
    "non-negative": L2() + Bounds(0.0),
    "L1 within bounds": L1(0.7) + Bounds(-0.2, [np.inf, 0.0, 0.1, 0.3]),
    "bounds alone": Bounds(-0.3, 0.4),
    "ball": L1Ball(0.6),
    "MCP": MCP(0.7, 1.5),
    "log": Log(0.7, 0.5),
    "Lp": Lp(0.7, 0.5, 0.1),
}
CONVEX_PENALTIES = [name for name in PENALTIES if name not in ("MCP", "log", "Lp")]


def _solvers():
    yield "GradientDescent", of_example("new_solver.py", "GradientDescent")
    for module in pkgutil.iter_modules(linrank.solvers.__path__):
        found = vars(import_module(f"linrank.solvers.{module.name}")).values()
        for kind in found:
            if isinstance(kind, type) and issubclass(kind, Solver) and kind is not Solver:
                yield kind.__name__, kind


SOLVERS = dict(sorted(_solvers()))


def objective_of(loss, penalty, C=0.5, data=DATA, executor=None):
    return RankingObjective(LOSSES[loss], PENALTIES[penalty], C, PlacedData.of(data, executor or Threads(1)))
