"""predict and explain on what a search engineer has: tables without labels, with columns the model does not need."""

import json
from pathlib import Path

import numpy as np
import pytest

from linrank import LinearModel, open_dataset, read, save_dataset
from linrank.dataset.applied_scaling import QueryScaling

pytest.importorskip("pyarrow")

NAMES = ("bm25", "clicks", "age")


def save(weights=(2.0, 0.0, -1.0), **fields):
    LinearModel(np.array(weights), NAMES, **fields).save("model.json")


def write(text, name="docs.csv"):
    Path(name).write_text(text, encoding="utf-8")


def scores_in(out):
    return [float(line) for line in out.split()]


def test_documents_without_label_and_query_are_scored(run):
    save()
    write("bm25,clicks,age\n1,5,3\n2,5,0.5\n")
    code, out, err = run("predict", "model.json", "docs.csv")
    assert (code, err) == (0, "")
    assert scores_in(out) == [-1.0, 3.5]


def test_a_column_without_weight_may_be_absent_or_text_or_empty(run):
    save()
    write("title,age,bm25\nred shoes,3,1\nblue,0.5,2\n")
    assert scores_in(run("predict", "model.json", "docs.csv")[1]) == [-1.0, 3.5]
    write("clicks,age,bm25\n,3,1\n7,0.5,2\n")
    assert scores_in(run("predict", "model.json", "docs.csv")[1]) == [-1.0, 3.5]
    write("clicks,bm25\n,1\n7,2\n")
    code, _, err = run("predict", "model.json", "docs.csv")
    assert code == 1
    assert "docs.csv: there is no column 'age'" in err


def test_a_label_that_is_named_must_be_there(run):
    save()
    write("bm25,age\n1,3\n")
    code, _, err = run("predict", "model.json", "docs.csv", "--label", "grade")
    assert code == 1
    assert "there is no column 'grade'" in err


def test_a_model_that_goes_by_query_asks_for_queries(run):
    write("bm25,clicks,age\n1,5,3\n2,5,0.5\n")
    for fields in ({"scaling": QueryScaling()}, {"missing": "query_min"}):
        save(**fields)
        code, _, err = run("predict", "model.json", "docs.csv")
        assert code == 1
        assert "there is no column 'qid'" in err
    save()
    code, _, err = run("predict", "model.json", "docs.csv", "out.run", "--trec")
    assert code == 1
    assert "there is no column 'qid'" in err


def test_text_without_queries_is_scored(run):
    save()
    write("0 1:1 2:5 3:3\n0 1:2 2:NULL 3:0.5\n", "docs.txt")
    code, out, err = run("predict", "model.json", "docs.txt")
    assert (code, err.count("\n")) == (0, 1)
    assert "taken by position" in err
    assert scores_in(out) == [-1.0, 3.5]


@pytest.mark.parametrize(("rule", "filled"), [("query_min", 0.5), (7.0, 7.0)])
def test_missing_values_are_filled_as_in_training(run, rule, filled):
    save(missing=rule)
    write("qid,bm25,clicks,age\na,1,5,\na,2,5,0.5\nb,3,5,9\n")
    code, out, err = run("predict", "model.json", "docs.csv")
    assert code == 0
    assert f"1 missing value filled: {rule}, as in training." in err
    assert scores_in(out) == [2 - filled, 3.5, -3.0]


def test_another_rule_wins_and_is_said(run):
    save(missing="query_min")
    write("qid,bm25,age\na,1,\na,2,0.5\n")
    code, out, err = run("predict", "model.json", "docs.csv", "--missing", "4")
    assert code == 0
    assert "--missing 4.0, where the model was trained with query_min" in err
    assert "1 missing value filled: 4.0.\n" in err
    assert scores_in(out) == [-2.0, 3.5]


@pytest.mark.parametrize("options", [[], ["--missing", "keep"]], ids=str)
def test_without_a_rule_a_missing_value_has_no_score(run, options):
    save()
    write("bm25,age\n1,\n")
    code, _, err = run("predict", "model.json", "docs.csv", *options)
    assert code == 1
    assert "docs.csv: feature 'age' is NaN in 1 of 1 documents" in err


