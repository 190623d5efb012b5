"""Legs, signals and classes of queries from files of strangers: read as they are, or refused with the place."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from fusing_cases import RULES, SETTINGS, legs_for, made
from linrank import LinrankError, fuse
from linrank.fusing.candidates import LARGEST_SCORE
from linrank.fusing.legs import read_legs
from linrank.fusing.problem import FusionProblem
from linrank.fusing.query_classes import classes_of, read_classes
from linrank.fusing.responses import read_responses
from linrank.fusing.trained_weights import Pairwise

TABLE = {
    "query": ["q1", "q1", "q2"],
    "document": ["d1", "d2", "d1"],
    "leg": ["a", "a", "b"],
    "score": [1.0, 0.5, 0.25],
}
QUICK = {"n_folds": 2, "n_resamples": 2, "method": "pairwise"}


@pytest.mark.parametrize("form", [pd.DataFrame, pl.DataFrame, pa.table, dict], ids=lambda form: form.__name__)
def test_a_table_in_memory_and_a_parquet_file_are_the_same(form, tmp_path):
    parquet.write_table(pa.table(TABLE), tmp_path / "hits.parquet")
    for legs in (read_legs(form(TABLE)), read_legs(tmp_path / "hits.parquet")):
        assert (legs.query_ids, legs.document_ids) == (["q1", "q2"], ["d1", "d2"])
        assert [leg.name for leg in legs.legs] == ["a", "b"]
        assert [leg.scores.tolist() for leg in legs.legs] == [[1.0, 0.5], [0.25]]


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("score", [1.0, None, 2.0], "row 2: score is None, and no finite number"),
        ("score", [1.0, 2.0, float("nan")], "row 3: score is nan, and no finite number"),
        ("score", ["1", "1_0", "2"], "row 2: score is '1_0', and no finite number"),
        ("query", [1, None, 2], "row 2: query is None, which is neither a text nor a whole number. Save ids as text"),
        ("document", [1.5, 2.0, 3.0], "row 1: document is 1.5, which is neither"),
        ("document", ["a", "", "b"], "row 2: document is '', which is neither"),
        ("leg", [[1], [2], [3]], "row 1: leg is array([1]), which is neither"),
    ],
)
def test_what_is_wrong_in_a_parquet_file_is_named(tmp_path, column, values, said):
    path = tmp_path / "hits.parquet"
    parquet.write_table(pa.table({**TABLE, column: values}), path)
    with pytest.raises(LinrankError) as refused:
        read_legs(path)
    assert str(refused.value).startswith(f"{path}: {said}")


@pytest.mark.parametrize("value", [float("nan"), None, 1.5, ""])
def test_what_is_no_id_in_lists_is_named(value):
    """NumPy would make texts of all values that stand beside one."""
    with pytest.raises(LinrankError) as refused:
        read_legs({**TABLE, "query": ["q1", value, "q2"]})
    assert str(refused.value).startswith(f"the table: row 2: query is {value!r}, which is neither")


def test_a_parquet_file_that_is_damaged_or_empty_is_refused(tmp_path):
    path = tmp_path / "hits.parquet"
    parquet.write_table(pa.table(TABLE), path)
    whole = path.read_bytes()
    for size in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(LinrankError, match="is not Parquet that can be read"):
            read_legs(path)
    parquet.write_table(pa.table(TABLE).slice(0, 0), path)
    with pytest.raises(LinrankError, match="has no rows"):
        read_legs(path)


def test_columns_of_different_lengths_are_refused():
    for column in ([1.0], [[1.0, 2.0, 3.0]]):
        with pytest.raises(LinrankError, match="columns are not of one length"):
            read_legs({**TABLE, "score": column})


@pytest.mark.parametrize(
    "line",
    [
        '{"qid": true, "result": []}',
        r'{"qid": "\ud800", "result": []}',
        '{"qid": 1, "qid": 2, "result": []}',
        '{"qid": 1, "result": [{"id": "a", "id": "b", "score": 1}]}',
        '{"qid": 1, "result": [{"id": true, "score": 1}]}',
        '{"qid": 1, "result": [{"id": "a", "score": NaN}]}',
        '{"qid": 1, "result": [{"id": "a", "score": 1e999}]}',
        '{"qid": 1, "result": [{"id": "a", "score": 1}, {"id": "a", "score": 2}]}',
        '{"qid": 1, "response": ' + "[" * 100_000,
    ],
)
def test_responses_that_say_nothing_certain_are_refused(tmp_path, line):
    path = tmp_path / "saved.jsonl"
    path.write_text(json.dumps({"qid": "first", "result": [{"id": 1, "score": 2}]}) + "\n" + line + "\n")
    with pytest.raises(LinrankError, match=r"saved\.jsonl:2: "):
        read_responses(path)


def scaled(runs, factor):
    return {
        name: {query: {document: score * factor for document, score in hits.items()} for query, hits in run.items()}
        for name, run in runs.items()
    }


@pytest.mark.parametrize(("engine", "normaliser"), RULES)
@pytest.mark.parametrize("largest", [0.99 * LARGEST_SCORE, 1e-30])
def test_scores_as_large_and_as_small_as_may_be_have_finite_weights(engine, normaliser, largest):
    """(Warnings of NumPy are errors here.)"""
    runs, qrels = made(n_queries=8, names=legs_for(engine))
    most = max(score for run in runs.values() for hits in run.values() for score in hits.values())
    found = fuse(
        scaled(runs, largest / most), qrels, engine, normaliser=normaliser, **SETTINGS.get(engine, {}), **QUICK
    )
    assert np.isfinite(list(found.weight_of.values())).all()
    assert np.isfinite([standing.mean for standing in found.standings]).all()
    json.dumps(found.to_dict(), allow_nan=False)


def test_scores_and_signals_too_large_to_fuse_are_named():
    runs, qrels = made(n_queries=8)
    for number, told in ((1e300, r"1e\+300"), (np.nan, "nan")):
        runs["bm25"]["q1"]["d007"] = number
        with pytest.raises(LinrankError, match=rf"^leg 'bm25': .* document 'd007' for query 'q1' is {told}; .* Div"):
            fuse(runs, qrels, **QUICK)
    runs["bm25"]["q1"]["d007"] = 1.0
    table = {"document": ["d000", "d001"], "clicks": [1.0, 1e300]}
    with pytest.raises(LinrankError, match=r"^the table: row 2: signal 'clicks' is 1e\+300"):
        fuse(runs, qrels, "qdrant", signals=table, **QUICK)


def test_what_is_too_large_in_a_file_is_named_by_its_line(tmp_path):
    runs, qrels = made(n_queries=8)
    signals, hits = tmp_path / "signals.csv", tmp_path / "hits.csv"
    signals.write_text("document,clicks\n\nd000,1\nd001,1e300\n")
    with pytest.raises(LinrankError, match=r"signals\.csv:4: signal 'clicks' is 1e\+300"):
        fuse(runs, qrels, "qdrant", signals=signals, **QUICK)
    hits.write_text("query,document,leg,score\nq1,d1,a,1\nq1,d1,b,-1e19\n")
    with pytest.raises(LinrankError, match=r"hits\.csv:3: score is -1e\+19; .* Divide"):
        read_legs(hits)


def test_the_table_of_classes_is_refused_before_any_work(monkeypatch):
    runs, qrels = made(n_queries=8)
    monkeypatch.setattr(FusionProblem, "of", None)
    with pytest.raises(LinrankError, match="there is no column 'tongue'; there are query, kind"):
        fuse(runs, qrels, by="tongue", queries={"query": ["q1"], "kind": ["a"]}, **QUICK)
    monkeypatch.undo()
    monkeypatch.setattr(Pairwise, "learn", None)
    table = {"query": list(qrels), "kind": ["a"] * len(qrels)}
    with pytest.raises(LinrankError, match="column 'kind' has one class for all judged queries: 'a'"):
        fuse(runs, qrels, by="kind", queries=table, **QUICK)
    table["query"] = [f"other {query}" for query in qrels]
    with pytest.raises(LinrankError, match="one class for all judged queries: none of them is in the table"):
        fuse(runs, qrels, by="kind", queries=table, **QUICK)


def test_other_documents_are_ranked_by_signals_that_are_numbers():
    runs, qrels = made(n_queries=8)
    clicks = {f"d{number:03d}": number % 7 / 1.0 for number in range(60)}
    table = {"document": list(clicks), "clicks": list(clicks.values())}
    fusion = fuse(runs, qrels, "qdrant", signals=table, **QUICK)
    ranked = fusion.rank(runs, {"clicks": clicks})
    assert ranked == fusion.rank(runs, {"clicks": {name: np.float32(value) for name, value in clicks.items()}})
    assert ranked != fusion.rank(runs, {"clicks": {}})
    for value in (np.nan, np.inf, -1e300, 10**400, "1", None, True):
        with pytest.raises(LinrankError, match=r"signal 'clicks' of document 'd000' is .*; only finite numbers"):
            fusion.rank(runs, {"clicks": clicks | {"d000": value}})
    for signals in (None, {}, {"others": clicks}, {"clicks": 5}, [clicks]):
        with pytest.raises(LinrankError, match="there is no signal 'clicks', which has a weight"):
            fusion.rank(runs, signals)


def test_a_document_has_its_signals_once_and_columns_are_told_apart_by_their_letters_case():
    runs, qrels = made(n_queries=8)
    documents = [f"d{number:03d}" for number in range(60)]
    rises = np.arange(60.0)
    with pytest.raises(LinrankError, match="document 'd000' has signals in more than one row"):
        fuse(runs, qrels, "qdrant", signals={"document": ["d000", "d000"], "clicks": [1.0, 2.0]}, **QUICK)
    alone = fuse(runs, qrels, "qdrant", signals={"document": documents, "Clicks": rises}, **QUICK)
    both = fuse(runs, qrels, "qdrant", signals={"document": documents, "Clicks": rises, "clicks": 0 * rises}, **QUICK)
    assert both.weight_of["Clicks"] == alone.weight_of["Clicks"] != 0.0


@pytest.mark.parametrize("name", ["signals.parquet", "signals.csv"])
def test_the_index_of_a_frame_is_no_signal(name, tmp_path):
    runs, qrels = made(n_queries=8)
    clicks = np.arange(60.0)
    table = pd.DataFrame({"document": [f"d{number:03d}" for number in range(60)], "clicks": clicks}, index=59 - clicks)
    {"signals.parquet": table.to_parquet, "signals.csv": table.to_csv}[name](tmp_path / name)
    in_memory, in_file = (fuse(runs, qrels, "qdrant", signals=held, **QUICK) for held in (table, tmp_path / name))
    assert in_file.weight_of == in_memory.weight_of
    assert "clicks" in in_file.weight_of


def test_a_query_has_one_class():
    with pytest.raises(LinrankError, match="query 'q1' has two values of 'kind', 'a' and 'b'"):
        read_classes({"query": ["q1", "q1"], "kind": ["a", "b"]}, "kind")
    known = read_classes({"query": ["q1", "q1"], "kind": ["a", "a"]}, "kind")
    assert classes_of(["q1", "q2"], known, "kind") == ["a", ""]
