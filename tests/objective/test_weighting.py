"""What pairs weigh so that each query counts alike, and those at the top of the order the most."""

import re
from dataclasses import replace

import numpy as np
import pytest

import oracles
from linrank import LinrankError, RankingDataset, RankSVM, RankSVMCV, make_ranking
from linrank.executors.local import Threads
from linrank.measures import NDCG
from linrank.objective.objective import RankingObjective
from linrank.objective.pair_losses import Hinge, SquaredHinge
from linrank.objective.penalties import L2
from linrank.objective.placement import PlacedData
from linrank.objective.sorted_pairs import PairSums
from linrank.objective.weighting import EqualQueries, NDCGDocuments
from linrank.solvers.curvature import Curvature
from linrank.solvers.newton_cg import NewtonCG
from linrank.solvers.sampled_hessian import SampledHessian
from linrank.solvers.smoothed_newton import SmoothedNewton
from linrank.solvers.weighted_rounds import WeightedRounds

RNG = np.random.default_rng(4)
DATA, _ = make_ranking(6, (1, 9), 4, skew=False, random_state=3)
# Labels below zero, of one level alone, and far above; documents that do not count, and copies.
LABELS = np.where(DATA.qid == DATA.qid[0], 2.0, np.where(RNG.random(DATA.n_documents) < 0.2, -1.5, DATA.labels))
WEIGHTED = RankingDataset.from_arrays(
    np.round(DATA.features),
    LABELS,
    qid=DATA.qid,
    document_weights=RNG.integers(0, 4, DATA.n_documents) / 1.0,
    query_weights=RNG.integers(1, 4, DATA.n_queries) / 2,
)
ORDER = np.array([1.0, -1.0, 0.0, 2.0])
"""Weights that leave many whole scores equal."""


def documents_by(weighting, data, order):
    if weighting is EqualQueries:
        return np.ones(data.n_documents) if data.document_weights is None else data.document_weights
    return oracles.ndcg_document_weights(data, oracles.dense(data.features) @ order)


@pytest.mark.parametrize("data", [WEIGHTED, replace(WEIGHTED, document_weights=None)], ids=["weighted", "plain"])
@pytest.mark.parametrize("pairs", ["all", "adjacent"])
@pytest.mark.parametrize("weighting", [EqualQueries, NDCGDocuments])
@pytest.mark.parametrize(("loss", "plain"), [(SquaredHinge, oracles.squared_hinge), (Hinge, oracles.hinge)])
def test_weighed_data_is_data_with_the_listed_weights(loss, plain, weighting, pairs, data):
    expected = oracles.with_equal_queries(data, documents_by(weighting, data, ORDER), pairs)
    weights = np.array([0.3, 0.1, -0.4, 0.2])
    value, slopes, _ = oracles.loss_at_scores(expected, oracles.dense(data.features) @ weights, plain, pairs)
    with Threads(1) as executor:
        placed = PlacedData.of(data, executor).weighed(weighting(pairs), ORDER)
        point = RankingObjective(loss(PairSums(pairs)), L2(0.0), 1.0, placed).at(weights)
        assert point.value == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(point.gradient, oracles.dense(data.features).T @ slopes, atol=1e-12)


def test_the_pairs_of_each_query_weigh_together_what_the_query_does():
    with Threads(1) as executor:
        placed = PlacedData.of(WEIGHTED, executor).weighed(NDCGDocuments(), ORDER)
        # With zero weights every pair costs 1.
        value = RankingObjective(SquaredHinge(), L2(), 1.0, placed).at(np.zeros(4)).value
    there = {WEIGHTED.qid[i] for i, _, weight in oracles.listed_pairs(WEIGHTED) if weight > 0}
    of_query = dict(zip(WEIGHTED.queries.ids, WEIGHTED.query_weights, strict=True))
    assert value == pytest.approx(sum(of_query[query] for query in there))


def test_labels_far_apart_leave_no_query_out():
    data = replace(WEIGHTED, labels=np.where(WEIGHTED.labels > 1, 1100.0, WEIGHTED.labels), document_weights=None)
    with Threads(1) as executor:
        placed = PlacedData.of(data, executor).weighed(NDCGDocuments(), ORDER)
        value = RankingObjective(SquaredHinge(), L2(), 1.0, placed).at(np.zeros(4)).value
    there = {data.qid[i] for i, _, _ in oracles.listed_pairs(data)}
    of_query = dict(zip(data.queries.ids, data.query_weights, strict=True))
    assert value == pytest.approx(sum(of_query[query] for query in there))


