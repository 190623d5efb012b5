"""FTRL-proximal equals its slow, obvious form, however the stream is cut."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from linrank import LinrankError, RankingDataset, make_ranking
from linrank.errors import DataFormatError
from linrank.online import ftrl
from linrank.online.ftrl import FTRL, FTRLState
from linrank.online.learner import Tally
from linrank.online.queries_by_label import QueriesByLabel
from oracles import dense, listed_pairs, squared_hinge
from strategies import datasets

pytestmark = pytest.mark.kernels


def pairs_by_query(data):
    """The listed pairs of weight > 0, query by query, in order of first appearance."""
    numbers = data.queries.of_rows()
    pairs = [pair for pair in listed_pairs(data) if pair[2] > 0]
    return [[pair for pair in pairs if numbers[pair[0]] == query] for query in range(data.n_queries)]


def slow_ftrl(data, method, batches):
    """The method as it is written in METHODS.md, on batches of listed pairs; also the loss before each step."""
    X = dense(data.features)
    z, N, H, w = (np.zeros(X.shape[1]) for _ in range(4))
    loss, t = 0.0, 0
    for batch in batches:
        if not batch:
            continue
        t += 1
        g = np.zeros(X.shape[1])
        for i, j, weight in batch:
            value, slope, _ = squared_hinge((X[i] - X[j]) @ w)
            g += weight * slope * (X[i] - X[j])
            loss += weight * value
        for f in range(X.shape[1]):
            N[f] += g[f] ** 2
            before, H[f] = H[f], np.sqrt(method.rho + N[f]) if method.feature_rates else np.sqrt(t)
            sigma = (H[f] - before) / method.learning_rate
            z[f] += g[f] - sigma * w[f]
            shrunk = z[f] - np.sign(z[f]) * method.l1
            w[f] = 0.0 if abs(z[f]) <= method.l1 else -method.learning_rate / H[f] * shrunk
    return w, loss, t


def learnt(data, method, order=None, seed=0):
    state = FTRLState.new(data.n_features, seed)
    tally = method.learn(state, QueriesByLabel.of(data), np.arange(data.n_queries) if order is None else order)
    return state, tally


METHODS = [
    FTRL(0.5, 0.1),
    FTRL(0.0, 0.5, rho=0.0),
    FTRL(3.0, 0.01, rho=2.0),
    FTRL(0.5, 1e-4, feature_rates=False),
]


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize("longest", [1024, 0], ids=["pairs visited", "sorted sweeps"])
@given(data=st.one_of(datasets(), datasets(weighted=True)))
def test_learning_equals_the_listed_form(method, longest, data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ftrl, "LONGEST_VISITED", longest)
        state, tally = learnt(data, method)
    weights, loss, batches = slow_ftrl(data, method, pairs_by_query(data))
    np.testing.assert_allclose(state.weights, weights, rtol=1e-7, atol=1e-9 * np.abs(weights).max(initial=1e-3))
    assert tally.loss == pytest.approx(loss, rel=1e-7, abs=1e-9)
    assert tally.pairs == pytest.approx(sum(pair[2] for pair in listed_pairs(data)))
    assert state.batches == batches


def drawn_pairs(data, n_pairs, seed):
    """What `batch_pairs` draws: by the running sums of the pairs' and documents' weights, in order of label."""
    random = np.random.Generator(np.random.PCG64(seed))
    documents = np.ones(data.n_documents) if data.document_weights is None else data.document_weights
    batches = []
    for query, pairs in enumerate(pairs_by_query(data)):
        scale = 1.0 if data.query_weights is None else data.query_weights[query]
        shares = random.random((n_pairs, 2))
        if sum(weight / scale for *_, weight in pairs) <= n_pairs:
            batches.append(pairs)
            continue
        rows = sorted(data.queries.rows_of(np.array([query])), key=lambda row: (data.labels[row], row))
        batches.append([])
        for high_share, low_share in shares:
            below = [sum(documents[low] for low in rows if data.labels[low] < data.labels[row]) for row in rows]
            high = inverse(
                rows, [documents[row] * sum_below for row, sum_below in zip(rows, below, strict=True)], high_share
            )
            lows = [row for row in rows if data.labels[row] < data.labels[high]]
            batches[-1].append((high, inverse(lows, [documents[row] for row in lows], low_share), scale))
    return batches


def inverse(values, chances, share):
    running = np.cumsum(chances)
    return values[int(np.argmax(running > share * running[-1]))]


@given(data=st.one_of(datasets(), datasets(weighted=True)), n_pairs=st.integers(1, 12), seed=st.integers(0, 99))
def test_learning_from_drawn_pairs_equals_the_listed_form(data, n_pairs, seed):
    method = FTRL(0.5, 0.1, batch_pairs=n_pairs)
    state, tally = learnt(data, method, seed=seed)
    batches = drawn_pairs(data, n_pairs, seed)
    weights, loss, n_batches = slow_ftrl(data, method, batches)
    np.testing.assert_allclose(state.weights, weights, rtol=1e-7, atol=1e-9 * np.abs(weights).max(initial=1e-3))
    assert tally.loss == pytest.approx(loss, rel=1e-7, abs=1e-9)
    assert tally.pairs == pytest.approx(sum(weight for batch in batches for *_, weight in batch))
    assert state.batches == n_batches


def test_pairs_are_drawn_as_often_as_they_weigh():
    data = RankingDataset.from_arrays(np.eye(4), [0.0, 0.0, 1.0, 2.0], group=[4], document_weights=[1.0, 3.0, 2.0, 1.0])
    # From weights 0 every pair drawn has the slope -2: the gradient, and so z, counts how often each document won.
    state, tally = learnt(data, FTRL(1e9, 1e-12, batch_pairs=1), np.zeros(20_000, dtype=np.int64), seed=1)
    assert tally == Tally(20_000.0, 20_000.0)
    chances = {(2, 0): 2.0, (2, 1): 6.0, (3, 0): 1.0, (3, 1): 3.0, (3, 2): 2.0}
    expected = np.zeros(4)
    for (high, low), weight in chances.items():
        expected[high] -= 2.0 * weight / 14.0
        expected[low] += 2.0 * weight / 14.0
    np.testing.assert_allclose(state.z / 20_000, expected, atol=0.03)


@pytest.mark.parametrize("method", [*METHODS, FTRL(0.5, 0.1, batch_pairs=3)], ids=str)
@given(data=datasets(max_queries=9, weighted=True, interleaved=False), cuts=st.sets(st.integers(1, 8)))
def test_a_stream_may_be_cut_anywhere_between_queries(method, data, cuts):
    whole, _ = learnt(data, method)
    parts = FTRLState.new(data.n_features, 0)
    bounds = sorted({0, data.n_queries, *(cut for cut in cuts if cut < data.n_queries)})
    for first, last in pairwise(bounds):
        part = data.subset(np.arange(first, last))
        method.learn(parts, QueriesByLabel.of(part), np.arange(part.n_queries))
    for name in ("z", "squares", "weights", "clock"):
        assert getattr(parts, name).tobytes() == getattr(whole, name).tobytes()
    assert parts.random.bit_generator.state == whole.random.bit_generator.state


@pytest.mark.parametrize("longest", [1024, 0], ids=["pairs visited", "sorted sweeps"])
@pytest.mark.parametrize("feature_rates", [True, False])
def test_sparse_rows_learn_what_dense_ones_do(feature_rates, longest, monkeypatch):
    monkeypatch.setattr(ftrl, "LONGEST_VISITED", longest)
    data, _ = make_ranking(20, 15, 30, density=0.1, levels=4)
    full = RankingDataset.from_arrays(data.features.toarray(), data.labels, group=[15] * 20)
    method = FTRL(0.3, 0.1 if feature_rates else 1e-3, feature_rates=feature_rates)
    order = np.random.default_rng(0).integers(0, 20, size=60)
    np.testing.assert_allclose(
        learnt(data, method, order)[0].weights, learnt(full, method, order)[0].weights, rtol=1e-9, atol=1e-12
    )


def test_sparse_rows_move_only_the_features_they_have():
    values = np.array([[1.0, 0.0, 2.0, 0.0], [3.0, 0.0, 0.0, 0.0], [0.0, 5.0, 0.0, 0.0]])
    data = RankingDataset.from_arrays(sparse.csr_array(values), [1.0, 0.0, 0.0], group=[2, 1])
    state, _ = learnt(data, FTRL(0.0, 0.1))
    assert (state.squares != 0).tolist() == [True, False, True, False]
    assert (state.weights != 0).tolist() == [True, False, True, False]


def test_inputs_are_not_written_to():
    data, _ = make_ranking(5, 10, 4)
    before = data.fingerprint()
    learnt(data, FTRL(0.1, 0.1))
    assert data.fingerprint() == before


def test_queries_without_pairs_are_not_batches():
    data = RankingDataset.from_arrays(
        np.ones((6, 2)), [1, 1, 0, 1, 0, 1], group=[2, 2, 1, 1], document_weights=[1, 1, 0, 1, 1, 1]
    )
    state, tally = learnt(data, FTRL(0.0, 0.1))
    assert state.batches == 0
    assert tally == Tally(0.0, 0.0)


# Without the compiler, NumPy warns of each number beyond float64 on the way there.
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_weights_without_bound_are_reported():
    data, _ = make_ranking(300, 20, 10)
    with pytest.raises(LinrankError, match=r"without bound with learning_rate=100\. Use a smaller one"):
        learnt(data, FTRL(0.0, 100.0, feature_rates=False))


def test_a_saved_state_is_the_same_to_the_last_bit(tmp_path):
    data, _ = make_ranking(20, 10, 4)
    method = FTRL(0.1, 0.1, batch_pairs=5)
    state, _ = learnt(data, method)
    state.save(tmp_path / "state", {"name": "é"})
    again, about = FTRLState.load(tmp_path / "state")
    assert about == {"name": "é"}
    for resumed in (state, again):
        method.learn(resumed, QueriesByLabel.of(data), np.arange(20))
    assert again.weights.tobytes() == state.weights.tobytes()
    assert again.z.tobytes() == state.z.tobytes()
    assert again.squares.tobytes() == state.squares.tobytes()
    assert again.batches == state.batches == 40


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: content[:-8],
        lambda content: content[:-1] + bytes([content[-1] ^ 1]),
        lambda content: content.replace(b'"batches": 20', b'"batches": 21'),
        lambda content: content.replace(b"linrank-ftrl-state", b"another-ftrl-state"),
        lambda content: b"[1, 2]" + content,
        lambda content: b"",
        lambda content: b"\xff" + content,
    ],
)
def test_a_spoilt_state_is_refused(spoil, tmp_path):
    state, _ = learnt(make_ranking(20, 10, 4)[0], FTRL(0.1, 0.1))
    path = tmp_path / "state"
    state.save(path, {})
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(DataFormatError, match="is not a saved state"):
        FTRLState.load(path)


@pytest.mark.parametrize("spoil", [{"z": np.nan}, {"weights": 1e300}, {"squares": -1.0}, {"clock": -1}], ids=str)
def test_a_state_that_no_training_comes_to_is_refused(spoil, tmp_path):
    state, _ = learnt(make_ranking(20, 10, 4)[0], FTRL(0.1, 0.1))
    for name, value in spoil.items():
        getattr(state, name)[0] = value
    state.save(tmp_path / "state", {})
    with pytest.raises(DataFormatError, match="is not a saved state"):
        FTRLState.load(tmp_path / "state")


def test_a_state_that_is_not_there_is_reported(tmp_path):
    with pytest.raises(DataFormatError, match="cannot be read"):
        FTRLState.load(tmp_path / "none")
