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
from linrank.fusing.query_classes import classes_of
from linrank.fusing.responses import read_responses

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
    with pytest.raises(LinrankError, match=r"^leg 'bm25': the score of hit 0 is .*e\+301; .* Divide"):
        fuse(scaled(runs, 1e300), qrels, **QUICK)
    table = {"document": ["d000", "d001"], "clicks": [1.0, 1e300]}
    with pytest.raises(LinrankError, match=r"signal 'clicks' of row 1 is 1e\+300"):
        fuse(runs, qrels, "qdrant", signals=table, **QUICK)


def test_a_document_has_its_signals_once_and_columns_are_told_apart_by_their_letters_case():
    runs, qrels = made(n_queries=8)
    documents = [f"d{number:03d}" for number in range(60)]
    rises = np.arange(60.0)
    with pytest.raises(LinrankError, match="document 'd000' has signals in more than one row"):
        fuse(runs, qrels, "qdrant", signals={"document": ["d000", "d000"], "clicks": [1.0, 2.0]}, **QUICK)
    alone = fuse(runs, qrels, "qdrant", signals={"document": documents, "Clicks": rises}, **QUICK)
    both = fuse(runs, qrels, "qdrant", signals={"document": documents, "Clicks": rises, "clicks": 0 * rises}, **QUICK)
    assert both.weight_of["Clicks"] == alone.weight_of["Clicks"] != 0.0


def test_a_query_has_one_class():
    with pytest.raises(LinrankError, match="query 'q1' has two values of 'kind', 'a' and 'b'"):
        classes_of({"query": ["q1", "q1"], "kind": ["a", "b"]}, "kind", ["q1"])
    assert classes_of({"query": ["q1", "q1"], "kind": ["a", "a"]}, "kind", ["q1", "q2"]) == ["a", ""]