TRAIN, _ = make_ranking(40, (3, 30), 5, noise=2.0, random_state=1)
HELD_OUT_OF_8, _ = make_ranking(30, 15, 8, noise=3.0, random_state=100)


def by_hand(data, weighting, rounds, **settings):
    """The rounds by a ranker that knows nothing of them, with weights that are listed."""
    order = np.zeros(data.n_features)
    solved = []
    for number in range(rounds + 1):
        documents = documents_by(weighting if number else EqualQueries, data, order)
        listed = oracles.with_equal_queries(data, documents)
        order = RankSVM(tol=1e-12, **settings).fit(listed).coef_
        solved.append(order)
    return solved


@pytest.mark.parametrize("settings", [{}, {"penalty": "l1"}, {"bounds": "non-negative"}, {"loss": "logistic"}], ids=str)
def test_each_round_is_solved_exactly(settings):
    queries = RankSVM(C=3.0, weighting="queries", tol=1e-12, **settings).fit(TRAIN)
    ndcg = RankSVM(C=3.0, weighting="ndcg", tol=1e-12, **settings).fit(TRAIN)
    solved = by_hand(TRAIN, NDCGDocuments, n_rounds(ndcg) - 1, C=3.0, **settings)
    np.testing.assert_allclose(queries.coef_, solved[0], atol=1e-5)
    np.testing.assert_allclose(ndcg.coef_, solved[-1], atol=1e-5)
    assert n_rounds(ndcg) > 1
    assert np.abs(ndcg.coef_ - queries.coef_).max() > 1e-3


def test_rounds_begin_with_the_hessian_of_the_last_and_end_where_they_would_by_their_own(monkeypatch):
    # So many features that it is not formed at every point.
    data, _ = make_ranking(60, (3, 30), 40, noise=2.0, random_state=1)
    formed, hessian_at = [], SampledHessian.at
    monkeypatch.setattr(SampledHessian, "at", lambda *given: formed.append(given) or hessian_at(*given))
    ranker = RankSVM(weighting="ndcg", tol=1e-10).fit(data)
    with_last, rounds = len(formed), n_rounds(ranker)
    monkeypatch.setattr(Curvature, "begin", _begun_anew)
    formed.clear()
    anew = RankSVM(weighting="ndcg", tol=1e-10).fit(data)
    assert rounds == 3
    assert with_last <= len(formed) - (rounds - 1)
    np.testing.assert_allclose(ranker.coef_, anew.coef_, atol=1e-5)
    assert ranker.solution_.value == pytest.approx(anew.solution_.value, rel=1e-9)


def _begun_anew(curvature, point, sample):
    curvature._sample = sample
    curvature.renew(point)


def n_rounds(ranker):
    return int(ranker.solution_.message.split()[-1])


@pytest.mark.parametrize(("loss", "solver"), [(SquaredHinge(), NewtonCG), (Hinge(), SmoothedNewton)])
def test_what_is_certified_holds_of_the_last_round(loss, solver):
    with Threads(1) as executor:
        objective = RankingObjective(loss, L2(), 1.0, PlacedData.of(TRAIN, executor))
        rounds = WeightedRounds(solver(tolerance=1e-2), NDCGDocuments(), most_rounds=1)
        first, last = (replace(rounds, most_rounds=number).minimize(objective) for number in (0, 1))
        weighed = replace(objective, data=objective.data.weighed(NDCGDocuments(), first.weights))
        least = solver(tolerance=1e-7).minimize(weighed).value
    assert last.value == weighed.at(last.weights).value
    assert 0.0 <= last.value - least <= last.certified_gap < 0.1 * least


