"""Sums over pairs equal the plainest ones, and the minimum is RankSVM's."""

from itertools import pairwise

import numpy as np
import pytest

from fusing_cases import RULES, awkward, engine_of, legs_for, problem_of
from linrank import RankingDataset, RankSVM
from linrank.fusing.fusers import WeightedLegs
from linrank.fusing.methods import grid_steps, methods_for, simplex_grid
from linrank.fusing.pairwise import LabelledRows, PairwiseProblem
from linrank.fusing.trained_weights import Pairwise


def some_rows(seed, dtype=np.float64):
    rng = np.random.default_rng(seed)
    sizes = [1, 7, 12, 3, 20]
    labels = np.concatenate(
        [rng.integers(0, levels, size) for levels, size in zip((2, 3, 5, 1, 2), sizes, strict=True)]
    )
    features = rng.normal(size=(sum(sizes), 3)).astype(dtype)
    starts = np.append(0, np.cumsum(sizes)).astype(np.int64)
    return features, labels.astype(np.float64), starts


def plain_loss(features, labels, starts, query_weights, weights):
    scores, total = features.astype(np.float64) @ weights, 0.0
    for query, weight in enumerate(query_weights):
        rows = range(starts[query], starts[query + 1])
        total += weight * sum(
            max(0.0, 1.0 - scores[i] + scores[j]) ** 2 for i in rows for j in rows if labels[i] > labels[j]
        )
    return total


@pytest.mark.kernels
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(3))
def test_sums_over_pairs_are_the_plain_ones_with_their_derivatives(seed, dtype):
    features, labels, starts = some_rows(seed, dtype)
    rows = LabelledRows.of(features, labels, starts)
    query_weights = np.array([1.0, 0.5, 2.0, 1.0, 0.0])
    weights = np.random.default_rng(seed).normal(size=3)
    found = rows.sums(weights, query_weights)
    assert found.value == pytest.approx(plain_loss(features, labels, starts, query_weights, weights), rel=1e-12)
    step = 1e-5
    for column in range(3):
        moved = step * np.eye(3)[column]
        ahead, behind = rows.sums(weights + moved, query_weights), rows.sums(weights - moved, query_weights)
        assert found.gradient[column] == pytest.approx((ahead.value - behind.value) / (2 * step), rel=1e-5, abs=1e-5)
        slope = (ahead.gradient - behind.gradient) / (2 * step)
        np.testing.assert_allclose(found.curvature[column], slope, rtol=1e-3, atol=1e-3)


@pytest.mark.kernels
def test_pairs_by_rank_weigh_the_change_of_gain_times_discount():
    features, labels, starts = some_rows(1)
    rows = LabelledRows.of(features, labels, starts)
    rng = np.random.default_rng(0)
    gains, discounts, weights = rng.random(len(labels)), rng.random(len(labels)), rng.normal(size=3)
    scores, wanted = features @ weights, 0.0
    for first, last in pairwise(starts):
        for i in range(first, last):
            for j in range(first, last):
                if labels[i] > labels[j]:
                    omega = abs(gains[i] - gains[j]) * abs(discounts[i] - discounts[j])
                    wanted += omega * max(0.0, 1.0 - scores[i] + scores[j]) ** 2
    found = rows.sums(weights, np.ones(len(starts) - 1), (gains, discounts))
    assert found.value == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("lower", [0.0, -np.inf])
@pytest.mark.parametrize("strength", [0.1, 10.0, 1000.0])
def test_the_minimum_is_that_of_rank_svm(lower, strength):
    features, labels, starts = some_rows(4)
    rows = LabelledRows.of(features, labels, starts)
    query_weights, prior = rows.even_weights(), np.array([0.5, 0.0, 0.2])
    bounds = np.full(3, lower), np.full(3, np.inf)
    found = PairwiseProblem(rows, query_weights, strength, prior, *bounds).solve()
    data = RankingDataset.from_arrays(features, labels, group=np.diff(starts), query_weights=query_weights)
    other = RankSVM(C=strength, prior=prior, bounds=(lower, np.inf), tol=1e-12).fit(data).coef_
    np.testing.assert_allclose(found, other, rtol=1e-4, atol=1e-6)


