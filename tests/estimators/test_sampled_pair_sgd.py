"""SampledPairSGD: what it reports, what it takes, and scikit-learn's checks."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from linrank import LinrankError, RankSVM, make_ranking
from linrank.estimators.sampled_pair_sgd import SampledPairSGD

DATA, _ = make_ranking(40, 15, 8, skew=False, correlation=0.0)
X, Y, QID = DATA.features, DATA.labels, DATA.qid

DRAWN = "pairs are drawn at random: a weight of 2 doubles a chance, and does not repeat a draw"
WEIGHTS = {f"check_sample_weight_equivalence_on_{kind}_data": DRAWN for kind in ("dense", "sparse")}


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(
    [
        SampledPairSGD(steps=2000, loss="logistic", sampling="queries", learning_rate=0.1),
    ],
    expected_failed_checks=lambda _: WEIGHTS,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_the_documented_attributes_are_there():
    model = SampledPairSGD(l2=0.01, steps=20_000).fit(X, Y, qid=QID)
    assert model.coef_.shape == (8,)
    assert model.n_iter_ == 20_000
    assert len(model.history_) == 20
    assert model.objective_ == pytest.approx(0.005 * model.coef_ @ model.coef_ + model.history_[-1].mean_loss)
    assert str(model.history_[0]).startswith("step      1000  loss ")
    saved = model.to_model()
    assert saved.method == "sampled-sgd"
    assert saved.objective == "l2 * w.w / 2 + mean over pairs of max(0, 1 - w.(x_i - x_j)), by sampling"
    assert saved.parameters["l2"] == 0.01


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("sampling", ["pairs", "queries"])
@pytest.mark.parametrize("learning_rate", [None, 0.01])
def test_every_variant_ranks_nearly_as_well_as_the_exact_method(loss, sampling, learning_rate):
    exact = RankSVM(C=0.01).fit(X, Y, qid=QID).score(X, Y, qid=QID)
    model = SampledPairSGD(0.01, loss=loss, sampling=sampling, learning_rate=learning_rate).fit(X, Y, qid=QID)
    assert model.score(X, Y, qid=QID) > exact - 0.02


def test_the_seed_decides_and_the_names_of_queries_do_not():
    usual = SampledPairSGD(steps=5000).fit(X, Y, qid=QID).coef_
    assert SampledPairSGD(steps=5000).fit(X, Y, qid=[f"q{q}" for q in QID]).coef_.tobytes() == usual.tobytes()
    assert SampledPairSGD(steps=5000, random_state=1).fit(X, Y, qid=QID).coef_.tobytes() != usual.tobytes()
    order = np.random.default_rng(0).permutation(len(Y))
    mixed = SampledPairSGD(steps=100_000).fit(X[order], Y[order], qid=QID[order])
    assert mixed.score(X, Y, qid=QID) > 0.8


def test_layouts_agree():
    usual = SampledPairSGD(steps=2000).fit(X, Y, qid=QID).coef_
    np.testing.assert_allclose(SampledPairSGD(steps=2000).fit(sparse.csr_array(X), Y, qid=QID).coef_, usual, rtol=1e-8)
    single = SampledPairSGD(steps=500).fit(X.astype("float32"), Y, qid=QID).coef_
    np.testing.assert_allclose(
        SampledPairSGD(steps=500).fit(X.astype("float32").astype("float64"), Y, qid=QID).coef_, single, rtol=1e-9
    )


def test_documents_and_queries_of_weight_0_are_never_drawn():
    kept = np.arange(len(Y)) % 3 > 0
    weighted = SampledPairSGD(steps=5000).fit(X, Y, qid=QID, sample_weight=kept)
    spoilt = np.where(kept[:, None], X, 1e6)
    assert SampledPairSGD(steps=5000).fit(spoilt, Y, qid=QID, sample_weight=kept).coef_.tobytes() == (
        weighted.coef_.tobytes()
    )
    half = np.arange(40) < 20
    of_half = SampledPairSGD(steps=5000).fit(X, Y, qid=QID, query_weight=half)
    spoilt = np.where(half[DATA.queries.of_rows()][:, None], X, 1e6)
    assert SampledPairSGD(steps=5000).fit(spoilt, Y, qid=QID, query_weight=half).coef_.tobytes() == (
        of_half.coef_.tobytes()
    )


def test_large_queries_count_more_by_pairs_than_by_queries():
    # One large query prefers the first feature, many small ones the second.
    rng = np.random.default_rng(0)
    large, small = rng.standard_normal((200, 2)), rng.standard_normal((60, 2))
    features = np.vstack([large, small])
    labels = np.concatenate([large[:, 0] > 0, small[:, 1] > 0]).astype(float)
    qid = np.concatenate([np.zeros(200), 1 + np.repeat(np.arange(20), 3)])
    by_pairs, by_queries = (
        SampledPairSGD(sampling=sampling).fit(features, labels, qid=qid).coef_ for sampling in ("pairs", "queries")
    )
    assert by_pairs[0] > by_pairs[1]
    assert by_queries[1] > by_queries[0]


def test_nothing_to_learn_is_said():
    with pytest.warns(UserWarning, match="no query has two documents with different labels"):
        model = SampledPairSGD().fit(X, np.ones(len(Y)), qid=QID)
    assert not model.coef_.any()
    assert model.history_ == ()


def test_ctrl_c_keeps_what_was_learnt():
    def press(line):
        raise KeyboardInterrupt

    model = SampledPairSGD(progress=press)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, qid=QID)
    assert model.n_iter_ == 5000
    assert model.coef_.any()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"l2": 0.0}, "l2=0.0"),
        ({"steps": 0}, "steps=0"),
        ({"loss": "squared"}, "loss='squared'; use one of 'hinge', 'logistic'"),
        ({"sampling": "documents"}, "sampling='documents'; use one of 'pairs', 'queries'"),
        ({"learning_rate": 0.0}, "learning_rate=0.0"),
        ({"learning_rate": 200.0}, "below 1 / l2 = 100"),
    ],
)
def test_what_cannot_work_is_refused(settings, message):
    with pytest.raises(LinrankError, match=message):
        SampledPairSGD(**settings).fit(X, Y, qid=QID)
