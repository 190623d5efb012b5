"""Weights that are known by construction are found again, under the rule of every engine."""

import numpy as np
import pytest

from fusing_cases import RULES, engine_of, known_weights, legs_for, problem_of
from linrank.fusing.fusers import WeightedLegs
from linrank.fusing.methods import methods_for


def shares(problem, weights):
    """Weights in units of the columns' spreads, their sizes adding up to 1."""
    scaled = np.asarray(weights) * problem.spreads
    return scaled / np.abs(scaled).sum()


@pytest.mark.parametrize(("name", "normaliser"), RULES)
@pytest.mark.parametrize("seed", range(2))
def test_labels_that_known_weights_order_without_fault_teach_those_weights(name, normaliser, seed):
    engine = engine_of(name, normaliser)
    runs, qrels, known = known_weights(engine, legs_for(name), seed, n_queries=80)
    problem = problem_of(runs, qrels, engine)
    counts = np.ones(problem.n_queries)
    in_order = WeightedLegs(tuple(known))
    assert problem.per_query(in_order).min() == pytest.approx(1.0)
    learnt = {method: methods_for(problem)[method].learn(problem, counts) for method in ("pairwise", "ndcg")}
    away = np.abs(shares(problem, learnt["pairwise"].weights) - shares(problem, known))
    assert away.max() < 0.06, (shares(problem, learnt["pairwise"].weights), shares(problem, known))
    # By rank, only the order of the first ten is learnt, which more than one set of weights gives.
    for fuser in learnt.values():
        assert problem.per_query(fuser).mean() > 0.97


@pytest.mark.parametrize(("name", "normaliser"), RULES)
def test_noise_in_the_labels_leaves_the_weights_that_are_right(name, normaliser):
    """Labels by the fused score and as much noise on top, which no weights explain: the best ones are those known."""
    engine = engine_of(name, normaliser)
    runs, qrels, known = known_weights(engine, legs_for(name), 7, noise=1.0, n_queries=120)
    problem = problem_of(runs, qrels, engine)
    learnt = methods_for(problem)["pairwise"].learn(problem, np.ones(problem.n_queries))
    assert np.abs(shares(problem, learnt.weights) - shares(problem, known)).max() < 0.07
    right = problem.per_query(WeightedLegs(tuple(known))).mean()
    assert problem.per_query(learnt).mean() > right - 0.01
