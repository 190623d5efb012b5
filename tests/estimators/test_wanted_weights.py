"""Bounds, signs and a prior: exact, certified, by name, for every ranker with a convex loss."""

import numpy as np
import pytest
from scipy import optimize, sparse

from linrank import (
    EGDM,
    GDM,
    LinearModel,
    LinearSVRRanker,
    LinrankError,
    ListNet,
    PairwiseRidge,
    RankingDataset,
    RankNet,
    RankSVM,
    RankSVMCV,
    SparseRank,
    feature_path,
    make_ranking,
)
from linrank.estimators.linear_svr import _documents_alone
from linrank.executors.local import Threads
from linrank.solvers.registry import SOLVERS

DATA, TRUE = make_ranking(30, 15, 6, n_informative=6, random_state=2)
NAMES = ("bm25", "title", "clicks", "age", "price", "length")
NAMED = RankingDataset.from_arrays(DATA.features, DATA.labels, qid=DATA.qid, feature_names=NAMES)
PRIOR = np.array([0.5, -0.2, 0.0, 0.1, 0.3, -0.4])
RANKERS = [
    RankSVM(0.01),
    RankSVM(0.01, penalty="elasticnet"),
    RankNet(0.01),
    ListNet(1.0),
    PairwiseRidge(10.0),
]
BOUNDS = {"non-negative": (0, None), "a box": (-0.05, 0.1), "none": (None, None)}


def least_value(ranker, data, lower, upper, prior):
    """The minimum by scipy's L-BFGS-B, from the ranker's own loss and the penalty written out."""
    with Threads(1) as executor:
        fitted = ranker.__class__(**ranker.get_params()).fit(data)
        objective = fitted._objective(data, executor)
        share = 0.5 if getattr(ranker, "penalty", "l2") == "elasticnet" else 0.0
        strength = float(getattr(ranker, "gamma", 1.0)) * (1 - share)
        n = data.n_features

        def value_and_gradient(parts):
            weights = parts[:n] - parts[n:]
            point = objective.at(weights)
            gradient = objective.C * point.loss_gradient + strength * (weights - prior)
            value = objective.C * point.loss_value + 0.5 * strength * np.sum((weights - prior) ** 2)
            return value + share * parts.sum(), np.concatenate([gradient + share, share - gradient])

        sides = [(max(0.0, low), max(0.0, high)) for low, high in zip(lower, upper, strict=True)]
        sides += [(max(0.0, -high), max(0.0, -low)) for low, high in zip(lower, upper, strict=True)]
        found = optimize.minimize(
            value_and_gradient, [low for low, _ in sides], jac=True, method="L-BFGS-B", bounds=sides,
            options={"maxiter": 20000, "maxfun": 10**6, "ftol": 1e-16, "gtol": 1e-9},
        )  # fmt: skip
        return found.fun


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("with_prior", [False, True], ids=["", "prior"])
@pytest.mark.parametrize("ranker", RANKERS, ids=lambda one: f"{type(one).__name__} {getattr(one, 'penalty', '')}")
def test_the_minimum_is_that_of_another_solver(ranker, bounds, with_prior, make):
    if with_prior and getattr(ranker, "penalty", "") == "elasticnet":
        pytest.skip("a prior needs the penalty w.w / 2")
    low, high = BOUNDS[bounds]
    data = RankingDataset.from_arrays(make(DATA.features), DATA.labels, qid=DATA.qid)
    wanted = ranker.__class__(**ranker.get_params())
    wanted.set_params(bounds=(low, high), tol=1e-10, **({"prior": PRIOR} if with_prior else {}))
    wanted.fit(data)
    lower, upper = (np.full(6, -np.inf if low is None else low), np.full(6, np.inf if high is None else high))
    assert (wanted.coef_ >= lower).all()
    assert (wanted.coef_ <= upper).all()
    least = least_value(ranker, data, lower, upper, PRIOR if with_prior else np.zeros(6))
    assert wanted.objective_ == pytest.approx(least, rel=1e-7)
    assert wanted.objective_ - wanted.gap_ <= least * (1 + 1e-9)
    assert wanted.gap_ <= 1e-6 * wanted.objective_


