"""Gradient descent with momentum: where it stops, that it never diverges, and what it learns of the eigenvalues."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from linrank import LinrankError, RankingDataset, make_ranking
from linrank.dataset.query_blocks import cut_into_blocks
from linrank.executors.local import Threads
from linrank.objective.least_squares import LeastSquares
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import SquaredHinge
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.online.heavy_ball import StochasticHeavyBall, Stream
from linrank.solvers import heavy_ball
from linrank.solvers.heavy_ball import Eigenvalues, HeavyBall, Rates, power_iteration


def objective_of(data, gamma=1.0, pair_weight="document", executor=None):
    return RankingObjective(LeastSquares(pair_weight), L2(gamma), 1.0, PlacedData.of(data, executor or Threads(1)))


def centred(data):
    """Features and labels with each query's mean taken off."""
    X = data.features.toarray() if sparse.issparse(data.features) else np.array(data.features, dtype=np.float64)
    y = data.labels.copy()
    for query in data.queries.ids:
        rows = data.qid == query
        X[rows] -= X[rows].mean(axis=0)
        y[rows] -= y[rows].mean()
    return X, y


def exact(data, gamma):
    """The least value and the weights there."""
    X, y = centred(data)
    weights = np.linalg.lstsq(
        np.vstack([X, np.sqrt(gamma) * np.eye(X.shape[1])]), np.append(y, np.zeros(X.shape[1])), rcond=None
    )[0]
    return 0.5 * np.sum((X @ weights - y) ** 2) + 0.5 * gamma * weights @ weights, weights


def awkward():
    plain, _ = make_ranking(20, 15, 6)
    X, rng = plain.features, np.random.default_rng(0)
    features = {
        "plain": X,
        "sparse": sparse.csr_array(X * (X > 1)),
        "constant": np.column_stack([X, np.full(300, 7.0)]),
        "duplicated": np.column_stack([X, X[:, :2], 10 * X[:, 0]]),
        "deficient": X[:, :2] @ rng.standard_normal((2, 8)),
        "zero": np.zeros((300, 3)),
        "scales": X * 10.0 ** np.arange(-3, 3),
        "huge": X * 10.0 ** np.arange(6, 12),
        "offset": X + 1e4,
        "wide": rng.standard_normal((300, 320)),
    }
    return {name: RankingDataset.from_arrays(part, plain.labels, qid=plain.qid) for name, part in features.items()}


AWKWARD = awkward()


@pytest.mark.parametrize("gamma", [1e-8, 1e-4, 1.0, 1e4, 1e8])
@pytest.mark.parametrize("name", AWKWARD)
def test_it_never_diverges_and_stops_only_near_the_minimum(name, gamma):
    data = AWKWARD[name]
    solution = HeavyBall(max_iterations=600).minimize(objective_of(data, gamma))
    least, _ = exact(data, gamma)
    values = np.array([line.value for line in solution.history])
    assert (values <= values[0] * (1 + 1e-6)).all()
    assert solution.value <= values[0]
    assert solution.value - least <= solution.certified_gap * (1 + 1e-6) + 1e-9 * values[0]
    if solution.converged:
        assert solution.certified_gap <= 1e-6 * solution.value
        assert solution.value - least <= 2e-6 * solution.value
    else:
        assert "out of iterations" in solution.message or "rounding of float64" in solution.message


def test_well_conditioned_data_is_always_solved():
    for name in ("plain", "sparse", "constant", "deficient", "zero"):
        for gamma in (1e-8, 1.0, 1e8):
            assert HeavyBall().minimize(objective_of(AWKWARD[name], gamma)).converged, (name, gamma)


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.99])
@pytest.mark.parametrize("learning_rate", [1e300, 1e6, 1.0, 1e-4, None])
def test_rates_that_would_diverge_are_lowered(momentum, learning_rate):
    data = AWKWARD["plain"]
    solution = HeavyBall(momentum, learning_rate, max_iterations=30_000).minimize(objective_of(data))
    assert solution.converged
    assert solution.value <= exact(data, 1.0)[0] * (1 + 1e-6)
    assert solution.rates.momentum == momentum
    largest = np.linalg.eigvalsh(centred(data)[0].T @ centred(data)[0])[-1] + 1
    if learning_rate == 1e-4 and momentum < 0.9:
        assert solution.rates.learning_rate == learning_rate
    assert solution.rates.step * largest <= 2 * (1 + momentum) * (1 + 1e-9)


