"""What a solver says of where it ended is true: `converged` and the certificate, on problems that are hard on numbers.

The least value is looked for on the same problem with every column on one scale and near zero, where all solvers find
it, and among the ends of all of them; values are computed from differences of rows in long double. What is found may be
above the minimum, never below: so nothing is called false that is true.

The rule: f(w) - least is at most the certificate, but for rounding, wherever a solver ended; and where it says
`converged`, at most 3 x tolerance x f(w), or 30 x where the solver's own rule is about a gradient or a step.
"""

import itertools

import numpy as np
import pytest

from contracts.products import CONVEX, CONVEX_PENALTIES, LOSSES, PENALTIES, SOLVERS
from linrank import RankingDataset
from linrank.dataset.query_blocks import cut_into_blocks
from linrank.executors.local import Threads
from linrank.objective.objective import RankingObjective
from linrank.objective.penalties import WeightPenalty
from linrank.objective.placement import PlacedData
from linrank.solvers.choice import default_solver
from linrank.solvers.proximal_newton import ProximalNewton

N_QUERIES, N_DOCUMENTS, N = 4, 7, 4
UNITS = {
    "one": np.ones(N),
    "some": np.array([1e-3, 1e3, 1.0, 1e2]),
    "wild": np.array([1e-9, 1e9, 1.0, 1e-4]),
    "vast": np.full(N, 1e20),
    "vast and tiny": np.array([1e-25, 1e25, 1.0, 1e15]),
}
OFFSETS = {"none": np.zeros(N), "one": np.array([0, 0, 1e9, 0]), "all": np.array([1e4, -1e12, 1e7, 1e2])}
KINDS = ("plain", "rare", "duplicate", "separable", "ties", "weighted")
STRENGTHS = (1e-8, 1e-3, 1.0, 1e5)
# The example's loss is written for reading: the small values of its formula are differences of large ones.
TRUE_TO_ROUNDING = [name for name in CONVEX if not name.startswith("ramp")]
TIMES_THE_TOLERANCE = {"TRON": 30.0, "TruncatedGradient": 30.0}
# Steps at most; a solver that works on corners of ever smaller widths takes so many on each.
MOST = {"SmoothedNewton": 10, "Bundle": 40}
PROBLEMS = list(itertools.product(KINDS[:5], ("one", "some", "wild"), OFFSETS, STRENGTHS))
# Scores may have no digits left near the prior, nor sums over pairs where documents weigh from 1e-15 to 1e15.
AT_THE_ENDS = [
    *itertools.product(KINDS, ("vast", "vast and tiny"), OFFSETS, STRENGTHS),
    *itertools.product(("weighted",), ("one", "some", "wild"), OFFSETS, STRENGTHS),
]


def awkward(kind, units, offsets, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N_QUERIES * N_DOCUMENTS, N))
    labels = np.tile([0.0, 1.0, 2.0, 0.0, 1.0, 0.0, 2.0], N_QUERIES)
    if kind == "rare":
        X[:, 2] = np.arange(len(X)) == 5
    if kind == "duplicate":
        X[:, 3], X[9] = X[:, 1], X[8]
    if kind == "separable":
        labels = np.argsort(np.argsort((X @ [1.0, -0.5, 0.2, 0.0]).reshape(N_QUERIES, -1), axis=1), axis=1).ravel() // 3
    if kind == "ties":
        X = np.round(X)
    weights = 10.0 ** rng.integers(-15, 16, len(X)) if kind == "weighted" else None
    return RankingDataset.from_arrays(
        X * UNITS[units] + OFFSETS[offsets], labels, group=[N_DOCUMENTS] * N_QUERIES, document_weights=weights
    )


