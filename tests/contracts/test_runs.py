"""What every run owes, of a solver, of a dual, of a learner and of boosting: one history, one result, one Ctrl-C."""

import itertools
from inspect import signature

import numpy as np
import pytest

from linrank import make_ranking
from linrank.boosting import Boosting, WeakRankers
from linrank.dataset.query_blocks import cut_into_blocks
from linrank.duals.dual_solver import DualSolver
from linrank.duals.factored_dual import FactoredDual, FactoredObjective
from linrank.duals.nuclear_dual import NuclearDual
from linrank.executors.local import Threads
from linrank.objective.least_squares import LeastSquares
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import Hinge, SquaredHinge
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.objective.weighting import NDCGDocuments
from linrank.online.ftrl import FTRL, FTRLState
from linrank.online.heavy_ball import StochasticHeavyBall, Stream
from linrank.online.learner import follow
from linrank.online.queries_by_label import QueriesByLabel
from linrank.online.sampled_pairs import PairSampler, SampledPairs, SampledState
from linrank.solvers.conjugate_gradient import newton_step
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.normal_equations import GramRidge
from linrank.solvers.smoothed_newton import SmoothedNewton
from linrank.solvers.solution import Line, Solution
from linrank.solvers.weighted_rounds import WeightedRounds

DATA, _ = make_ranking(20, 10, 4, random_state=2)


def of_loss(loss, data=DATA, C=0.01):
    return RankingObjective(loss, L2(), C, PlacedData.of(data, Threads(1)))


def ftrl(watch):
    queries = np.arange(DATA.n_queries)
    return follow(FTRL(0.5, 0.1), FTRLState.new(4, 0), QueriesByLabel.of(DATA), [queries] * 5, watch=watch)


def stream(watch):
    blocks = cut_into_blocks(DATA, 1000)
    method = StochasticHeavyBall(LeastSquares(), 1.0)
    return follow(method, Stream.starting_at(np.zeros(4)), blocks, [range(len(blocks))] * 5, watch=watch)


def sampled(watch):
    method = SampledPairs(0.1, 100)
    pairs = PairSampler.of(QueriesByLabel.of(DATA), by_query=False)
    return follow(method, SampledState.new(4, 0), pairs, method.stretches(pairs.weight), watch=watch)


def boosting(watch):
    labels = DATA.labels.reshape(20, 10)

    def measure(scores):
        above = (scores.reshape(20, 10, 1) > scores.reshape(20, 1, 10)) * np.sign(labels[:, :, None] - labels[:, None])
        return above.sum(axis=(1, 2)) / 100

    table = np.array([measure(column) for column in DATA.features.T])
    return Boosting().boost(WeakRankers(table, lambda k: DATA.features[:, k]), measure, np.ones(20), watch=watch)


RUNS = {
    "GramRidge": lambda watch: GramRidge().minimize(of_loss(LeastSquares()), watch=watch),
    "WeightedRounds": lambda watch: WeightedRounds(NewtonCG(), NDCGDocuments()).minimize(
        of_loss(SquaredHinge()), watch=watch
    ),
    "FactoredDual": lambda watch: FactoredDual(0.0).minimize(FactoredObjective.of(DATA, 1.0, 2), watch=watch),
    "NuclearDual": lambda watch: NuclearDual(1.0, 1.0, 1e-9).minimize(of_loss(Hinge(), C=1.0), watch=watch),
    "FTRL": ftrl,
    "Stream": stream,
    "SampledPairs": sampled,
    "Boosting": boosting,
}
ALL = pytest.mark.parametrize("run", RUNS)


@ALL
def test_ctrl_c_keeps_what_was_found(run):
    for last in (0, 1):
        seen = []

        def press(line, weights, seen=seen, last=last):
            seen.append(weights.copy())
            if line.number == last:
                raise KeyboardInterrupt

        solution = RUNS[run](press)
        assert solution.interrupted
        assert solution.message == "interrupted"
        assert not solution.converged
        assert len(solution.history) == last + 1
        np.testing.assert_array_equal(solution.weights, seen[-1])


@ALL
def test_history_and_result_are_of_one_type_and_are_what_was_watched(run):
    lines = []
    solution = RUNS[run](lambda line, _: lines.append(line))
    assert isinstance(solution, Solution)
    assert isinstance(lines[0], Line)
    assert len({type(line) for line in lines}) == 1
    assert solution.history == tuple(lines)
    assert [line.number for line in lines] == list(range(len(lines)))
    assert all(before.seconds <= after.seconds for before, after in itertools.pairwise(lines))
    assert solution.value == lines[-1].value
    assert solution.message
    assert not solution.interrupted


@ALL
def test_a_watcher_that_has_seen_enough_ends_it(run):
    solution = RUNS[run](lambda *_: True)
    assert len(solution.history) == 1
    assert "no longer improves" in solution.message


@pytest.mark.parametrize(("solver", "loss"), [(NewtonCG(), SquaredHinge()), (SmoothedNewton(), Hinge())])
def test_ctrl_c_during_the_solution_of_samples_keeps_a_point(solver, loss, monkeypatch):
    objective = of_loss(loss, make_ranking(2100, 20, 3, random_state=0)[0])
    sizes = []

    def press(point, *arguments, **settings):
        sizes.append(point.objective.data.n_documents)
        if len(sizes) == 3:
            raise KeyboardInterrupt
        return newton_step(point, *arguments, **settings)

    monkeypatch.setattr("linrank.solvers.newton_cg.newton_step", press)
    solution = solver.minimize(objective)
    assert max(sizes) < objective.data.n_documents
    assert solution.interrupted
    assert len(solution.history) == 1
    assert solution.weights.any()
    assert solution.value == objective.at(solution.weights).value < objective.start().value


def test_the_rooms_have_one_protocol_each():
    assert all(issubclass(kind, DualSolver) for kind in (FactoredDual, NuclearDual))
    for learner in (FTRL, StochasticHeavyBall, SampledPairs):
        assert list(signature(learner.learn).parameters)[:3] == ["self", "state", "data"]
        assert list(signature(learner.value).parameters) == ["self", "tally", "weights"]