@given(
    root=st.floats(0.0, 0.999),
    share=st.floats(1e-6, 1.0),
)
def test_no_component_of_the_error_ever_exceeds_its_first_value(root, share):
    rates = Rates.safe(root**2, largest=1.0)
    last, error = 1.0, 1.0 - rates.first_step * share
    for _ in range(500):
        assert abs(error) <= 1 + 1e-9
        last, error = error, (1 + rates.momentum - rates.step * share) * error - rates.momentum * last


@pytest.mark.parametrize("ratio", [1.0, 10.0, 1e4])
def test_the_rates_are_the_papers(ratio):
    rates = Rates.best(largest=5.0 * ratio, smallest=5.0)
    assert rates.learning_rate == pytest.approx(1 / np.sqrt(25.0 * ratio))
    assert rates.momentum == pytest.approx(((np.sqrt(ratio) - 1) / (np.sqrt(ratio) + 1)) ** 2)


def test_fixed_rates_follow_the_formula():
    data = AWKWARD["plain"]
    X, y = centred(data)
    rate, momentum = 1e-4, 0.5
    weights, last = np.zeros(6), np.zeros(6)
    for step in range(12):
        gradient = X.T @ (X @ weights - y) + weights
        length = (1 - momentum) * rate / (1 + np.sqrt(momentum) if step == 0 else 1)
        weights, last = weights - length * gradient + momentum * (weights - last), weights
    solution = HeavyBall(momentum, rate, tolerance=1e-300, max_iterations=12).minimize(objective_of(data))
    np.testing.assert_allclose(solution.weights, weights, rtol=1e-10)


@pytest.mark.parametrize("pair_weight", ["document", "pair"])
def test_power_iteration_finds_the_ends_of_the_centred_spectrum(pair_weight):
    data, _ = make_ranking(30, 15, 4, skew=False)
    X, _ = centred(data)
    X *= np.sqrt(15) if pair_weight == "pair" else 1.0
    X[:, 0] += 100.0
    values = np.linalg.eigvalsh(centred(RankingDataset.from_arrays(X, data.labels, qid=data.qid))[0].T @ X)
    point = objective_of(RankingDataset.from_arrays(X, data.labels, qid=data.qid), 3.0).at(np.zeros(4))
    found = power_iteration(point, 200, seed=1)
    # Without the centring the first feature's offset would make the largest one a hundred times larger.
    assert found.largest == pytest.approx(values[-1] + 3.0, rel=1e-5)
    assert found.smallest == pytest.approx(values[0] + 3.0, rel=1e-3)
    ups, downs = zip(*found.estimates, strict=True)
    assert max(ups) <= (values[-1] + 3.0) * (1 + 1e-12)
    assert min(downs) >= (values[0] + 3.0) * (1 - 1e-9)


@pytest.mark.parametrize(("high", "low"), [(0.1, 1.0), (0.9, 1.0), (1.0, 1e3), (0.5, 1e3), (0.999, 0.01), (1e-6, 1.0)])
def test_wrong_estimates_are_corrected_on_the_way(high, low, monkeypatch):
    data = AWKWARD["plain"]
    X, _ = centred(data)
    values = np.linalg.eigvalsh(X.T @ X) + 1.0
    monkeypatch.setattr(
        heavy_ball,
        "power_iteration",
        lambda *_: Eigenvalues(high * values[-1], min(high * values[-1], low * values[0])),
    )
    solution = HeavyBall(tolerance=1e-12).minimize(objective_of(data))
    assert solution.converged
    assert solution.value == pytest.approx(exact(data, 1.0)[0], rel=1e-11)
    assert solution.eigenvalues.largest >= 0.99 * values[-1]
    assert solution.eigenvalues.smallest <= 4 * values[0]


