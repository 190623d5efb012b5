"""linrank evaluate on tables and on TREC files: only what is needed is read, and runs are measured as by trec_eval."""

import csv
import gzip
import io
import json
import math

import numpy as np
import pandas as pd
import pytest

from linrank.cli import main
from linrank.measures import evaluate


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def run(line):
        code = main(line.split())
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "query": np.repeat(["a", "b", "c"], 5),
            "grade": rng.integers(0, 3, 15),
            "title": [f"red shoes, {n}" for n in range(15)],
            "key": [2**60 + n for n in range(15)],
            "bm25": rng.random(15),
            "gap": [math.nan] * 15,
        }
    )


@pytest.mark.parametrize("kind", ["csv", "parquet", "feather"])
def test_of_a_table_only_what_is_needed_is_read(call, frame, tmp_path, kind):
    getattr(frame, f"to_{kind}")(tmp_path / f"t.{kind}", **({"index": False} if kind == "csv" else {}))
    frame["bm25"].to_csv(tmp_path / "scores", index=False, header=False)
    expected = evaluate(frame["bm25"], frame["grade"], "ndcg@10 map", qid=frame["query"])
    columns = "--label grade --qid query --json --measures ndcg@10 map"
    for line in (f"evaluate t.{kind} scores {columns}", f"evaluate t.{kind} --score bm25 {columns}"):
        code, out, err = call(line)
        assert (code, err) == (0, "")
        assert json.loads(out)["mean"] == {str(m): pytest.approx(v, rel=1e-14) for m, v in expected.mean.items()}


def test_a_column_of_scores_is_complete_and_numbers(call, frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    for column, said in (
        ("gap", "t.csv: feature 'gap' has no value (NaN) in row 0"),
        ("title", "column 'title' holds 'red shoes, 0', which is no number"),
        ("bm52", "there is no column 'bm52'; the columns are"),
        ("grade", "column 'grade' is given as label and as features"),
    ):
        code, _, err = call(f"evaluate t.csv --score {column} --label grade --qid query")
        assert code == 1
        assert said in err


def test_a_column_of_document_ids_breaks_ties(call, tmp_path):
    pd.DataFrame({"qid": 1, "label": [0, 1], "id": ["a", "b"], "s": [0.5, 0.5]}).to_csv(tmp_path / "t.csv", index=False)
    code, out, _ = call("evaluate t.csv --score s --docid id --json --measures mrr mrr(ties=docid)")
    assert code == 0
    assert json.loads(out)["mean"] == {"mrr": 0.5, "mrr(ties=docid)": 1.0}
    code, _, err = call("evaluate t.csv --score s --measures mrr(ties=docid) --features s")
    assert code == 1
    assert (
        "orders them by document id, but the data has none. Pass docids (of a table, name its --docid … column" in err
    )


@pytest.fixture
def trec(tmp_path):
    """Qrels and two runs with ties, in single precision too; unjudged documents, missed ones, queries on one side."""
    rng = np.random.default_rng(5)
    documents = [f"d{number}" for number in range(40)]
    qrels = {
        f"q{query}": {str(d): int(rng.integers(-1, 4)) for d in rng.choice(documents, 25, replace=False)}
        for query in range(20)
    }

    def scores():
        return {str(d): float(rng.integers(0, 9) / 7 + 1e-12 * rng.random()) for d in rng.choice(documents, 30, False)}

    starts = {"bm25": 0, "dense": 4}
    runs = {name: {f"q{first + n}": scores() for n in range(18)} for name, first in starts.items()}
    text = "".join(f"{q} 0 {d} {y}\n" for q, of in qrels.items() for d, y in of.items())
    (tmp_path / "qrels.txt").write_text(text)
    (tmp_path / "bm25.run").write_text(run_text(runs["bm25"]))
    (tmp_path / "dense.run.gz").write_bytes(gzip.compress(run_text(runs["dense"]).encode()))
    return qrels, runs


def run_text(run):
    return "".join(f"{q} Q0 {d} 0 {s!r} t\n" for q, of in run.items() for d, s in of.items())


@pytest.mark.filterwarnings("always:.*left out")
def test_runs_are_measured_as_by_trec_eval(call, trec):
    import pytrec_eval

    qrels, runs = trec
    names = {
        "ndcg(trec)": "ndcg",
        "ndcg(trec)@10": "ndcg_cut_10",
        "map(ties=docid)": "map",
        "mrr(ties=docid)": "recip_rank",
        "p(ties=docid)@10": "P_10",
        "recall(ties=docid)@100": "recall_100",
    }
    theirs = pytrec_eval.RelevanceEvaluator(qrels, pytrec_eval.supported_measures)
    code, out, err = call("evaluate bm25.run dense.run.gz --qrels qrels.txt --json")
    assert code == 0
    assert "judged queries have no document here and are left out" in err
    first, _, second = out.partition("\n}\n")
    for record, name in ((json.loads(first + "}"), "bm25"), (json.loads(second), "dense")):
        answers = theirs.evaluate(runs[name])
        assert record["queries"] == [query for query in runs[name] if query in qrels]
        assert list(record["mean"]) == list(names)
        for ours, measure in names.items():
            expected = [answers[query][measure] for query in record["queries"]]
            np.testing.assert_allclose(record["per_query"][ours], expected, rtol=1e-12, err_msg=ours)
            assert record["mean"][ours] == pytest.approx(np.mean(expected), rel=1e-12)


@pytest.mark.filterwarnings("always:.*left out")
def test_a_table_names_each_run_and_one_run_has_its_queries(call, trec, tmp_path):
    code, out, _ = call("evaluate bm25.run dense.run.gz --qrels qrels.txt --measures map")
    assert code == 0
    assert out.index("bm25.run") < out.index("dense.run.gz")
    assert out.count("18 queries") == 1
    assert out.count("16 queries") == 1
    code, out, _ = call("evaluate bm25.run --qrels qrels.txt --measures map(ties=docid) --per-query -")
    rows = list(csv.reader(io.StringIO(out)))
    assert rows[0] == ["qid", "map(ties=docid)"]
    assert len(rows) == 19


def test_a_model_is_no_file_of_scores(call, tmp_path, capsys):
    (tmp_path / "t.txt").write_text("1 qid:1 1:2\n")
    (tmp_path / "m.json").write_text("{}\n")
    with pytest.raises(SystemExit):
        call("evaluate t.txt m.json")
    assert "m.json is no file of scores: if it is a model, linrank predict gives its scores" in capsys.readouterr().err
