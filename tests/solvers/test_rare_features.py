"""Features that hardly occur, never vary or are on any scale: the minimum is found, or it is said that it was not."""

import numpy as np
import pytest
from scipy import optimize, sparse

from linrank import RankingDataset, RankSVM, make_ranking
from linrank.executors.local import Threads
from linrank.objective.l1_ball import L1Ball
from linrank.objective.list_losses import TopOneCrossEntropy
from linrank.objective.logistic_pairs import Logistic
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import Hinge, SquaredHinge
from linrank.objective.penalties import L1, L2, ElasticNet, WeightPenalty
from linrank.objective.placement import PlacedData
from linrank.solvers import proximal_newton
from linrank.solvers.frank_wolfe import FrankWolfe
from linrank.solvers.l1_model import minimum_of_model
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.proximal_gradient import ProximalGradient
from linrank.solvers.proximal_newton import ProximalNewton, SecantHessian
from linrank.solvers.smoothed_newton import SmoothedNewton
from linrank.solvers.solution import Journal
from linrank.solvers.tron import TRON

N_QUERIES, N_DOCUMENTS = 60, 20
MADE, TRUTH = make_ranking(N_QUERIES, N_DOCUMENTS, 6, random_state=1)
QUERY_OF = np.repeat(np.arange(N_QUERIES), N_DOCUMENTS)
LABELS = MADE.labels
# Of the 42nd query, the document of the highest label that other features rank lowest: a feature of its own helps.
IN_QUERY = slice(41 * N_DOCUMENTS, 42 * N_DOCUMENTS)
SCORES = MADE.features[IN_QUERY] @ TRUTH
BEST = IN_QUERY.start + int(np.argmin(SCORES + 1e3 * (LABELS[IN_QUERY] < LABELS[IN_QUERY].max())))


def column(kind):
    """A feature that is hardly there."""
    values = np.zeros(len(LABELS))
    rng = np.random.default_rng(0)
    if kind == "in one document":
        values[BEST] = 1.0
    elif kind == "in all documents but one":
        values[:] = 1.0
        values[BEST] = 2.0
    elif kind == "in one query":
        values[IN_QUERY] = rng.standard_normal(N_DOCUMENTS)
    elif kind == "constant":
        values[:] = 1e6 / 3
    elif kind == "constant in each query":
        values[:] = (1e3 * rng.standard_normal(N_QUERIES))[QUERY_OF]
    else:
        assert kind == "empty"
    return values


RARE = ["in one document", "in all documents but one", "in one query"]
IDLE = ["constant", "constant in each query", "empty"]


def data_with(kind, *, layout="dense", scales=1.0, labels=LABELS):
    X = np.column_stack([MADE.features, column(kind)]) * scales
    return RankingDataset.from_arrays(sparse.csr_matrix(X) if layout == "CSR" else X, labels, qid=QUERY_OF)


def objective_of(data, loss, penalty=None):
    return RankingObjective(loss, penalty or WeightPenalty(), 1.0, PlacedData.of(data, Threads(1)))


def small_samples(monkeypatch, documents=200):
    """As with much data: the first Hessian is that of few queries, which do not contain the feature."""
    monkeypatch.setattr(NewtonCG, "documents_for_a_matrix", lambda solver, data: documents)


LOSSES = {"squared hinge": SquaredHinge(), "logistic": Logistic()}


@pytest.mark.parametrize("layout", ["dense", "CSR"])
@pytest.mark.parametrize("kind", RARE)
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("strength", [0.0, 0.5], ids=["L1", "elastic net"])
def test_a_feature_the_sample_does_not_contain_gets_its_weight(monkeypatch, layout, kind, name, strength):
    small_samples(monkeypatch)
    objective = objective_of(data_with(kind, layout=layout), LOSSES[name], L1(0.1) + L2(strength))
    assert kind != "in one document" or not any(
        block.features.to_dense()[:, -1].any() for block, _ in objective.data.sample(200).blocks
    )
    solution = ProximalNewton(1e-12).minimize(objective)
    assert solution.converged
    assert solution.weights[-1] != 0.0
    assert np.abs(objective.at(solution.weights).least_subgradient).max() <= 1e-3 * 0.1