def test_explain_does_without_labels(run):
    save(missing=0.0)
    write("qid,docid,bm25,age\na,x,1,\na,y,2,0.5\n")
    code, out, err = run("explain", "model.json", "docs.csv", "--qid", "a", "--docid", "docid")
    assert code == 0, err
    assert "y above x" in out
    assert "labels" not in out
    assert "1 missing value filled: 0.0, as in training." in err
    _, out, _ = run("explain", "model.json", "docs.csv", "--qid", "a", "--json")
    assert [document["label"] for document in json.loads(out)["ranking"]] == [None, None]


def test_training_remembers_the_rule(run, tmp_path):
    rows = "\n".join(f"{q},{g},{g + 0.1 * q},{'' if g == 1 else q}" for q in range(6) for g in range(3))
    write(f"qid,label,bm25,age\n{rows}\n", "train.csv")
    assert run("train", "train.csv", "m.json", "--missing", "query_min", "--quiet")[0] == 0
    assert LinearModel.load("m.json").missing == "query_min"
    assert run("convert", "train.csv", "train.linrank", "--missing", "-1")[0] == 0
    assert run("tune", "train.linrank", "n.json", "--range", "0.1,1", "--cv", "2")[0] == 0
    assert LinearModel.load("n.json").missing == -1.0
    assert run("path", "train.csv", "--missing", "3", "--model", "p.json", "--no-report")[0] == 0
    path = LinearModel.load("p.json")
    assert path.missing == 3.0
    assert path.data_fingerprint == read("train.csv", missing=3).fingerprint()


def test_documents_without_labels_are_kept_in_a_file(run):
    write("qid,bm25,age\na,1,2\nb,2,0.5\n")
    data = read("docs.csv", label=None)
    save_dataset(data, "docs.linrank")
    again = open_dataset("docs.linrank")
    assert not again.is_judged
    assert again.fingerprint() == data.fingerprint()
    save()
    assert scores_in(run("predict", "model.json", "docs.linrank")[1]) == [0.0, 3.5]
    code, _, err = run("train", "docs.linrank", "m.json")
    assert code == 1
    assert "no labels" in err


def test_a_model_with_names_says_how_it_takes_columns_without(run):
    save()
    write("1 qid:1 1:1 2:5 3:3\n0 qid:1 1:2 2:5 3:0.5\n", "docs.txt")
    code, out, err = run("predict", "model.json", "docs.txt")
    assert (code, scores_in(out)) == (0, [-1.0, 3.5])
    # Before it, where no test has come before this one, is a line of the kernels that are compiled.
    assert err.endswith("docs.txt: has no names of features, which are taken by position: 1 bm25, 2 clicks, 3 age.\n")
    LinearModel(np.array([2.0, 0.0, -1.0]), ("1", "2", "3")).save("numbered.json")
    assert run("predict", "numbered.json", "docs.txt")[2] == ""


def test_missing_values_of_a_linrank_file_are_filled_as_those_of_other_files(run):
    write("label,qid,bm25,clicks,age\n1,1,1,,3\n0,1,2,4,0.5\n2,1,3,6,1\n", "train.csv")
    assert run("convert", "train.csv", "kept.linrank", "--missing", "keep")[0] == 0
    code, _, err = run("train", "kept.linrank", "a.json", "--quiet")
    assert code == 1
    assert "reading with --missing 0 or --missing query_min does" in err
    for rule, value in (("0", 0.0), ("query_min", 4.0)):
        assert run("train", "kept.linrank", f"{value}.json", "--quiet", "--missing", rule)[0] == 0
        assert run("train", "train.csv", "text.json", "--quiet", "--missing", rule)[0] == 0
        stored, text = LinearModel.load(f"{value}.json"), LinearModel.load("text.json")
        assert stored.weights.tolist() == text.weights.tolist()
        assert stored.missing == text.missing
        assert run("convert", "kept.linrank", f"{value}.linrank", "--missing", rule)[0] == 0
        assert np.asarray(open_dataset(f"{value}.linrank").features)[0, 1] == value
    # What is filled already keeps the rule that filled it.
    assert read("4.0.linrank", missing=7.0).missing == "query_min"
    code, _, err = run("convert", "kept.linrank", "no.linrank", "--missing", "0", "--memory", "2GB")
    assert code == 1
    assert "--missing fills a .linrank file that is loaded. Leave --memory and --resume out." in err
    assert run("info", "train.csv", "kept.linrank")[0] == 0
