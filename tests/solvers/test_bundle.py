"""Cutting planes: the same minimum as other methods, by bounds that are true, and the small program in them solved."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

import oracles
from linrank import LinrankError, RankingDataset, RankSVM, make_ranking
from linrank.executors.local import Threads
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import Hinge, SquaredHinge
from linrank.objective.penalties import L2, Toward, WeightPenalty
from linrank.objective.placement import PlacedData
from linrank.objective.registry import LOSSES
from linrank.solvers import bundle
from linrank.solvers.bundle import Bundle
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.simplex_program import least_on_simplex
from linrank.solvers.smoothed_newton import SmoothedNewton

DATA, _ = make_ranking(15, 10, 5, random_state=2)
NEAR = np.array([0.5, -0.3, 0.0, 2.0, 1.0])
PENALTIES = {
    "L2": L2(),
    "strong L2": L2(3.0),
    "toward": Toward(NEAR),
    "by feature": WeightPenalty(strengths=np.array([0.1, 1.0, 5.0, 1.0, 0.3]), centres=NEAR),
}


def objective_of(data=DATA, loss=None, penalty=None, C=0.1):
    return RankingObjective(loss or Hinge(), penalty or L2(), C, PlacedData.of(data, Threads(1)))


def hinge_by_its_dual(data, C):
    """The least value by a general-purpose method on the dual, a variable for every listed pair."""
    X = oracles.dense(data.features)
    pairs = oracles.listed_pairs(data)
    differences = np.array([X[i] - X[j] for i, j, _ in pairs])
    most = C * np.array([weight for _, _, weight in pairs])

    def dual(shares):
        weights = differences.T @ shares
        return 0.5 * weights @ weights - shares.sum(), differences @ weights - 1.0

    found = optimize.minimize(
        dual, 0.5 * most, jac=True, method="L-BFGS-B", bounds=[(0.0, top) for top in most],
        options={"maxiter": 50_000, "maxfun": 100_000, "ftol": 1e-16, "gtol": 1e-10},
    )  # fmt: skip
    return -found.fun


@pytest.mark.parametrize("C", [1e-3, 0.1, 2.0])
def test_the_hinge_has_the_least_value_of_its_dual(C):
    data, _ = make_ranking(6, 8, 5, random_state=2)
    solution = Bundle(1e-7).minimize(objective_of(data, C=C))
    assert solution.converged
    assert solution.value == pytest.approx(hinge_by_its_dual(data, C), rel=1e-6)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize(
    ("loss", "other"), [(Hinge(), SmoothedNewton(1e-6)), (SquaredHinge(), NewtonCG(1e-10))], ids=["hinge", "squared"]
)
def test_it_ends_where_newtons_method_does(loss, other, penalty):
    objective = objective_of(loss=loss, penalty=PENALTIES[penalty])
    solution, reference = Bundle(1e-7).minimize(objective), other.minimize(objective)
    assert solution.converged
    assert abs(solution.value - reference.value) <= solution.certified_gap + reference.certified_gap
    assert solution.value == pytest.approx(reference.value, rel=2e-6)
    assert solution.certified_gap <= 1e-7 * solution.value


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=["hinge", "squared"])
def test_every_bound_on_the_way_is_below_the_minimum_and_they_close_in(loss):
    objective = objective_of(loss=loss, C=1.0)
    lines = Bundle(1e-6).minimize(objective).history
    least = Bundle(1e-9).minimize(objective).value
    bounds = [line.value - line.certified_gap for line in lines]
    assert max(bounds) <= least * (1 + 1e-9)
    for before, after in itertools.pairwise(lines):
        assert after.value <= before.value
        assert after.certified_gap <= before.certified_gap * (1 + 1e-12)


@pytest.mark.parametrize("name", ["hinge", "logistic"])
@pytest.mark.parametrize(("seed", "units", "C", "size"), [(51, 1e14, 10.0, 1e7), (204, 1e20, 1e-5, 1e7)])
def test_tangents_at_scores_beyond_float64s_digits_raise_no_bound_above_the_minimum(name, seed, units, C, size):
    made, _ = make_ranking(3, 8, 5, random_state=seed)
    data = RankingDataset.from_arrays(np.asarray(made.features) * units, made.labels, qid=made.qid)
    objective = objective_of(data, LOSSES[name].make(), Toward(size * NEAR), C)
    lines = Bundle(max_iterations=40).minimize(objective, size * NEAR).history
    known = objective.start().value
    assert all(line.value - line.certified_gap <= known * (1 + 1e-9) + 1e-15 * line.value for line in lines)


def test_forgotten_tangents_do_no_harm(monkeypatch):
    objective = objective_of(C=1.0)
    usual = Bundle(1e-6).minimize(objective)
    monkeypatch.setattr(bundle, "_FORGOTTEN_AFTER", 3)
    forgetful = Bundle(1e-6).minimize(objective)
    assert forgetful.converged
    assert forgetful.value == pytest.approx(usual.value, rel=2e-6)


def test_at_the_limit_of_float64_it_ends():
    solution = Bundle(0.0, max_iterations=500).minimize(objective_of(C=1e-3))
    assert solution.converged
    assert solution.certified_gap <= 1e-12 * solution.value


def test_a_warm_start_at_the_solution_needs_fewer_passes():
    objective = objective_of()
    cold = Bundle(1e-4).minimize(objective)
    assert Bundle(1e-4).minimize(objective, cold.weights).iterations < cold.iterations


def test_data_without_pairs_has_zero_weights():
    data = RankingDataset.from_arrays(np.ones((3, 2)), [1, 1, 1], qid=[1, 1, 2])
    solution = Bundle().minimize(objective_of(data))
    assert solution.weights.tolist() == [0.0, 0.0]
    assert solution.converged


def test_rank_svm_struct_and_tree_rank_svm_are_rankers_with_one_result():
    struct, tree = (
        RankSVM(0.1, loss="hinge", solver="bundle", sums=sums, tol=1e-6).fit(DATA) for sums in ("direct", "y-rbtree")
    )
    usual = RankSVM(0.1, loss="hinge", tol=1e-6).fit(DATA)
    assert struct.objective_ == pytest.approx(usual.objective_, rel=2e-6)
    assert tree.objective_ == pytest.approx(usual.objective_, rel=2e-6)
    assert struct.gap_ <= 1e-6 * struct.objective_


def test_what_it_cannot_minimise_is_refused_with_the_remedy():
    with pytest.raises(LinrankError, match="solver='bundle' cannot minimise this: L1 1 has corners or bounds"):
        RankSVM(penalty="l1", solver="bundle").fit(DATA)


def programs():
    """Convex quadratics on the simplex, some of them flat, with copies of a column among them."""
    return st.tuples(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 6))


@given(programs())
@settings(max_examples=60)
def test_the_program_on_the_simplex_is_solved(program):
    seed, n, rank = program
    rng = np.random.default_rng(seed)
    factors = rng.integers(-2, 3, size=(n, rank)) * 1.0
    gram, offsets = factors @ factors.T, rng.integers(-3, 4, size=n) * 0.5
    start = np.zeros(n)
    start[0] = 1.0
    shares = least_on_simplex(gram, offsets, start)
    assert shares.sum() == pytest.approx(1.0, abs=1e-12)
    assert (shares >= 0.0).all()
    # The program is convex: where no vertex is down the slope, no point is lower.
    slopes = gram @ shares - offsets
    assert shares @ slopes - slopes.min() <= 1e-9 * (1.0 + abs(slopes).max())


@pytest.mark.parametrize("gram", [0.0, 1e-300, 2.3e-29, 1.0])
def test_a_tangent_that_is_next_to_flat_leaves_shares_that_add_up_to_one(gram):
    """(By features of 1e-9 tangents are flat, and far above the least value of the loss.)"""
    found = least_on_simplex(np.diag([0.0, gram]), np.array([6.9e-5, 7.8e-5]), np.array([1.0, 0.0]))
    assert found.sum() == pytest.approx(1.0)
    assert found[1] == pytest.approx(1.0 if gram < 1.0 else 0.9e-5)