@pytest.mark.parametrize("layout", ["dense", "CSR"])
@pytest.mark.parametrize("kind", IDLE)
def test_a_feature_that_never_varies_has_no_slope_no_curvature_and_no_weight(layout, kind):
    data = data_with(kind, layout=layout)
    for loss in (SquaredHinge(), Logistic(), TopOneCrossEntropy()):
        objective = objective_of(data, loss, L2())
        assert objective.idle.tolist() == [6]
        point = objective.at(np.linspace(-1.0, 1.0, 7))
        assert point.loss_gradient[-1] == 0.0
        assert point.with_penalty(L2(0.0)).hessian_product(np.ones(7))[-1] == 0.0
        hessian = point.with_penalty(L2(0.0)).sampled_hessian(objective.data.sample(10**6))
        assert not hessian[-1].any()
        assert not hessian[:, -1].any()
    start = np.ones(7)
    for solver, penalty, loss in (
        (NewtonCG(), L2(), SquaredHinge()),
        (TRON(), L2(), SquaredHinge()),
        (ProximalNewton(), ElasticNet(0.5), SquaredHinge()),
        (ProximalGradient(), L1(1.0), SquaredHinge()),
        (FrankWolfe(), L1Ball(8.0), SquaredHinge()),
        (SmoothedNewton(1e-2), L2(), Hinge()),
    ):
        assert solver.minimize(objective_of(data, loss, penalty), start).weights[-1] == 0.0


def test_what_varies_is_told_by_the_queries_and_documents_that_count():
    X = np.array([[1.0, 5.0, 0.0, 2.0], [1.0, 7.0, 0.0, 2.0], [3.0, 0.0, 1.0, 2.0], [3.0, 0.0, 0.0, 2.0]])
    labels = np.array([1.0, 1.0, 0.0, 1.0])
    for made in (X, sparse.csr_matrix(X)):
        data = RankingDataset.from_arrays(made, labels, qid=[0, 0, 1, 1])
        assert objective_of(data, SquaredHinge()).idle.tolist() == [0, 1, 3]
        # ListNet wants equal scores for equal labels.
        assert objective_of(data, TopOneCrossEntropy()).idle.tolist() == [0, 3]
        weighted = RankingDataset.from_arrays(made, labels, qid=[0, 0, 1, 1], document_weights=[1.0, 0.0, 1.0, 1.0])
        assert objective_of(weighted, TopOneCrossEntropy()).idle.tolist() == [0, 1, 3]


@pytest.mark.parametrize("wide", [False, True], ids=["matrix", "diagonal"])
def test_wide_data_with_an_empty_column_has_the_weights_of_those_without(monkeypatch, wide):
    if wide:
        monkeypatch.setattr(proximal_newton, "MOST_FEATURES_IN_A_MATRIX", 1)
    with_it = objective_of(data_with("empty"), SquaredHinge(), L1(20.0))
    without = objective_of(RankingDataset.from_arrays(MADE.features, LABELS, qid=QUERY_OF), SquaredHinge(), L1(20.0))
    solutions = [ProximalNewton(1e-7, max_iterations=3000).minimize(of) for of in (with_it, without)]
    assert all(solution.converged for solution in solutions)
    np.testing.assert_allclose(solutions[0].weights[:-1], solutions[1].weights, atol=1e-5)
    assert np.count_nonzero(solutions[0].weights) > 0


@pytest.mark.parametrize("layout", ["dense", "CSR"])
@pytest.mark.parametrize("kind", ["in one document", "in one query", "constant"])
def test_scales_from_1e_minus_9_to_1e_9_are_solved_or_not_called_converged(layout, kind):
    scales = 10.0 ** np.array([-9, 9, -4, 3, 0, 6, 5])
    objective = objective_of(data_with(kind, layout=layout, scales=scales), SquaredHinge(), L1(1.0))
    solution = ProximalNewton(1e-6).minimize(objective)
    assert not solution.converged or solution.certified_gap <= 1e-6 * solution.value
    # What the same data on one scale say, with thresholds to match.
    same = objective_of(data_with(kind, layout=layout), SquaredHinge(), L1(1.0, 1.0 / scales))
    plain = ProximalNewton(1e-9).minimize(same)
    assert solution.value == pytest.approx(plain.value, rel=1e-5)
    for solver in (NewtonCG(), TRON(1e-6)):
        found = solver.minimize(objective_of(data_with(kind, layout=layout, scales=scales), SquaredHinge(), L2()))
        assert np.isfinite(found.weights).all()