@pytest.mark.parametrize(
    ("settings", "tol"),
    [
        ({"bounds": "non-negative"}, 1e-4),
        ({"penalty": "elasticnet", "bounds": (-0.1, 0.1)}, 1e-4),
        ({"penalty": "l1"}, 2e-3),
    ],
    ids=str,
)
def test_the_hinge_takes_bounds_and_corners(settings, tol):
    loose = RankSVM(0.01, loss="hinge", tol=1e-2, **settings).fit(NAMED)
    tight = RankSVM(0.01, loss="hinge", tol=tol, **settings).fit(NAMED)
    assert loose.gap_ <= 1e-2 * loose.objective_
    assert tight.gap_ <= tol * tight.objective_
    assert loose.objective_ - loose.gap_ <= tight.objective_ <= loose.objective_ * (1 + tol)


def test_bounds_go_by_name_number_or_all_at_once():
    by_name = RankSVM(0.01, bounds={"bm25": "-", "price": (0, 0.01), 3: (None, 0)}).fit(NAMED).coef_
    assert by_name[0] <= 0
    assert 0 <= by_name[4] <= 0.01
    assert by_name[3] <= 0
    lower, upper = np.full(6, -np.inf), np.full(6, np.inf)
    lower[4], upper[[0, 3, 4]] = 0, [0, 0, 0.01]
    np.testing.assert_array_equal(RankSVM(0.01, bounds=(lower, upper)).fit(NAMED).coef_, by_name)
    assert (RankSVM(0.01, bounds="non-positive").fit(NAMED).coef_ <= 0).all()


def test_a_prior_is_kept_where_the_data_says_nothing_and_left_where_it_does():
    model = LinearModel(np.array([3.0, 0.0, -1.0]), ("title", "unused elsewhere", "age"))
    near = RankSVM(1e-9, prior=model).fit(NAMED).coef_
    np.testing.assert_allclose(near, [0, 3, 0, -1, 0, 0], atol=1e-4)
    far = RankSVM(10.0, prior=model).fit(NAMED).coef_
    free = RankSVM(10.0).fit(NAMED).coef_
    assert np.abs(far - free).max() < 0.05 * np.abs(near - free).max()
    np.testing.assert_array_equal(RankSVM(1e-9, prior={"title": 3.0, "age": -1.0}).fit(NAMED).coef_, near)


def test_the_prior_is_in_raw_units_of_a_scaled_model_too():
    scaled = RankSVM(0.01).fit(NAMED).to_model()
    assert np.isfinite(RankSVM(1e-9, prior=scaled).fit(NAMED).coef_).all()


def test_others_that_take_bounds():
    tuned = RankSVMCV([1e-3, 1e-2], cv=3, bounds="non-negative").fit(NAMED)
    alone = RankSVM(tuned.C_, bounds="non-negative").fit(NAMED)
    np.testing.assert_allclose(tuned.coef_, alone.coef_, rtol=1e-6, atol=1e-9)
    sparse_one = SparseRank(20.0, bounds="non-negative", tol=1e-8).fit(NAMED)
    same = RankSVM(1 / 20.0, penalty="l1", bounds="non-negative", tol=1e-10).fit(NAMED)
    np.testing.assert_allclose(sparse_one.coef_, same.coef_, atol=1e-4)
    path = feature_path(NAMED, None, bounds="non-negative", n_steps=10)
    assert all((step.weights >= 0).all() for step in path.steps)
    capped = feature_path(NAMED, None, bounds={"bm25": (-1e-3, 1e-3)}, n_steps=10, scaling="standard")
    assert max(abs(step.weights[0]) for step in capped.steps) <= 1e-3 * (1 + 1e-12)