def test_a_start_near_the_solution_saves_work():
    objective = objective_of(AWKWARD["plain"])
    cold = HeavyBall().minimize(objective)
    assert HeavyBall().minimize(objective, cold.weights).iterations < cold.iterations


def test_other_losses_and_no_penalty_are_refused():
    data = PlacedData.of(AWKWARD["plain"], Threads(1))
    with pytest.raises(LinrankError, match="least squares"):
        HeavyBall().minimize(RankingObjective(SquaredHinge(), L2(), 1.0, data))
    with pytest.raises(LinrankError, match="positive"):
        HeavyBall().minimize(RankingObjective(LeastSquares(), L2(0.0), 1.0, data))


def stream_through(data, gamma, documents, passes=1, pair_weight="document"):
    stream = Stream.starting_at(np.zeros(data.n_features))
    method = StochasticHeavyBall(LeastSquares(pair_weight), gamma)
    for _ in range(passes):
        blocks = cut_into_blocks(data, documents * 8 * data.n_features)
        method.learn(stream, blocks, range(len(blocks)))
    return stream


def test_the_stochastic_steps_follow_their_formula():
    data, _ = make_ranking(12, 10, 5)
    X, y = centred(data)
    w, v, average, mass, squares = np.zeros(5), np.zeros(5), np.zeros(5), 0.0, 0.0
    for t, rows in enumerate(np.split(np.arange(120), 4), start=1):
        mass += 30
        share, gamma = mass / t, 2.0 / mass
        gradient = X[rows].T @ (X[rows] @ w - y[rows]) / share + gamma * w
        curvature = np.linalg.norm(X[rows].T @ (X[rows] @ gradient)) / share / np.linalg.norm(gradient)
        squares += curvature**2
        rate = 1 / (max(np.sqrt(squares / t), 0.5 * curvature) + gamma)
        v = 0.5 * v - 0.5 * rate * gradient
        w = w + v
        average = average + (w - average) * 5 / (t + 4)
    np.testing.assert_allclose(stream_through(data, 2.0, 30).weights, average, rtol=1e-9)


@pytest.mark.parametrize("name", ["plain", "sparse", "constant", "duplicated", "deficient", "zero", "scales"])
@pytest.mark.parametrize("gamma", [1e-8, 1.0, 1e8])
def test_the_stochastic_method_does_not_diverge(name, gamma):
    data = AWKWARD[name]
    objective = objective_of(data, gamma)
    stream = stream_through(data, gamma, 60, passes=5)
    assert objective.at(stream.weights).value <= 1.5 * objective.at(np.zeros(data.n_features)).value


def test_one_pass_of_a_long_stream_comes_close_to_the_minimum():
    data, _ = make_ranking(1000, 20, 10, skew=False)
    least, _ = exact(data, 1.0)
    objective = objective_of(data)
    reached = objective.at(stream_through(data, 1.0, 256).weights).value
    assert reached <= 1.01 * least
    assert objective.at(np.zeros(10)).value > 2 * least


def test_an_unfinished_descent_counts_its_steps_and_returns_the_lowest_of_its_points():
    """Momentum overshoots: with much of it the last of few steps is rarely the lowest."""
    for steps in (7, 20, 40):
        solution = HeavyBall(0.99, max_iterations=steps, tolerance=1e-300).minimize(objective_of(AWKWARD["scales"]))
        assert solution.iterations == steps
        assert len(solution.history) == steps + 1
        lowest = min(solution.history, key=lambda line: line.value)
        assert solution.value == lowest.value
        assert solution.certified_gap == lowest.certified_gap
        assert objective_of(AWKWARD["scales"]).at(solution.weights).value == pytest.approx(lowest.value, rel=1e-12)
