"""linrank import: another program's model as one of linrank's."""

import json
import subprocess
import sys

import pytest

from linrank import LinearModel
from linrank.cli import main

RANKLIB = "## Coordinate Ascent\n1:0.3 2:-0.5 3:2\n"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ranklib.txt").write_text(RANKLIB)

    def call(*words):
        code = main([str(word) for word in words])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def test_a_model_is_read_told_and_written(run):
    code, out, _ = run("import", "ranklib.txt", "model.json")
    assert code == 0
    assert "ranklib.txt: imported from ranklib, 3 of 3 features" in out
    assert "3 2, 2 -0.5, 1 0.3" in out
    assert LinearModel.load("model.json").weights.tolist() == [0.3, -0.5, 2.0]
    code, out, _ = run("show", "model.json")
    assert code == 0
    assert "imported from ranklib" in out
    assert run("import", "ranklib.txt")[0] == 0
    assert LinearModel.load("ranklib.model.json").n_features == 3


def test_names_come_from_a_file_or_from_data(run, tmp_path):
    (tmp_path / "names.json").write_text('["title", "age", "price"]')
    assert run("import", "ranklib.txt", "a.json", "--names", "names.json")[0] == 0
    (tmp_path / "train.csv").write_text("label,qid,title,age,price\n1,1,0.5,1,\n0,1,0.2,3,4\n")
    assert run("import", "ranklib.txt", "b.json", "--data", "train.csv")[0] == 0
    for made in ("a.json", "b.json"):
        assert LinearModel.load(made).feature_names == ("title", "age", "price")
    (tmp_path / "names.json").write_text('{"1": "title"}')
    assert run("import", "ranklib.txt", "a.json", "--names", "names.json")[0] == 0
    assert LinearModel.load("a.json").feature_names == ("title", "2", "3")
    (tmp_path / "names.json").write_text("[1, 2, 3]")
    code, _, err = run("import", "ranklib.txt", "a.json", "--names", "names.json")
    assert (code, "names.json: names no features" in err) == (1, True)
    with pytest.raises(SystemExit) as stopped:
        run("import", "ranklib.txt", "a.json", "--names", "names.json", "--data", "train.csv")
    assert stopped.value.code == 2


def test_the_form_can_be_forced_and_errors_speak_of_the_option(run, tmp_path):
    code, _, err = run("import", "ranklib.txt", "model.json", "--from", "liblinear")
    assert code == 1
    assert "ranklib.txt:1: '##' is none of solver_type" in err
    (tmp_path / "odd.txt").write_text("1 qid:1 1:0.5\n")
    code, _, err = run("import", "odd.txt", "model.json")
    assert code == 1
    assert "--from solr" in err
    assert not (tmp_path / "model.json").exists()


def test_standard_output_has_the_model_alone(run):
    code, out, err = run("import", "ranklib.txt", "-")
    assert code == 0
    assert json.loads(out)["weights"] == [0.3, -0.5, 2.0]
    assert "imported from ranklib" in err
    code, out, _ = run("import", "ranklib.txt", "m.json", "--json")
    assert json.loads(out)["weights"] == {"1": 0.3, "2": -0.5, "3": 2.0}


def test_a_file_that_is_no_model_is_not_written_over(run, tmp_path):
    (tmp_path / "mine.txt").write_text("notes")
    assert run("import", "ranklib.txt", "mine.txt")[0] == 1
    assert run("import", "ranklib.txt", "ranklib.txt")[0] == 1
    assert (tmp_path / "ranklib.txt").read_text() == RANKLIB


def test_a_pipe_is_read(tmp_path):
    made = subprocess.run(
        [sys.executable, "-m", "linrank", "import", "-", "piped.json"],
        input=RANKLIB, cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "imported from ranklib" in made.stdout
    assert LinearModel.load(tmp_path / "piped.json").training["imported_from"] == "standard input"


def test_a_constant_that_is_left_out_is_told(run, tmp_path):
    (tmp_path / "regression.txt").write_text("## Linear Regression\n0:1.5 1:0.3 2:-0.5\n")
    (tmp_path / "svm.model").write_text("solver_type L2R_L2LOSS_SVR\nnr_class 2\nnr_feature 1\nbias 2\nw\n1\n0.25\n")
    assert "left out: the constant 1.5, which changes no order" in run("import", "regression.txt")[1]
    assert "left out: the constant 0.5, which changes no order" in run("import", "svm.model")[1]
    assert "left out" not in run("import", "ranklib.txt")[1]