def test_any_number_of_threads_gives_the_same_weights():
    one, three = (RankSVM(0.01, bounds="non-negative", n_threads=n).fit(NAMED).coef_ for n in (1, 3))
    assert one.tobytes() == three.tobytes()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"bounds": "positive"}, "bounds='positive'; use 'non-negative'"),
        (
            {"bounds": {"tittle": "+"}},
            "bounds: there is no feature 'tittle'; use a number from 0 to 5, or 'bm25'",
        ),
        ({"bounds": {"title": "up"}}, r"bounds\['title'\]='up'"),
        ({"bounds": (1, 0)}, "the lower bound must be a number, and not above the upper one"),
        ({"bounds": (np.zeros(3), None)}, "one number each"),
        ({"bounds": 3}, r"use 'non-negative', 'non-positive', or \(lower, upper\)"),
        ({"prior": np.zeros(3)}, r"prior has shape \(3,\)"),
        ({"prior": {"tittle": 1.0}}, "prior: there is no feature 'tittle'"),
        ({"prior": np.full(6, np.nan)}, "the weight of 'bm25' is not a number"),
        ({"prior": PRIOR, "penalty": "l1"}, "Use penalty='l2'"),
        ({"solver": "tron", "bounds": "non-negative"}, "solver='tron' cannot minimise this: .* corners or bounds"),
        ({"solver": "smoothed"}, "SquaredHinge has no corners to round"),
        ({"solver": "tron", "loss": "hinge"}, "Hinge has corners"),
        ({"solver": "gauss"}, "solver='gauss'; use one of None, 'newton'"),
    ],
    ids=str,
)
def test_what_cannot_be_wanted_is_refused(settings, message):
    with pytest.raises(LinrankError, match=message):
        RankSVM(**settings).fit(NAMED)


def test_a_path_begins_with_nothing():
    with pytest.raises(LinrankError, match="every weight must be allowed to be zero"):
        feature_path(NAMED, None, bounds=(0.1, 1.0))


def test_a_number_that_is_also_a_name_is_not_guessed_about():
    with pytest.raises(LinrankError, match=r"1 may be column 1 from 0, or the feature named '1'\. Use names"):
        RankSVM(bounds={1: "+"}).fit(DATA.features, DATA.labels, qid=DATA.qid)
    assert RankSVM(0.01, bounds={"1": "-"}).fit(DATA.features, DATA.labels, qid=DATA.qid).coef_[0] <= 0


@pytest.mark.parametrize("ranker", [GDM, EGDM])
def test_heavy_ball_takes_a_prior_and_says_who_takes_bounds(ranker):
    model = ranker(10.0, prior=PRIOR, tol=1e-14).fit(NAMED)
    exact = PairwiseRidge(10.0, prior=PRIOR).fit(NAMED)
    np.testing.assert_allclose(model.coef_, exact.coef_, rtol=1e-6)
    assert model.objective == exact.objective
    assert model.objective.endswith("w meaning w - prior in the penalty")
    assert ranker(1e12, prior=dict(zip(NAMES, PRIOR, strict=True))).fit(NAMED).coef_ == pytest.approx(PRIOR, abs=1e-6)
    for ask in (lambda: ranker(bounds="non-negative"), lambda: ranker().set_params(bounds="non-negative")):
        with pytest.raises(LinrankError, match=r"cannot keep its weights within bounds; .* PairwiseRidge can"):
            ask()


def test_a_stream_starts_at_the_prior_and_keeps_near():
    still = EGDM(1e12, prior=PRIOR).partial_fit(NAMED)
    np.testing.assert_allclose(still.coef_, PRIOR, atol=1e-6)
    free, pulled = EGDM(1e4).partial_fit(NAMED), EGDM(1e4, prior=PRIOR).partial_fit(NAMED)
    assert np.linalg.norm(pulled.coef_ - PRIOR) < np.linalg.norm(free.coef_ - PRIOR)
    away = pulled.coef_ - PRIOR
    assert pulled.objective_ == pulled.history_[0].loss + 5e3 * float(away @ away)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize(
    "ranker", [RankSVM, RankNet, ListNet, PairwiseRidge, LinearSVRRanker, SparseRank], ids=lambda kind: kind.__name__
)
def test_any_solver_serves_a_ranker_unless_it_says_why_not(ranker, name):
    usual = ranker().fit(NAMED)
    data = _documents_alone(NAMED)[0] if ranker is LinearSVRRanker else NAMED
    with Threads(1) as executor:
        objective = usual._objective(data, executor)
        # Newton's method is proximal Newton where there are corners.
        can = {name, "proximal-newton"} if name == "newton" else {name}
        refused = all(SOLVERS[one]().refuses(objective) is not None for one in can)
    if refused:
        with pytest.raises(LinrankError, match=f"^solver='{name}' cannot minimise this: .*\\.$"):
            ranker(solver=name).fit(NAMED)
    else:
        # Cutting planes take many iterations for the last digits.
        model = ranker(solver=name, tol=5e-4 if name == "bundle" else 1e-6).fit(NAMED)
        assert model.objective_ == pytest.approx(usual.objective_, rel=1e-3)