class Truth:
    """The value of an objective, from differences of rows in long double."""

    def __init__(self, objective, data):
        (self.block,) = cut_into_blocks(data)
        rows = np.asarray(data.features, dtype=np.longdouble)
        first = np.repeat(rows[::N_DOCUMENTS], N_DOCUMENTS, axis=0)
        self.rows = rows - first if objective.centred else rows
        self.objective, self.data = objective, data

    def value(self, weights):
        scores = np.asarray(self.rows @ weights, dtype=np.float64)
        return (
            self.objective.penalty.value(weights) + self.objective.C * self.objective.loss.at(scores, self.block).value
        )

    def on_one_scale(self):
        """Weights found where every column is divided by a power of two next to how large it is, the penalty too."""
        sizes = np.abs(self.rows).max(axis=0).astype(np.float64)
        scales = np.exp2(np.round(np.log2(np.where(sizes > 0.0, sizes, 1.0))))
        given = self.objective.penalty
        if hasattr(self.objective.loss, "smoothed") and not given.is_smooth:
            # Corners of both are long in finding.
            return np.zeros(N)
        penalty = WeightPenalty(
            given.thresholds / scales, given.strengths / scales**2, given.centres * scales,
            given.lower * scales, given.upper * scales,
        )  # fmt: skip
        rows = np.asarray(self.rows / scales, dtype=np.float64)
        data = RankingDataset.from_arrays(
            rows, self.data.labels, group=[N_DOCUMENTS] * N_QUERIES, document_weights=self.data.document_weights
        )
        same = RankingObjective(self.objective.loss, penalty, self.objective.C, PlacedData.of(data, Threads(1)))
        for made in (default_solver(same), ProximalNewton):
            # Corners are found to what their solvers promise, and smooth minima to rounding.
            sharp = hasattr(same.loss, "smoothed")
            solver = made(tolerance=1e-4 if sharp else 1e-12, max_iterations=10 if sharp else 100)
            if solver.refuses(same) is None:
                return solver.minimize(same).weights / scales
        return np.zeros(N)


def ends_of(objective):
    """Where every solver ends that takes the objective."""
    for name, made in SOLVERS.items():
        solver = made(max_iterations=MOST.get(name, 100))
        if name != "GradientDescent" and solver.refuses(objective) is None:
            with np.errstate(all="raise", under="ignore"):
                yield name, solver, solver.minimize(objective)


@pytest.mark.parametrize("penalty", CONVEX_PENALTIES)
@pytest.mark.parametrize("loss", TRUE_TO_ROUNDING)
def test_what_is_called_converged_is_and_no_certificate_is_false(loss, penalty):
    # Others for every pair, and all of them for some: a stride that shares no factor with their number.
    number = 37 * (TRUE_TO_ROUNDING.index(loss) * len(CONVEX_PENALTIES) + CONVEX_PENALTIES.index(penalty))
    for place in (number, number + 97):
        check_every_end(loss, penalty, PROBLEMS[place % len(PROBLEMS)], place)


@pytest.mark.parametrize("penalty", ["toward", "L2"])
@pytest.mark.parametrize("loss", TRUE_TO_ROUNDING)
def test_nor_is_one_where_columns_or_weights_are_at_the_ends_of_float64(loss, penalty):
    number = 37 * (2 * TRUE_TO_ROUNDING.index(loss) + (penalty == "toward"))
    for place in (number, number + 97):
        check_every_end(loss, penalty, AT_THE_ENDS[place % len(AT_THE_ENDS)], place)


def check_every_end(loss, penalty, problem, seed):
    kind, units, offsets, C = problem
    data = awkward(kind, units, offsets, seed)
    objective = RankingObjective(LOSSES[loss], PENALTIES[penalty], C, PlacedData.of(data, Threads(1)))
    truth, ends = Truth(objective, data), list(ends_of(objective))
    found = [np.zeros(N), *(end.weights for _, _, end in ends)]
    if objective.is_separable:
        found.append(truth.on_one_scale())
    least = min(truth.value(objective.penalty.within(weights)) for weights in found)
    rounding = 1e-12 * truth.value(objective.start().weights)
    for name, solver, end in ends:
        about = f"{name} on {kind} data in {units} units, offsets {offsets}, C={C:g}: {end.message}"
        assert np.isfinite(end.weights).all(), about
        above, value = truth.value(end.weights) - least, abs(truth.value(end.weights))
        assert above <= end.certified_gap * (1 + 1e-9) + 1e-10 * value + rounding, about
        enough = TIMES_THE_TOLERANCE.get(name, 3.0) * solver.tolerance
        assert not end.converged or above <= enough * value + rounding, about
