"""AdaRank: which features it picks and with what weights, and scikit-learn's checks."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from linrank import LinrankError, RankSVM, make_ranking
from linrank.estimators import ada_rank
from linrank.estimators.ada_rank import AdaRank
from linrank.measures import NDCG, parse_measure

DATA, _ = make_ranking(40, 15, 8, skew=False, correlation=0.0)
X, Y, QID = DATA.features, DATA.labels, DATA.qid


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks([AdaRank("map", direction="higher", max_iter=3, n_threads=2), AdaRank("auc", tol=1e-3)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def test_the_weights_are_the_strengths_of_the_rounds():
    model = AdaRank().fit(X, Y, qid=QID)
    weights = np.zeros(8)
    for line in model.history_[1:]:
        assert line.strength == pytest.approx(0.5 * np.log((1 + line.alone) / (1 - line.alone)))
        weights[line.ranker % 8] += line.strength * (1 if line.ranker < 8 else -1)
    np.testing.assert_allclose(model.coef_, weights / np.ptp(X, axis=0))
    assert model.n_iter_ == len(model.history_) - 1 > 1
    values = (NDCG @ 10).per_query(model.predict(X), DATA)
    assert model.measure_ == pytest.approx(values.mean())
    assert model.objective_ == pytest.approx(np.exp(-values).sum())
    assert model.score(X, Y, qid=QID) == pytest.approx(model.measure_)
    saved = model.to_model()
    assert (saved.method, saved.objective) == ("adarank", "sum over queries of exp(-ndcg@10), greedily")


@pytest.mark.parametrize("measure", ["ndcg@5", "map", "pairwise_accuracy", "kendall_tau", "p@3"])
def test_the_first_pick_is_the_best_feature_in_either_direction_by_brute_force(measure):
    model = AdaRank(measure, max_iter=1).fit(X, Y, qid=QID)
    means = {
        (column, sign): np.nanmean(parse_measure(measure).per_query(sign * X[:, column], DATA))
        for column in range(8)
        for sign in (1, -1)
    }
    column, sign = max(means, key=means.get)
    assert np.flatnonzero(model.coef_).tolist() == [column]
    assert np.sign(model.coef_[column]) == sign
    assert model.history_[1].alone == pytest.approx(means[column, sign])


def test_directions_are_what_they_say():
    flipped = X * np.where(np.arange(8) % 2, -1.0, 1.0)
    both = AdaRank().fit(flipped, Y, qid=QID)
    usual = AdaRank().fit(X, Y, qid=QID)
    np.testing.assert_allclose(both.coef_, usual.coef_ * np.where(np.arange(8) % 2, -1.0, 1.0))
    assert (AdaRank(direction="higher").fit(flipped, Y, qid=QID).coef_ >= 0).all()
    assert (AdaRank(direction="lower").fit(flipped, Y, qid=QID).coef_ <= 0).all()


def test_units_threads_order_and_layout_do_not_matter():
    usual = AdaRank(n_threads=1).fit(X, Y, qid=QID)
    assert AdaRank(n_threads=3).fit(X, Y, qid=QID).coef_.tobytes() == usual.coef_.tobytes()
    units = 10.0 ** np.arange(-4, 4)
    np.testing.assert_allclose(AdaRank().fit(X * units, Y, qid=QID).coef_ * units, usual.coef_)
    order = np.random.default_rng(0).permutation(len(Y))
    mixed = AdaRank().fit(X[order], Y[order], qid=[f"q{q}" for q in QID[order]])
    np.testing.assert_allclose(mixed.coef_, usual.coef_)
    thin = np.where(np.abs(X) < 0.5, 0.0, X)
    dense, compressed = (AdaRank().fit(kind, Y, qid=QID).coef_ for kind in (thin, sparse.csr_array(thin)))
    np.testing.assert_allclose(compressed, dense)
    np.testing.assert_allclose(AdaRank(max_iter=2).fit(X.astype("float32"), Y, qid=QID).coef_,
                               AdaRank(max_iter=2).fit(X, Y, qid=QID).coef_, rtol=1e-5)  # fmt: skip


def test_ties_do_not_leave_anything_to_the_order_of_the_rows():
    coarse = np.round(X)
    usual = AdaRank().fit(coarse, Y, qid=QID)
    order = np.argsort(-Y, kind="stable")
    np.testing.assert_allclose(AdaRank().fit(coarse[order], Y[order], qid=QID[order]).coef_, usual.coef_)


def test_weights_are_repetitions():
    copies = np.random.default_rng(0).integers(0, 3, size=len(Y))
    rows = np.repeat(np.arange(len(Y)), copies)
    repeated = AdaRank().fit(X[rows], Y[rows], qid=QID[rows])
    np.testing.assert_allclose(AdaRank().fit(X, Y, qid=QID, sample_weight=copies).coef_, repeated.coef_)
    twice = AdaRank(tol=1e-9).fit(np.vstack([X, X[:15]]), np.append(Y, Y[:15]), qid=[*QID, *["again"] * 15])
    weighted = AdaRank(tol=1e-9).fit(X, Y, qid=QID, query_weight=[2.0] + [1.0] * 39)
    np.testing.assert_allclose(weighted.coef_, twice.coef_)
    without = AdaRank().fit(X, Y, qid=QID, query_weight=[0.0] * 20 + [1.0] * 20)
    np.testing.assert_allclose(without.coef_, AdaRank().fit(X[300:], Y[300:], qid=QID[300:]).coef_)


def test_a_round_must_gain_more_than_tol():
    gains = np.diff([line.measure for line in AdaRank(tol=0.005).fit(X, Y, qid=QID).history_])
    assert (gains > 0.005).all()


def test_queries_without_a_value_are_left_out():
    labels = np.where(QID[0] == QID, 0.0, Y)
    model = AdaRank("ndcg(empty=skip)@10").fit(X, labels, qid=QID)
    values = parse_measure("ndcg(empty=skip)@10").per_query(model.predict(X), make_dataset(labels))
    assert np.isnan(values[0])
    assert model.measure_ == pytest.approx(np.nanmean(values))


def make_dataset(labels):
    from dataclasses import replace

    return replace(DATA, labels=labels)


def test_nothing_to_learn_is_said():
    with pytest.warns(UserWarning, match="no feature ranks better than all documents tied"):
        assert not AdaRank().fit(X, np.zeros(len(Y)), qid=QID).coef_.any()
    with pytest.warns(UserWarning, match="no feature ranks better"):
        assert not AdaRank("auc").fit(X, np.ones(len(Y)), qid=QID).coef_.any()


def test_progress_is_called_with_every_round():
    lines = []
    model = AdaRank(progress=lines.append).fit(X, Y, qid=QID)
    assert tuple(lines) == model.history_
    assert str(lines[1]).startswith("round   1  f ")


def test_ctrl_c_keeps_the_last_round():
    def press(line):
        if line.number == 2:
            raise KeyboardInterrupt

    model = AdaRank(progress=press)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y, qid=QID)
    assert len(model.history_) == 3
    assert np.count_nonzero(model.coef_) in (1, 2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_iter": 0}, "max_iter=0"),
        ({"tol": -1.0}, "tol=-1.0"),
        ({"direction": "up"}, "direction='up'; use one of 'higher', 'lower', 'both'"),
        ({"measure": "dcg@10"}, "it must lie between -1 and 1"),
        ({"measure": "ndgc@10"}, "did you mean 'ndcg'"),
    ],
)
def test_what_cannot_work_is_refused(settings, message):
    with pytest.raises(LinrankError, match=message):
        AdaRank(**settings).fit(X, Y, qid=QID)


def test_weights_that_leave_nothing_are_refused():
    with pytest.raises(LinrankError, match="every query weight is zero"):
        AdaRank().fit(X, Y, qid=QID, query_weight=np.zeros(40))


def test_broken_weights_and_tables_without_end_are_refused(monkeypatch):
    with pytest.raises(LinrankError, match=r"sample_weight\[3\] is 0.5; a measure counts whole documents"):
        AdaRank().fit(X, Y, qid=QID, sample_weight=[1, 1, 1, 0.5] + [1] * (len(Y) - 4))
    monkeypatch.setattr(ada_rank, "_MOST_NUMBERS", 600)
    with pytest.raises(LinrankError, match="16 single-feature rankers x 40 queries"):
        AdaRank().fit(X, Y, qid=QID)


def test_ohsumed_is_ranked_as_well_as_by_linear_methods_with_a_few_features(letor):
    train, test = letor.parts("OHSUMED", 1, "train", "test")
    model = AdaRank(tol=1e-3).fit(train)
    assert np.count_nonzero(model.coef_) <= 10
    assert model.score(test) > 0.9 * RankSVM(C=0.01).fit(train).score(test)
