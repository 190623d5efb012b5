"""One certificate for every convex loss and penalty: never above the minimum that another solver finds, and near it."""

import itertools

import numpy as np
import pytest
from scipy import optimize

from linrank import make_ranking
from linrank.executors.local import Threads
from linrank.objective.concave_penalties import MCP
from linrank.objective.l1_ball import L1Ball
from linrank.objective.least_squares import LeastSquares
from linrank.objective.list_losses import TopOneCrossEntropy
from linrank.objective.logistic_pairs import Logistic, NDCGWeightedLogistic
from linrank.objective.ndcg_weighted import NDCGWeightedHuber
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import Hinge, SmoothedHinge, SquaredHinge
from linrank.objective.penalties import L1, L2, Bounds, ElasticNet, Toward
from linrank.objective.placement import PlacedData
from linrank.objective.pointwise_losses import (
    EpsilonInsensitive,
    SmoothedEpsilonInsensitive,
    SquaredEpsilonInsensitive,
)
from linrank.solvers.frank_wolfe import FrankWolfe
from linrank.solvers.proximal_newton import ProximalNewton

N = 4
DATA, _ = make_ranking(5, 7, N, skew=False, random_state=3)
PLACED = PlacedData.of(DATA, Threads(1))
NEAR = np.array([0.5, -0.3, 0.0, 2.0])

SMOOTH = {
    "squared hinge": SquaredHinge(),
    "wide smoothed hinge": SmoothedHinge(2.0),
    "smoothed hinge": SmoothedHinge(0.5),
    "cross entropy": TopOneCrossEntropy(),
    "logistic": Logistic(),
    "least squares": LeastSquares("document"),
    "least squares of pairs": LeastSquares("pair"),
    "squared tube": SquaredEpsilonInsensitive(0.1),
    "smoothed tube": SmoothedEpsilonInsensitive(0.1, 0.5),
}
# At w = 0 these are linear in all that counts, and Newton's method needs a better start.
FLAT_AT_ZERO = {"smoothed hinge", "smoothed tube"}
SHARP = [(Hinge(), SmoothedHinge(1e-3)), (EpsilonInsensitive(0.1), SmoothedEpsilonInsensitive(0.1, 1e-3))]
PENALTIES = {
    "L2": L2(),
    "weak L2": L2(1e-4),
    "strong L2": L2(100.0),
    "L1": L1(0.7),
    "L1 by feature": L1(0.7, np.array([1.0, 0.1, 3.0, 2.0])),
    "elastic net": ElasticNet(0.5),
    "L2 and no negative weight": L2() + Bounds(0.0),
    "toward": Toward(NEAR),
    "toward within bounds": Toward(NEAR) + Bounds([-np.inf, 0.0, 0.1, -1.0], [0.2, np.inf, 0.3, 1.0]),
    "L1 within bounds": L1(0.7) + Bounds(-0.2, [np.inf, 0.0, 0.1, 0.3]),
    "bounds alone": Bounds(-0.3, 0.4),
}
BALL = L1Ball(0.6)


def objective_of(loss, penalty, C=1.0):
    return RankingObjective(loss, penalty, C, PLACED)


def minimum(objective):
    """The least value, and where: over w = u - v, u and v not negative, for which |w| is u + v and all is smooth."""
    C, penalty, loss = objective.C, objective.penalty, objective.with_penalty(L2(0.0))
    lower, upper = (np.broadcast_to(bound, N) for bound in (penalty.lower, penalty.upper))

    def smooth(weights):
        point, away = loss.at(weights), weights - penalty.centres
        value = C * point.loss_value + 0.5 * np.sum(penalty.strengths * away * away)
        return value, C * point.loss_gradient + penalty.strengths * away

    def of_parts(parts):
        value, gradient = smooth(parts[:N] - parts[N:])
        value += np.sum(penalty.thresholds * (parts[:N] + parts[N:]))
        return value, np.concatenate([gradient + penalty.thresholds, penalty.thresholds - gradient])

    if not np.any(penalty.thresholds):
        found = least_within(smooth, list(zip(lower, upper, strict=True)))
        return found.fun, found.x
    # Where both bounds are of one sign, one of u and v is zero and the other lies between them.
    bounds = [(max(low, 0.0), max(high, 0.0)) for low, high in zip(lower, upper, strict=True)]
    bounds += [(max(-high, 0.0), max(-low, 0.0)) for low, high in zip(lower, upper, strict=True)]
    found = least_within(of_parts, bounds)
    return found.fun, found.x[:N] - found.x[N:]


def least_within(value_and_gradient, bounds):
    options = {"maxiter": 20_000, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-9}
    found, start = None, np.clip(np.zeros(len(bounds)), *np.transpose(bounds))
    for _ in range(2):
        # A line search that gave up for rounding is helped by a fresh start.
        found = optimize.minimize(
            value_and_gradient, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options
        )
        start = found.x
    return found


def least_in_the_ball(objective, radius):
    def value_and_gradient(parts):
        point = objective.at(parts[:N] - parts[N:])
        return point.value, np.concatenate([point.gradient, -point.gradient])

    inside = {"type": "ineq", "fun": lambda parts: radius - parts.sum(), "jac": lambda parts: -np.ones(2 * N)}
    found = optimize.minimize(
        value_and_gradient, np.full(2 * N, 1e-3), jac=True, method="SLSQP", bounds=[(0, None)] * (2 * N),
        constraints=inside, options={"maxiter": 1000, "ftol": 1e-13},
    )  # fmt: skip
    return float(found.fun)


