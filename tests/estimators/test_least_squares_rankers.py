"""GDM, EGDM and PairwiseRidge: three ways to the same weights; PairwiseRidgeCV and what it chooses by."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

from linrank import LinrankError, make_ranking
from linrank.estimators.egdm import EGDM
from linrank.estimators.gdm import GDM
from linrank.estimators.pairwise_ridge import PairwiseRidge, PairwiseRidgeCV
from linrank.measures import NDCG
from linrank.objective import placed_blocks, placement
from linrank.solvers import normal_equations

DATA, _ = make_ranking(40, (5, 25), 8)
X, Y, QID = DATA.features, DATA.labels, DATA.qid
RANKERS = [
    GDM(tol=1e-18, max_iter=100_000),
    EGDM(tol=1e-18),
    PairwiseRidge(solver="gram"),
    PairwiseRidge(solver="cg", tol=1e-18),
]
NAMES = ["gdm", "egdm", "gram", "cg"]


def fresh(ranker, **settings):
    return type(ranker)(**{**ranker.get_params(), **settings})


def formula(weights, gamma=1.0, pair_weight="document", documents=None):
    """F, each pair of documents of one query visited."""
    documents = np.ones(len(Y)) if documents is None else documents
    errors, value = X @ weights - Y, 0.0
    for query in np.unique(QID):
        e, d = errors[query == QID], documents[query == QID]
        pairs = np.sum(np.outer(d, d) * (e[:, None] - e) ** 2) / 2
        value += 0.5 * pairs / (d.sum() if pair_weight == "document" else 1.0)
    return value + 0.5 * gamma * weights @ weights


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        PairwiseRidge(pair_weight="pair", n_threads=2),
        PairwiseRidge(solver="cg", tol=1e-14),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("ranker", RANKERS, ids=NAMES)
def test_the_documented_attributes_are_there(ranker):
    model = fresh(ranker, gamma=3.0).fit(X, Y, qid=QID)
    assert model.objective_ == pytest.approx(formula(model.coef_, 3.0))
    assert 0 <= model.gap_ <= 1e-15 * model.objective_
    assert model.n_iter_ == max(1, len(model.history_) - 1)
    assert model.history_[0].value == pytest.approx(formula(np.zeros(8), 3.0))
    assert model.score(X, Y, qid=QID) > 0.8
    saved = model.to_model()
    assert saved.method in ("gdm", "egdm", "ridge")
    assert saved.parameters["gamma"] == 3.0


def test_the_rates_of_egdm_come_from_its_eigenvalues():
    model = EGDM().fit(X, Y, qid=QID)
    largest, smallest = model.eigenvalues_
    centred = X - np.array([X[query == QID].mean(axis=0) for query in QID])
    values = np.linalg.eigvalsh(centred.T @ centred) + 1.0
    assert values[-1] * 0.999 <= largest <= 1.1 * values[-1]
    assert smallest >= 1.0
    assert model.learning_rate_ == pytest.approx(1 / np.sqrt(largest * smallest))
    assert model.momentum_ == pytest.approx(
        ((np.sqrt(largest / smallest) - 1) / (np.sqrt(largest / smallest) + 1)) ** 2
    )


@pytest.mark.parametrize("ranker", RANKERS, ids=NAMES)
@pytest.mark.parametrize("pair_weight", ["document", "pair"])
def test_all_agree_to_eight_digits_in_every_form_of_the_data(ranker, pair_weight):
    rng = np.random.default_rng(0)
    weights = {"sample_weight": rng.integers(0, 3, len(Y)) / 2, "query_weight": rng.random(40)}
    for form in (np.asarray, sparse.csr_array, lambda rows: rows.astype(np.float32)):
        for queries in ({"qid": QID, **weights}, {"group": [len(Y)]}):
            exact = PairwiseRidge(50.0, pair_weight=pair_weight, solver="gram").fit(form(X), Y, **queries)
            model = fresh(ranker, gamma=50.0, pair_weight=pair_weight).fit(form(X), Y, **queries)
            assert np.abs(model.coef_ - exact.coef_).max() <= 1e-8 * np.abs(exact.coef_).max()
            assert model.objective_ == pytest.approx(exact.objective_, rel=1e-12)


def test_it_is_ridge_regression_on_centred_rows():
    rows = [query == QID for query in QID]
    centred = X - np.array([X[of].mean(axis=0) for of in rows])
    labels = Y - np.array([Y[of].mean() for of in rows])
    peer = Ridge(alpha=2.5, fit_intercept=False, solver="cholesky").fit(centred, labels)
    np.testing.assert_allclose(PairwiseRidge(2.5).fit(X, Y, qid=QID).coef_, peer.coef_, rtol=1e-9)


@pytest.mark.parametrize("ranker", [EGDM(), *RANKERS[2:]], ids=NAMES[1:])
def test_weights_do_not_depend_on_threads_order_names_or_shifts_of_queries(ranker):
    usual = fresh(ranker).fit(X, Y, qid=QID)
    assert fresh(ranker, n_threads=3).fit(X, Y, qid=QID).coef_.tobytes() == usual.coef_.tobytes()
    exact = fresh(ranker, tol=1e-18).fit(X, Y, qid=QID).coef_
    order = np.random.default_rng(0).permutation(len(Y))
    number = np.unique(QID, return_inverse=True)[1]
    mixed = fresh(ranker, tol=1e-18).fit(X[order], (Y + number)[order], qid=[f"q{q}" for q in QID[order]])
    np.testing.assert_allclose(mixed.coef_, exact, rtol=1e-7)


@pytest.mark.parametrize("pair_weight", ["document", "pair"])
def test_weights_of_documents_and_queries_are_repetitions(pair_weight):
    ranker = PairwiseRidge(pair_weight=pair_weight)
    documents = np.random.default_rng(0).integers(0, 3, len(Y))
    repeated = np.repeat(np.arange(len(Y)), documents)
    weighted = fresh(ranker).fit(X, Y, qid=QID, sample_weight=documents)
    np.testing.assert_allclose(weighted.coef_, fresh(ranker).fit(X[repeated], Y[repeated], qid=QID[repeated]).coef_)
    assert weighted.objective_ == pytest.approx(formula(weighted.coef_, 1.0, pair_weight, documents))
    first = DATA.queries.ids[0] == QID
    twice = fresh(ranker).fit(np.vstack([X, X[first]]), np.append(Y, Y[first]), qid=[*QID, *["again"] * first.sum()])
    np.testing.assert_allclose(twice.coef_, fresh(ranker).fit(X, Y, qid=QID, query_weight=[2] + [1] * 39).coef_)


@pytest.mark.parametrize("ranker", RANKERS, ids=NAMES)
def test_single_documents_equal_labels_and_one_query_are_no_obstacle(ranker):
    odd = fresh(ranker).fit(np.vstack([X, X[:3]]), np.append(Y, [1, 5, 5]), qid=[*QID, "one", "same", "same"])
    assert np.isfinite(odd.coef_).all()
    with pytest.warns(UserWarning, match="as one query"):
        assert fresh(ranker).fit(X, Y).score(X, Y) > 0.8
    with pytest.warns(UserWarning, match="every weight is zero"):
        assert not fresh(ranker).fit(X, np.ones(len(Y)), qid=QID).coef_.any()


def test_what_does_not_converge_is_said():
    for ranker in (GDM(max_iter=3), EGDM(max_iter=3), PairwiseRidge(1e-6, solver="cg", max_iter=2)):
        with pytest.warns(ConvergenceWarning, match="out of iterations"):
            ranker.fit(X, Y, qid=QID)


def test_impossible_settings_are_refused_before_any_work():
    for ranker, message in (
        (EGDM(0.0), "gamma=0.0"),
        (PairwiseRidge(np.inf), "gamma=inf"),
        (GDM(momentum=1.0), "momentum=1.0"),
        (GDM(learning_rate=0.0), "learning_rate=0.0"),
        (EGDM(pair_weight="all"), "pair_weight='all'"),
        (EGDM(tol=0.0), "tol=0.0"),
        (EGDM(max_iter=0), "max_iter=0"),
        (EGDM(power_iterations=0), "power_iterations=0"),
        (PairwiseRidge(solver="lu"), "solver='lu'"),
        (PairwiseRidgeCV([]), "gammas"),
        (PairwiseRidgeCV([1.0, -1.0]), "gammas=-1.0"),
    ):
        with pytest.raises(LinrankError, match=message):
            ranker.fit(None, None)
    with pytest.raises(LinrankError, match="nonsense"):
        PairwiseRidgeCV(measure="nonsense").fit(X, Y, qid=QID)


def test_too_many_features_for_a_matrix_are_refused_with_a_remedy(monkeypatch):
    monkeypatch.setattr(normal_equations, "_MOST_FEATURES_IN_A_MATRIX", 7)
    with pytest.raises(LinrankError, match="use solver='cg'"):
        PairwiseRidge(solver="gram").fit(X, Y, qid=QID)
    with pytest.raises(LinrankError, match="QueryKFold"):
        PairwiseRidgeCV().fit(X, Y, qid=QID)


def test_the_matrix_is_formed_where_it_pays():
    assert PairwiseRidge().fit(X, Y, qid=QID).solution_.message == "solved"
    wide, _ = make_ranking(20, 20, 5000, density=0.01)
    model = PairwiseRidge().fit(wide.features, wide.labels, qid=wide.qid)
    assert "certified" in model.solution_.message


def test_a_warm_start_saves_steps():
    for ranker in (EGDM(warm_start=True), PairwiseRidge(solver="cg", warm_start=True)):
        cold = ranker.fit(X, Y, qid=QID).n_iter_
        assert ranker.fit(X, Y, qid=QID).n_iter_ < cold


def test_a_stream_comes_near_the_solution_of_all_it_has_seen():
    data, _ = make_ranking(600, 20, 8, skew=False)
    model = EGDM()
    for block in range(6):
        rows = slice(2000 * block, 2000 * (block + 1))
        model.partial_fit(data.features[rows], data.labels[rows], qid=data.qid[rows])
        assert len(model.history_) == 1
    exact = PairwiseRidge().fit(data.features, data.labels, qid=data.qid)
    np.testing.assert_allclose(model.coef_, exact.coef_, atol=0.1 * np.abs(exact.coef_).max())
    assert model.n_iter_ >= 12000 // 256
    # What is measured before it is learnt from tells the truth of data to come.
    assert model.objective_ == pytest.approx(exact.objective_ / 6, rel=0.15)
    assert not hasattr(model, "gap_")


def test_streams_and_fits_follow_one_another():
    whole = EGDM().fit(X, Y, qid=QID)
    solved = whole.coef_
    assert whole.partial_fit(X, Y, qid=QID).coef_.shape == (8,)
    assert np.abs(whole.coef_ - solved).max() < 0.5 * np.abs(solved).max()
    with pytest.raises(ValueError, match="8 features"):
        whole.partial_fit(X[:, :5], Y, qid=QID)
    again = whole.fit(X, Y, qid=QID)
    assert again.coef_.tobytes() == solved.tobytes()
    # A fit ends the stream: the next one begins at its weights, and counts from there.
    assert again.partial_fit(X[:100], Y[:100], qid=QID[:100]).n_iter_ == 1


@pytest.mark.parametrize("pair_weight", ["document", "pair"])
@pytest.mark.parametrize("large", [False, True])
def test_leaving_out_a_query_is_training_without_it(pair_weight, large, monkeypatch):
    if large:
        monkeypatch.setattr(placed_blocks, "LARGE_QUERY_BYTES", 0)
        monkeypatch.setattr(placement, "cut_into_blocks", lambda data: _cut(data, block_bytes=1))
    part = DATA.subset(np.arange(6))
    gammas = [0.5, 50.0]
    models = {
        measure: PairwiseRidgeCV(gammas, measure=measure, pair_weight=pair_weight).fit(
            part.features, part.labels, qid=part.qid
        )
        for measure in ("ndcg@10", "squared_error")
    }
    for number, query in enumerate(part.queries.ids):
        rest, alone = part.subset(part.queries.ids != query), part.subset(part.queries.ids == query)
        for k, gamma in enumerate(gammas):
            weights = PairwiseRidge(gamma, pair_weight=pair_weight).fit(rest.features, rest.labels, qid=rest.qid).coef_
            scores = alone.features @ weights
            ndcg = (NDCG @ 10).mean(scores, alone)
            errors = scores - alone.labels
            loss = 0.5 * np.sum((errors - errors.mean()) ** 2) * (len(errors) if pair_weight == "pair" else 1)
            np.testing.assert_allclose(models["ndcg@10"].measures_[k, number], ndcg, rtol=1e-9)
            assert models["squared_error"].measures_[k, number] == pytest.approx(-loss, rel=1e-7)


def _cut(data, block_bytes):
    from linrank.dataset.query_blocks import cut_into_blocks

    return cut_into_blocks(data, block_bytes)


def test_the_best_gamma_is_chosen_and_trained_with():
    noisy, _ = make_ranking(30, 10, 40, n_informative=3, noise=3.0, skew=False)
    model = PairwiseRidgeCV(measure="squared_error").fit(noisy.features, noisy.labels, qid=noisy.qid)
    assert model.measures_.shape == (50, 30)
    assert model.gammas_[np.argmax(model.mean_measure_)] == model.gamma_
    assert 0 < np.argmax(model.mean_measure_) < 49
    alone = PairwiseRidge(model.gamma_).fit(noisy.features, noisy.labels, qid=noisy.qid)
    np.testing.assert_allclose(model.coef_, alone.coef_, rtol=1e-8)
    assert model.objective_ == pytest.approx(alone.objective_, rel=1e-12)
    assert model.to_model().parameters["gamma"] == model.gamma_
    for k in (0, 20, 49):
        path = PairwiseRidge(model.gammas_[k]).fit(noisy.features, noisy.labels, qid=noisy.qid).coef_
        np.testing.assert_allclose(model.coef_path_[k], path, rtol=1e-6, atol=1e-9)
    plainer = PairwiseRidgeCV(measure="squared_error", one_se=True).fit(noisy.features, noisy.labels, qid=noisy.qid)
    assert plainer.gamma_ > model.gamma_
    best = np.argmax(model.mean_measure_)
    reached = plainer.mean_measure_[plainer.gammas_ == plainer.gamma_]
    assert reached >= model.mean_measure_[best] - model.standard_error_[best]


def test_one_query_cannot_be_left_out():
    with pytest.warns(UserWarning, match="none can be left out"):
        assert PairwiseRidgeCV([0.01, 3.0]).fit(X, Y, group=[len(Y)]).gamma_ == 3.0


@pytest.mark.parametrize("name", ["MQ2008", "OHSUMED"])
def test_letor_data_is_solved_alike_by_all(name, letor):
    (train,) = letor.parts(name, 1, "train")
    exact = PairwiseRidge(10.0, solver="gram").fit(train.features, train.labels, qid=train.qid)
    for ranker in (EGDM(10.0, tol=1e-14), PairwiseRidge(10.0, solver="cg", tol=1e-14)):
        model = ranker.fit(train.features, train.labels, qid=train.qid)
        assert model.objective_ == pytest.approx(exact.objective_, rel=1e-12)
        assert np.abs(model.coef_ - exact.coef_).max() <= 1e-5 * np.abs(exact.coef_).max()
