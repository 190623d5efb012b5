"""A part of the data at weights of its own bounds the minimum, in any units, and never from above."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linrank import RankingDataset, make_ranking
from linrank.executors.local import Threads
from linrank.objective.list_losses import TopOneCrossEntropy
from linrank.objective.logistic_pairs import Logistic
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import Hinge, SquaredHinge
from linrank.objective.penalties import L2, Toward
from linrank.objective.placement import PlacedData
from linrank.solvers.dual_of_part import PartOfDual
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.smoothed_newton import SmoothedNewton
from linrank.solvers.solution import Journal

LOSSES = [SquaredHinge(), Logistic(), TopOneCrossEntropy()]


def objective_of(data, loss, C=1.0, penalty=None):
    return RankingObjective(loss, penalty or L2(), C, PlacedData.of(data, Threads(1)))


def in_units(data, units):
    """The same documents with features in other units."""
    return RankingDataset.from_arrays(data.features * units, data.labels, qid=data.qid)


@given(seed=st.integers(0, 30), off=st.floats(0.0, 0.3), loss=st.sampled_from(LOSSES), toward=st.booleans())
def test_whatever_weights_a_part_has_the_bound_is_true(seed, off, loss, toward):
    rng = np.random.default_rng(seed)
    data, _ = make_ranking(60, (2, 12), 5, random_state=seed)
    objective = objective_of(data, loss, penalty=Toward(rng.standard_normal(5)) if toward else None)
    least = NewtonCG(1e-13).minimize(objective)
    point = objective.at(least.weights + off * rng.standard_normal(5))
    part = PartOfDual.of(point, objective.data.sample(100))
    moved = part.here.objective.at(least.weights + off * rng.standard_normal(5))
    assert part.gap(moved) >= (point.value - least.value) * (1.0 - 1e-9)
    # Where it stands, the part is the point itself.
    assert part.gap(part.here) == pytest.approx(point.value - point.dual_value(), rel=1e-9, abs=1e-9 * point.value)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("units", [1.0, np.geomspace(1e-5, 1e5, 6)], ids=["alike", "far apart"])
def test_the_certificate_of_much_data_is_near_the_truth_in_any_units(loss, units):
    made, _ = make_ranking(1500, 20, 6, noise=1.0)
    objective = objective_of(in_units(made, units), loss)
    rough, exact = NewtonCG(1e-6).minimize(objective), NewtonCG(1e-14).minimize(objective)
    above = max(rough.value - exact.value, 1e-14 * exact.value)
    assert above <= rough.certified_gap + 1e-13 * exact.value
    assert rough.certified_gap <= max(1e-6 * rough.value, 100.0 * above)


def test_the_hinge_is_certified_in_any_units():
    made, _ = make_ranking(1500, 20, 6, noise=1.0)
    solution = SmoothedNewton(1e-3).minimize(objective_of(in_units(made, np.geomspace(1e-4, 1e4, 6)), Hinge()))
    assert solution.converged
    assert solution.certified_gap <= 1e-3 * solution.value


def test_a_query_that_is_spread_is_thinned_and_no_part():
    data, _ = make_ranking(1, 4000, 400)
    objective = objective_of(data, SquaredHinge(), 1e-6)
    assert not objective.data.sample(400).is_part
    point = objective.at(np.zeros(400))
    assert PartOfDual.of(point, objective.data.sample(400)) is None
    assert NewtonCG().gap_by_part(point, 1.0, Journal()) == np.inf


def test_samples_apart_have_no_query_in_common():
    data, _ = make_ranking(500, 10, 4)
    placed = PlacedData.of(data, Threads(1))
    rows = [
        {tuple(row) for block, _ in placed.sample(500, apart=apart).blocks for row in block.features.to_dense()}
        for apart in (False, True)
    ]
    assert min(map(len, rows)) > 300
    assert not rows[0] & rows[1]
