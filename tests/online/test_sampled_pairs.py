"""Pairs are drawn as often as they weigh, and learnt from as the method is written."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from linrank import LinrankError, RankingDataset, RankSVM, make_ranking
from linrank.online import sampled_pairs
from linrank.online.learner import follow
from linrank.online.queries_by_label import QueriesByLabel
from linrank.online.sampled_pairs import PairSampler, SampledPairs, SampledState
from oracles import dense, listed_pairs
from strategies import datasets

pytestmark = pytest.mark.kernels


def chances_of_higher(sampler):
    """How often each position is drawn as the higher one, read off the table."""
    n = len(sampler.keep)
    chances = sampler.keep / n
    for place, other in enumerate(sampler.other):
        chances[other] += (1.0 - sampler.keep[place]) / n
    return chances


def listed_chances(data, by_query):
    """The chance of every pair, from a list of them."""
    pairs = [pair for pair in listed_pairs(data) if pair[2] > 0]
    numbers = data.queries.of_rows()
    if by_query:
        query_weights = np.ones(data.n_queries) if data.query_weights is None else data.query_weights
        totals = [sum(w for i, _, w in pairs if numbers[i] == query) for query in range(data.n_queries)]
        pairs = [(i, j, w / totals[numbers[i]] * query_weights[numbers[i]]) for i, j, w in pairs]
    total = sum(weight for *_, weight in pairs)
    return {(i, j): weight / total for i, j, weight in pairs}


def as_given(data, grouped_rows):
    return grouped_rows if data.queries.order is None else data.queries.order[grouped_rows]


@pytest.mark.parametrize("by_query", [False, True], ids=["pairs", "queries"])
@given(data=st.one_of(datasets(), datasets(weighted=True)))
def test_the_higher_document_is_drawn_as_often_as_its_pairs_weigh(by_query, data):
    sampler = PairSampler.of(QueriesByLabel.of(data), by_query=by_query)
    chances = listed_chances(data, by_query)
    if not chances:
        assert sampler.weight == 0.0
        return
    expected = np.zeros(data.n_documents)
    for (i, _), chance in chances.items():
        expected[i] += chance
    drawn = np.zeros(data.n_documents)
    drawn[as_given(data, sampler.documents)] = chances_of_higher(sampler)
    np.testing.assert_allclose(drawn, expected, atol=1e-12)


@pytest.mark.parametrize("by_query", [False, True], ids=["pairs", "queries"])
@given(data=st.one_of(datasets(), datasets(weighted=True)), seed=st.integers(0, 99))
def test_every_pair_drawn_is_a_pair_and_no_pair_is_left_out(by_query, data, seed):
    sampler = PairSampler.of(QueriesByLabel.of(data), by_query=by_query)
    chances = listed_chances(data, by_query)
    if not chances:
        return
    n_draws = 400
    drawn = as_given(data, sampler.draw(np.random.default_rng(seed).random((n_draws, 2))))
    counts = dict.fromkeys(chances, 0)
    for i, j in drawn.tolist():
        counts[i, j] += 1
    for pair, chance in chances.items():
        # Five standard deviations and a little: far beyond chance.
        assert abs(counts[pair] - n_draws * chance) <= 5 * np.sqrt(n_draws * chance) + 3


def test_pairs_of_documents_with_weights_are_drawn_as_often_as_they_weigh():
    data = RankingDataset.from_arrays(
        np.eye(6), [0, 0, 1, 2, 0, 1], group=[4, 2], document_weights=[1, 3, 2, 1, 1, 1], query_weights=[1, 14]
    )
    for by_query in (False, True):
        sampler = PairSampler.of(QueriesByLabel.of(data), by_query=by_query)
        drawn = sampler.draw(np.random.default_rng(0).random((100_000, 2)))
        for (i, j), chance in listed_chances(data, by_query).items():
            assert np.mean((drawn[:, 0] == i) & (drawn[:, 1] == j)) == pytest.approx(chance, abs=0.006)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0 - 2.0**-53])
def test_the_ends_of_the_random_numbers_are_pairs_too(share):
    data = RankingDataset.from_arrays(np.eye(4), [0.0, 1.0, 2.0, 2.0], group=[4], document_weights=[0.0, 1.0, 0.3, 0.7])
    sampler = PairSampler.of(QueriesByLabel.of(data), by_query=False)
    for other in (0.0, 0.25, 1.0 - 2.0**-53):
        ((high, low),) = sampler.draw(np.array([[share, other]])).tolist()
        assert high in (2, 3)
        assert low == 1


def slow_sgd(X, pairs, method):
    """One step a pair, on a plain vector."""
    w = np.zeros(X.shape[1])
    losses = []
    for t, (i, j) in enumerate(pairs, start=1):
        difference = X[i] - X[j]
        margin = w @ difference
        rate = method.rate or 1.0 / (method.l2 * t)
        if method.logistic:
            losses.append(np.logaddexp(0.0, -margin))
            slope = -np.exp(-np.logaddexp(0.0, margin))
        else:
            losses.append(max(0.0, 1.0 - margin))
            slope = -1.0 if margin < 1.0 else 0.0
        w = (1.0 - rate * method.l2) * w - rate * slope * difference
    return w, losses


def off_the_corner(data):
    """The data with values no two sums of which are equal: a margin of exactly 1 would be decided by rounding."""
    changed = data.features.copy()
    values = changed.data if sparse.issparse(changed) else changed
    values *= np.random.default_rng(0).uniform(0.5, 1.5, values.shape).astype(values.dtype)
    return replace(data, features=changed)


def learnt(method, by_label, seed, watch=None):
    sampler = PairSampler.of(by_label, by_query=method.by_query)
    state = SampledState.new(by_label.features.n_features, seed)
    return follow(method, state, sampler, method.stretches(sampler.weight), watch=watch)


METHODS = [
    SampledPairs(0.1, 60),
    SampledPairs(0.1, 60, logistic=True),
    SampledPairs(0.02, 60, rate=0.3, by_query=True),
    SampledPairs(0.9, 60, rate=0.5, logistic=True),
]


@pytest.mark.parametrize("method", METHODS, ids=str)
@given(data=st.one_of(datasets(), datasets(weighted=True)), seed=st.integers(0, 99))
def test_learning_equals_the_plain_form_on_the_pairs_drawn(method, data, seed):
    data = off_the_corner(data)
    by_label = QueriesByLabel.of(data)
    solution = learnt(method, by_label, seed)
    weights, history = solution.weights, solution.history
    sampler = PairSampler.of(by_label, by_query=method.by_query)
    assert not solution.interrupted
    if sampler.weight == 0.0:
        assert history == ()
        assert not weights.any()
        return
    shares = np.random.Generator(np.random.PCG64(seed)).random((method.steps, 2))
    X = dense(data.features if data.queries.order is None else data.features[data.queries.order])
    expected, losses = slow_sgd(X, sampler.draw(shares).tolist(), method)
    np.testing.assert_allclose(weights, expected, rtol=1e-7, atol=1e-9 * (1 + np.abs(expected).max()))
    assert history[-1].steps == method.steps
    assert history[-1].mean_loss == pytest.approx(np.mean(losses[-3:]), rel=1e-6, abs=1e-9)
    assert history[-1].length == pytest.approx(np.linalg.norm(expected), rel=1e-7, abs=1e-9)


def test_a_scale_that_becomes_tiny_is_multiplied_in():
    data, _ = make_ranking(4, 10, 3)
    by_label = QueriesByLabel.of(data)
    method = SampledPairs(1.0, 2000, rate=0.5)
    shares = np.random.Generator(np.random.PCG64(0)).random((2000, 2))
    pairs = PairSampler.of(by_label, by_query=False).draw(shares).tolist()
    np.testing.assert_allclose(
        learnt(method, by_label, 0).weights, slow_sgd(data.features, pairs, method)[0], rtol=1e-9
    )


def test_the_seed_decides_and_calls_do_not(monkeypatch):
    by_label = QueriesByLabel.of(make_ranking(10, 12, 4)[0])
    method = SampledPairs(0.01, 1000)
    weights = learnt(method, by_label, 5).weights
    assert learnt(method, by_label, 6).weights.tobytes() != weights.tobytes()
    monkeypatch.setattr(sampled_pairs, "_STEPS_A_CALL", 7)
    assert learnt(method, by_label, 5).weights.tobytes() == weights.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sparse_rows_learn_what_dense_ones_do(dtype):
    data, _ = make_ranking(20, 15, 30, density=0.1, levels=4, dtype=dtype)
    full = RankingDataset.from_arrays(data.features.toarray(), data.labels, group=[15] * 20)
    for method in METHODS:
        thin, thick = (learnt(method, QueriesByLabel.of(part), 1).weights for part in (data, full))
        np.testing.assert_allclose(thin, thick, rtol=1e-9, atol=1e-12)


def test_sparse_rows_move_only_the_features_they_have():
    values = np.array([[1.0, 0.0, 2.0, 0.0], [3.0, 0.0, 0.0, 0.0], [0.0, 5.0, 0.0, 0.0]])
    data = RankingDataset.from_arrays(sparse.csr_array(values), [1.0, 0.0, 0.0], group=[2, 1])
    weights = learnt(SampledPairs(0.1, 50), QueriesByLabel.of(data), 0).weights
    assert (weights != 0).tolist() == [True, False, True, False]


def test_many_steps_come_near_the_exact_minimum():
    data, _ = make_ranking(60, 20, 8)
    differences = np.array([data.features[i] - data.features[j] for i, j, _ in listed_pairs(data)])
    exact = RankSVM(C=1 / (0.1 * len(differences)), loss="hinge").fit(data.features, data.labels, qid=data.qid)
    solution = learnt(SampledPairs(0.1, 50_000), QueriesByLabel.of(data), 0)
    weights, history = solution.weights, solution.history
    reached = 0.05 * weights @ weights + np.maximum(0, 1 - differences @ weights).mean()
    assert reached < 1.01 * 0.1 * exact.objective_
    assert history[-1].mean_loss == pytest.approx(np.maximum(0, 1 - differences @ weights).mean(), rel=0.05)


def test_inputs_are_not_written_to():
    data, _ = make_ranking(5, 10, 4)
    before = data.fingerprint()
    learnt(SampledPairs(0.1, 100), QueriesByLabel.of(data), 0)
    assert data.fingerprint() == before


# Without the compiler, NumPy warns of each number beyond float64 on the way there.
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_weights_without_bound_are_reported():
    data = RankingDataset.from_arrays(1e200 * np.array([[1.0], [-1.0]]), [1.0, 0.0], group=[2])
    with pytest.raises(LinrankError, match="Scale the features"):
        learnt(SampledPairs(1e-300, 10), QueriesByLabel.of(data), 0)