def test_the_round_that_validation_likes_best_is_kept():
    measures = []
    for seed in range(8):
        train, _ = make_ranking(12, 10, 8, noise=3.0, random_state=seed)
        ranker = RankSVM(weighting="ndcg", measure="ndcg@3").fit(train, eval_set=HELD_OUT_OF_8)
        kept, rounds = (int(word) for word in re.findall("round (.) of (.)", ranker.solution_.message)[0])
        assert rounds - kept <= 1
        scored = (NDCG @ 3).mean(HELD_OUT_OF_8.features @ ranker.coef_, HELD_OUT_OF_8)
        others = [RankSVM(weighting="queries").fit(train), RankSVM(weighting="ndcg").fit(train)]
        assert scored >= (NDCG @ 3).mean(HELD_OUT_OF_8.features @ others[0].coef_, HELD_OUT_OF_8)
        if kept == 1:
            np.testing.assert_array_equal(ranker.coef_, others[0].coef_)
        # What is said to have been minimised is what was.
        said = others[0] if kept == 1 else others[1]
        assert ranker.objective == ranker.to_model().objective == said.objective
        measures.append(kept)
    assert len(set(measures)) > 1


@pytest.mark.parametrize("where", ["at the certificate", "between rounds"])
def test_ctrl_c_at_the_certificate_or_between_rounds_leaves_the_round_that_is_kept(where, monkeypatch):
    """One comes as the certificate of the last round begins, the other as the second round does."""
    certified, rounds = [], []
    whole = RankSVM(weighting="ndcg").fit(TRAIN)
    first = RankSVM(weighting="queries").fit(TRAIN)

    def interrupted(*_):
        certified.append(1)
        raise KeyboardInterrupt

    def weighed(self, *given, weigh=PlacedData.weighed):
        rounds.append(1)
        if where == "between rounds" and len(rounds) == 2:
            raise KeyboardInterrupt
        return weigh(self, *given)

    monkeypatch.setattr(NewtonCG, "certified_at", interrupted)
    monkeypatch.setattr(PlacedData, "weighed", weighed)
    ranker = RankSVM(weighting="ndcg")
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(TRAIN)
    np.testing.assert_array_equal(ranker.coef_, (whole if where == "at the certificate" else first).coef_)
    assert (ranker.solution_.interrupted, ranker.solution_.message) == (True, "interrupted")
    assert len(certified) == (where == "at the certificate")


def test_threads_do_not_change_a_bit_and_equal_pairs_are_as_before():
    data, _ = make_ranking(300, (2, 40), 6, random_state=5)
    one, two = (RankSVM(weighting="ndcg", n_threads=n).fit(data) for n in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert one.gap_ == two.gap_
    np.testing.assert_array_equal(RankSVM(weighting="pairs").fit(data).coef_, RankSVM().fit(data).coef_)


def test_queries_of_one_shape_make_weighting_a_matter_of_C():
    data, _ = make_ranking(20, 10, 4, random_state=0)
    labels = np.tile([0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 2.0], 20)
    n_pairs = 5 * 3 + 5 * 2 + 3 * 2
    alike = RankSVM(C=n_pairs * 0.01, weighting="queries").fit(data.features, labels, qid=data.qid)
    plain = RankSVM(C=0.01).fit(data.features, labels, qid=data.qid)
    np.testing.assert_allclose(alike.coef_, plain.coef_, rtol=1e-6)


def test_C_is_chosen_along_rounds_too():
    tuned = RankSVMCV(Cs=[0.01, 1.0, 100.0], cv=3, weighting="ndcg").fit(TRAIN)
    alone = RankSVM(C=tuned.C_, weighting="ndcg").fit(TRAIN)
    np.testing.assert_array_equal(tuned.coef_, alone.coef_)
    folds = list(TRAIN.folds(3, 0))
    expected = [(NDCG @ 10).per_query(RankSVM(C=100.0, weighting="ndcg").fit(a).predict(b), b) for a, b in folds]
    np.testing.assert_allclose(tuned.measures_[-1], np.concatenate(expected), atol=1e-9)


@pytest.mark.parametrize("loss", ["cross_entropy", "least_squares", "least_squares_of_pairs"])
def test_a_loss_of_whole_lists_is_refused(loss):
    with pytest.raises(LinrankError, match=f"loss='{loss}' compares all documents of a query. Leave weighting out"):
        RankSVM(loss=loss, weighting="queries").fit(TRAIN)
    with pytest.raises(LinrankError, match="weighting='ndgc'"):
        RankSVM(weighting="ndgc").fit(TRAIN)


def test_the_formula_says_what_is_weighed():
    assert "C * sum over queries of the mean over their pairs of max(0" in RankSVM(weighting="queries").objective
    by_rank = RankSVM(weighting="ndcg", loss="logistic").objective
    assert "pairs, by weights a_i a_j with a = 2^y / log2(1 + rank), of log(1 + exp(" in by_rank
