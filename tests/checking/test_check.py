"""What changes when a new model goes live: counted one by one here, and the rule by which it may."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from linrank import LinearModel, LinrankError, RankingDataset, RankSVM, check, evaluate, export, make_ranking
from linrank.dataset.ranking_dataset import UNJUDGED
from linrank.dataset.scaling import ColumnScaling, QueryScaling
from linrank.dataset.text_column import TextColumn
from linrank.measures import bootstrap_interval
from linrank.reading.write_svmlight import write_svmlight

NAMES = ("title", "age", "clicks", "price")


def judged(n_queries=40, n_documents=15, noise=1.0, seed=0) -> RankingDataset:
    """Documents whose label follows the title, in rows that are not grouped by query."""
    rng = np.random.default_rng(seed)
    n = n_queries * n_documents
    X = rng.normal(size=(n, 4))
    labels = np.clip(np.round(X[:, 0] + noise * rng.normal(size=n)), 0, 2)
    qid = rng.permutation(np.repeat([f"q{number}" for number in range(n_queries)], n_documents))
    data = RankingDataset.from_arrays(X, labels, qid=qid, feature_names=NAMES)
    return replace(data, comments=TextColumn.from_texts(f"docid = D{row}" for row in range(n)))


def model(*weights, names=NAMES, **changes) -> LinearModel:
    return LinearModel(np.array(weights, dtype=float), names[: len(weights)], **changes)


GOOD, POOR = model(1, 0, 0, 0.1), model(0.1, 1, 0, 0)


def ranks_one_by_one(scores, data):
    """{row: rank}, by looking at every pair of rows; equal scores in the order of the rows."""
    qid = data.qid
    return [
        1 + sum(
            qid[other] == qid[row] and (scores[other] > scores[row] or (scores[other] == scores[row] and other < row))
            for other in range(len(scores))
        )
        for row in range(len(scores))
    ]  # fmt: skip


def test_means_interval_and_queries_are_those_of_evaluate():
    data = judged()
    done = check(POOR, GOOD, data, measure="ndcg@5")
    before, after = (evaluate(each.predict(data), data, "ndcg@5") for each in (POOR, GOOD))
    (measure,) = before.measures
    change = after.per_query[measure] - before.per_query[measure]
    assert (done.old_mean, done.new_mean) == (before.mean[measure], after.mean[measure])
    assert done.interval == bootstrap_interval(change)
    assert (done.won, done.lost, done.tied) == ((change > 0).sum(), (change < 0).sum(), (change == 0).sum())
    best = [data.queries.ids[query] for query in np.argsort(-change, kind="stable")[:5]]
    assert [move.query for move in done.gains] == best
    assert all(move.difference < 0 for move in done.losses)
    assert done.passed


def test_ranks_and_moves_are_those_counted_one_by_one():
    data = judged(n_queries=12)
    old, new = (replace(each, weights=np.round(each.weights)) for each in (POOR, GOOD))
    data = replace(data, features=np.round(data.features))
    done = check(old, new, data, n_movers=1000)
    before, after = (ranks_one_by_one(each.predict(data), data) for each in (old, new))
    qid = data.qid.tolist()

    def tops(ranks, top):
        return {query: {row for row in range(len(qid)) if qid[row] == query and ranks[row] <= top} for query in qid}

    for top, count in ((1, done.first_changed), (10, done.top_changed)):
        one, other = tops(before, top), tops(after, top)
        assert count == sum(one[query] != other[query] for query in one)

    def seen(rank):
        return 1 / math.log2(rank + 1) if rank <= 10 else 0.0

    changed = {f"D{row}": (before[row], after[row]) for row in range(len(qid)) if seen(before[row]) != seen(after[row])}
    assert {move.document: (move.before, move.after) for move in done.moves} == changed
    sizes = [abs(seen(move.before) - seen(move.after)) for move in done.moves]
    assert sizes == sorted(sizes, reverse=True)
    assert all(move.query == qid[int(move.document[1:])] for move in done.moves)
    assert all(move.label == data.labels[int(move.document[1:])] for move in done.moves)


def test_the_same_model_changes_nothing():
    done = check(GOOD, GOOD, judged())
    assert done.passed
    assert done.interval == (0.0, 0.0)
    assert (done.won, done.lost, done.tied) == (0, 0, 40)
    assert (done.first_changed, done.top_changed, done.moves, done.gains, done.losses) == (0, 0, (), (), ())
    assert (done.disappeared, done.appeared, done.notes) == ((), (), ())


def test_documents_that_cannot_tell_two_models_apart_pass_nothing(tmp_path):
    data = judged()
    same = replace(data, labels=np.ones(data.n_documents))
    with pytest.raises(LinrankError, match=r"^no query has documents of different labels, .* Give judged documents\.$"):
        check(GOOD, POOR, same)
    write_svmlight(tmp_path / "same.txt", same)
    with pytest.raises(LinrankError, match=r"same\.txt: no query has documents of different labels"):
        check(GOOD, POOR, tmp_path / "same.txt")
    by_query = np.where(data.queries.of_rows() == 0, data.labels, 0.0)
    notes = check(GOOD, POOR, replace(data, labels=by_query)).notes
    assert any("39 queries have one label only" in note for note in notes)
    assert any("one query alone decides" in note for note in notes)


def test_a_worse_model_fails_and_at_least_says_otherwise():
    data = judged()
    worse = check(GOOD, POOR, data)
    assert worse.interval[1] < 0
    assert not worse.passed
    assert "FAILS: a model fails where the whole 95 % interval" in str(worse)
    assert check(GOOD, POOR, data, at_least=-0.9).passed
    gain = check(POOR, GOOD, data).difference
    assert check(POOR, GOOD, data, at_least=gain).passed
    missed = check(POOR, GOOD, data, at_least=gain + 1e-9)
    assert not missed.passed
    assert f"a model passes where the difference is at least {gain:g}" in missed.rule


def test_a_loss_within_chance_passes():
    data = judged(n_queries=6)
    nearly = model(1, 0.05, 0, 0.1)
    done = check(GOOD, nearly, data) if check(GOOD, nearly, data).difference < 0 else check(nearly, GOOD, data)
    assert done.interval[0] < 0 <= done.interval[1] or done.difference == 0
    assert done.passed


def test_features_that_come_and_go_are_named():
    done = check(model(1, 0.5, 0, 2), model(1, 0, 0.5, 0), judged())
    assert (done.disappeared, done.appeared) == (("age", "price"), ("clicks",))
    assert "features no longer used, 2: age, price" in str(done)
    absent = check(model(1, 0.5, 0, 2), model(1, names=("title",)), judged())
    assert absent.disappeared == ("age", "price")


def test_columns_are_found_by_name_whatever_their_order():
    data = judged()
    turned = model(*GOOD.weights[::-1], names=NAMES[::-1])
    assert check(GOOD, turned, data).tied == data.n_queries
    with pytest.raises(LinrankError, match="the data, for the new model: there is no column 'colour'"):
        check(GOOD, model(1, 1, names=("title", "colour")), data)


def test_each_model_fills_what_is_missing_by_its_own_rule():
    data = judged()
    X = np.array(data.features)
    X[::7, 0] = np.nan
    data = replace(data, features=X)
    with pytest.raises(LinrankError, match=r"for the old model: feature 'title' is NaN"):
        check(GOOD, GOOD, data)
    zero, five = replace(GOOD, missing=0.0), replace(GOOD, missing=5.0)
    done = check(zero, five, data)
    full = replace(data, features=np.where(np.isnan(X), 5.0, X))
    assert done.new_mean == evaluate(GOOD.predict(full), full, "ndcg@10").mean[done.measure]
    assert "missing values: 0.0 in the old model, 5.0 in the new one" in done.notes
    assert any("86 missing values were filled for the new model: 5.0" in note for note in done.notes)
    assert np.isnan(data.features).any()


def test_float32_and_what_cannot_be_exported_are_told():
    data = judged()
    X = np.array(data.features)
    X[:, 3] = 1e6 + np.arange(len(X)) * 1e-3
    done = check(GOOD, model(0, 0, 0, 1), replace(data, features=X))
    assert done.float32.tied > 0
    scaled = check(GOOD, replace(GOOD, scaling=QueryScaling()), data)
    assert scaled.float32 is None
    assert "scaling: none in the old model, query in the new one" in scaled.notes
    assert any("the new model cannot be exported: 4 weights on features scaled by query" in n for n in scaled.notes)


def test_models_are_rankers_and_files_of_any_form_too(tmp_path):
    data, _ = make_ranking(30, 10, 6, random_state=1)
    ranker = RankSVM(penalty="l1", C=0.01).fit(data)
    export(ranker, "solr", out=tmp_path / "solr.json")
    ranker.to_model().save(tmp_path / "model.json")
    write_svmlight(tmp_path / "judged.txt", data)
    done = check(tmp_path / "solr.json", tmp_path / "model.json", tmp_path / "judged.txt")
    assert done.tied == data.n_queries
    assert check(ranker, tmp_path / "solr.json", data).old_mean == done.new_mean
    with pytest.raises(LinrankError, match="list has no weights"):
        check([], ranker, data)
    with pytest.raises(LinrankError, match=r"data is a list\. Give the path"):
        check(ranker, ranker, [])


def test_data_without_names_is_never_taken_for_other_columns():
    data = replace(judged(), feature_names=None)
    same = check(GOOD, POOR, data)
    assert same.old_mean == check(GOOD, POOR, judged()).old_mean
    numbered = [model(1, 0.5, names=("1", "2")), model(1, 0, 0, 0, 0, names=("1", "2", "3", "4", "5"))]
    assert check(*numbered, data).disappeared == ("2",)
    with pytest.raises(LinrankError, match=r"for the new model: there is no column 'price'.*there are 1, 2, 3, 4"):
        check(numbered[0], model(1, names=("price",)), data)
    with pytest.raises(LinrankError, match="there is no column 'title'"):
        check(GOOD, model(1, names=("title",)), data)


def test_a_measure_over_pairs_has_its_own_mean_and_interval():
    data = judged()
    done = check(POOR, GOOD, data, measure="pairwiseaccuracy")
    evaluations = [evaluate(each.predict(data), data, "pairwiseaccuracy") for each in (POOR, GOOD)]
    assert done.difference == evaluations[1].mean[done.measure] - evaluations[0].mean[done.measure]
    assert done.interval[0] < done.difference < done.interval[1]


def test_what_cannot_be_asked_is_refused():
    with pytest.raises(LinrankError, match="one decides"):
        check(GOOD, POOR, judged(), measure="ndcg@1,10")
    with pytest.raises(LinrankError, match="at_least is nan"):
        check(GOOD, POOR, judged(), at_least=math.nan)
    with pytest.raises(LinrankError, match="n_movers is -1"):
        check(GOOD, POOR, judged(), n_movers=-1)
    with pytest.raises(LinrankError, match=UNJUDGED[:20]):
        check(GOOD, POOR, replace(judged(), labels=None))


def test_it_prints_and_is_json_and_html():
    names = ("title", "<b>", "clicks", "price")
    scaling = ColumnScaling("standard", np.zeros(4), np.ones(4))
    done = check(
        model(1, 1, 0, 0, names=names), model(1, 0, 1, 0, names=names, scaling=scaling),
        replace(judged(), feature_names=names),
    )  # fmt: skip
    assert json.loads(json.dumps(done.to_dict(), allow_nan=False))["passed"] is done.passed
    html = done._repr_html_()
    assert "<b>" not in html
    assert "&lt;b&gt;" in html
    for text in (str(done), repr(done)):
        assert "largest gains" in text
        assert "documents that moved most" in text
        assert "in float32, as in an engine: of " in text