def test_the_sums_have_the_same_bits_for_any_number_of_threads(monkeypatch):
    features, labels, starts = some_rows(2)
    rows = LabelledRows.of(features, labels, starts)
    monkeypatch.setattr("linrank.fusing.query_ranges._ROWS_AT_A_TIME", 5)
    monkeypatch.setattr("linrank.fusing.query_ranges._TASKS_WITHOUT_THREADS", 1)
    found = []
    for threads in (1, 3):
        monkeypatch.setattr("linrank.fusing.query_ranges.number_of_threads", lambda _, n=threads: n)
        found.append(rows.sums(np.ones(3), np.ones(len(starts) - 1)))
    assert found[0].value == found[1].value
    np.testing.assert_array_equal(found[0].curvature, found[1].curvature)


def pairs_of(problem):
    """The difference of every pair of a better and a worse document, and what it weighs: queries count alike."""
    columns, labels = problem.matrix / problem.spreads, np.nan_to_num(problem.labels)
    found = []
    for first, last in pairwise(problem.candidates.starts):
        better, worse = np.nonzero(labels[first:last, None] > labels[first:last])
        if len(better):
            found.append((columns[first + better] - columns[first + worse], np.full(len(better), 1.0 / len(better))))
    return np.concatenate([each for each, _ in found]), np.concatenate([each for _, each in found]) / len(found)


@pytest.mark.parametrize(("name", "normaliser"), RULES)
def test_of_100_random_problems_none_is_worse_than_any_point_of_a_grid(name, normaliser):
    """On the criterion of the training, summed in the plainest way, over the grid's directions at many scales."""
    engine, names, method = engine_of(name, normaliser), legs_for(name), Pairwise()
    grid = np.array(simplex_grid(len(names), 10))
    for seed in range(100):
        problem = problem_of(*awkward(np.random.default_rng(seed), names), engine)
        counts = np.ones(problem.n_queries)
        trained = method.problem(problem, counts, 10.0, method.prior(problem, counts))
        found, (differences, weights) = trained.solve(), pairs_of(problem)

        def criterion(points, prior=trained.prior, differences=differences, weights=weights):
            short = np.maximum(0.0, 1.0 - differences @ points.T)
            return 0.5 * ((points - prior) ** 2).sum(axis=1) + 10.0 * (weights @ short**2)

        value = criterion(found[None, :])[0]
        assert trained.at(found).value == pytest.approx(value, rel=1e-6)
        assert (found >= trained.lower).all()
        directions = grid * problem.spreads
        directions /= np.linalg.norm(directions, axis=1)[:, None]
        for scale in np.linalg.norm(trained.prior) * np.array([0.1, 0.5, 1.0, 2.0, 10.0]):
            assert value <= criterion(scale * directions).min() * (1.0 + 1e-6), f"seed {seed}, scale {scale}"


def test_the_random_problems_have_every_corner_in_them():
    seen = set()
    for seed in range(100):
        runs, qrels = awkward(np.random.default_rng(seed), ("a", "b", "c"))
        for query in qrels:
            its = [run[query] for run in runs.values()]
            documents = [set(hits) for hits in its]
            seen |= {("hits of a leg", min(len(hits), 2)) for hits in its}
            seen |= {"an empty query"} if not set.union(*documents) else set()
            seen |= {"a missing document"} if len({frozenset(each) for each in documents}) > 1 else set()
            seen |= {"a tie"} if any(len(set(hits.values())) < len(hits) for hits in its) else set()
            seen |= {"an unjudged document"} if set.union(*documents) - set(qrels[query]) else set()
    corners = {"an empty query", "a missing document", "a tie", "an unjudged document"}
    assert seen == corners | {("hits of a leg", n) for n in (0, 1, 2)}


@pytest.mark.parametrize(("name", "normaliser"), RULES)
def test_a_search_is_never_worse_than_the_grid_that_everyone_uses(name, normaliser):
    engine, names = engine_of(name, normaliser), legs_for(name)
    for seed in range(10):
        problem = problem_of(*awkward(np.random.default_rng(1000 + seed), names), engine)
        counts, methods = np.ones(problem.n_queries), methods_for(problem)
        found = problem.per_query(methods["search"].learn(problem, counts)).mean()
        best = max(
            problem.per_query(WeightedLegs(tuple(engine.in_units(point * problem.equal_weights).tolist()))).mean()
            for point in simplex_grid(len(names), grid_steps(len(names)))
        )
        assert found >= best - 1e-12


def test_the_grid_has_every_point_once_and_its_size_is_bounded():
    points = simplex_grid(3, 10)
    assert len(points) == len({tuple(point) for point in points}) == 66
    assert all(point.sum() == pytest.approx(1.0) for point in points)
    assert [grid_steps(n) for n in (2, 3, 4, 5, 6, 10)] == [10, 10, 10, 10, 7, 4]
