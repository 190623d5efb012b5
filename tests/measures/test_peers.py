"""Where definitions coincide, the measures agree with trec_eval, scikit-learn, SciPy and LightGBM."""

import warnings

import numpy as np
import pytest

from linrank.dataset.ranking_dataset import RankingDataset
from linrank.measures import AUC, ERR, MAP, MRR, NDCG, Judgements, KendallTau, P, PairwiseAccuracy, Recall, evaluate
from linrank.reading.trec import read_trec

N_QUERIES = 40


@pytest.fixture(scope="module", params=["without ties", "with ties", "with ties in single precision"])
def data(request):
    """Labels, scores, query of each row (interleaved), document ids; trec_eval keeps scores in single precision."""
    rng = np.random.default_rng(3)
    n = 800
    labels = rng.choice([0, 0, 0, 1, 2, 3, 4], size=n).astype(float)
    qid = rng.integers(0, N_QUERIES, size=n)
    labels[qid == 7] = 0
    scores = {
        "without ties": rng.permutation(n) / 1024,
        "with ties": rng.integers(0, 6, size=n) / 8,
        "with ties in single precision": rng.integers(0, 6, size=n) / 7 + 1e-12 * rng.permutation(n),
    }[request.param]
    return labels, scores, np.array([f"q{number}" for number in qid]), [f"d{row % 97}-{row}" for row in range(n)]


def of_queries(data):
    labels, scores, qid, _ = data
    for query in dict.fromkeys(qid.tolist()):
        yield labels[qid == query], scores[qid == query]


def test_trec_eval(data):
    import ir_measures
    from ir_measures import AP, RR, R, nDCG

    labels, scores, qid, docids = data
    theirs = {
        NDCG(definition="trec"): nDCG,
        NDCG(definition="trec") @ 10: nDCG @ 10,
        MAP(ties="docid"): AP,
        MAP(ties="docid", rel=2) @ 5: AP(rel=2) @ 5,
        P(ties="docid") @ 10: ir_measures.P @ 10,
        P(ties="docid", rel=3) @ 100: ir_measures.P(rel=3) @ 100,
        Recall(ties="docid") @ 5: R @ 5,
        MRR(ties="docid"): RR,
    }
    rows = list(zip(qid.tolist(), docids, strict=True))
    qrels = [ir_measures.Qrel(q, d, int(y)) for (q, d), y in zip(rows, labels, strict=True)]
    run = [ir_measures.ScoredDoc(q, d, float(s)) for (q, d), s in zip(rows, scores, strict=True)]
    provider = ir_measures.providers.PytrecEvalProvider()
    answers = {(m.measure, m.query_id): m.value for m in provider.iter_calc(theirs.values(), qrels, run)}
    judged = Judgements.from_arrays(labels, qid=qid, docids=docids)
    evaluation = evaluate(scores, judged, theirs)
    for ours, measure in theirs.items():
        expected = [answers[measure, query] for query in judged.queries.ids.tolist()]
        np.testing.assert_allclose(evaluation.per_query[ours], expected, rtol=1e-12, err_msg=str(ours))


@pytest.mark.filterwarnings("ignore:.*left out")
@pytest.mark.parametrize("seed", range(4))
def test_trec_eval_where_runs_miss_documents_and_queries(seed, tmp_path):
    """Random qrels and a run of some judged and some unjudged documents, ties among them; means as without -c."""
    import ir_measures
    from ir_measures import AP, RR, R, nDCG

    rng = np.random.default_rng(seed)
    documents = [f"d{number}" for number in range(30)]
    judged = {
        f"q{query}": {str(d): int(rng.integers(-1, 4)) for d in rng.choice(documents, rng.integers(1, 20), False)}
        for query in range(25)
    }
    # The first queries are in no run, the last ones not judged.
    found = {
        f"q{query}": {str(d): rng.integers(0, 9) / 8 for d in rng.choice(documents, rng.integers(1, 25), False)}
        for query in range(4, 28)
    }
    qrels, run = tmp_path / "qrels", tmp_path / "run"
    qrels.write_text("".join(f"{q} 0 {d} {y}\n" for q, of in judged.items() for d, y in of.items()))
    run.write_text("".join(f"{q} Q0 {d} 0 {s} t\n" for q, of in found.items() for d, s in of.items()))
    theirs = {
        NDCG(definition="trec"): nDCG,
        NDCG(definition="trec") @ 5: nDCG @ 5,
        MAP(ties="docid"): AP,
        MAP(ties="docid", rel=2) @ 5: AP(rel=2) @ 5,
        P(ties="docid") @ 10: ir_measures.P @ 10,
        Recall(ties="docid", rel=2) @ 5: R(rel=2) @ 5,
        MRR(ties="docid"): RR,
    }
    both = [query for query in found if query in judged]
    provider = ir_measures.providers.PytrecEvalProvider()
    lines = provider.iter_calc(
        theirs.values(), list(ir_measures.read_trec_qrels(str(qrels))), list(ir_measures.read_trec_run(str(run)))
    )
    answers = {(line.measure, line.query_id): line.value for line in lines}
    data = read_trec(qrels, [run])
    evaluation = evaluate(data.features[:, 0], data, theirs)
    assert evaluation.query_ids.tolist() == both
    for ours, measure in theirs.items():
        expected = [answers[measure, query] for query in both]
        np.testing.assert_allclose(evaluation.per_query[ours], expected, rtol=1e-12, err_msg=str(ours))


