"""Every measure equals its slow form, on data full of ties, short lists, equal labels and interleaved queries."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles_measures as oracle
from linrank import LinearModel, make_ranking, save_dataset
from linrank.dataset.unretrieved import Unretrieved
from linrank.errors import LinrankError
from linrank.measures import (
    AUC,
    DCG,
    ERR,
    MAP,
    MRR,
    NDCG,
    WTA,
    Judgements,
    KendallTau,
    MeanNDCG,
    P,
    PairwiseAccuracy,
    Recall,
    evaluate,
)
from linrank.measures import evaluation as evaluation_module

pytestmark = pytest.mark.kernels

RANKED = [
    *(
        family(definition=name) @ k
        for family in (NDCG, DCG)
        for name in ("standard", "letor", "linear", "trec")
        for k in (1, 3)
    ),
    NDCG,
    DCG(definition="letor"),
    MeanNDCG,
    MeanNDCG(definition="standard"),
    MAP,
    MAP(rel=0.5) @ 2,
    P @ 1,
    P(rel=2) @ 3,
    P(definition="letor3") @ 3,
    Recall @ 2,
    MRR,
    MRR(rel=2) @ 2,
    WTA,
    WTA(rel=-1),
    ERR,
    ERR(max_label=5.5) @ 2,
]
TIES = ["file", "average", "worst", "docid"]
PAIRED = [
    PairwiseAccuracy,
    *(family(ties=ties) for family in (PairwiseAccuracy, AUC) for ties in ("wrong", "half", "right")),
    AUC,
    AUC(rel=2),
    KendallTau,
]
ALL = [measure(ties=ties) for measure in RANKED for ties in TIES] + PAIRED


# Some of them equal in single precision.
NEARLY_EQUAL = [0.1, 0.1 + 1e-12, 0.1 - 1e-12, 0.1 + 1e-6, 1e300, 1e301, 1e-300, 0.0]


@st.composite
def judged_scores(draw, max_queries=4, max_documents=6):
    sizes = draw(st.lists(st.integers(1, max_documents), min_size=1, max_size=max_queries))
    n = sum(sizes)
    labels = draw(st.sampled_from([[0, 1], [0, 1, 2, 3, 4], [0], [2], [-1, 0, 1, 2], [-0.5, 0, 0.25, 1.5, 3.7]]))
    of_kind = [[0.0], [0.0, -0.0, 1.0], list(range(40)), [-math.inf, 0.1, 0.2, math.inf], NEARLY_EQUAL]
    scores = draw(st.sampled_from(of_kind))
    qid = draw(st.permutations(np.repeat(np.arange(len(sizes)), sizes).tolist()))
    return (
        np.array(draw(st.lists(st.sampled_from(labels), min_size=n, max_size=n)), dtype=float),
        np.array(draw(st.lists(st.sampled_from(scores), min_size=n, max_size=n)), dtype=float),
        np.array(qid),
        [f"d{number}" for number in draw(st.permutations(range(n)))],
    )


def slow_per_query(measure, labels, scores, qid, docids, missed=None):
    queries = list(dict.fromkeys(qid.tolist()))
    rows = [np.flatnonzero(qid == query) for query in queries]
    missed = missed or [()] * len(rows)
    return [
        oracle.of_query(measure, scores[r].tolist(), labels[r].tolist(), [docids[row] for row in r], unseen)
        for r, unseen in zip(rows, missed, strict=True)
    ]


@given(judged_scores(), st.data())
@settings(max_examples=40)
def test_judged_documents_that_are_not_there_count_as_missed(data, more):
    labels, scores, qid, docids = data
    judged = Judgements.from_arrays(labels, qid=qid, docids=docids)
    unseen = st.lists(st.sampled_from([-1.0, 0.0, 1.0, 2.0, 3.5]), max_size=4)
    missed = [more.draw(unseen) for _ in range(judged.queries.n_queries)]
    judged = replace(judged, unretrieved=Unretrieved.of(missed))
    wanted = [*ALL, *(measure(empty="skip") for measure in RANKED)]
    evaluation = evaluate(scores, judged, wanted)
    for measure in wanted:
        expected = slow_per_query(measure, labels, scores, qid, docids, missed)
        np.testing.assert_allclose(
            evaluation.per_query[measure], expected, rtol=1e-12, atol=1e-14, err_msg=str(measure)
        )


@given(judged_scores())
@settings(max_examples=40)
def test_every_measure_equals_its_slow_form(data):
    labels, scores, qid, docids = data
    evaluation = evaluate(scores, Judgements.from_arrays(labels, qid=qid, docids=docids), ALL)
    for measure in ALL:
        expected = slow_per_query(measure, labels, scores, qid, docids)
        np.testing.assert_allclose(
            evaluation.per_query[measure], expected, rtol=1e-12, atol=1e-14, err_msg=str(measure)
        )


@pytest.mark.parametrize("empty", [0, 1, "skip"])
@given(judged_scores())
@settings(max_examples=10)
def test_empty_queries_count_as_told(empty, data):
    labels, scores, qid, docids = data
    measures = [measure(empty=empty) for measure in (*RANKED, KendallTau, AUC)]
    evaluation = evaluate(scores, Judgements.from_arrays(labels, qid=qid, docids=docids), measures)
    for measure in measures:
        expected = np.array(slow_per_query(measure, labels, scores, qid, docids))
        np.testing.assert_allclose(
            evaluation.per_query[measure], expected, rtol=1e-12, atol=1e-14, err_msg=str(measure)
        )
        there = expected[~np.isnan(expected)]
        np.testing.assert_allclose(evaluation.mean[measure], there.mean() if len(there) else np.nan, rtol=1e-12)


@given(judged_scores(max_documents=12))
def test_the_mean_of_pairwise_accuracy_is_over_all_pairs(data):
    """By Lee & Lin's formula the share in order; by their program, which is LIBLINEAR's, that of pairs not reversed."""
    labels, scores, qid, _ = data
    right = n_pairs = reversed_pairs = 0
    for i in range(len(labels)):
        for j in range(len(labels)):
            if qid[i] == qid[j] and labels[i] > labels[j]:
                n_pairs += 1
                right += scores[i] > scores[j]
                reversed_pairs += scores[i] < scores[j]
    formula, program = (PairwiseAccuracy(ties=ties)(labels, scores, qid=qid) for ties in ("wrong", "right"))
    if n_pairs == 0:
        assert math.isnan(formula)
        assert math.isnan(program)
    else:
        assert formula == pytest.approx(right / n_pairs, rel=1e-14)
        assert program == pytest.approx(1 - reversed_pairs / n_pairs, rel=1e-14, abs=1e-15)


@given(judged_scores(), st.randoms(use_true_random=False))
def test_shuffled_rows_without_ties_change_nothing(data, random):
    labels, _, qid, docids = data
    scores = np.arange(len(labels), dtype=float)
    random.shuffle(scores)
    shuffled = np.array(random.sample(range(len(labels)), len(labels)))
    first = evaluate(scores, Judgements.from_arrays(labels, qid=qid, docids=docids), ALL)
    second = evaluate(scores[shuffled], Judgements.from_arrays(labels[shuffled], qid=qid[shuffled]), ALL)
    for measure in ALL:
        assert first.mean[measure] == pytest.approx(second.mean[measure], rel=1e-14, nan_ok=True), str(measure)


@given(judged_scores())
def test_only_the_order_of_scores_matters(data):
    labels, scores, qid, docids = data
    judged = Judgements.from_arrays(labels, qid=qid, docids=docids)
    finite = np.clip(scores, -100, 100).round(3)
    first, second = evaluate(finite, judged, ALL), evaluate(finite * 3 + 7, judged, ALL)
    for measure in ALL:
        np.testing.assert_array_equal(first.per_query[measure], second.per_query[measure], err_msg=str(measure))


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_any_number_of_threads_and_any_ranges_give_the_same_bits(monkeypatch, size):
    rng = np.random.default_rng(size)
    n = 300
    labels, scores = rng.integers(0, 4, n) * 0.7, rng.integers(0, 30, n) / 7
    judged = Judgements.from_arrays(labels, qid=rng.integers(0, 40, n), docids=rng.permutation(n))
    expected = evaluate(scores, judged, ALL, n_threads=1)
    monkeypatch.setattr(evaluation_module, "_RANGE_DOCUMENTS", size)
    for n_threads in (1, 2, 5, None):
        found = evaluate(scores, judged, ALL, n_threads=n_threads)
        for measure in ALL:
            np.testing.assert_array_equal(found.per_query[measure], expected.per_query[measure], err_msg=str(measure))
            assert found.mean[measure] == expected.mean[measure] or math.isnan(expected.mean[measure])


def test_inputs_are_not_written_to_and_may_be_read_only():
    labels, scores, qid = np.array([1.0, 0.0, 2.0, 0.0]), np.array([0.1, 0.3, 0.3, -1.0]), np.array([0, 0, 0, 1])
    copies = labels.copy(), scores.copy(), qid.copy()
    for array in (labels, scores, qid):
        array.setflags(write=False)
    evaluate(scores, Judgements.from_arrays(labels, qid=qid, docids="abcd"), ALL)
    for array, copy in zip((labels, scores, qid), copies, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("measure", [NDCG, NDCG(definition="letor"), MeanNDCG, MAP, MRR, WTA, AUC, KendallTau], ids=str)
def test_the_ideal_order_is_worth_exactly_one(measure):
    labels = np.array([4.0, 3.0, 2.0, 1.0, 0.0])
    assert measure(labels, labels, qid=np.zeros(5)) == 1.0


def test_a_score_that_is_nan_is_named_by_its_row():
    with pytest.raises(LinrankError, match="score in row 2 is NaN"):
        NDCG([1, 0, 1], [0.5, 1.0, math.nan], qid=[1, 2, 1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: NDCG([1, 0], [0.5], qid=[1, 1]), r"scores have shape \(1,\), but there are 2 documents"),
        (lambda: NDCG([1, 0], ["a", "b"], qid=[1, 1]), "scores must be numbers"),
        (lambda: NDCG([1, 0], [0.5, 1.0]), "Pass qid"),
        (lambda: NDCG([1, 0]), "not both"),
        (lambda: NDCG([1, 0], [1, 2], qid=[1, 1], ties="file"), "not both"),
        (lambda: NDCG([], [], qid=[]), "no queries"),
        (lambda: P([1, 0], [0.5, 1.0], qid=[1, 1]), "p needs a cut-off: p@10, or P @ 10 in Python"),
        (lambda: ERR([1, 5], [0.5, 1.0], qid=[1, 1]), r"label in row 1 is 5, but err .*max_label=5"),
        (lambda: NDCG([1, 1200], [0.5, 1.0], qid=[1, 1]), r"ndcg\(linear\)"),
        (lambda: NDCG(definition="trec")([1, 0], [1, 1], qid=[1, 1]), "Pass docids"),
        (lambda: evaluate([1], Judgements.from_arrays([1], qid=[1]), MAP, n_threads=0), "n_threads=0"),
        (lambda: Judgements.from_arrays([1, 2], qid=[1, 1], docids=["a"]), "1 document ids, but 2 rows"),
    ],
)
def test_what_cannot_be_computed_is_refused_with_the_remedy(call, message):
    with pytest.raises(LinrankError, match=message):
        call()


@pytest.mark.parametrize("labels", [[31, 32, 0, 5], [100, 3, 62, 63], [900, 1, 2, 0.5]])
def test_labels_may_be_more_than_grades(labels):
    scores, docids = [1.0, 2.0, 2.0, 3.0], list("abcd")
    judged = Judgements.from_arrays(labels, qid=[0] * 4, docids=docids)
    for measure in (NDCG, NDCG(definition="letor") @ 3, DCG, MeanNDCG, NDCG(definition="trec"), KendallTau):
        expected = oracle.of_query(measure, scores, labels, docids)
        assert measure.mean(scores, judged) == pytest.approx(expected, rel=1e-12), str(measure)
    assert NDCG.mean(scores, Judgements(np.array(labels), judged.queries)) == NDCG.mean(scores, judged)


def test_document_ids_are_needed_only_where_scores_are_tied():
    assert NDCG(definition="trec")([1, 0], [1, 2], qid=[1, 1]) == NDCG(definition="linear")([1, 0], [1, 2], qid=[1, 1])


def test_a_mean_of_skipped_queries_only_is_nan():
    assert math.isnan(NDCG(empty="skip")([0, 0], [1, 2], qid=[1, 1]))
    assert math.isnan(PairwiseAccuracy([1, 1], [1, 2], qid=[1, 1]))


def test_plain_labels_are_measured_with_their_queries():
    labels, scores, qid = [2, 0, 1, 1], [0.1, 0.4, 0.3, 0.3], ["a", "b", "a", "b"]
    judgements = Judgements.from_arrays(labels, qid=qid)
    expected = evaluate(scores, judgements, "ndcg@1,3,5,10 map mrr")
    given_plainly = evaluate(scores, labels, qid=qid)
    assert given_plainly.mean == expected.mean
    assert given_plainly.query_ids.tolist() == ["a", "b"]
    assert (NDCG @ 10).mean(scores, labels, qid) == expected.mean[NDCG @ 10]
    assert (NDCG @ 10).per_query(scores, labels, group=[2, 2]).tolist() != expected.per_query[NDCG @ 10].tolist()
    assert evaluate(scores, labels, NDCG(definition="trec"), qid=qid, docids=list("wxyz")).measures
    with pytest.raises(LinrankError, match=r"labels do not say which they are of\. Pass qid"):
        MAP.mean(scores, labels)
    with pytest.raises(LinrankError, match="a dataset knows its queries"):
        MAP.mean(scores, judgements, qid)


def test_measures_of_relevance_count_labels_from_one_on_unless_told():
    graded = Judgements.from_arrays([2.0, 1.0, 0.0], qid=[7, 7, 7])
    for one, two in (
        (AUC, AUC(rel=2)), (MRR, MRR(rel=2)), (MAP, MAP(rel=2)), (P @ 1, P(rel=2) @ 1),
        (Recall @ 1, Recall(rel=2) @ 1),
    ):  # fmt: skip
        found = evaluate([2.0, 3.0, 1.0], graded, [one, two]).mean
        assert found[one] == (0.5 if one == Recall @ 1 else 1.0)
        assert found[two] in (0.0, 0.5)
        assert found[two] < found[one]


def test_labels_are_one_a_row_and_one_number_is_none():
    with pytest.raises(LinrankError, match="qid has 1 values, but there are 0 rows"):
        Judgements.from_arrays(3.0, qid=[1])


def test_a_ranker_is_measured_on_a_file_as_on_what_is_loaded_and_no_one_else_measures_that(tmp_path):
    data, weights = make_ranking(12, 8, 3)
    save_dataset(data, tmp_path / "data.linrank")
    model = LinearModel(weights, data.names)
    wanted = evaluate(model, data, "ndcg@3")
    for path in (tmp_path / "data.linrank", str(tmp_path / "data.linrank")):
        assert evaluate(model, path, "ndcg@3").mean == wanted.mean
    with pytest.raises(LinrankError, match="file"):
        evaluate(model, data, "ndcg@3", executor=object())
