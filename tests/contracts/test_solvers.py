"""What every solver owes, for the whole product of losses, penalties and solvers."""

import itertools

import numpy as np
import pytest

from contracts.products import CONVEX, DATA, LOSSES, PENALTIES, SOLVERS, objective_of
from linrank import LinrankError, RankNet
from linrank.cli import train
from linrank.executors.local import Threads
from linrank.solvers.choice import default_solver
from linrank.solvers.registry import SOLVERS as BY_NAME
from linrank.solvers.solution import Iteration, Solution

ALL = pytest.mark.parametrize("solver", SOLVERS)
MOST = 15
# Those with a solver inside are stopped early, for time: what they owe does not depend on where they stop.
LOOSE = {"SmoothedNewton": 1e-2, "ReweightedL1": 1e-2}
# By iterations on a corner of one width; and by products, with a line more where the end is evaluated anew.
COUNTED_OTHERWISE = ("SmoothedNewton", "RidgeCG")
KINDS = ("L2", "L1", "non-negative", "ball", "MCP")


def made(solver, **limits):
    loose = {"tolerance": LOOSE[solver]} if solver in LOOSE else {}
    return SOLVERS[solver](**loose, **limits)


def accepted(solver):
    """The objectives that a solver minimises, by the names of their losses and penalties."""
    return [
        (loss, penalty)
        for loss in LOSSES
        for penalty in PENALTIES
        if SOLVERS[solver]().refuses(objective_of(loss, penalty)) is None
    ]


def usual(solver):
    """An objective of each kind of penalty that the solver minimises."""
    return list({penalty: (loss, penalty) for loss, penalty in reversed(accepted(solver)) if penalty in KINDS}.values())


def test_all_that_a_user_may_name_are_here():
    assert {type(make()) for make in BY_NAME.values()} <= set(SOLVERS.values())


def test_the_command_line_and_the_rankers_offer_what_is_registered(monkeypatch):
    monkeypatch.setitem(BY_NAME, "mine", SOLVERS["GradientDescent"])
    assert train.parser().parse_args(["data.txt", "--solver", "mine"]).solver == "mine"
    assert RankNet(1e-4, solver="mine", tol=1e-3).fit(DATA).solution_.converged
    monkeypatch.delitem(BY_NAME, "mine")
    with pytest.raises(LinrankError, match="solver='mine'; use one of None, 'newton'"):
        RankNet(solver="mine").fit(DATA)


@ALL
def test_each_minimises_something(solver):
    assert accepted(solver)


@ALL
@pytest.mark.parametrize("penalty", PENALTIES)
def test_it_refuses_with_a_sentence_or_ends_at_a_point_whose_certificate_is_true(solver, penalty):
    for loss in LOSSES:
        objective, minimiser = objective_of(loss, penalty), made(solver, max_iterations=MOST)
        reason = minimiser.refuses(objective)
        if reason is not None:
            assert reason.endswith(".")
            with pytest.raises(LinrankError, match=f"^{solver}: "):
                minimiser.minimize(objective)
            continue
        solution = minimiser.minimize(objective)
        check_end(solution, objective, certified=loss in CONVEX)


def check_end(solution, objective, *, certified):
    assert isinstance(solution, Solution)
    point = objective.at(solution.weights)
    np.testing.assert_array_equal(objective.penalty.within(solution.weights), solution.weights)
    assert solution.value == pytest.approx(point.value, rel=1e-9, abs=1e-9)
    assert solution.value <= objective.start().value * (1.0 + 1e-9) or not certified
    assert solution.message
    assert not solution.interrupted
    assert solution.certified_gap >= 0.0
    if np.isfinite(solution.certified_gap):
        assert certified
        # No point that is known is below what it certifies.
        least = solution.value - solution.certified_gap
        for weights in (np.zeros(4), 0.9 * solution.weights, 1.1 * solution.weights):
            other = objective.start(weights)
            assert other.value >= least - 1e-9 * (1.0 + abs(solution.value))
            assert other.lower_bound() <= solution.value * (1.0 + 1e-9) + 1e-9


@pytest.mark.parametrize("penalty", [name for name in PENALTIES if name != "none"])
@pytest.mark.parametrize("loss", CONVEX)
def test_the_default_solver_of_a_convex_loss_accepts_it(loss, penalty):
    objective = objective_of(loss, penalty)
    reason = default_solver(objective)().refuses(objective)
    # Corners of the loss and a penalty that is no sum over features are too much at once.
    assert reason is None or (hasattr(objective.loss, "smoothed") and not objective.is_separable)


@ALL
def test_an_interrupt_at_any_iteration_returns_the_point_there(solver):
    for names in usual(solver):
        for last in (0, 1, 2):
            seen = []

            def watch(line, weights, seen=seen, last=last):
                seen.append(weights.copy())
                if line.number == last:
                    raise KeyboardInterrupt

            solution = SOLVERS[solver](tolerance=1e-15, max_iterations=MOST).minimize(objective_of(*names), watch=watch)
            if len(seen) <= last:
                continue
            assert solution.interrupted
            assert not solution.converged
            assert len(solution.history) == last + 1
            assert any((solution.weights == weights).all() for weights in seen)


@ALL
def test_limits_are_kept_and_said(solver):
    for names in usual(solver):
        objective = objective_of(*names)
        if solver not in COUNTED_OTHERWISE:
            short = SOLVERS[solver](tolerance=1e-15, max_iterations=1).minimize(objective)
            assert short.iterations == 1
            assert short.converged or "out of iterations" in short.message
        late = SOLVERS[solver](tolerance=1e-15, max_seconds=1e-9).minimize(objective)
        assert len(late.history) == 1
        assert late.converged or "out of time" in late.message


@ALL
def test_the_history_is_of_one_type_and_is_what_was_watched(solver):
    for names in usual(solver):
        lines = []
        solution = made(solver, max_iterations=5).minimize(
            objective_of(*names), watch=lambda line, _, lines=lines: lines.append(line)
        )
        assert tuple(lines) == solution.history
        assert all(type(line) is Iteration for line in lines)
        assert [line.number for line in lines] == list(range(len(lines)))
        assert all(before.seconds <= after.seconds for before, after in itertools.pairwise(lines))


@ALL
def test_a_watcher_that_has_seen_enough_ends_it(solver):
    for names in usual(solver):
        solution = made(solver, max_iterations=MOST).minimize(objective_of(*names), watch=lambda *_: True)
        assert len(solution.history) == 1
        assert solution.converged or "no longer improves" in solution.message


@ALL
def test_any_number_of_threads_gives_the_same_bits(solver):
    for names in usual(solver):
        ended = []
        for n_threads in (1, 3):
            with Threads(n_threads) as executor:
                objective = objective_of(*names, data=DATA, executor=executor)
                ended.append(made(solver, max_iterations=5).minimize(objective))
        one, many = ended
        assert one.weights.tobytes() == many.weights.tobytes()
        assert (one.value, one.certified_gap) == (many.value, many.certified_gap)