def test_scikit_learn(data):
    from sklearn.metrics import ndcg_score, roc_auc_score

    labels, scores, qid, _ = data
    measures = [NDCG(definition="linear", ties="average") @ 5, NDCG(definition="linear", ties="average"), AUC(rel=2)]
    evaluation = evaluate(scores, Judgements.from_arrays(labels, qid=qid), measures)
    at_5, whole, auc = evaluation.per_query.values()
    for query, (y, s) in enumerate(of_queries(data)):
        assert at_5[query] == pytest.approx(ndcg_score([y], [s], k=5), rel=1e-12)
        assert whole[query] == pytest.approx(ndcg_score([y], [s]), rel=1e-12)
        if len(np.unique(y >= 2)) == 2:
            assert auc[query] == pytest.approx(roc_auc_score(y >= 2, s), rel=1e-12)
        else:
            assert np.isnan(auc[query])


def test_scikit_learn_average_precision_where_nothing_is_tied():
    from sklearn.metrics import average_precision_score

    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 2, 60), rng.permutation(60)
    expected = average_precision_score(labels, scores)
    assert MAP(labels, scores, qid=np.zeros(60)) == pytest.approx(expected, rel=1e-12)


def test_scipy_kendall_tau(data):
    from scipy.stats import kendalltau

    labels, scores, qid, _ = data
    taus = KendallTau.per_query(scores, Judgements.from_arrays(labels, qid=qid))
    expected = [kendalltau(y, s).statistic for y, s in of_queries(data)]
    np.testing.assert_allclose(taus, expected, rtol=1e-12, atol=1e-15)


def test_lightgbm_ndcg(data):
    import lightgbm

    scores, group = data[1], np.array([5, 1, 94, 300, 200, 200])
    labels = np.where(np.arange(len(scores)) < 5, 0, data[0])
    cutoffs = [1, 3, 5, 10]
    settings = {"metric": "ndcg", "eval_at": cutoffs, "objective": "lambdarank", "verbosity": -1, "num_threads": 1}
    # A tree ranker that learns nothing leaves the initial scores, so that its metric is of ours.
    dataset = lightgbm.Dataset(np.zeros((len(labels), 1)), labels, group=group, init_score=scores)
    recorded = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lightgbm.train(
            {**settings, "feature_pre_filter": False},
            dataset,
            num_boost_round=1,
            valid_sets=[dataset],
            callbacks=[lightgbm.record_evaluation(recorded)],
        )
    judged = Judgements.from_arrays(labels, group=group)
    for k in cutoffs:
        ours = (NDCG(empty=1) @ k).mean(scores, judged)
        assert ours == pytest.approx(recorded["training"][f"ndcg@{k}"][0], rel=1e-9), k


def test_one_long_query_is_counted_without_overflow():
    n = 100_000
    labels = np.arange(n) % 1000
    for measure, expected in ((PairwiseAccuracy, 1.0), (AUC, 1.0)):
        assert measure(labels, labels, qid=np.zeros(n)) == expected
    assert KendallTau(labels, -labels, qid=np.zeros(n)) == pytest.approx(-1.0, rel=1e-14)
    for ties, expected in (("wrong", 0.0), ("half", 0.5), ("right", 1.0)):
        assert PairwiseAccuracy(ties=ties)(labels, np.zeros(n), qid=np.zeros(n)) == expected


def test_expected_reciprocal_rank_of_the_paper():
    # Chapelle et al. (2009): one perfect document at rank 1 satisfies with probability 15/16, then nothing is left.
    assert (ERR @ 10)([4, 0], [2, 1], qid=[1, 1]) == 15 / 16
    assert (ERR @ 10)([0, 4], [2, 1], qid=[1, 1]) == 15 / 32
    assert ERR([2, 3], [2, 1], qid=[1, 1]) == 3 / 16 + 13 / 16 * 7 / 16 / 2


def test_a_dataset_gives_what_plain_arrays_give(data):
    labels, scores, qid, docids = data
    dataset = RankingDataset.from_arrays(np.zeros((len(labels), 2)), labels, qid=qid, comments=docids)
    for measure in (NDCG @ 10, MAP, NDCG(definition="trec") @ 3):
        judged = Judgements.from_arrays(labels, qid=qid, docids=docids)
        np.testing.assert_array_equal(measure.per_query(scores, dataset), measure.per_query(scores, judged))
    assert (NDCG @ 10).mean(scores, dataset) == (NDCG @ 10)(labels, scores, qid=qid)


def test_the_definitions_of_ndcg_differ_as_they_are_known_to(letor):
    rows = [line.split() for line in letor.path("MQ2008", "Fold1", "test.txt").read_text().splitlines()]
    judged = Judgements.from_arrays([float(row[0]) for row in rows], qid=[row[1] for row in rows])
    bm25_of_the_whole_document = [float(row[26].removeprefix("25:")) for row in rows]
    measures = [NDCG(definition="letor") @ 10, NDCG @ 10, NDCG(definition="linear") @ 10, NDCG(empty=1) @ 10]
    letor, standard, linear, lightgbm = evaluate(bm25_of_the_whole_document, judged, measures).mean.values()
    # A third of the queries have no relevant document, and half have fewer than 10 documents: these count 0 in LETOR.
    queries = {row[1] for row in rows}
    empty = queries - {row[1] for row in rows if row[0] != "0"}
    assert lightgbm == pytest.approx(standard + len(empty) / len(queries), abs=1e-12)
    assert letor < 0.5 * standard
    assert standard < linear < standard + 0.05