def test_a_model_is_solved_to_the_end_however_alike_its_features_are():
    rng = np.random.default_rng(0)
    base = rng.standard_normal((200, 30))
    rows = base @ np.ones((30, 40)) * 100.0 + rng.standard_normal((200, 40))
    hessian, slopes = rows.T @ rows, rows.T @ rng.standard_normal(200)
    weights = minimum_of_model(hessian, slopes.copy(), L1(0.3), np.zeros(40))
    least = L1(0.3).least_subgradient(weights, slopes + hessian @ weights)
    assert np.abs(least).max() <= 1e-4 * 0.3

    def value(parts):
        w = parts[:40] - parts[40:]
        return slopes @ w + 0.5 * w @ hessian @ w + 0.3 * parts.sum()

    def slope(parts):
        g = slopes + hessian @ (parts[:40] - parts[40:])
        return np.concatenate([g + 0.3, 0.3 - g])

    best = optimize.minimize(
        value, np.zeros(80), jac=slope, method="L-BFGS-B", bounds=[(0, None)] * 80, options={"maxiter": 20000}
    ).fun
    assert value(np.concatenate([np.maximum(weights, 0), np.maximum(-weights, 0)])) <= best + 1e-6 * abs(best)


@pytest.mark.parametrize("seed", [0, 34])
def test_models_and_corners_of_weights_far_apart_leave_float64_without_a_word(seed):
    """(Warnings of NumPy are errors here.)"""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((28, 4))
    X[:, 3], X[:, 2] = X[:, 1], X[:, 2] + 1e9
    weights = 10.0 ** rng.integers(-15, 15, 28)
    data = RankingDataset.from_arrays(X, np.tile([0, 1, 2, 0, 1, 0, 2], 4), group=[7] * 4, document_weights=weights)
    found = RankSVM(loss="hinge", penalty="l1", max_iter=30, max_seconds=5.0).fit(data)
    assert np.isfinite(found.coef_).all()
    assert found.objective_ >= 0.0


def test_a_sample_that_misleads_is_followed_by_larger_ones(monkeypatch):
    small_samples(monkeypatch, 20)
    data = objective_of(data_with("in one query"), SquaredHinge()).data
    curvature = SecantHessian()
    assert not curvature.enlarge(data)
    curvature.at(objective_of(data_with("in one query"), SquaredHinge()).start())
    sizes = []
    while curvature.enlarge(data):
        sizes.append(curvature._wanted(data))
    assert sizes[0] > 20
    assert sizes[-1] == data.n_documents


def test_a_stall_away_from_the_minimum_is_no_convergence(monkeypatch):
    objective = objective_of(data_with("empty"), SquaredHinge(), L1(1.0))
    monkeypatch.setattr(ProximalNewton, "_toward", lambda solver, point, target, value, promised: (point, 0.0))
    solution = ProximalNewton().minimize(objective)
    assert not solution.converged
    assert "not at its minimum" in solution.message
    monkeypatch.undo()
    point = objective.at(ProximalNewton(1e-14).minimize(objective).weights)
    journal = Journal()
    journal.note(point.weights, point.value, 0.0, gap=1.0, certified_gap=1.0, inner=1, step=1.0)
    assert journal.stalled(point, point.gradient, gap=0.0).converged
    away = objective.at(1.01 * point.weights)
    assert not journal.stalled(away, 2.0 * away.gradient_rounding()).converged
    # A gradient within its rounding allows no more, and proves nothing.
    short = journal.stalled(away, 0.5 * away.gradient_rounding())
    assert not short.converged
    assert "short of the tolerance" in short.message