def tried_weights(objective, best):
    """Random weights that are allowed, from small to large; the best known, and some around it."""
    rng = np.random.default_rng(0)
    tried = [size * rng.standard_normal(N) for size in (0.0, 0.1, 1.0, 10.0) for _ in range(2)]
    tried += [best * (1.0 + off * rng.standard_normal(N)) for off in (0.1, 1e-3, 1e-6)]
    return [best, *(objective.penalty.within(weights) for weights in tried)]


@pytest.mark.parametrize("C", [0.02, 5.0])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("loss", SMOOTH)
def test_no_bound_is_above_the_minimum_and_at_the_solution_it_is_near(loss, penalty, C):
    objective = objective_of(SMOOTH[loss], PENALTIES[penalty], C)
    least, near = minimum(objective)
    solution = ProximalNewton(1e-9).minimize(objective, near if loss in FLAT_AT_ZERO else None)
    assert solution.converged
    rounding = 1e-8 * (1.0 + abs(least))
    assert -rounding <= solution.value - least <= solution.certified_gap + rounding
    assert solution.certified_gap <= max(1e-9 * solution.value, rounding)
    for weights in tried_weights(objective, solution.weights):
        point = objective.at(weights)
        assert -rounding <= point.value - least <= point.gap() + rounding
        assert -np.inf < point.lower_bound() <= least + rounding
        assert point.dual_value() <= least + rounding


@pytest.mark.parametrize("C", [0.02, 5.0])
@pytest.mark.parametrize("loss", SMOOTH)
def test_within_a_ball_no_bound_is_above_the_minimum_and_at_the_solution_it_is_near(loss, C):
    objective = objective_of(SMOOTH[loss], BALL, C)
    least = least_in_the_ball(objective, BALL.radius)
    solution = FrankWolfe(1e-3, max_iterations=2000).minimize(objective)
    assert solution.converged
    rounding = 1e-6 * (1.0 + abs(least))
    assert -rounding <= solution.value - least <= solution.certified_gap + rounding
    assert objective.at(solution.weights).gap() <= solution.certified_gap * (1.0 + 1e-9) + rounding
    for weights in tried_weights(objective, solution.weights):
        point = objective.at(weights)
        assert point.value - least <= point.gap() + rounding
        assert point.lower_bound() <= least + rounding


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize(("sharp", "rounded"), SHARP, ids=lambda loss: type(loss).__name__)
def test_a_loss_with_corners_is_certified_by_any_of_its_slopes(sharp, rounded, name):
    # The rounded loss is below by at most half its width a term, so its solution is nearly the other's.
    smooth = objective_of(rounded, PENALTIES[name])
    least, near = minimum(smooth)
    objective = smooth.with_loss(sharp)
    reached = objective.at(near).value
    assert least <= reached * (1.0 + 1e-9)
    for weights in tried_weights(objective, near):
        point = objective.at(weights)
        assert point.lower_bound() <= reached * (1.0 + 1e-9)
        assert point.dual_value() <= reached * (1.0 + 1e-9)


def test_the_whole_of_the_slopes_certifies_more_near_the_minimum_than_any_less():
    for loss, C in itertools.product((SMOOTH[name] for name in SMOOTH if name not in FLAT_AT_ZERO), (0.02, 1.0)):
        objective = objective_of(loss, L2(), C)
        solution = ProximalNewton(1e-10).minimize(objective)
        point = objective.at(solution.weights * (1.0 + 1e-5))
        # For w.w / 2 the gap of the whole is half the squared length of the gradient.
        assert point.gap() <= 0.5 * float(point.gradient @ point.gradient) * (1.0 + 1e-6)


@pytest.mark.parametrize("loss", [NDCGWeightedHuber(), NDCGWeightedLogistic()], ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("name", [*PENALTIES, "ball", "concave"])
def test_of_a_loss_that_is_not_convex_nothing_is_certified(loss, name):
    penalty = {**PENALTIES, "ball": BALL, "concave": MCP(1.0, 1.0)}[name]
    for C in (0.02, 1.0):
        objective = objective_of(loss, penalty, C)
        for weights in (np.zeros(N), np.ones(N)):
            point = objective.start(weights)
            assert point.gap() == np.inf
            assert point.lower_bound() == -np.inf
            assert point.dual_value() == -np.inf


@pytest.mark.parametrize("loss", SMOOTH.values(), ids=SMOOTH)
def test_of_a_concave_penalty_nothing_is_certified(loss):
    point = objective_of(loss, MCP(1.0, 1.0)).at(np.ones(N))
    assert point.gap() == np.inf
    assert point.lower_bound() == -np.inf


def test_data_without_pairs_are_certified_at_once():
    data, _ = make_ranking(3, 4, N, levels=2)
    same = PlacedData.of(type(data).from_arrays(data.features, np.ones(12), qid=data.qid), Threads(1))
    for loss in (SquaredHinge(), SmoothedHinge(0.5), Logistic()):
        for name, penalty in PENALTIES.items():
            point = RankingObjective(loss, penalty, 1.0, same).start()
            solution = ProximalNewton(1e-9).minimize(point.objective)
            assert solution.converged, name
            assert solution.certified_gap <= 1e-12
